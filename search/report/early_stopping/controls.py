"""The two controls without which no saving means anything: one fixed epoch, and discarding at random."""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from search.report.early_stopping.histories import Flags, Floats, Histories
from search.report.early_stopping.outcome import Outcome, fixed_epoch


@dataclass(frozen=True)
class RandomDiscarding:
    """`discarded` networks, drawn uniformly from `pool` (n,), end after the share `trained` (0 to 1) of their epochs.

    `label` says which rule it stands beside. Its numbers are exact expectations over all draws.
    """

    label: str
    pool: Flags
    discarded: int
    trained: float

    @property
    def n(self) -> int:
        """Number of networks."""
        return len(self.pool)

    @property
    def chance(self) -> Floats:
        """The probability (n,) that each network is discarded."""
        return self.pool.astype(np.float64) * (self.discarded / max(1, int(self.pool.sum())))

    def saved(self, cost: Floats) -> Floats:
        """Expected saving (n,) of each network, in the unit of `cost` (n,), what it costs in full."""
        return self.chance * cost * (1 - self.trained)

    def expected_best(self, values: Floats, counts: Floats) -> Floats:
        """Expected best of the kept networks, (B,), of B samples of n networks; NaN where none is kept in any draw.

        Of a sample, the same share of its pool is discarded, rounded. The best that is kept is a network of the pool
        if all better ones are discarded and it is not (hypergeometric), or the first that is not of the pool.

        Args:
            values: (n,) of all networks, higher is better; -inf for one without a value.
            counts: (B, n) how often a sample holds each; n in all.
        """
        order = np.argsort(-values, kind="stable")
        order = order[np.isfinite(values[order])]
        pool, held = self.pool[order], counts[:, order]
        size = (counts * self.pool).sum(axis=1, keepdims=True)
        gone = np.minimum(np.rint(size * (self.discarded / max(1, int(self.pool.sum())))), size)
        after, safe = np.cumsum(held * pool, axis=1), np.cumsum(held * ~pool, axis=1)
        before = after - held * pool
        all_better = _all_discarded(before, size, gone)
        chance = np.where(pool, all_better - _all_discarded(after, size, gone), all_better * (held > 0))
        chance = np.where(safe - held * ~pool > 0, 0.0, chance)
        with np.errstate(invalid="ignore", divide="ignore"):
            return (chance @ values[order]) / chance.sum(axis=1)


def _all_discarded(some: Floats, size: Floats, gone: Floats) -> Floats:
    """The probability that all of `some` networks are among the `gone` that are drawn from `size`."""
    drawn = np.exp(
        gammaln(size - some + 1) + gammaln(gone + 1) - gammaln(size + 1) - gammaln(np.maximum(gone - some, 0) + 1)
    )
    return np.where(some > gone, 0.0, drawn)


def same_number_at_random(histories: Histories, outcome: Outcome) -> RandomDiscarding:
    """As many networks discarded at random as the rule discards, after the same mean share of their epochs.

    They are drawn from those that the rule judged. Beside a rule that discards none, as many of all networks are left
    untrained as would save about the same device time.
    """
    n, discarded = histories.n, int(outcome.discarded.sum())
    trained = np.maximum(histories.trained, 1)
    if discarded:
        share = float((outcome.stop / trained)[outcome.discarded].mean())
        pool = outcome.judged | outcome.discarded
        return RandomDiscarding(f"{discarded} of {pool.sum()} discarded at random", pool, discarded, share)
    cost = trained * _rate(histories)
    saved = float(((histories.trained - outcome.stop) * _rate(histories)).sum())
    untrained = min(max(n - 1, 0), round(saved / cost.mean())) if n else 0
    return RandomDiscarding(f"{untrained} left untrained at random", np.ones(n, dtype=bool), untrained, 0)


def same_saving_at_one_epoch(histories: Histories, outcome: Outcome) -> Outcome:
    """Every network ended at one evaluated epoch: the one whose saved device time is nearest to the rule's."""
    rate, later = _rate(histories), histories.epochs[histories.epochs > 0]
    if not len(later):
        return fixed_epoch(histories, 0)
    saved = ((histories.trained - outcome.stop) * rate).sum()
    left = np.maximum(histories.trained[:, None] - later[None, :], 0)
    return fixed_epoch(histories, int(later[np.abs(rate @ left - saved).argmin()]))


def _rate(histories: Histories) -> Floats:
    """Seconds an epoch (n,); epochs themselves where nothing was timed."""
    return histories.seconds_per_epoch if histories.timed else np.ones(histories.n)
