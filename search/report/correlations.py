"""`correlations.csv`: Spearman between metrics and hyperparameters, plain and partial, with their families."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from search.report import rank_correlation as rank
from search.report.factors import TRAINED, Factor, factors
from search.report.sample import Sample

COLUMNS = [
    "x", "y", "n", "rho", "ci_low", "ci_high", "p", "p_bonferroni", "family_size", "method", "controls",
    "epoch_rule", "excluded", "reason",
]  # fmt: skip
LEARNING_RATE = "param.learning_rate"
DISREGARDED_BELOW = 0.2  # between two metrics, as in the paper, even where significant
RESAMPLES = 1000
SEED = 92

NO_CONTROLS, CONTROL_RATE, CONTROL_ALL = "none", "learning rate", "all hyperparameters"


@dataclass(frozen=True)
class _Variables:
    names: list[str]
    metrics: list[str]
    factors: list[Factor]
    columns: np.ndarray  # (n, V) float64
    matrix: np.ndarray  # (V, V)
    draws: np.ndarray  # (B, V, V)

    def constant(self, name: str) -> bool:
        return bool(np.ptp(self.columns[:, self.names.index(name)]) == 0)

    def factor(self, name: str) -> Factor:
        """The hyperparameter of that name; one that says nothing where it is a metric's."""
        return next((factor for factor in self.factors if factor.name == name), Factor(name))


def correlations(sample: Sample, *, random_sample: bool, resamples: int = RESAMPLES, seed: int = SEED) -> pd.DataFrame:
    """All tested pairs of a sample; columns are `COLUMNS`, one row a pair and set of controls.

    Three families: no controls, controlling the learning rate, controlling all (other) hyperparameters; Bonferroni
    multiplies by the number of defined coefficients of the row's family. Without a random sample p stays empty.
    Intervals: percentile bootstrap over the sample's rows, 95 %. A hyperparameter of two categories counts as 0 and 1;
    one of more has no order, hence no coefficient, but is controlled for (an indicator each).
    """
    variables = _variables(sample, resamples, seed)
    if variables is None:
        return pd.DataFrame(columns=COLUMNS)
    rows: list[dict[str, Any]] = []
    for controls_name in (NO_CONTROLS, CONTROL_RATE, CONTROL_ALL):
        tested = [(x, y, _controls(variables, x, y, controls_name)) for x, y in _pairs(variables)]
        family = [_row(sample, variables, x, y, given) for x, y, given in tested if given is not None]
        size = sum(math.isfinite(row["rho"]) for row in family)
        for row in family:
            p = row["p"] if random_sample else math.nan
            reasons = [row["reason"], "" if random_sample else "adaptive or truncated sample: descriptive only"]
            rows.append(
                row
                | {"p": p, "p_bonferroni": min(1.0, p * size) if math.isfinite(p) else math.nan}
                | {"family_size": size, "reason": "; ".join(text for text in reasons if text)}
            )
    return pd.DataFrame(rows, columns=COLUMNS)


def _variables(sample: Sample, resamples: int, seed: int) -> _Variables | None:
    metrics = list(sample.measured)
    if not metrics or sample.n == 0:
        return None
    given = {factor.name: factor for factor in factors(sample.frame)}
    planned = given["param.epochs"].columns if "param.epochs" in given else {}
    if planned and np.array_equal(planned["param.epochs"], given[TRAINED].columns[TRAINED]):
        del given[TRAINED]
    coded = {name: column for factor in given.values() for name, column in factor.columns.items()}
    values = [sample.frame[metric].to_numpy(dtype=np.float64) for metric in metrics]
    columns = np.column_stack([*values, *coded.values()])
    draws = rank.bootstrap_matrices(columns, resamples=resamples, seed=seed)
    names, matrix = [*metrics, *coded], rank.correlation_matrix(columns)
    return _Variables(names, metrics, list(given.values()), columns, matrix, draws)


def _pairs(variables: _Variables) -> list[tuple[str, str]]:
    metrics = variables.metrics
    between = [(x, y) for i, x in enumerate(metrics) for y in metrics[i + 1 :]]
    return between + [(metric, factor.name) for factor in variables.factors for metric in metrics]


def _controls(variables: _Variables, x: str, y: str, controls_name: str) -> list[str] | None:
    """Names to control for, empty for a plain coefficient; None where that family does not have this pair."""
    if controls_name == NO_CONTROLS:
        return []
    if variables.factor(y).why_not:
        return None
    varying = [name for name in variables.names if name.startswith("param.") and not variables.constant(name)]
    if controls_name == CONTROL_RATE:
        return [LEARNING_RATE] if LEARNING_RATE in varying and LEARNING_RATE not in (x, y) else None
    others = [name for name in varying if name not in (x, y)]
    return others if others and others != [LEARNING_RATE] else None


def _row(sample: Sample, variables: _Variables, x: str, y: str, controls: list[str]) -> dict[str, Any]:
    n, factor, exact = sample.n, variables.factor(y), not controls and sample.n <= rank.EXACT_UP_TO
    reason = factor.why_not or _why_undefined(variables, x, y, n)
    found = dict.fromkeys(("rho", "ci_low", "ci_high", "p"), math.nan)
    if not reason:
        found, reason = _coefficient(variables, x, y, controls, exact=exact)
    coding = f"{y.removeprefix('param.')}: {factor.coding}" if factor.coding else ""
    notes = [reason, coding, sample.reason and f"excluded: {sample.reason}"]
    return found | {
        "x": x, "y": y, "n": n,
        "method": _method(sample, partial=bool(controls), exact=exact),
        "controls": " ".join(controls) or NO_CONTROLS,
        "epoch_rule": sample.rule.name, "excluded": " ".join(map(str, sample.excluded)),
        "reason": "; ".join(note for note in notes if note),
    }  # fmt: skip


def _coefficient(
    variables: _Variables, x: str, y: str, controls: list[str], *, exact: bool
) -> tuple[dict[str, float], str]:
    """rho, its interval and p, NaN where undefined, with the reason for that."""
    index, n = variables.names.index, len(variables.columns)
    i, j, given = index(x), index(y), [index(name) for name in controls]
    found = dict.fromkeys(("rho", "ci_low", "ci_high", "p"), math.nan)
    degrees = n - 2 - rank.controls_rank(variables.matrix, given)
    if degrees < 1:
        return found, "fewer values than controls need"
    rho = float(rank.partial(variables.matrix, i, j, given))
    if not math.isfinite(rho):
        return found, "determined by the controls"
    low, high = rank.interval(rank.partial(variables.draws, i, j, given))
    columns = variables.columns
    p = rank.exact_p_value(columns[:, i], columns[:, j]) if exact else rank.t_p_value(rho, degrees, n)
    return {"rho": rho, "ci_low": low, "ci_high": high, "p": p}, ""


def _method(sample: Sample, *, partial: bool, exact: bool) -> str:
    test = "partial spearman, t" if partial else f"spearman, {'exact permutation' if exact else 't'}"
    unit = " of point means" if sample.unit == "point" else ""
    return test + unit + (", undefined scored" if sample.undefined_scored else "")


def _why_undefined(variables: _Variables, x: str, y: str, n: int) -> str:
    constant = [name for name in (x, y) if variables.constant(name)]
    if n < 4:
        return "fewer than 4 values"
    return f"constant: {', '.join(constant)}" if constant else ""
