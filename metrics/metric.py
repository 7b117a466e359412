"""What a metric is: how its number is read, and the function that measures it.

A metric sees a network as arrays in, arrays out, and may come from any package: docs/metrics.md shows how one is added.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from metrics.errors import MetricError
from metrics.gazoobian.objects import ObjectSet
from metrics.matching_trials import MatchingTrials
from metrics.rdm import FloatArray

NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
OK, DIVERGED, UNDEFINED = "ok", "diverged", "undefined"


class Network(Protocol):
    """A trained network. Between its batches a trial may be stopped, which raises: let that pass."""

    @property
    def layers(self) -> int:
        """How many layers it has."""

    def features(
        self, images: NDArray[np.uint8], *, frames: int = 5, layers: Sequence[int] | None = None
    ) -> Iterator[tuple[int, int, NDArray[np.float32]]]:
        """(t, layer, features (n, d)) of `images` (n, H, W, 3) shown as static clips, step by step, t = 1..frames-1.

        `layers` from 0; None: all. Features are never all in memory.
        """

    def top_features(self, images: NDArray[np.uint8], *, frames: int = 5) -> NDArray[np.float32]:
        """Features of the top layer, (frames - 1, n, d)."""

    def predict(self, clips: NDArray[np.uint8]) -> NDArray[np.float32]:
        """What the network expects each frame of `clips` (b, T, H, W, 3) to be, from 0 to 1; t = 0 means nothing."""


class Windows(Protocol):
    """The fixed clips on which the next-frame error of every network is measured."""

    def __len__(self) -> int: ...

    def take(self, indices: NDArray[np.int64]) -> NDArray[np.uint8]:
        """The clips of these numbers, (b, T, H, W, 3) uint8."""


class Inputs(Protocol):
    """What all networks of a search are measured on, at the size of its frames; nothing of it may be modified."""

    @property
    def stimulus_images(self) -> NDArray[np.uint8]:
        """The stimuli of HMS, (n, H, W, 3)."""

    @property
    def stimulus_labels(self) -> tuple[str, ...]:
        """Their labels, (n,): the order of every RDM here."""

    @property
    def human_rdm(self) -> FloatArray:
        """The mean human RDM, (n, n)."""

    @property
    def references(self) -> Mapping[str, FloatArray]:
        """Further reference RDMs by name, (n, n) each; higher = more different, of any unit."""

    @property
    def stimulus_frames(self) -> int:
        """Frames for which a stimulus is shown."""

    @property
    def windows(self) -> Windows:
        """Clips of held-out video."""

    @property
    def objects(self) -> ObjectSet:
        """Images of objects."""

    @property
    def trials(self) -> MatchingTrials:
        """Object-matching trials over `objects`."""

    @property
    def object_frames(self) -> int:
        """Frames for which an object is shown."""


Measure = Callable[[Network, Inputs], Mapping[str, Any]]


@dataclass(frozen=True)
class Metric:
    """How to read and measure one metric. `low` and `high` bound its values; infinity where there is no bound.

    name: its column in every table, a lower-case identifier. label: in words. unit: without the range.
    citation: what defines it.
    measure: gives the columns of a row: `name` (a number, or None where it is undefined), `name_status` ("ok", or why
    there is no number: "undefined", "undefined_..." or "diverged"; may be left out), and any further `name_...` with a
    number, a text or None. A NaN or infinity becomes None and "diverged". None: another metric measures this column.
    title: short, for columns of tables (default: the label). digits: shown after the point.
    more: further columns, whose names do not begin with its own; only these may hold arrays, which stay out of tables.
    timed_as: its seconds are the column `seconds_TIMED_AS` (default: the name).
    Raises MetricError for a name or range that is none.
    """

    name: str
    label: str
    unit: str
    higher_is_better: bool
    low: float
    high: float
    citation: str
    measure: Measure | None = None
    title: str = ""
    digits: int = 3
    more: tuple[str, ...] = ()
    timed_as: str = ""

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            raise MetricError(
                f"{self.name!r} is no name of a metric: lower-case letters, digits and `_`, a letter first, at most 40."
            )
        if not self.low < self.high:
            raise MetricError(f"{self.name}: low is {self.low} and high {self.high}; low must be less than high.")

    @property
    def short(self) -> str:
        """The title of its column."""
        return self.title or self.label

    @property
    def axis(self) -> str:
        """The title of an axis: `MSE (squared intensity, 0–1)`."""
        if self.short.endswith(")"):
            return f"{self.short}, {self.unit}" if self.unit else self.short
        return f"{self.short} ({self.unit})" if self.unit else self.short

    @property
    def direction(self) -> str:
        """`higher is better, -1..1`, or `lower is better, from 0` where one end has no bound."""
        better = f"{'higher' if self.higher_is_better else 'lower'} is better"
        match math.isfinite(self.low), math.isfinite(self.high):
            case True, True:
                return f"{better}, {self.low:g}..{self.high:g}"
            case True, False:
                return f"{better}, from {self.low:g}"
            case False, True:
                return f"{better}, up to {self.high:g}"
        return better

    @property
    def part(self) -> str:
        """The part of the evaluation by which its seconds are counted."""
        return self.timed_as or self.name

    @property
    def sign(self) -> int:
        """1 where higher is better, else -1: `sign * value` is better where higher."""
        return 1 if self.higher_is_better else -1

    def owns(self, column: str) -> bool:
        """Whether a column of a row is its own."""
        return column == self.name or column.startswith(f"{self.name}_") or column in self.more

    def description(self) -> dict[str, Any]:
        """Plain values for tables and stores: all but the function; None where there is no bound."""
        facts = {key: value for key, value in asdict(self).items() if key not in ("measure", "more")}
        return facts | {end: facts[end] if math.isfinite(facts[end]) else None for end in ("low", "high")}

    @classmethod
    def from_description(cls, facts: Mapping[str, Any]) -> "Metric":
        """The metric that `description` described, to be read and not measured; unknown keys are ignored."""
        known = {key: value for key, value in facts.items() if key in cls.__dataclass_fields__ and value is not None}
        ends = {"low": -math.inf, "high": math.inf} | {key: known[key] for key in ("low", "high") if key in known}
        return cls(**{**known, **ends})


def checked(metric: Metric, columns: Any) -> dict[str, Any]:
    """What `metric` measured, as a row: its value a finite float or None, its status a text.

    Raises MetricError, naming the metric, for what is no row of it.
    """
    if not isinstance(columns, Mapping) or metric.name not in columns:
        given = sorted(map(str, columns)) if isinstance(columns, Mapping) else repr(columns)[:80]
        raise MetricError(f"metric `{metric.name}` must give a mapping with the key `{metric.name}`, gave {given}.")
    row = {str(key): _plain(metric, str(key), value) for key, value in columns.items()}
    value, status = row[metric.name], row.get(f"{metric.name}_status")
    if isinstance(value, str):
        raise MetricError(f"metric `{metric.name}` gave the text {value[:80]!r} in place of a number.")
    if value is not None and not math.isfinite(value):
        return row | {metric.name: None, f"{metric.name}_status": DIVERGED}
    if value is not None and not metric.low - 1e-9 <= value <= metric.high + 1e-9:
        raise MetricError(f"metric `{metric.name}` gave {value:g}, which is outside {metric.low:g}..{metric.high:g}.")
    if status is None:
        status = UNDEFINED if value is None else OK
    if not isinstance(status, str) or (status == OK) != (value is not None) or not is_status(status):
        raise MetricError(
            f"metric `{metric.name}` gave the value {value} with the status {status!r}: `ok` goes with a number, "
            "`undefined`, `undefined_...` and `diverged` with None."
        )
    return row | {f"{metric.name}_status": status}


def is_status(status: str) -> bool:
    """Whether a text is a status of a metric."""
    return status in (OK, DIVERGED, UNDEFINED) or status.startswith(f"{UNDEFINED}_")


def _plain(metric: Metric, column: str, value: Any) -> Any:
    if not metric.owns(column):
        raise MetricError(f"metric `{metric.name}` gave the column `{column}`: its columns begin with {metric.name}_.")
    if value is None or isinstance(value, str) or (column in metric.more and isinstance(value, np.ndarray)):
        return value
    scalar = np.asarray(value)
    if scalar.shape != () or scalar.dtype.kind not in "fiub":
        raise MetricError(f"metric `{metric.name}`, column `{column}`: {repr(value)[:80]} is no number, text or None.")
    return float(scalar) if scalar.dtype.kind == "f" else scalar.item()
