"""What a reader must know before the numbers: left-out people, tests that do not apply, undefined quantities."""

from psychophysics.report.analysis import Numbers, StudyAnalysis


def notices(analysis: StudyAnalysis) -> list[str]:
    """One sentence or two each; empty when there is nothing to warn of."""
    people, n = analysis.responses.participants, analysis.numbers
    found = []
    excluded = analysis.excluded["participant"].nunique()
    unfinished = int((~people["finished"] & ~people["withdrawn"]).sum())
    withdrawn = int(people["withdrawn"].sum())
    left_out = [
        f"{count} {words}"
        for count, words in ((excluded, "excluded"), (unfinished, "not finished"), (withdrawn, "withdrawn"))
        if count
    ]
    if left_out:
        found.append(f"Not in the numbers: {', '.join(left_out)}.")
    if n is None:
        return [*found, "No accepted participant has answered a main trial: there is nothing to analyse yet."]
    return found + _of_numbers(n, analysis.responses.study.equivalence_bound)


def _of_numbers(n: Numbers, bound: float | None) -> list[str]:
    found = []
    few = n.accuracy.loc[n.accuracy["participants"] < 2, "condition"]
    if len(few):
        found.append(f"One participant only in {', '.join(few)}: no errors over participants.")
    if n.design == "within":
        found.append("The same participants took every condition: the paired test (Wilcoxon) is the one that applies.")
    if n.design == "mixed":
        found.append(
            "Some participants took several conditions, others one: pairs of conditions that share only some of "
            "their participants have no simple test. The mixed model uses all answers."
        )
    if len(n.conditions) > 1 and bound is None:
        found.append("The configuration fixed no bound for equivalence: nothing is tested for equivalence.")
    if n.model.reason:
        found.append(f"No mixed model: {n.model.reason}")
    if n.model.singular:
        found.append("The mixed model is singular: a random effect is estimated as 0, or two as one.")
    if n.question is not None:
        found.append(n.question.answer)
    return found
