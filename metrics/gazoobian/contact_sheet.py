"""One picture of a set for people to look at: every object once, then all views of one object of each family."""

import os
from collections.abc import Sequence
from pathlib import Path

from PIL import Image, ImageDraw

from metrics.errors import MetricError
from metrics.gazoobian.objects import ObjectSet

MARGIN, LABEL = 8, 14  # pixels around the sheet; height of a line of text
SHEET = (245, 245, 245)
INK = (40, 40, 40)
MOST_IN_ROW = 12

Cell = tuple[int, str]  # row of the set, text below


def contact_sheet(objects: ObjectSet, file: Path) -> Path:
    """Write the sheet to `file`, whose ending names the format; returns the file.

    First part: a line of objects for each family (all objects in order where families are unknown). Second part: a
    line of all views, labelled, of the first object of each family. Raises `MetricError` for an unknown ending.
    """
    lines = [*_object_lines(objects), *_view_lines(objects)]
    height, width = objects.images.shape[1:3]
    columns = max(len(line) for line in lines)
    step = (width + 2, height + LABEL + 2)
    sheet = Image.new("RGB", (2 * MARGIN + columns * step[0], 2 * MARGIN + len(lines) * step[1]), SHEET)
    draw = ImageDraw.Draw(sheet)
    for y, line in enumerate(lines):
        for x, (row, text) in enumerate(line):
            corner = (MARGIN + x * step[0], MARGIN + y * step[1])
            sheet.paste(Image.fromarray(objects.images[row]), corner)
            draw.text((corner[0] + 2, corner[1] + height), text, fill=INK)
    file = Path(file)
    temporary = file.with_name(f".{os.getpid()}.{file.name}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        sheet.save(temporary)
        temporary.replace(file)
    except (OSError, ValueError) as error:
        temporary.unlink(missing_ok=True)
        raise MetricError(f"The contact sheet {file} cannot be written ({error}). Name a .png file.") from error
    return file


def _object_lines(objects: ObjectSet) -> list[list[Cell]]:
    """First image of every object, a new line for each family."""
    firsts: dict[str, list[Cell]] = {}
    seen = set()
    for number, row in enumerate(objects.rows):
        if row.object not in seen:
            seen.add(row.object)
            firsts.setdefault(row.family, []).append((number, row.object))
    return [part for line in firsts.values() for part in _wrapped(line)]


def _view_lines(objects: ObjectSet) -> list[list[Cell]]:
    """All views of the first object of each family."""
    shown: dict[str, str] = {}
    for row in objects.rows:
        shown.setdefault(row.family, row.object)
    views = [
        [(number, row.view) for number, row in enumerate(objects.rows) if row.object == name] for name in shown.values()
    ]
    return [part for line in views for part in _wrapped(line)]


def _wrapped(line: Sequence[Cell]) -> list[list[Cell]]:
    return [list(line[low : low + MOST_IN_ROW]) for low in range(0, len(line), MOST_IN_ROW)]
