"""The curves of one trial as SVG: small, without a script, on axes that all trials of the search share.

Colours are CSS variables, so that the drawing follows the page's scheme.
"""

import math
from dataclasses import dataclass
from html import escape

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from search.report.figures.curves import quantiles
from search.report.figures.style import is_wide
from search.report.palette import tokens
from search.report.tables import SearchTables
from search.report.wording import significant

WIDTH, HEIGHT = 340, 210  # of a drawing, in its own units
LEFT, RIGHT, TOP, BOTTOM = 52, 8, 10, 34
TICKS = 4
"""About so many on an axis."""
LOSSES = {"train_loss": "Training loss", "val_loss": "Validation loss"}


@dataclass(frozen=True)
class Axis:
    """A span of values on `length` units from `start`; `log`: evenly in the logarithm."""

    low: float
    high: float
    start: float
    length: float
    log: bool = False

    def place(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Where values stand on the drawing."""
        low, high = (math.log10(self.low), math.log10(self.high)) if self.log else (self.low, self.high)
        scaled = np.log10(values) if self.log else values
        return self.start + (scaled - low) / (high - low) * self.length

    @property
    def ticks(self) -> list[float]:
        """Round values within the span."""
        if self.log:
            decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            steps = (1, 2, 5) if self.high < 1000 * self.low else (1,)
            chosen = [step * 10.0**decade for decade in decades for step in steps]
        else:
            step = _round_step((self.high - self.low) / TICKS)
            chosen = [step * i for i in range(math.ceil(self.low / step), math.floor(self.high / step) + 1)]
        return [float(f"{tick:.6g}") for tick in chosen if self.low <= tick <= self.high]


@dataclass(frozen=True)
class Panel:
    """One metric, or loss: its axes and what all trials' drawings have under the curve."""

    name: str
    title: str
    colour: str
    x: Axis
    y: Axis
    under: str

    def draw(self, epochs: NDArray[np.float64], values: NDArray[np.float64], tid: int) -> str:
        """The curve of a trial, a gap where a value is undefined; its first and last value are the text of it."""
        known = np.isfinite(values) & (values > 0 if self.y.log else True)
        if not known.any():
            return ""
        first, last = np.flatnonzero(known)[[0, -1]]
        told = (
            f"{self.title} of trial {tid}: {significant(values[first])} at epoch {epochs[first]:.0f}, "
            f"{significant(values[last])} at epoch {epochs[last]:.0f}"
        )
        x, y = self.x.place(epochs), self.y.place(np.where(known, values, 1.0))
        runs = np.split(np.arange(len(values)), np.flatnonzero(np.diff(known)) + 1)
        lines = "".join(f'<path d="{_path(x[run], y[run])}" class="own"/>' for run in runs if known[run[0]])
        mark = f'<circle cx="{x[last]:.1f}" cy="{y[last]:.1f}" r="3.5" class="end"/>'
        head = f'viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(told)}"'
        return f'<svg {head} style="--own:var(--{self.colour})">{self.under}{lines}{mark}</svg>'


def panels(tables: SearchTables) -> list[Panel]:
    """One panel a metric that any trial has, and the losses; all trials' curves lie behind, as a band."""
    epochs = tables.epochs
    titles = {name: (metric.short, metric.axis) for name, metric in tables.metrics.items()}
    titles |= {name: (title, title) for name, title in LOSSES.items() if name in epochs}
    colours = tokens(tables.metrics) | dict.fromkeys(LOSSES, "ink")
    return [
        _panel(epochs, name, title, label, colours[name])
        for name, (title, label) in titles.items()
        if np.isfinite(epochs[name].astype(float)).any()
    ]


def _panel(epochs: pd.DataFrame, name: str, title: str, label: str, colour: str) -> Panel:
    values = epochs[name].astype(float)
    values = values[np.isfinite(values)]
    log = name not in ("hms", "accuracy") and is_wide(values)
    low, high = float(values.min()), float(values.max())
    margin = 0.0 if log else 0.04 * ((high - low) or abs(high) or 1.0)
    x = Axis(0.0, max(1.0, float(epochs["epoch"].max())), LEFT, WIDTH - LEFT - RIGHT)
    y = Axis(low - margin, high * 1.0001 if log else high + margin, HEIGHT - BOTTOM, -(HEIGHT - TOP - BOTTOM), log)
    return Panel(name, title, colour, x, y, _under(epochs, name, label, x, y))


def _under(epochs: pd.DataFrame, name: str, label: str, x: Axis, y: Axis) -> str:
    """Grid, ticks and titles, and the band of all trials."""
    parts = []
    for tick, place in zip(y.ticks, y.place(np.array(y.ticks)), strict=True):
        parts.append(f'<path d="M{LEFT} {place:.1f}H{WIDTH - RIGHT}" class="grid"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{place + 4:.1f}" class="right">{escape(significant(tick))}</text>')
    for tick, place in zip(x.ticks, x.place(np.array(x.ticks)), strict=True):
        parts.append(
            f'<text x="{place:.1f}" y="{HEIGHT - BOTTOM + 15}" class="middle">{escape(significant(tick))}</text>'
        )
    parts.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 4}" class="middle">Epoch</text>')
    middle = (HEIGHT - BOTTOM + TOP) / 2
    parts.append(f'<text transform="translate(11 {middle}) rotate(-90)" class="middle">{escape(label)}</text>')
    table = quantiles(epochs, name)
    if len(table) > 1:
        across = x.place(table.index.to_numpy(dtype=np.float64))
        low, half, high = (y.place(table[share].to_numpy()) for share in (0.1, 0.5, 0.9))
        parts.append(f'<path d="{_path(np.r_[across, across[::-1]], np.r_[low, high[::-1]])}Z" class="band"/>')
        parts.append(f'<path d="{_path(across, half)}" class="median"/>')
    return "".join(parts)


def _path(x: NDArray[np.float64], y: NDArray[np.float64]) -> str:
    return "M" + "L".join(f"{left:.1f} {top:.1f}" for left, top in zip(x.tolist(), y.tolist(), strict=True))


def _round_step(least: float) -> float:
    """1, 2 or 5 times a power of ten, the first that is not below `least`."""
    decade = 10.0 ** math.floor(math.log10(least))
    return next(step * decade for step in (1, 2, 5, 10) if step * decade >= least * (1 - 1e-9))
