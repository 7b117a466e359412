"""The two controls without which no saving means anything: one fixed epoch, and discarding at random."""

from dataclasses import dataclass

import numpy as np

from search.report.early_stopping.histories import Floats, Histories
from search.report.early_stopping.outcome import Outcome, fixed_epoch


@dataclass(frozen=True)
class RandomDiscarding:
    """`discarded` of n networks, drawn uniformly, end after the share `trained` (0 to 1) of their epochs.

    `label` says which rule it stands beside. Its numbers are exact expectations over all draws.
    """

    label: str
    n: int
    discarded: int
    trained: float

    @property
    def kept(self) -> int:
        """Networks that train to their end."""
        return self.n - self.discarded

    def saved(self, cost: Floats) -> float:
        """Expected saving, in the unit of `cost` (n,), what each network costs in full."""
        return float(self.discarded * cost.mean() * (1 - self.trained)) if self.n else 0.0

    def chance_of_place(self) -> Floats:
        """The probability (n,) that the best network that is kept is the first, second, ... of all.

        The hypergeometric chance that the r better ones are all discarded and it is not.
        """
        place = np.arange(self.n, dtype=np.float64)
        if self.kept == 0:
            return np.zeros(self.n)
        better_gone = np.cumprod(np.r_[1.0, (self.discarded - place[:-1]) / (self.n - place[:-1])].clip(min=0.0))
        return better_gone * self.kept / (self.n - place)

    def expected_best(self, descending: Floats, counts: Floats) -> Floats:
        """Expected best of the kept networks, (B,), of B samples of n networks.

        Args:
            descending: (n,) values of all networks, best first; -inf for one without a value, which come last.
            counts: (B, n) how often a sample holds each; n in all.
        """
        up_to = np.r_[0.0, np.cumsum(self.chance_of_place())]
        places = np.cumsum(counts, axis=1).astype(np.int64)
        chance = (up_to[places] - up_to[places - counts.astype(np.int64)])[:, np.isfinite(descending)]
        with np.errstate(invalid="ignore", divide="ignore"):
            return (chance @ descending[np.isfinite(descending)]) / chance.sum(axis=1)


def same_number_at_random(histories: Histories, outcome: Outcome) -> RandomDiscarding:
    """As many networks discarded at random as the rule discards, after the same mean share of their epochs.

    Beside a rule that discards none, as many are left untrained as would save about the same device time.
    """
    n, discarded = histories.n, int(outcome.discarded.sum())
    trained = np.maximum(histories.trained, 1)
    if discarded:
        share = float((outcome.stop / trained)[outcome.discarded].mean())
        return RandomDiscarding(f"{discarded} discarded at random", n, discarded, share)
    cost = trained * _rate(histories)
    saved = float(((histories.trained - outcome.stop) * _rate(histories)).sum())
    untrained = min(max(n - 1, 0), round(saved / cost.mean())) if n else 0
    return RandomDiscarding(f"{untrained} left untrained at random", n, untrained, 0)


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
