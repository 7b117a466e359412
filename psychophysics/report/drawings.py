"""Which figures a study's report has."""

from psychophysics.report import targets
from psychophysics.report.analysis import StudyAnalysis
from psychophysics.report.figures import by_condition, confidence, grid, networks
from search.report.drawings import Drawing


def drawings(analysis: StudyAnalysis) -> list[Drawing]:
    """Those for which there is something to draw; none without accepted participants."""
    n = analysis.numbers
    if n is None:
        return []
    accuracy = by_condition.prepare(
        "Share of correct answers", n.means, n.accuracy, chance=0.5, published=targets.ACCURACY
    )
    times = by_condition.prepare("Reaction time (s)", n.time_means, n.times)
    levels = confidence.prepare(n.confidence, n.conditions)
    kappa = grid.consistency(n.consistency, n.baseline_consistency, n.conditions)
    scatter = networks.prepare(n.networks, n.conditions, n.question.answer if n.question else "")
    candidates = [
        Drawing("accuracy", accuracy, by_condition.interactive, by_condition.printed),
        Drawing("reaction_times", times, by_condition.interactive, by_condition.printed),
        Drawing("confidence", levels, confidence.interactive, confidence.printed),
        Drawing("units", grid.units(n.units, n.conditions), grid.interactive, grid.printed),
        Drawing("consistency", kappa, grid.interactive, grid.printed),
        Drawing("networks", scatter, networks.interactive, networks.printed),
    ]
    return [drawing for drawing in candidates if drawing.data is not None]
