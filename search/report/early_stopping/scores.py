"""What a rule saved and what it cost: time, the best network, regret, and the order of the networks."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from search.report import rank_correlation as rank
from search.report.early_stopping.controls import RandomDiscarding
from search.report.early_stopping.histories import Flags, Floats, Histories, Ints
from search.report.early_stopping.outcome import Outcome

SEED = 25
RESAMPLES, RESAMPLED_ROWS = 1000, 400_000  # fewer resamples above 400 networks, so that it stays quick

COLUMNS = [
    "rule", "kind", "label", "control_of", "metric", "target", "n", "ended_early", "discarded", "too_short",
    "epochs_saved", "epochs_share", "epochs_share_low", "epochs_share_high", "hours_saved", "time_share",
    "time_share_low", "time_share_high", "best_tid", "chosen_tid", "best_kept", "best_kept_resampled", "best_chosen",
    "best_chosen_resampled", "regret_final", "regret_final_low", "regret_final_high", "regret_at_stop",
    "regret_at_stop_low", "regret_at_stop_high", "rho", "rho_low", "rho_high", "rho_n", "method",
]  # fmt: skip
METHOD = "bootstrap over networks, what the rule made of each held fixed, 95 %"
EXACT = "expectation over all draws; bootstrap over networks, 95 %"
RULE, CONTROL = "rule", "control"


@dataclass(frozen=True)
class Resampling:
    """Bootstrap draws of n networks: how often each is drawn, (B, n)."""

    counts: Floats

    @property
    def there(self) -> Flags:
        """Which networks a draw holds, (B, n)."""
        return self.counts > 0


def resampling(n: int, *, intervals: bool = True) -> Resampling:
    """The draws of a sample of n networks; the same n gives the same draws. Without `intervals`: none."""
    times = min(RESAMPLES, max(200, RESAMPLED_ROWS // n)) if n > 1 and intervals else 0
    draws = np.random.default_rng(SEED).multinomial(n, np.full(n, 1 / n), size=times) if times else np.zeros((0, n))
    return Resampling(draws.astype(np.float64))


def candidates(histories: Histories, outcome: Outcome, target: str) -> Floats:
    """The metric of each network where the rule ends it, (n,), higher is better; -inf where it is no candidate."""
    value = histories.signs[target] * histories.at(target, outcome.stop)
    return np.where(outcome.discarded | ~np.isfinite(value), -np.inf, value)


def finals(histories: Histories, target: str) -> Floats:
    """The final metric of each network, (n,), higher is better; -inf where it is undefined."""
    final = histories.signs[target] * histories.final[target]
    return np.where(np.isfinite(final), final, -np.inf)


def score(histories: Histories, outcome: Outcome, target: str, draws: Resampling, kind: str = RULE) -> dict[str, Any]:
    """One row of `COLUMNS`: the rule, judged by the metric `target`.

    The rule's choice is the candidate that is best where the rule ended it. Regret is how much worse it is than the
    best final value of all networks: `regret_final` when it is trained on to its end, `regret_at_stop` as it stands
    (negative where it stands above all final values). `rho`: Spearman between the values at the stop and the final
    ones over the networks that were ended early. `best_kept`: the best network was not discarded.
    """
    early = outcome.stop < histories.trained
    row: dict[str, Any] = {
        "rule": outcome.rule, "kind": kind, "label": outcome.label, "metric": outcome.metric, "target": target,
        "n": histories.n, "ended_early": int(early.sum()), "discarded": int(outcome.discarded.sum()),
        "too_short": int((~outcome.judged).sum()), "method": METHOD,
    }  # fmt: skip
    row |= savings(histories, outcome, draws) | choice(histories, outcome, target, draws)
    return row | order_kept(histories, outcome, target, draws)


def score_random(histories: Histories, control: RandomDiscarding, target: str, draws: Resampling) -> dict[str, Any]:
    """One row of `COLUMNS` for discarding at random: exact expectations; no order, as what is kept is final."""
    final = finals(histories, target)
    best = _first(final)
    expected = float(control.expected_best(final, np.ones((1, control.n)))[0]) if control.n else math.nan
    kept = math.nan if best is None else 1.0 - float(control.chance[best])
    row: dict[str, Any] = {
        "rule": "random", "kind": CONTROL, "label": control.label, "metric": "", "target": target, "n": control.n,
        "ended_early": control.discarded, "discarded": control.discarded, "too_short": int((~control.pool).sum()),
        "best_kept": kept, "best_chosen": kept, "best_kept_resampled": math.nan, "best_chosen_resampled": math.nan,
        "best_tid": _tid(histories, final), "chosen_tid": None, "method": EXACT,
        "rho": math.nan, "rho_low": math.nan, "rho_high": math.nan, "rho_n": 0,
    }  # fmt: skip
    row |= _savings(histories, control.saved(histories.trained.astype(np.float64)), draws)
    regrets = final[_first_there(final, draws.there)] - control.expected_best(final, draws.counts)
    regret = math.nan if best is None else _finite(float(final[best]) - expected)
    limits = _interval(np.where(np.isfinite(regrets), regrets, np.nan))
    return row | _named("regret_final", regret, limits) | _named("regret_at_stop", regret, limits)


def savings(histories: Histories, outcome: Outcome, draws: Resampling) -> dict[str, Any]:
    """The columns about epochs and device time that the rule did not spend."""
    return _savings(histories, (histories.trained - outcome.stop).astype(np.float64), draws)


def _savings(histories: Histories, saved: Floats, draws: Resampling) -> dict[str, Any]:
    """Epochs and device time that were not spent, and their share of what all networks cost."""
    seconds = histories.seconds_per_epoch
    total = float(histories.trained.sum())
    hours, all_hours = float((saved * seconds).sum() / 3600), float((histories.trained * seconds).sum() / 3600)
    if not histories.timed:
        hours = all_hours = math.nan
    row: dict[str, Any] = {"epochs_saved": float(saved.sum()), "hours_saved": hours}
    row |= _named("epochs_share", _ratio(saved.sum(), total), _shares(draws, saved, histories.trained))
    return row | _named(
        "time_share", _ratio(hours, all_hours), _shares(draws, saved * seconds, histories.trained * seconds)
    )


def _shares(draws: Resampling, part: Floats, whole: Floats | Ints) -> tuple[float, float]:
    if not len(draws.counts):
        return math.nan, math.nan
    with np.errstate(invalid="ignore", divide="ignore"):
        return rank.interval((draws.counts @ part) / (draws.counts @ whole))


def choice(histories: Histories, outcome: Outcome, target: str, draws: Resampling) -> dict[str, Any]:
    """The columns about the best network: kept or lost, chosen or not, and the regret."""
    final, candidate = finals(histories, target), candidates(histories, outcome, target)
    best, chosen = _first(final), _first(candidate)
    there = draws.there
    bests, choices = _first_there(final, there), _first_there(candidate, there)
    row: dict[str, Any] = {
        "best_tid": _tid(histories, final),
        "chosen_tid": _tid(histories, candidate),
        "best_kept": math.nan if best is None else float(not outcome.discarded[best]),
        "best_chosen": math.nan if best is None or chosen is None else float(final[chosen] == final[best]),
    }
    known = np.isfinite(final[bests]) if len(bests) else np.zeros(0, dtype=bool)
    some = known & (np.isfinite(candidate[choices]) if len(choices) else known)
    row["best_kept_resampled"] = _mean(~outcome.discarded[bests[known]])
    row["best_chosen_resampled"] = _mean(final[choices[some]] == final[bests[some]])
    for name, values in (("regret_final", final), ("regret_at_stop", candidate)):
        regret = math.nan if best is None or chosen is None else _finite(final[best] - values[chosen])
        regrets = np.where(some, final[bests] - values[choices], np.nan) if len(bests) else np.zeros(0)
        row |= _named(name, regret, _interval(np.where(np.isfinite(regrets), regrets, np.nan)))
    return row


def _first(values: Floats) -> int | None:
    """The place of the best of the values; the first of equal ones; None where all are -inf."""
    return int(values.argmax()) if len(values) and np.isfinite(values).any() else None


def _first_there(values: Floats, there: Flags) -> Ints:
    """The place of the best value among the networks of each draw, (B,)."""
    order = np.argsort(-values, kind="stable")
    return order[there[:, order].argmax(axis=1)] if len(there) else np.zeros(0, dtype=np.int64)


def _tid(histories: Histories, values: Floats) -> int | None:
    place = _first(values)
    return None if place is None else int(histories.tids[place])


def order_kept(histories: Histories, outcome: Outcome, target: str, draws: Resampling) -> dict[str, Any]:
    """Spearman of the values where the rule ended the networks and their final ones, of those ended early."""
    stopped, final = histories.at(target, outcome.stop), histories.final[target]
    both = (outcome.stop < histories.trained) & np.isfinite(stopped) & np.isfinite(final)
    columns, n = np.column_stack([stopped[both], final[both]]), int(both.sum())
    if n < 4:
        return _named("rho", math.nan, (math.nan, math.nan)) | {"rho_n": n}
    rho = float(rank.correlation_matrix(columns)[0, 1])
    if not len(draws.counts):
        return _named("rho", rho, (math.nan, math.nan)) | {"rho_n": n}
    resampled = rank.resampled_matrices(columns, draws.counts[:, both])[:, 0, 1]
    return _named("rho", rho, rank.interval(resampled)) | {"rho_n": n}


def _named(name: str, value: float, limits: tuple[float, float]) -> dict[str, Any]:
    return {name: value, f"{name}_low": limits[0], f"{name}_high": limits[1]}


def _interval(values: Floats) -> tuple[float, float]:
    return rank.interval(values) if len(values) else (math.nan, math.nan)


def _ratio(part: float, whole: float) -> float:
    return float(part / whole) if whole > 0 else math.nan


def _finite(value: float) -> float:
    return float(value) if math.isfinite(value) else math.nan


def _mean(flags: Flags) -> float:
    return float(flags.mean()) if len(flags) else math.nan
