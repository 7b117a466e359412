"""Everything that a report says about early stopping, computed once from a search's tables."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import pandas as pd

from search.metric_sections import StoppingSection
from search.report import paper
from search.report.early_stopping import budget, controls, holds, scores, sensitivity, thresholds
from search.report.early_stopping.histories import Histories, cut_short, histories
from search.report.early_stopping.outcome import Outcome, unstopped
from search.report.early_stopping.pruning import asha, median_pruning
from search.report.early_stopping.rules import limits_of_others, stability, threshold
from search.report.tables import SearchTables

CUT_UP_TO = 0.1  # of the finished networks; with more, the rest is what the search's own rule left over, no sample
ASHA_FACTORS = (2, 4)
SDS = (0.0, 1.0)  # the paper's 0.161 is 1 SD above the mean of its 95


@dataclass(frozen=True)
class EarlyStopping:
    """The analysis of one search; the tables are empty where a replay is not possible.

    networks: finished and evaluated; cut: ended by the search's own rule before their planned epochs; usable: the rest.
    settings: the stability rule that is replayed. guide: the metric that a search looks for.
    stabilisation: one row a network and metric (`holds.NETWORK_COLUMNS`), of all networks.
    """

    settings: StoppingSection
    guide: str
    networks: int
    cut: int
    usable: Histories
    stabilisation: pd.DataFrame
    rules: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=scores.COLUMNS))
    thresholds: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=thresholds.COLUMNS))
    budget: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=budget.COLUMNS))
    holds: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=holds.COLUMNS))
    sensitivity: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=sensitivity.COLUMNS))

    @property
    def possible(self) -> bool:
        """Whether rules can be replayed: some runs are whole, and those that are not are few."""
        return self.usable.n > 0 and self.cut <= CUT_UP_TO * self.networks and bool(self.usable.metrics)

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """The tables by the name of their file."""
        return {
            "early_stopping_rules": self.rules,
            "early_stopping_thresholds": self.thresholds,
            "early_stopping_budget": self.budget,
            "early_stopping_sensitivity": self.sensitivity,
            "stability_holds": self.holds,
            "stabilisation": self.stabilisation,
        }


def early_stopping(tables: SearchTables) -> EarlyStopping:
    """Replay the rules on the runs that were not cut short; about a second for 2,000 networks of 30 evaluations."""
    every_network = histories(tables)
    cut = cut_short(tables, every_network.tids)
    usable, settings = every_network.where(~cut), replayed_settings(tables, every_network.every)
    guide = str((tables.record.config.get("search") or {}).get("guide") or "hms")
    guide = guide if guide in usable.metrics else next(iter(usable.metrics), "hms")
    stabilisation = [holds.networks(every_network, metric, settings) for metric in every_network.metrics]
    found = EarlyStopping(
        settings=settings,
        guide=guide,
        networks=every_network.n,
        cut=int(cut.sum()),
        usable=usable,
        stabilisation=pd.concat(stabilisation) if stabilisation else pd.DataFrame(columns=holds.NETWORK_COLUMNS),
    )
    return _replayed(found) if found.possible else found


def replayed_settings(tables: SearchTables, every: int) -> StoppingSection:
    """The search's stability rule, or the default where it had none; its window in whole steps of evaluation."""
    known = {k: v for k, v in tables.record.stopping.items() if k in StoppingSection.model_fields and k != "rule"}
    settings = StoppingSection(**known)
    if settings.window % every:
        settings = settings.model_copy(update={"window": (paper.WINDOW_POINTS - 1) * every})
    return settings


def outcomes(usable: Histories, target: str, settings: StoppingSection) -> Iterator[Outcome]:
    """The rules that are compared where networks are judged by `target`."""
    yield unstopped(usable)
    for metric in usable.metrics:
        yield stability(usable, metric, settings, f"{usable.titles[metric]} stable")
    final, sign, title = usable.final[target], usable.signs[target], usable.titles[target]
    for k in SDS:
        limits = limits_of_others(final, k, sign, settings.threshold_after)
        limit = f"mean {'+' if sign > 0 else '−'} {k:g} SD" if k else "mean"
        yield threshold(usable, target, settings, limits, f"{title} threshold: {limit}")
    if target == "hms":
        yield threshold(usable, target, settings, paper.THRESHOLD, f"{title} threshold: {paper.THRESHOLD}")
    yield median_pruning(usable, target, f"{title} median pruning")
    for factor in ASHA_FACTORS:
        yield asha(usable, target, f"{title} ASHA, best 1/{factor}", first_rung=usable.every, factor=factor)


def _replayed(found: EarlyStopping) -> EarlyStopping:
    usable, settings, guide = found.usable, found.settings, found.guide
    draws = scores.resampling(usable.n)
    rows, curves = [], []
    drawn = budget.orders(usable.n)
    for outcome in outcomes(usable, guide, settings):
        rows += scored(usable, outcome, guide, draws)
        curves += _curves(usable, outcome, guide, drawn)
    for target in (metric for metric in usable.metrics if metric != guide):
        rows += [scores.score(usable, outcome, target, draws) for outcome in outcomes(usable, target, settings)]
    return replace(
        found,
        rules=pd.DataFrame(rows, columns=scores.COLUMNS),
        budget=pd.concat(curves, ignore_index=True),
        thresholds=thresholds.curve(usable, guide, settings, draws),
        holds=pd.DataFrame([holds.summary(usable, m, settings) for m in usable.metrics], columns=holds.COLUMNS),
        sensitivity=pd.concat([sensitivity.sensitivity(usable, m, settings) for m in usable.metrics]),
    )


def scored(usable: Histories, outcome: Outcome, target: str, draws: scores.Resampling) -> list[dict[str, object]]:
    """One rule, and its controls, named after it."""
    rule = scores.score(usable, outcome, target, draws)
    if outcome.rule == "none":
        return [rule]
    fixed = controls.same_saving_at_one_epoch(usable, outcome)
    rows = [
        scores.score(usable, fixed, target, draws, scores.CONTROL),
        scores.score_random(usable, controls.same_number_at_random(usable, outcome), target, draws),
    ]
    return [rule, *(row | {"control_of": outcome.label} for row in rows)]


def _curves(usable: Histories, outcome: Outcome, target: str, drawn: budget.Orders) -> list[pd.DataFrame]:
    """Equal-budget curves of one rule and of its controls."""
    named = {"rule": outcome.rule, "kind": scores.RULE, "label": outcome.label}
    found = [(budget.rule_curve(usable, outcome, target, drawn), named)]
    if outcome.rule != "none":
        fixed = controls.same_saving_at_one_epoch(usable, outcome)
        chance = controls.same_number_at_random(usable, outcome)
        named = {"rule": fixed.rule, "kind": scores.CONTROL, "label": fixed.label, "control_of": outcome.label}
        found.append((budget.rule_curve(usable, fixed, target, drawn), named))
        named = {"rule": "random", "kind": scores.CONTROL, "label": chance.label, "control_of": outcome.label}
        found.append((budget.random_curve(usable, chance, target, drawn), named))
    return [budget.described(curve, usable, target, names) for curve, names in found]
