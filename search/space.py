"""The search space: YAML distributions -> HyperOpt expression; sampled point -> concrete parameters.

HyperOpt takes a second to import, and every `hms` command reads a configuration: it is imported where it is needed.
"""

import math
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator


class _Kind(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Choice(_Kind):
    """One of the listed values, each equally likely."""

    kind: Literal["choice"] = "choice"
    values: tuple[bool | int | float | str, ...] = Field(min_length=1)

    def expression(self, name: str) -> Any:
        """HyperOpt's expression."""
        from hyperopt import hp

        return hp.choice(name, list(self.values))


class _Range(_Kind):
    low: float
    high: float

    @model_validator(mode="after")
    def _ordered(self) -> "_Range":
        if not self.low < self.high:
            raise ValueError(f"low is {self.low:g} and high {self.high:g}: low must be below high")
        return self


class Uniform(_Range):
    """A real number in [low, high)."""

    kind: Literal["uniform"] = "uniform"

    def expression(self, name: str) -> Any:
        """HyperOpt's expression."""
        from hyperopt import hp

        return hp.uniform(name, self.low, self.high)


class LogUniform(_Range):
    """A real number in [low, high), uniform in its logarithm."""

    kind: Literal["log_uniform"] = "log_uniform"

    @model_validator(mode="after")
    def _positive(self) -> "LogUniform":
        if self.low <= 0:
            raise ValueError(f"low is {self.low:g}: a logarithm needs low > 0")
        return self

    def expression(self, name: str) -> Any:
        """HyperOpt's expression."""
        from hyperopt import hp

        return hp.loguniform(name, math.log(self.low), math.log(self.high))


class Stepped(_Kind):
    """low, low + step, ..., high, each equally likely (`quniform` would draw the end points half as often)."""

    kind: Literal["stepped"] = "stepped"
    low: int
    high: int
    step: int = Field(default=1, ge=1)

    @model_validator(mode="after")
    def _whole_steps(self) -> "Stepped":
        if self.high <= self.low or (self.high - self.low) % self.step:
            raise ValueError(f"{self.low}..{self.high} is no whole number of steps of {self.step}")
        return self

    def expression(self, name: str) -> Any:
        """HyperOpt's expression. Half a step of margin: its own `uniformint` draws the end points half as often too."""
        from hyperopt import hp

        steps = (self.high - self.low) // self.step
        return self.low + self.step * hp.quniform(name, -0.5, steps + 0.5, 1)


def check_support(name: str, distribution: Any) -> None:
    """Refuse a distribution that can draw what a hyperparameter cannot be.

    Raises:
        ValueError: the message gives the values and what is expected.
    """
    given: Any = distribution.values if isinstance(distribution, Choice) else (distribution.low, distribution.high)
    values: list[Any] = list(given)
    if name == "loss":
        valid, expected = all(value in ("L0", "Lall") for value in values), "choices of L0 and Lall"
    elif name == "learning_rate":
        valid, expected = all(_is_number(value) and value > 0 for value in values), "numbers above 0"
    else:
        whole = not isinstance(distribution, Uniform | LogUniform) and all(type(value) is int for value in values)
        high = 8 if name.startswith("filter_size_") else math.inf
        valid = whole and all(1 <= value <= high for value in values)
        expected = "whole numbers from 1" + (" to 8" if high == 8 else "") + " (choice or stepped)"
    if not valid:
        raise ValueError(f"space.{name} can be {', '.join(map(str, values))}: expected {expected}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


Distribution = Annotated[Choice | Uniform | LogUniform | Stepped, Field(discriminator="kind")]
_SHORTHAND: dict[str, tuple[str, ...]] = {
    "uniform": ("low", "high"),
    "log_uniform": ("low", "high"),
    "stepped": ("low", "high", "step"),
}


def parse_distribution(name: str, spec: Any) -> Any:
    """YAML shorthand (`{stepped: [10, 390, 10]}`) -> the fields of a distribution; the long form passes through."""
    if isinstance(spec, dict) and "kind" in spec:
        return spec
    if isinstance(spec, dict) and len(spec) == 1:
        kind, values = next(iter(spec.items()))
        if kind == "choice" and isinstance(values, list):
            return {"kind": "choice", "values": values}
        fields = _SHORTHAND.get(kind)
        if fields and isinstance(values, list) and 2 <= len(values) <= len(fields):
            return {"kind": kind, **dict(zip(fields, values, strict=False))}
    raise ValueError(
        f"space.{name} is {spec!r}: expected one of {{choice: [a, b, ...]}}, {{uniform: [low, high]}}, "
        "{log_uniform: [low, high]}, {stepped: [low, high, step]}"
    )


def expression(space: dict[str, Any]) -> dict[str, Any]:
    """HyperOpt's expression of a whole space: name -> expression."""
    return {name: distribution.expression(name) for name, distribution in space.items()}


def concrete(space: dict[str, Any], vals: dict[str, list[Any]]) -> dict[str, Any]:
    """The point that HyperOpt sampled (`misc.vals`) as plain parameters: name -> int, float, bool or str."""
    from hyperopt import space_eval

    point = space_eval(expression(space), {name: value[0] for name, value in vals.items() if value})
    plain: dict[str, Any] = {}
    for name, distribution in space.items():
        value = point[name]
        if isinstance(distribution, Stepped):
            value = int(value)
        elif isinstance(distribution, Uniform | LogUniform):
            value = float(value)
        plain[name] = value
    return plain
