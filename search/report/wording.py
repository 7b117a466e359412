"""Numbers and durations as text for people: proper minus signs, units, a dash where there is no value."""

import math
from datetime import datetime
from typing import Any

NOTHING = "–"


def number(value: Any, digits: int = 3) -> str:
    """Fixed `digits` after the point; the dash for None and NaN."""
    if not _known(value):
        return NOTHING
    return f"{float(value):.{digits}f}".replace("-", "−")


def significant(value: Any, digits: int = 3) -> str:
    """`digits` significant digits, for values of any size (learning rates); whole numbers below a million in full."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return value
    if not _known(value):
        return NOTHING
    if float(value).is_integer() and abs(value) < 1e6:
        return f"{int(value)}".replace("-", "−")
    return f"{float(value):.{digits}g}".replace("e-0", "e-").replace("-", "−")


def mean_sd(mean: Any, sd: Any) -> str:
    """`0.106 (0.055)`; without SD the mean alone."""
    return f"{number(mean)} ({number(sd)})" if _known(sd) else number(mean)


def p_value(value: Any) -> str:
    """Three decimals, or `< 0.001`."""
    if not _known(value):
        return NOTHING
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def interval(low: Any, high: Any) -> str:
    """`[−0.85, −0.57]`; empty without limits."""
    return f"[{number(low, 2)}, {number(high, 2)}]" if _known(low) and _known(high) else ""


def duration(seconds: Any) -> str:
    """Seconds in the unit that suits them: `48 s`, `7.5 min`, `3.2 h`, `4.1 d`."""
    if not _known(seconds):
        return NOTHING
    for size, unit in ((2 * 86400, "d"), (5400, "h"), (120, "min")):
        if seconds >= size:
            return f"{seconds / {'d': 86400, 'h': 3600, 'min': 60}[unit]:.1f} {unit}"
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"


def moment(value: str | None) -> str:
    """A point in time to the second, `2024-01-01 12:00:00 UTC`; text that is none stays as it is."""
    if not value:
        return NOTHING
    try:
        parsed = datetime.fromisoformat(value)
    except ValueError:
        return value
    return f"{parsed:%Y-%m-%d %H:%M:%S} {parsed.tzname() or ''}".strip()


def share(value: float) -> str:
    """Whole per cent; `< 1 %` for what is there but rounds to nothing."""
    return "< 1 %" if 0 < value < 0.01 else f"{value:.0%}".replace("%", " %")


def flat(value: Any) -> str:
    """A nested configuration value on one line."""
    if isinstance(value, dict) and set(value) == {"ours", "paper"}:
        return f"{flat(value['ours'])} (paper {flat(value['paper'])})"
    if isinstance(value, dict):
        return ", ".join(f"{str(key).replace('_', ' ')} {flat(item)}" for key, item in value.items())
    if isinstance(value, float):
        return significant(value, 4)
    if isinstance(value, list | tuple):
        return " × ".join(flat(item) for item in value)
    return NOTHING if value is None else str(value)


def _known(value: Any) -> bool:
    return value is not None and not (isinstance(value, float) and math.isnan(value))
