"""How many networks beat the best image baseline by more than the interval of the difference."""

from dataclasses import dataclass

from metrics.network_comparison import beat_baselines
from search.report.artifacts import Brain, read_rdm
from search.report.tables import SearchTables

RESAMPLES = 1000
SEED = 0


@dataclass(frozen=True)
class BeatenBaseline:
    """`beating`: tids whose whole 95 % interval of the difference from the `baseline` is above 0, of `networks`.

    `without_rdm`: tids that score above the baseline but whose RDM is not there to be resampled.
    """

    baseline: str
    baseline_hms: float
    beating: tuple[int, ...]
    networks: int
    without_rdm: tuple[int, ...]


def beaten_baseline(tables: SearchTables, brain: Brain | None) -> BeatenBaseline | None:
    """Compare the finished networks with the image baselines in `brain`; None when those were not exported.

    Only networks that score above the baseline are resampled (about 0.1 s each): the others cannot beat it.
    """
    scores = tables.finished[["tid", "hms"]].dropna()
    if brain is None or not brain.images or scores.empty:
        return None
    reference = brain.rdm
    best = beat_baselines({}, brain.images, reference, resamples=1)
    above = [int(tid) for tid in scores.loc[scores["hms"] > best.baseline_hms, "tid"]]
    rdms = {tid: read_rdm(tables, tid, brain.labels) for tid in above}
    there = {str(tid): rdm for tid, rdm in rdms.items() if rdm is not None and rdm.shape == reference.shape}
    rival = {best.baseline: brain.images[best.baseline]}
    found = beat_baselines(there, rival, reference, resamples=RESAMPLES, seed=SEED)
    missing = tuple(tid for tid in above if str(tid) not in there)
    beating = tuple(int(name) for name in found.beating)
    return BeatenBaseline(best.baseline, best.baseline_hms, beating, len(scores), missing)
