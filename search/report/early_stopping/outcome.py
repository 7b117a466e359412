"""What a rule makes of every network: where it ends, and whether it is discarded."""

from dataclasses import dataclass

import numpy as np

from search.report.early_stopping.histories import Flags, Histories, Ints


@dataclass(frozen=True)
class Outcome:
    """A rule on n networks.

    rule: its short name; label: in words; metric: what it looks at, empty if nothing.
    stop (n,): the epoch after which each network ends, at most the epochs that it trained.
    discarded (n,): no longer a candidate for the best network. judged (n,): trained long enough for the rule to judge
    it; one that is not saves nothing.
    """

    rule: str
    label: str
    metric: str
    stop: Ints
    discarded: Flags
    judged: Flags


def unstopped(histories: Histories) -> Outcome:
    """Every network trained to its end."""
    nothing = np.zeros(histories.n, dtype=bool)
    return Outcome("none", "no stopping", "", histories.trained.copy(), nothing, ~nothing)


def fixed_epoch(histories: Histories, epoch: int) -> Outcome:
    """Every network ended after the same number of epochs."""
    stop = np.minimum(histories.trained, epoch)
    nothing = np.zeros(histories.n, dtype=bool)
    return Outcome("fixed_epoch", f"every network at epoch {epoch}", "", stop, nothing, histories.trained > epoch)
