"""Reading a folder of object images: `objects/<object>/<view>.png`, with or without `manifest.csv`."""

import csv
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from metrics.errors import StimuliError
from metrics.gazoobian.views import Dials, kind_of

PREPARE = "hms data gazoobian"
DIALS = tuple(field.name for field in fields(Dials))
OTHER_IMAGES = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif", ".tif", ".tiff")
COLUMNS = ("object", "family", "view", "kind", "seed", *DIALS, "sha256")


@dataclass(frozen=True)
class ObjectView:
    """One image of one object."""

    object: str
    family: str  # "" where unknown
    view: str
    kind: str  # canonical, rotation, light, hue, mixed; "any" in a folder whose views have other names
    sha256: str  # hex, of the decoded pixels
    seed: int | None = None
    dials: Dials | None = None


@dataclass(frozen=True)
class ObjectSet:
    """All images of a folder: images (N, H, W, 3) uint8 in the order of `rows`; digest (hex) of names and pixels."""

    images: NDArray[np.uint8]
    rows: tuple[ObjectView, ...]
    digest: str

    @property
    def object_count(self) -> int:
        """Number of distinct objects."""
        return len({row.object for row in self.rows})


def load_objects(root: Path) -> ObjectSet:
    """Read the images below `root`, check them against the manifest's checksums where it has them.

    A manifest needs the columns object and view; without one the images come sorted by object and view.
    Raises `StimuliError` for a missing folder, an unreadable or altered image, or images of several sizes.
    """
    root = Path(root)
    if not (root / "objects").is_dir():
        inside = any(root.glob("*/*.png"))
        hint = f"Move the objects' folders below {root / 'objects'}" if inside else f"Make them: {PREPARE}"
        raise StimuliError(f"No object images: {root / 'objects'} is not a folder. {hint}")
    manifest = root / "manifest.csv"
    rows = read_manifest(manifest) if manifest.is_file() else _rows_of_folder(root)
    if not rows:
        raise StimuliError(f"No objects/<object>/<view>.png below {root}. Make them: {PREPARE}")
    images: list[NDArray[np.uint8]] = []
    checked: list[ObjectView] = []
    for row in rows:
        file = image_file(root, row.object, row.view)
        image = read_image(file)
        if image.shape != (images[0].shape if images else image.shape):
            raise StimuliError(
                f"{file} is {image.shape[1]}x{image.shape[0]} pixels, the images before it "
                f"{images[0].shape[1]}x{images[0].shape[0]}: bring all to one size."
            )
        digest = pixel_digest(image)
        if row.sha256 not in ("", digest):
            raise StimuliError(f"{file} is not the image that {manifest} lists (SHA-256 differs). Mend: {PREPARE}")
        images.append(image)
        checked.append(ObjectView(row.object, row.family, row.view, row.kind, digest, row.seed, row.dials))
    return ObjectSet(np.stack(images), tuple(checked), _set_digest(checked))


def image_file(root: Path, name: str, view: str) -> Path:
    """Where the image of a view of an object lies."""
    return root / "objects" / name / f"{view}.png"


def read_image(file: Path) -> NDArray[np.uint8]:
    """Decoded pixels (H, W, 3) uint8; transparent parts show mid-grey. Raises `StimuliError` with the file's name."""
    try:
        with Image.open(file) as image:
            if not image.has_transparency_data:
                return np.array(image.convert("RGB"))
            rgba = image.convert("RGBA")
            return np.array(
                Image.alpha_composite(Image.new("RGBA", rgba.size, (128, 128, 128, 255)), rgba).convert("RGB")
            )
    except FileNotFoundError as error:
        raise StimuliError(f"{file} is missing. Mend: {PREPARE}") from error
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise StimuliError(f"{file} cannot be read as an image ({error}). Mend or delete it; {PREPARE}") from error


def pixel_digest(image: NDArray[np.uint8]) -> str:
    """SHA-256 (hex) of the decoded pixels (H, W, 3), rows first."""
    return hashlib.sha256(np.ascontiguousarray(image).tobytes()).hexdigest()


def read_manifest(file: Path) -> tuple[ObjectView, ...]:
    """Rows of a manifest, in its order. Raises `StimuliError` for a missing column or a value that is no number."""
    try:
        with file.open(newline="", encoding="utf-8-sig") as stream:
            reader = csv.DictReader(stream)
            missing = {"object", "view"} - set(reader.fieldnames or ())
            if missing:
                raise StimuliError(f"{file} lacks the column {sorted(missing)[0]!r}; it has {reader.fieldnames}.")
            records = list(reader)
        return _with_kinds([_row(record, file) for record in records])
    except (OSError, UnicodeDecodeError, csv.Error, TypeError) as error:
        raise StimuliError(f"{file} cannot be read ({error}). Delete it and run: {PREPARE}") from error
    except ValueError as error:
        if isinstance(error, StimuliError):
            raise
        raise StimuliError(f"{file} holds a value that is not a number ({error}).") from error


def _row(record: dict[str, str], file: Path) -> ObjectView:
    for column in ("object", "view"):
        name = record[column] or ""
        if name in ("", ".", "..") or "/" in name or "\\" in name:
            raise StimuliError(f"{file}: {name!r} in the column {column} cannot name a file in the folder objects/.")
    seed = record.get("seed") or ""
    dials = Dials(**{name: float(record[name]) for name in DIALS}) if all(record.get(name) for name in DIALS) else None
    return ObjectView(
        object=record["object"],
        family=record.get("family") or "",
        view=record["view"],
        kind=record.get("kind") or "",
        sha256=record.get("sha256") or "",
        seed=int(seed) if seed else None,
        dials=dials,
    )


def _rows_of_folder(root: Path) -> tuple[ObjectView, ...]:
    for file in sorted((root / "objects").glob("*/*")):
        if file.suffix != ".png" and file.suffix.lower() in OTHER_IMAGES:
            raise StimuliError(f"{file} would be left out: images of objects are .png files. Convert it or delete it.")
    files = sorted((file.parent.name, file.stem) for file in (root / "objects").glob("*/*.png"))
    return _with_kinds([ObjectView(name, "", view, "", "") for name, view in files])


def _with_kinds(rows: Sequence[ObjectView]) -> tuple[ObjectView, ...]:
    """Kinds from the views' names when all of them are ours; else every view is of the kind `any`."""
    kinds = [row.kind or kind_of(row.view) for row in rows]
    known = all(kinds)
    return tuple(
        ObjectView(
            row.object, row.family, row.view, (kind if known else None) or "any", row.sha256, row.seed, row.dials
        )
        for row, kind in zip(rows, kinds, strict=True)
    )


def _set_digest(rows: Sequence[ObjectView]) -> str:
    lines = "\n".join(f"{row.object}/{row.view} {row.sha256}" for row in rows)
    return hashlib.sha256(lines.encode()).hexdigest()
