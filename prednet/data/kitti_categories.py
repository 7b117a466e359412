"""The user's own table of drives and categories, which goes before KITTI's listing: a `.csv` or `.yaml` file.

drive,category                          2011_09_26_drive_0001: city
2011_09_26_drive_0001,city              2011_09_26_drive_9001: highway
2011_09_26_drive_9001,highway
"""

import csv
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from prednet.data.images import shown
from prednet.data.kitti_drives import drive_id
from prednet.errors import DataError

_COLUMNS = ["drive", "category"]


def read_categories(file: str | Path) -> dict[str, str]:
    """Drive -> category. A drive may be written with or without `_sync`; a category may be one that KITTI lacks.

    Raises:
        DataError: the file cannot be read, is no such table, or names a drive twice.
    """
    file = Path(file)
    try:
        text = file.read_text(encoding="utf-8-sig")
        pairs = _csv_pairs(file, text) if file.suffix.lower() == ".csv" else _yaml_pairs(file, text)
    except OSError as error:
        raise DataError(f"{shown(file)}: cannot be read: {error.strerror}. Next: --categories-file FILE") from error
    except (UnicodeDecodeError, csv.Error, yaml.YAMLError) as error:
        raise DataError(f"{shown(file)}: no table of drives and categories: {error}") from error
    names = Counter(name for name, _ in pairs)
    if twice := [name for name, uses in names.items() if uses > 1]:
        raise DataError(f"{shown(file)}: names the drive {twice[0]} {names[twice[0]]} times")
    return dict(pairs)


def _csv_pairs(file: Path, text: str) -> list[tuple[str, str]]:
    reader = csv.DictReader(text.splitlines())
    if not set(_COLUMNS) <= set(reader.fieldnames or ()):
        raise DataError(f"{shown(file)}: its first line is {reader.fieldnames}, expected drive,category")
    return _checked(file, ((row["drive"], row["category"]) for row in reader))


def _yaml_pairs(file: Path, text: str) -> list[tuple[str, str]]:
    table = yaml.safe_load(text)
    if not isinstance(table, dict):
        raise DataError(f"{shown(file)}: expected lines of `DRIVE: CATEGORY`, or a .csv file with drive,category")
    return _checked(file, table.items())


def _checked(file: Path, pairs: Iterable[tuple[Any, Any]]) -> list[tuple[str, str]]:
    found = []
    for drive, category in pairs:
        if not (isinstance(drive, str) and isinstance(category, str) and drive.strip() and category.strip()):
            raise DataError(f"{shown(file)}: {drive!r}: {category!r} is no drive with a category")
        found.append((drive_id(drive.strip()) or drive.strip(), category.strip()))
    return found
