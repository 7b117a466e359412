"""How likely a study over several networks is to find that accuracy goes with HMS: the test of `analysis.networks`.

Networks are the sample. Each network has units of its own, each unit image sets of its own; every participant answers
one image set of all units of all networks. All of these are normal random effects on the log-odds, and the accuracy
expected of a network rises linearly with its HMS. Accuracies are marginal, as in `psychophysics.power`.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special, stats

from psychophysics.analysis.networks import MIN_NETWORKS
from psychophysics.errors import StudyError
from psychophysics.power import MIN_SIMULATIONS, FloatArray, marginal_intercept
from search.report.rank_correlation import EXACT_UP_TO, null_sums, t_p_value

Floats32 = npt.NDArray[np.float32]

_BLOCK_ANSWERS = 4_000_000  # answers drawn together: 16 MB


@dataclass(frozen=True)
class NetworkDesign:
    """Units of each network, participants in all, image sets, and SDs of the random effects on the log-odds.

    `sd_network`: of what sets networks apart beside their HMS and their units; with 0 the power is an upper bound.
    """

    units: int = 6
    participants: int = 50
    sets: int = 10
    sd_participant: float = 0.35
    sd_unit: float = 0.6
    sd_unit_by_set: float = 0.6
    sd_network: float = 0.0

    @property
    def sd_total(self) -> float:
        """SD of all random effects of one answer together."""
        spreads = (self.sd_participant, self.sd_unit, self.sd_unit_by_set, self.sd_network)
        return float(np.sqrt(sum(spread**2 for spread in spreads)))


@dataclass(frozen=True)
class NetworkPower:
    """Share of simulated studies with p < alpha and a correlation of the sign of `slope`, and its 95 % Monte-Carlo
    interval (Wilson's).

    baseline: accuracy at the lowest HMS; slope: accuracy at the highest less that at the lowest; rho: median Spearman
    correlation. With slope 0, both signs count: the share is the size of the test.
    """

    networks: int
    participants: int
    baseline: float
    slope: float
    power: float
    low: float
    high: float
    rho: float
    simulations: int
    alpha: float


def simulate_network_power(
    hms: FloatArray,
    baseline: float,
    slope: float,
    design: NetworkDesign = NetworkDesign(),
    *,
    simulations: int = MIN_SIMULATIONS,
    alpha: float = 0.05,
    seed: int = 0,
) -> NetworkPower:
    """Power of the two-sided Spearman test over networks whose HMS are `hms` (n,), n >= 6.

    p is by permutation up to 8 networks, beyond by t, as in the study's report. Raises StudyError for values outside
    their range, fewer than 6 networks, HMS that are all the same, and fewer than 5,000 simulations.
    """
    hms = np.asarray(hms, dtype=np.float64)
    _check(hms, baseline, slope, design, simulations, alpha)
    expected = baseline + slope * (hms - hms.min()) / np.ptp(hms)
    intercepts = np.array([marginal_intercept(float(share), design.sd_total) for share in expected])
    rng = np.random.default_rng(seed)
    block = max(1, _BLOCK_ANSWERS // (len(hms) * design.units * design.participants))
    sizes = [min(block, simulations - start) for start in range(0, simulations, block)]
    accuracy = np.concatenate([simulated_accuracy(intercepts, design, size, rng) for size in sizes])
    rho, p = spearman_tests(hms, accuracy)
    found = int(((p < alpha) & ((np.sign(rho) == np.sign(slope)) | (slope == 0))).sum())
    interval = stats.binomtest(found, simulations).proportion_ci(0.95, "wilson")
    median = float(np.nanmedian(rho))
    return NetworkPower(
        len(hms), design.participants, baseline, slope, found / simulations, interval.low, interval.high, median,
        simulations, alpha,
    )  # fmt: skip


def simulated_accuracy(
    intercepts: FloatArray, design: NetworkDesign, simulations: int, rng: np.random.Generator
) -> FloatArray:
    """Share of correct answers of each network, (simulations, n), for its `intercepts` (n,) on the log-odds."""
    n, people = len(intercepts), design.participants

    def normal(sd: float, *shape: int) -> Floats32:
        return np.float32(sd) * rng.standard_normal((simulations, *shape), dtype=np.float32)

    by_set = normal(design.sd_unit_by_set, n, design.units, design.sets) + normal(design.sd_unit, n, design.units, 1)
    by_set += normal(design.sd_network, n, 1, 1) + intercepts.astype(np.float32)[:, None, None]
    log_odds = by_set[..., np.arange(people) % design.sets]  # (simulations, n, units, people)
    log_odds += normal(design.sd_participant, 1, 1, people)
    answers = rng.random(log_odds.shape, dtype=np.float32) < special.expit(log_odds)
    return answers.mean(axis=(2, 3))


def spearman_tests(x: FloatArray, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Spearman's rho of x (n,) with each of `rows` (b, n), and its two-sided p, both (b,); NaN for constant rows."""
    n = len(x)
    ranks = stats.rankdata(rows, axis=1) - (n + 1) / 2
    centred = stats.rankdata(x) - (n + 1) / 2
    with np.errstate(invalid="ignore", divide="ignore"):
        rho = ranks @ centred / np.sqrt((ranks**2).sum(axis=1) * (centred**2).sum())
    if n > EXACT_UP_TO:
        return rho, np.array([t_p_value(float(value), n - 2, n) for value in rho])
    p = np.full(len(rows), np.nan)
    patterns, kinds = np.unique(np.sort(ranks, axis=1), axis=0, return_inverse=True)  # which ranks are tied
    for kind, pattern in enumerate(patterns):
        chosen = (kinds.ravel() == kind) & np.isfinite(rho)
        null = null_sums(centred, pattern)
        p[chosen] = 1 - np.searchsorted(null, np.abs(ranks[chosen] @ centred) - 1e-9) / len(null)
    return rho, p


def _check(
    hms: FloatArray, baseline: float, slope: float, design: NetworkDesign, simulations: int, alpha: float
) -> None:
    if len(hms) < MIN_NETWORKS:
        raise StudyError(f"{len(hms)} networks: the question cannot be answered with fewer than {MIN_NETWORKS}.")
    if not np.isfinite(hms).all() or np.ptp(hms) == 0:
        raise StudyError(f"HMS are {', '.join(f'{value:g}' for value in hms)}: give numbers that differ.")
    for name, share in (("baseline", baseline), ("baseline + slope", baseline + slope), ("alpha", alpha)):
        if not 0 < share < 1:
            raise StudyError(f"{name} is {share:g}; it is a share between 0 and 1.")
    spreads = (design.sd_participant, design.sd_unit, design.sd_unit_by_set, design.sd_network)
    if min(design.units, design.participants, design.sets) < 1 or min(spreads) < 0:
        raise StudyError(f"{design}: units, participants and sets are at least 1, SDs at least 0.")
    if simulations < MIN_SIMULATIONS:
        raise StudyError(f"{simulations} simulations; at least {MIN_SIMULATIONS:,} keep the interval within 0.014.")
