"""The caption of each table, for the page and for print: n, of which evaluation, method, family, what is left out."""

from search.report import paper
from search.report.analysis import Analysis, Counted
from search.report.comparison import family_sizes
from search.report.correlations import DISREGARDED_BELOW, RESAMPLES
from search.report.rank_correlation import EXACT_UP_TO
from search.report.sample import Sample
from search.report.summaries import GROUP_SIZE

PAPER_TITLE = "Blanchard et al. (CVPR 2019)"
DESCRIPTIVE = "Adaptive or truncated sample: descriptive only."
SCORED = "Undefined HMS counts as 0 and undefined accuracy as chance, as the paper probably counted them."


def table_1(analysis: Analysis, counted: Counted) -> str:
    """Of Table 1 under one way of counting."""
    sample = counted.sample
    words = [f"Mean (SD with ddof 1). n = {sample.n} networks{_left_out(counted)}; {_values(analysis)}."]
    words += [SCORED] if sample.undefined_scored else []
    if 0 < sample.n < 2 * GROUP_SIZE:
        words.append("With fewer than twenty networks the top and bottom groups are halves, not tens.")
    if not analysis.random_sample:
        return " ".join([*words, DESCRIPTIVE])
    words.append(f"Paper: {PAPER_TITLE}, n = {paper.NETWORKS}{_different_data(analysis)}.")
    if analysis.tables.record.legacy_matching:
        words.append("Object matching was drawn and counted as in the published code.")
    else:
        words.append(
            "Its accuracy came from trials of which 23.6 % showed probe and target as the same picture; it is "
            "converted to distinct pairs, (accuracy − 0.236) / (1 − 0.236), from 0.367 and 0.459 for all and the top "
            "ten; its bottom ten, 0.13, lie below that floor."
        )
    return " ".join(words)


def correlations(analysis: Analysis, counted: Counted) -> str:
    """Of Table 2 and of all correlations under one way of counting."""
    rows = counted.rows
    words = [
        f"Spearman ρ. n = {rows.n} {rows.unit}s{_left_out(counted)}; {_values(analysis)}. Intervals: percentile "
        f"bootstrap over {rows.unit}s, 95 %, {RESAMPLES:,} resamples, fixed seed."
    ]
    words += [SCORED] if rows.undefined_scored else []
    words.append(_tests(analysis, counted) if analysis.random_sample else DESCRIPTIVE)
    words.append(
        "Effect (Cohen 1988): small ≥ 0.1, medium ≥ 0.3, large ≥ 0.5; between two metrics |ρ| < "
        f"{DISREGARDED_BELOW} is disregarded even where significant, as in the paper."
    )
    if analysis.random_sample:
        words.append(
            f"Paper: {PAPER_TITLE}, n = {paper.NETWORKS}{_different_data(analysis)}; given LR: the partial "
            "correlation, controlling the learning rate, that its table implies."
        )
    return " ".join(words)


def sample(analysis: Analysis, sample: Sample) -> str:
    """Of a figure or table of networks: how many, of which evaluation."""
    return f"n = {sample.n} {sample.unit}s; {_values(analysis)}."


def importance(analysis: Analysis) -> str:
    """Of the shares of variance by hyperparameter."""
    rows = analysis.defined.rows
    words = [
        "Adjusted R² of a regression of the metric's ranks on the hyperparameter's ranks and their squares (text: on "
        "indicators of its categories); about 0, above or below, where it does not matter. Under random search it "
        "estimates the first-order sensitivity index of the ranks (Saltelli et al. 2008); what the shares leave to 1 "
        f"is interaction and noise. Intervals: percentile bootstrap over {rows.unit}s, 95 %, fixed seed; near 0 "
        "they reach too high, since resampling adds to chance. Nothing is tested.",
        sample(analysis, rows),
    ]
    return " ".join(words if analysis.random_sample else [*words, DESCRIPTIVE])


def pareto(analysis: Analysis) -> str:
    """Of the figure of the Pareto front."""
    front = len(analysis.pareto)
    return f"{front} of n = {analysis.defined.sample.n} networks are on it. Dotted: the front of the two metrics shown."


def undefined(analysis: Analysis) -> str:
    """Of the networks with an undefined metric."""
    return (
        f"Finished networks with an undefined metric, n = {analysis.undefined['tid'].nunique()}; {_values(analysis)}."
    )


def replicates(analysis: Analysis) -> str:
    """Of the intraclass correlations."""
    return (
        "How far a metric belongs to the sampled point rather than to its seed: ICC(1), one-way random effects, single "
        f"measurement, with its F interval, 95 % (McGraw and Wong 1996); {_values(analysis)}."
    )


def references(analysis: Analysis) -> str:
    """Of HMS against each reference."""
    n, compared = int(analysis.tables.finished["hms"].notna().sum()), analysis.compared
    return (
        f"HMS of the best networks by each reference, of n = {n}, values of each network's last evaluation, and of "
        f"models made of the images alone. HMS: Spearman ρ with the {compared.rdm}{compared.beside_words}. "
        "Values against different references have different ceilings: compare down a column, not along a row."
    )


def _values(analysis: Analysis) -> str:
    return f"epoch rule {analysis.rule.name}: {analysis.rule.words(analysis.tables.record)}"


def _left_out(counted: Counted) -> str:
    sample = counted.sample
    if not sample.excluded:
        return ""
    tids = ", ".join(map(str, sample.excluded[:20])) + (" ..." if len(sample.excluded) > 20 else "")
    return f" (left out: {len(sample.excluded)}, trial{'s' * (len(sample.excluded) > 1)} {tids}: {sample.reason})"


def _tests(analysis: Analysis, counted: Counted) -> str:
    exact = counted.rows.n <= EXACT_UP_TO
    test = "by enumeration of all orders, partial ones by Student's t" if exact else "by Student's t"
    return f"p: two-sided, {test}, Bonferroni over the family ({family_sizes(counted)})."


def _different_data(analysis: Analysis) -> str:
    return "" if paper.same_protocol(analysis.tables.record) else ", different data"
