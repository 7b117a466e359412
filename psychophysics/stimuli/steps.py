"""Steps of a build that are done once: what a step made is taken from disk when it was made from the same things."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from psychophysics.stimuli.files import document_sha256, file_sha256, write_json

Made = dict[str, Any]


def once(record: Path, root: Path, made_from: Any, make: Callable[[], Made]) -> Made:
    """What `make` returns, or what it returned before.

    Args:
        record: JSON file that is written when the step is done.
        root: folder to which the files that the step names are relative.
        made_from: JSON value of all that shapes the result.
        make: makes it; pictures in it are mappings with `file` and `sha256`.
    """
    key = document_sha256(made_from)
    before = _read(record)
    if before is not None and before.get("made_from") == key and all(_intact(root, *file) for file in _files(before)):
        return before["made"]
    made = make()
    write_json(record, {"made_from": key, "made": made})
    return made


def _read(record: Path) -> Made | None:
    try:
        document = json.loads(record.read_text(encoding="utf-8"))
    except (OSError, ValueError):  # torn or not there: the step is done again
        return None
    return document if isinstance(document, dict) and "made" in document else None


def _files(value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        if isinstance(value.get("file"), str):
            yield value["file"], value["sha256"]
        for inner in value.values():
            yield from _files(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _files(inner)


def _intact(root: Path, file: str, sha256: str) -> bool:
    path = root / file
    return path.is_file() and file_sha256(path) == sha256
