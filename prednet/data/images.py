"""One image file -> one RGB uint8 array, with every broken file named for what it is."""

import io
import os
import shlex
import struct
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from prednet.errors import DataError

IMAGE_SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".bmp", ".ppm", ".pgm", ".tif", ".tiff", ".webp"})

_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
SIXTEEN_BIT_MODES = frozenset({"I;16", "I;16B", "I;16L", "I;16N", "I"})


def shown(path: str | os.PathLike[str]) -> str:
    """A path as text that any terminal and JSON file can hold: undecodable bytes become `\\xNN`."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def shell_word(path: str | os.PathLike[str]) -> str:
    """A path as a word that a shell reads back: quoted where needed, undecodable bytes as $'\\xNN' (bash, zsh)."""
    name = os.fsencode(path)
    if shown(path).isprintable() and b"\\" not in name and os.fsdecode(name) == shown(path):
        return shlex.quote(shown(path))
    plain = set(range(32, 127)) - set(b"\\'")
    return "$'" + "".join(chr(byte) if byte in plain else f"\\x{byte:02x}" for byte in name) + "'"


def not_media(head: bytes) -> str | None:
    """Say what the first bytes of a file are when they are surely no picture, video or HDF5 file; else None."""
    if not head:
        return "the file is empty (0 bytes)"
    if head.startswith(b"version https://git-lfs"):
        return "it is a Git LFS pointer, not the data (run `git lfs pull` where it came from)"
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if start.startswith((b"<!doctype html", b"<html", b"<head", b"<?xml")):
        return "it is an HTML or XML page, probably an error page saved by a downloader"
    return None


def read_bytes(path: Path) -> bytes:
    """The content of a file; DataError when it cannot be read or is no picture or video at all."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError(f"{shown(path)}: cannot be read: {error.strerror}") from error
    reason = not_media(data[:512])
    if reason:
        raise DataError(f"{shown(path)}: {reason}")
    return data


def image_size(path: Path) -> tuple[int, int]:
    """(height, width) in pixels from an image's header. Raises DataError."""
    with _opened(path, read_bytes(path)) as image:
        return image.height, image.width


def decode_image(path: Path) -> tuple[NDArray[np.uint8], str | None]:
    """Decode one image file completely.

    Grey, palette and RGBA images become RGB (alpha is dropped, not blended). 16-bit grey is scaled by
    1/257, so that 0..65535 maps onto 0..255; Pillow keeps the high byte of 16-bit colour.

    Returns:
        ((h, w, 3) uint8, a warning or None). A PNG whose end marker is torn has all its pixels: it is
        accepted with a warning.

    Raises:
        DataError: truncated, altered (a PNG checksum fails), empty, no image, or without a defined range.
    """
    data = read_bytes(path)
    warning = _check_png(path, data) if data.startswith(_PNG_SIGNATURE) else None
    with _opened(path, data) as image:
        try:
            image.load()
        except (OSError, SyntaxError, ValueError, struct.error, zlib.error) as error:
            raise DataError(f"{shown(path)}: damaged image: {error} ({len(data)} bytes read)") from error
        return _to_rgb(path, image), warning


def _opened(path: Path, data: bytes) -> Image.Image:
    try:
        return Image.open(io.BytesIO(data))
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise DataError(
            f"{shown(path)}: not an image that can be read, or cut off in its header"
            f" ({len(data)} bytes, starting with {data[:8]!r})"
        ) from error


def _to_rgb(path: Path, image: Image.Image) -> NDArray[np.uint8]:
    if image.mode in SIXTEEN_BIT_MODES:
        levels = np.asarray(image).astype(np.int64)
        if levels.min() < 0 or levels.max() > 65535:
            raise DataError(f"{shown(path)}: {image.mode} pixels span {levels.min()}..{levels.max()}, not 0..65535")
        grey = np.round(levels / 257).astype(np.uint8)
        return np.repeat(grey[:, :, None], 3, axis=2)
    if image.mode == "F":
        raise DataError(f"{shown(path)}: floating-point pixels have no defined range; save as 8 or 16 bit")
    return np.asarray(image if image.mode == "RGB" else image.convert("RGB"))


def _check_png(path: Path, data: bytes) -> str | None:
    """Verify the checksum of every PNG chunk, which Pillow skips for pixel data; warn of a torn end marker."""
    at = len(_PNG_SIGNATURE)
    while at < len(data):
        kind = data[at + 4 : at + 8]
        if at + 8 > len(data):
            break
        end = at + 8 + struct.unpack(">I", data[at : at + 4])[0]
        if end + 4 > len(data):
            if kind == b"IEND":
                break
            raise DataError(
                f"{shown(path)}: truncated PNG: {len(data)} bytes, but chunk {kind!r} ends at byte {end + 4}"
            )
        stored = struct.unpack(">I", data[end : end + 4])[0]
        if zlib.crc32(data[at + 4 : end]) != stored:
            raise DataError(f"{shown(path)}: altered PNG: the checksum of chunk {kind!r} at byte {at} fails")
        if kind == b"IEND":
            return None
        at = end + 4
    # Whether the pixels are complete is for the decoder to say; here only the end marker is missing.
    return f"{shown(path)}: the PNG end marker is torn off; its pixels are complete"
