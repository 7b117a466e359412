"""Files of a study: written whole or not at all, with an error that says how to go on; their hashes."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from psychophysics.errors import StimuliError
from search.atomic import replacing


@contextmanager
def written(path: Path) -> Iterator[Path]:
    """A temporary path that takes `path`'s place when the block ends.

    Raises:
        StimuliError: it can't be written, as on a full disk.
    """
    try:
        with replacing(path) as temporary:
            yield temporary
    except OSError as error:
        raise StimuliError(
            f"{path} cannot be written ({error.strerror or error}): free some space or check the folder, then run the "
            "same command again: it goes on where it stopped"
        ) from error


def write_json(path: Path, document: Any) -> None:
    """A JSON file, NaN refused."""
    with written(path) as temporary:
        temporary.write_text(json.dumps(document, indent=1, allow_nan=False), encoding="utf-8")


def read_json(path: Path, next_command: str) -> Any:
    """What a JSON file holds.

    Raises:
        StimuliError: it is missing or no JSON; the message ends with `next_command`.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise StimuliError(f"{path} is missing. Next: {next_command}") from None
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise StimuliError(f"{path} cannot be read ({error}). Next: {next_command}") from None


def write_png(path: Path, image: NDArray[np.uint8]) -> str:
    """An 8-bit PNG of (h, w, 3) uint8; returns its sha256."""
    with written(path) as temporary:
        Image.fromarray(image).save(temporary)
    return file_sha256(path)


def read_png(path: Path) -> NDArray[np.uint8]:
    """(h, w, 3) uint8."""
    with Image.open(path) as image:
        return np.array(image.convert("RGB"))


def file_sha256(path: Path) -> str:
    """sha256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def document_sha256(document: Any) -> str:
    """sha256 of a JSON value in canonical form."""
    return hashlib.sha256(json.dumps(document, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
