"""Several searches beside each other: differences of their metrics, trials that both sampled, what each cost."""

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from search.report.analysis import Analysis
from search.report.comparable import obstacles
from search.report.differences import delta_in_words, difference, paired_difference
from search.report.tables import SearchTables

DIFFERENCES = [
    "metric", "first", "second", "n_first", "n_second", "median_first", "median_second", "difference", "ci_low",
    "ci_high", "p", "p_bonferroni", "family_size", "cliffs_delta", "delta_low", "delta_high", "effect", "unit",
    "reason",
]  # fmt: skip
PAIRED = [
    "metric", "first", "second", "pairs", "median_difference", "ci_low", "ci_high", "spearman", "best_first",
    "place_in_second",
]  # fmt: skip


@dataclass(frozen=True)
class SideBySide:
    """analyses by label: the search's name, numbered where two have the same.

    differences: columns `DIFFERENCES`, one row a metric and pair of searches; not comparable: `reason`, and no numbers
    but the medians. paired: columns `PAIRED`, of trials with the same number and hyperparameters in both.
    """

    analyses: dict[str, Analysis]
    differences: pd.DataFrame
    paired: pd.DataFrame

    @property
    def metrics(self) -> list[str]:
        """The metrics that at least two of the searches measured, in the first's order."""
        return shared_metrics(list(self.analyses.values()))


def side_by_side(analyses: list[Analysis]) -> SideBySide:
    """Compare every pair of searches; second less first."""
    named = dict(zip(_labels([analysis.tables.record.name for analysis in analyses]), analyses, strict=True))
    pairs = list(combinations(named, 2))
    rows = [_difference(named, pair, metric) for metric in shared_metrics(analyses) for pair in pairs]
    table = pd.DataFrame([row for row in rows if row is not None], columns=DIFFERENCES)
    family = int(table["p"].notna().sum())
    table["family_size"] = family
    table["p_bonferroni"] = (table["p"].astype(float) * family).clip(upper=1.0)
    return SideBySide(named, table, _paired_table(named, pairs))


def shared_metrics(analyses: list[Analysis]) -> list[str]:
    """The metrics that at least two searches measured."""
    measured = [metric for analysis in analyses for metric in analysis.defined.sample.measured]
    return [metric for metric in dict.fromkeys(measured) if measured.count(metric) > 1]


def _labels(names: list[str]) -> list[str]:
    counts: dict[str, int] = {}
    labels = []
    for name in names:
        counts[name] = counts.get(name, 0) + 1
        labels.append(name if names.count(name) == 1 else f"{name} ({counts[name]})")
    return labels


def _difference(named: dict[str, Analysis], pair: tuple[str, str], metric: str) -> dict[str, Any] | None:
    first, second = (named[label] for label in pair)
    if not all(metric in analysis.defined.sample.measured for analysis in (first, second)):
        return None
    samples = [analysis.defined.rows for analysis in (first, second)]
    values = [sample.frame[metric].to_numpy(dtype=np.float64) for sample in samples]
    found = difference(*values)
    row: dict[str, Any] = {
        "metric": metric, "first": pair[0], "second": pair[1], "n_first": found.n_first, "n_second": found.n_second,
        "median_first": found.median_first, "median_second": found.median_second,
        "unit": " and ".join(dict.fromkeys(f"{sample.unit}s" for sample in samples)),
    }  # fmt: skip
    why = obstacles(first.tables.record, second.tables.record, metric)
    if why:
        return row | {"reason": "not comparable: " + "; ".join(why)}
    adaptive = [label for label, analysis in zip(pair, (first, second), strict=True) if not analysis.random_sample]
    paired = len(same_trials(first.tables, second.tables)) > 0
    notes = [
        found.reason,
        "the same points in both: see the pairs" if paired else "",
        *(f"`{label}` is an adaptive or truncated sample: no test" for label in adaptive),
    ]
    return row | {
        "difference": found.difference, "ci_low": found.low, "ci_high": found.high,
        "p": np.nan if adaptive or paired else found.p, "cliffs_delta": found.delta, "delta_low": found.delta_low,
        "delta_high": found.delta_high, "effect": delta_in_words(found.delta),
        "reason": "; ".join(note for note in notes if note),
    }  # fmt: skip


def _paired_table(named: dict[str, Analysis], pairs: list[tuple[str, str]]) -> pd.DataFrame:
    rows = []
    for one, other in pairs:
        first, second = named[one].tables, named[other].tables
        both = same_trials(first, second)
        for metric in shared_metrics([named[one], named[other]]):
            columns = both[[f"{metric}_first", f"{metric}_second"]].dropna()
            if obstacles(first.record, second.record, metric) or columns.empty:
                continue
            middle, low, high, rho = paired_difference(*(columns[name].to_numpy() for name in columns))
            ascending = not first.metrics[metric].higher_is_better
            places = columns.rank(ascending=ascending, method="min")
            best = columns.index[int(places.iloc[:, 0].argmin())]
            rows.append(
                {"metric": metric, "first": one, "second": other, "pairs": len(columns), "median_difference": middle}
                | {"ci_low": low, "ci_high": high, "spearman": rho, "best_first": int(best)}
                | {"place_in_second": int(places.loc[best].iloc[1])}
            )
    return pd.DataFrame(rows, columns=PAIRED)


def same_trials(first: SearchTables, second: SearchTables) -> pd.DataFrame:
    """Finished trials of the same number and hyperparameters in both; columns end in `_first` or `_second`, by tid.

    Planned epochs may differ, and the seeds are the same where both searches have the same one.
    """
    shared = [name for name in first.parameters if name in second.parameters and name != "param.epochs"]
    same = {*first.parameters} - {"param.epochs"} == {*second.parameters} - {"param.epochs"}
    both = first.finished.merge(second.finished, on="tid", suffixes=("_first", "_second")).set_index("tid")
    equal = [(both[f"{name}_first"] == both[f"{name}_second"]).to_numpy() for name in shared]
    return both[np.logical_and.reduce(equal)] if same and equal else both.iloc[:0]
