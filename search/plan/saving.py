"""When a stopping rule would end the trials of a plan: without it, as early as it can, as in the paper, as in a search.

No result of the planned search exists yet, so that no saving is known; each figure says where it comes from.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from search.config import SearchConfig
from search.errors import UsageError
from search.logged_metrics import metrics_of
from search.stopping import Evaluation, decide

EXTREME = 1e6  # beyond any threshold
PAPER_STABLE_EPOCH = 32  # mean over ten networks trained for 150 epochs (Blanchard et al. 2019)
PAPER_SAVING = 0.67  # of the training time of its 95 networks, computed afterwards


@dataclass(frozen=True)
class Scenario:
    """Epochs that each trial trains, by tid, and where the figure comes from; `replayed` from an earlier search."""

    name: str
    source: str
    epochs: tuple[int, ...]
    replayed: bool = False


def scenarios(config: SearchConfig, planned: Sequence[int], like: Path | None = None) -> list[Scenario]:
    """What the rule may save, from `planned` epochs of each trial: no saving first, then the most, then expectations.

    Args:
        like: exported tables of an earlier search, on whose histories the rule is replayed.

    Raises:
        UsageError: the tables are missing, unreadable, or evaluated too rarely for the rule.
    """
    found = [Scenario("without the stopping rule", "every trial trains its planned epochs", tuple(planned))]
    rule = config.stopping.rule
    if rule == "none":
        return found
    earliest = tuple(earliest_stop(config, epochs, tid) for tid, epochs in enumerate(planned))
    can = "stops" if rule == "stability" else "discards"
    found.append(Scenario("stopped as early as possible", f"the rule `{rule}` {can} each as soon as it can", earliest))
    if like is not None:
        ends = replayed_ends(config, like)
        expected = tuple(round(expected_epochs(epochs, ends)) for epochs in planned)
        source = f"the rule on the {len(ends)} histories of {like}"
        return [*found, Scenario("expected, as in that search", source, expected, replayed=True)]
    if rule == "stability":
        found.append(_as_in_the_paper(planned, earliest, config.metrics.every))
    return found


def _as_in_the_paper(planned: Sequence[int], earliest: Sequence[int], every: int) -> Scenario:
    """All trials stop at one epoch: of the two that the paper's figures give, the later."""
    stop = first = -(-PAPER_STABLE_EPOCH // every) * every
    while sum(min(epochs, stop) for epochs in planned) < (1 - PAPER_SAVING) * sum(planned):
        stop += every
    expected = tuple(max(least, min(epochs, stop)) for least, epochs in zip(earliest, planned, strict=True))
    stable = f"the paper's networks were stable at epoch {PAPER_STABLE_EPOCH} on average"
    if stop == first:
        return Scenario("expected, as in the paper", f"{stable}: each stops at epoch {stop}", expected)
    source = f"{stable}, but its 95 saved {PAPER_SAVING:.0%} of the training time: as if each stopped at epoch {stop}"
    return Scenario("expected, as in the paper", source, expected)


def earliest_stop(config: SearchConfig, epochs: int, finished: int = 0) -> int:
    """The first epoch at which the rule can end a trial of so many epochs, when `finished` networks came before it.

    It is that of the worst value, which never changes, beside networks of the best.
    """
    sign = metrics_of(config)[config.stopping.metric].sign
    history: list[Evaluation] = []
    for epoch in evaluated_epochs(epochs, config.metrics.every):
        history.append(Evaluation(epoch, -sign * EXTREME))
        before = (sign * EXTREME,) * finished
        decision = decide(
            history,
            config.stopping,
            every=config.metrics.every,
            epochs_planned=epochs,
            finished=before,
            sign=sign,
        )
        if decision.finish is not None:
            return epoch
    return epochs


def evaluated_epochs(epochs: int, every: int) -> list[int]:
    """0, every, 2 every, ..., and the last epoch."""
    return sorted({*range(0, epochs + 1, every), epochs})


def replayed_ends(config: SearchConfig, folder: Path) -> list[tuple[int, bool]]:
    """(last epoch, whether the rule ended it) of each finished trial of exported tables, under `config`'s rule.

    A trial that the earlier search itself had ended before this rule would has an unknown end: (its epochs, False).

    Raises:
        UsageError: see `scenarios`.
    """
    from search.report.tables import read_tables

    tables = read_tables(folder)
    theirs, ours = tables.record.config.get("metrics", {}).get("every"), config.metrics.every
    if not theirs or ours % theirs:
        raise UsageError(
            f"--like {folder}: that search was evaluated every {theirs} epochs, this one is every {ours}: the rule "
            f"can't be replayed. Give a search whose metrics.every divides {ours}, or leave --like out"
        )
    if config.stopping.metric not in tables.epochs:
        raise UsageError(
            f"--like {folder}: that search did not log stopping.metric `{config.stopping.metric}`: the rule can't be "
            "replayed. Give a search that did, or leave --like out"
        )
    ends = []
    for trial in tables.finished.to_dict("records"):
        rows = tables.epochs[tables.epochs["tid"] == trial["tid"]]
        if len(rows):
            end, ended = _replay(config, rows)
            ends.append((end, ended or trial["finish"] in ("diverged", "collapsed")))
    if not ends:
        raise UsageError(
            f"--like {folder}: no trial of that search is finished. Let it finish one, or leave --like out"
        )
    return ends


def _replay(config: SearchConfig, rows: pd.DataFrame) -> tuple[int, bool]:
    every, last = config.metrics.every, int(rows["epoch"].max())
    metric = metrics_of(config)[config.stopping.metric]
    history: list[Evaluation] = []
    for row in rows.sort_values("epoch").to_dict("records"):
        epoch, value = int(row["epoch"]), float(row[metric.name])
        if epoch % every == 0:
            history.append(Evaluation(epoch, value if math.isfinite(value) else None))
            decision = decide(history, config.stopping, every=every, epochs_planned=last + 1, sign=metric.sign)
            if decision.finish is not None:
                return epoch, True
    return last, False


def expected_epochs(planned: int, ends: Sequence[tuple[int, bool]]) -> float:
    """Mean epochs of a trial of `planned` epochs that ends as those did; one whose end is unknown trains on."""
    trained = [min(planned, end) if ended else planned for end, ended in ends]
    return sum(trained) / len(trained)
