"""One picture of all stimuli of a unit, for people to look at before a study."""

from pathlib import Path

import matplotlib
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont
from scipy.spatial import cKDTree

from psychophysics.config import Condition
from psychophysics.stimuli.files import read_png, written
from psychophysics.stimuli.geometry import Geometry
from psychophysics.stimuli.manifest import Picture, QueryPair, SetRecord, UnitRecord
from psychophysics.study_folder import StudyFolder

CELL, GAP, MARGIN, TEXT, LINE = 112, 6, 12, 13, 18  # pixels
PAPER, INK = (255, 255, 255), (20, 20, 20)
SHOWN: tuple[Condition, ...] = ("natural", "blurred", "synthetic", "mixed")

Cell = tuple[NDArray[np.uint8], str]
Row = tuple[str, list[Cell]]


def write_contact_sheet(unit: UnitRecord, geometry: Geometry, folder: StudyFolder, file: Path) -> None:
    """Write a PNG: for each set a line with query pair and map, and a line for the references of each condition."""
    rows = [row for record in unit.sets for row in _rows(record, geometry, folder)]
    widest = max(len(cells) for _, cells in rows)
    height = CELL * geometry.height // geometry.width
    step = (CELL + GAP, LINE + height + LINE + GAP)
    sheet = Image.new("RGB", (2 * MARGIN + widest * step[0], 2 * MARGIN + 2 * LINE + len(rows) * step[1]), PAPER)
    draw = ImageDraw.Draw(sheet)
    font = ImageFont.load_default(size=TEXT)
    title = (
        f"{unit.network} {unit.layer}/{unit.channel}: activation over the pool {unit.lowest:.3g} to {unit.highest:.3g}"
    )
    draw.text((MARGIN, MARGIN), title, fill=INK, font=font)
    for number, (name, cells) in enumerate(rows):
        top = MARGIN + 2 * LINE + number * step[1]
        draw.text((MARGIN, top), name, fill=INK, font=font)
        for column, (pixels, text) in enumerate(cells):
            left = MARGIN + column * step[0]
            picture = Image.fromarray(pixels).resize((CELL, height), Image.Resampling.LANCZOS)
            sheet.paste(picture, (left, top + LINE))
            draw.text((left, top + LINE + height), text, fill=INK, font=font)
    with written(file) as temporary:
        sheet.save(temporary)


def _rows(record: SetRecord, geometry: Geometry, folder: StudyFolder) -> list[Row]:
    pair = record.pair
    difference = pair.relative_difference
    told = "undefined" if difference is None else f"{difference:.3f}"
    cells = [_cell(folder, picture) for picture in (pair.base, pair.minimum, pair.maximum)]
    cells.append((_map(folder, pair, geometry), "map"))
    title = (
        f"set {record.number}: base, minimum, maximum, activation with the patch centred here (dark low, yellow high); "
        f"relative difference {told}"
    )
    rows: list[Row] = [(title, cells)]
    for condition in SHOWN:
        pictures = record.references.get(condition, ())
        if pictures:
            rows.append((condition, [_cell(folder, picture) for picture in pictures]))
    return rows


def _cell(folder: StudyFolder, picture: Picture) -> Cell:
    return read_png(folder.root / picture.file), f"{picture.activation:.4g}"


def _map(folder: StudyFolder, pair: QueryPair, geometry: Geometry) -> NDArray[np.uint8]:
    """(h, w, 3): each pixel in the colour of the nearest patch centre that was tried."""
    top, left, activation = np.loadtxt(folder.root / pair.map, delimiter=",", skiprows=1, ndmin=2).T
    tree = cKDTree(np.stack([top, left], axis=1) + geometry.side / 2)
    rows, columns = np.mgrid[: geometry.height, : geometry.width]
    nearest = tree.query(np.stack([rows.ravel(), columns.ravel()], axis=1))[1]
    low, high = activation.min(), activation.max()
    shade = (activation - low) / (high - low) if high > low else np.zeros_like(activation)
    colours = matplotlib.colormaps["viridis"](shade[nearest], bytes=True)[:, :3]
    return colours.reshape(geometry.height, geometry.width, 3)
