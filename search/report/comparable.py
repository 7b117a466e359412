"""Which numbers of two searches may stand side by side: a metric measures the same thing only on the same material."""

import json
from collections.abc import Iterator
from typing import Any

from search.report.record import SearchRecord
from search.report.wording import flat

_MATCHING = (
    "mode",
    "preset",
    "dials",
    "objects",
    "views",
    "gallery",
    "same_family",
    "trials",
    "frames",
    "seed",
)
_OF_GENERATED_OBJECTS = {"preset", "dials", "objects", "views"}
"""Without meaning where images of one's own are matched."""
_HMS = {"stimuli": "stimuli", "mapping": "way of bringing stimuli to the frames' size", "frames": "frames of a clip"}


def obstacles(first: SearchRecord, second: SearchRecord, metric: str) -> list[str]:
    """Why values of `metric` cannot be compared between two searches; empty when they can."""
    found = list(_of_every_metric(first, second))
    if metric == "mse" or metric.startswith("mse_"):
        found += _of_mse(first, second)
    elif metric == "accuracy":
        found += _differing(first, second, "matching", dict.fromkeys(_of_matching(first, second), ""))
        found += _digests(first, second, "objects", "object images")
    elif metric == "hms" or metric.startswith("hms_"):
        found += _differing(first, second, "hms", _HMS)
        found += _digests(first, second, "stimuli", "stimuli")
        reference = f"reference {metric.removeprefix('hms_')}"
        found += _digests(first, second, reference, reference) if metric != "hms" else []
    else:
        found += _digests(first, second, f"metric {metric}", "package of the metric")
    return list(dict.fromkeys(found))


def _of_every_metric(first: SearchRecord, second: SearchRecord) -> Iterator[str]:
    for record in (first, second):
        if record.imported:
            yield f"`{record.name}` was imported: how its numbers were measured is not recorded"
    sizes = [[(record.config.get("data") or {}).get(key) for key in ("height", "width")] for record in (first, second)]
    if sizes[0] != sizes[1] and all(None not in size for size in sizes):
        yield f"frames of {flat(sizes[0])} and {flat(sizes[1])} pixels"


def _of_mse(first: SearchRecord, second: SearchRecord) -> list[str]:
    prints = [record.data.get("fingerprint") for record in (first, second)]
    if prints[0] != prints[1]:
        names = [record.data_name or "unknown" for record in (first, second)]
        return [f"other video: {names[0]} and {names[1]}" + (", prepared differently" if names[0] == names[1] else "")]
    unknown = [record.name for record in (first, second) if record.mse_windows_digest is None]
    if unknown:
        return [f"`{name}` did not record on which windows its MSE was measured" for name in unknown]
    return ["other windows of the same video"] if first.mse_windows_digest != second.mse_windows_digest else []


def _of_matching(first: SearchRecord, second: SearchRecord) -> list[str]:
    """The settings that trials depend on; images are compared by their digest, wherever their folder lies."""
    sections = [(record.config.get("metrics") or {}).get("matching") or {} for record in (first, second)]
    own = all(section.get("folder") for section in sections)
    return [key for key in _MATCHING if not (own and key in _OF_GENERATED_OBJECTS)]


def _differing(first: SearchRecord, second: SearchRecord, section: str, keys: dict[str, str]) -> list[str]:
    """Settings of a metric that both searches have and that differ."""
    ours, theirs = ((record.config.get("metrics") or {}).get(section) or {} for record in (first, second))
    return [
        f"other {title or f'{section} {key}'.replace('_', ' ')}: {flat(ours[key])} and {flat(theirs[key])}"
        for key, title in keys.items()
        if key in ours and key in theirs and ours[key] != theirs[key]
    ]


def _digests(first: SearchRecord, second: SearchRecord, key: str, title: str) -> list[str]:
    ours, theirs = (str((record.materials.get("digests") or {}).get(key, "")) for record in (first, second))
    return [f"other {title}"] if ours != theirs else []


def configuration_differences(records: list[SearchRecord]) -> list[tuple[str, list[str]]]:
    """Each key of the configurations, dotted, whose values differ, with the value of every search; a dash: not set."""
    trees = [dict(_flattened(record.config)) for record in records]
    keys = sorted({key for tree in trees for key in tree} - {"search.name"})
    rows = [(key, [_text(tree.get(key)) for tree in trees]) for key in keys]
    return [(key, texts) for key, texts in rows if len(set(texts)) > 1]


def _flattened(tree: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in tree.items():
        # A distribution of the space reads better whole.
        if isinstance(value, dict) and value and "kind" not in value:
            yield from _flattened(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _text(value: Any) -> str:
    if isinstance(value, dict) and "kind" in value:
        return f"{value['kind']} " + ", ".join(flat(item) for key, item in value.items() if key != "kind")
    return flat(value) if not isinstance(value, dict | list) or value else json.dumps(value)
