"""How likely a study is to find a difference in accuracy: simulated participants, Mann-Whitney on their means.

Accuracies are marginal, what a study reports: the intercept on the log-odds is solved so that the mean over all random
effects equals them (an intercept of logit(0.67) itself would give 0.648). Units and image sets are shared by both
conditions, participants are not.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import optimize, special, stats

from psychophysics.errors import StudyError

FloatArray = npt.NDArray[np.floating[Any]]
CountArray = npt.NDArray[np.integer[Any]]

MIN_SIMULATIONS = 5000
_BLOCK = 500  # simulations drawn together: 500 x 100 participants x 18 trials are 7 MB
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(101)


@dataclass(frozen=True)
class PowerDesign:
    """Trials a participant (a unit each), image sets, and SDs of the normal random effects on the log-odds."""

    trials: int = 18
    sets: int = 10
    sd_participant: float = 0.35
    sd_unit: float = 0.6
    sd_unit_by_set: float = 0.6

    @property
    def sd_total(self) -> float:
        """SD of all random effects of one answer together."""
        return float(np.sqrt(self.sd_participant**2 + self.sd_unit**2 + self.sd_unit_by_set**2))


@dataclass(frozen=True)
class Power:
    """Share of simulated studies with p < alpha, and its 95 % Monte-Carlo interval (Wilson's)."""

    participants: int
    baseline: float
    accuracy: float
    power: float
    low: float
    high: float
    simulations: int
    alpha: float


def marginal_intercept(accuracy: float, sd: float) -> float:
    """The intercept (log-odds) at which the mean of sigmoid(intercept + Normal(0, sd)) is `accuracy`, in (0, 1)."""

    def excess(intercept: float) -> float:
        return float(_WEIGHTS @ special.expit(intercept + sd * _NODES) / _WEIGHTS.sum() - accuracy)

    reach = abs(float(special.logit(accuracy))) * (1 + sd) + 5 * sd + 1
    return float(optimize.brentq(excess, -reach, reach, xtol=1e-12))


def simulate_power(
    baseline: float,
    accuracy: float,
    participants: int,
    design: PowerDesign = PowerDesign(),
    *,
    simulations: int = MIN_SIMULATIONS,
    alpha: float = 0.05,
    seed: int = 0,
) -> Power:
    """Power to tell `accuracy` from `baseline` (both shares, chance 0.5) with `participants` a condition.

    Two-sided Mann-Whitney U test with normal approximation, corrected for ties and continuity, at level `alpha`.
    Raises StudyError for values outside their range and for fewer than 5,000 simulations.
    """
    _check(baseline, accuracy, participants, design, simulations, alpha)
    rng = np.random.default_rng(seed)
    intercepts = [marginal_intercept(share, design.sd_total) for share in (baseline, accuracy)]
    found = 0
    for start in range(0, simulations, _BLOCK):
        block = min(_BLOCK, simulations - start)
        unit = rng.normal(0, design.sd_unit, (block, 1, design.trials))
        by_set = rng.normal(0, design.sd_unit_by_set, (block, design.sets, design.trials))
        first, second = (_counts(intercept + unit + by_set, participants, design, rng) for intercept in intercepts)
        found += int((mann_whitney_p(first, second, design.trials) < alpha).sum())
    interval = stats.binomtest(found, simulations).proportion_ci(0.95, "wilson")
    return Power(participants, baseline, accuracy, found / simulations, interval.low, interval.high, simulations, alpha)


def _counts(log_odds: FloatArray, participants: int, design: PowerDesign, rng: np.random.Generator) -> CountArray:
    """Correct answers of each participant (block, participants); image sets are filled in turn."""
    person = rng.normal(0, design.sd_participant, (len(log_odds), participants, 1))
    p = special.expit(log_odds[:, np.arange(participants) % design.sets] + person)
    return (rng.random(p.shape, dtype=np.float32) < p).sum(axis=2)


def mann_whitney_p(first: CountArray, second: CountArray, trials: int) -> FloatArray:
    """Two-sided p (b,) of Mann-Whitney U for counts (b, m) and (b, n) in 0..trials: tie and continuity corrected.

    Equals scipy's asymptotic method. Counts have few values, so that their histograms hold all that the ranks do.
    """
    m, n = first.shape[1], second.shape[1]
    a, b = _histogram(first, trials), _histogram(second, trials)
    below = np.cumsum(b, axis=1) - b
    u = (a * (below + b / 2)).sum(axis=1)
    ties = ((a + b) ** 3 - (a + b)).sum(axis=1)
    total = m + n
    variance = m * n / 12 * (total + 1 - ties / (total * (total - 1)))
    excess = np.abs(u - m * n / 2) - 0.5
    z = np.divide(excess, np.sqrt(variance), out=np.zeros(len(u)), where=variance > 0)
    return np.minimum(1.0, 2 * stats.norm.sf(z))


def _histogram(counts: CountArray, trials: int) -> FloatArray:
    rows = np.arange(len(counts))[:, None] * (trials + 1)
    size = len(counts) * (trials + 1)
    return np.bincount((rows + counts).ravel(), minlength=size).reshape(len(counts), -1).astype(np.float64)


def _check(
    baseline: float, accuracy: float, participants: int, design: PowerDesign, simulations: int, alpha: float
) -> None:
    for name, share in (("baseline", baseline), ("accuracy", accuracy), ("alpha", alpha)):
        if not 0 < share < 1:
            raise StudyError(
                f"{name} is {share:g}; it is a share between 0 and 1, such as {0.05 if name == 'alpha' else 0.6}."
            )
    if participants < 2:
        raise StudyError(f"{participants} participants a condition; a comparison needs at least 2.")
    if design.trials < 1 or design.sets < 1 or min(design.sd_participant, design.sd_unit, design.sd_unit_by_set) < 0:
        raise StudyError(f"{design}: trials and sets are at least 1, SDs at least 0.")
    if simulations < MIN_SIMULATIONS:
        raise StudyError(f"{simulations} simulations; at least {MIN_SIMULATIONS:,} keep the interval within 0.014.")
