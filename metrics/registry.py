"""The metrics that a search can log: built in, one line each, or offered by an installed package.

A package offers one by an entry point of the group `hms_search.metrics`, of the metric's name, whose value is a
`Metric`. Only those that a search asks for are imported.
"""

import difflib
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points

from metrics.errors import MetricError
from metrics.measured import human_similarity, object_matching, prediction_error
from metrics.metric import Metric

GROUP = "hms_search.metrics"

BUILT_IN: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        human_similarity.METRIC,
        prediction_error.METRIC,
        object_matching.METRIC,
    )
}
ALWAYS = ("hms", "mse", "accuracy")  # the paper's; others are logged where a search asks for them
METRICS: dict[str, Metric] = {name: BUILT_IN[name] for name in ALWAYS}


@dataclass(frozen=True)
class Origin:
    """Where a metric comes from: the distribution package that offers it and its version."""

    package: str
    version: str


def offered() -> list[str]:
    """The names of all metrics that can be asked for beside those always logged; imports none of them."""
    return sorted({name for name in BUILT_IN if name not in ALWAYS} | {point.name for point in _points()})


def find(name: str) -> tuple[Metric, Origin | None]:
    """A metric by its name, and the package that offers it; None: built in.

    Raises MetricError: nobody offers it, two packages do, or it cannot be imported or is no metric of that name.
    """
    if name in BUILT_IN:
        return BUILT_IN[name], None
    points = [point for point in _points() if point.name == name]
    if not points:
        close = difflib.get_close_matches(name, offered(), n=1, cutoff=0.5)
        hint = f": did you mean `{close[0]}`?" if close else f"; offered: {', '.join(offered()) or 'none'}."
        raise MetricError(
            f"`{name}` is no metric on this machine{hint} One from another package needs that package installed here."
        )
    origins = [_origin(point) for point in points]
    if len(points) > 1:
        shown = " and ".join(f"{origin.package} {origin.version}" for origin in origins)
        raise MetricError(f"metric `{name}` is offered by {shown}: uninstall one of them.")
    return _loaded(points[0], origins[0]), origins[0]


def _points() -> list[EntryPoint]:
    # A package that is installed twice on the path, as in development, offers each metric once.
    return list({(point.name, point.value): point for point in entry_points(group=GROUP)}.values())


def _origin(point: EntryPoint) -> Origin:
    return Origin(point.dist.name, point.dist.version) if point.dist is not None else Origin("?", "?")


def _loaded(point: EntryPoint, origin: Origin) -> Metric:
    where = f"metric `{point.name}` of {origin.package} {origin.version} ({point.value})"
    try:
        metric = point.load()
    except Exception as error:  # whatever a stranger's module raises
        raise MetricError(
            f"{where} cannot be imported: {type(error).__name__}: {error}. Mend or reinstall {origin.package}, or take "
            f"`{point.name}` out of metrics.also."
        ) from error
    if not isinstance(metric, Metric) or metric.measure is None:
        raise MetricError(f"{where} is {type(metric).__name__}, not a metrics.metric.Metric with a measure function.")
    if metric.name != point.name:
        raise MetricError(f"{where} calls itself `{metric.name}`: the entry point must have the metric's name.")
    return metric
