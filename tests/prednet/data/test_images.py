import io
import os
import struct
import subprocess
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from prednet.data.images import decode_image, image_size, not_media, shell_word, shown
from prednet.errors import DataError

PIXELS = np.random.default_rng(1).integers(0, 256, (20, 31, 3), np.uint8)


def encoded(format: str, repeat: int = 1) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(np.tile(PIXELS, (repeat, repeat, 1))).save(stream, format)
    return stream.getvalue()


def written(folder: Path, data: bytes, name: str = "frame_0007.png") -> Path:
    file = folder / name
    file.write_bytes(data)
    return file


def test_a_whole_png_decodes_without_a_warning(tmp_path: Path) -> None:
    file = written(tmp_path, encoded("PNG"))
    pixels, warning = decode_image(file)
    np.testing.assert_array_equal(pixels, PIXELS)
    assert warning is None
    assert image_size(file) == (20, 31)


def test_png_without_its_last_8_bytes_is_accepted_with_a_warning(tmp_path: Path) -> None:
    pixels, warning = decode_image(written(tmp_path, encoded("PNG")[:-8]))
    np.testing.assert_array_equal(pixels, PIXELS)
    assert warning and "frame_0007.png" in warning and "end marker" in warning


@pytest.mark.parametrize("lost", [1, 4, 8, 11, 12])
def test_any_torn_end_marker_is_accepted(tmp_path: Path, lost: int) -> None:
    pixels, warning = decode_image(written(tmp_path, encoded("PNG")[:-lost]))
    np.testing.assert_array_equal(pixels, PIXELS)
    assert warning


@pytest.mark.parametrize("lost", [13, 100, 1000])
def test_truncated_png_names_the_file(tmp_path: Path, lost: int) -> None:
    with pytest.raises(DataError, match=r"frame_0007\.png.*truncated PNG"):
        decode_image(written(tmp_path, encoded("PNG")[:-lost]))


def test_png_cut_between_two_pixel_chunks_is_an_error_not_a_torn_marker(tmp_path: Path) -> None:
    data = encoded("PNG")
    start = data.index(b"IDAT") - 4
    length = struct.unpack(">I", data[start : start + 4])[0]
    half = data[start + 8 : start + 8 + length // 2]
    chunk = struct.pack(">I", len(half)) + b"IDAT" + half + struct.pack(">I", zlib.crc32(b"IDAT" + half))
    with pytest.raises(DataError, match=r"frame_0007\.png"):
        decode_image(written(tmp_path, data[:start] + chunk))


def test_every_flipped_bit_in_the_pixels_of_a_png_is_found(tmp_path: Path) -> None:
    data = bytearray(encoded("PNG"))
    start = data.index(b"IDAT") + 4
    for at in range(start, len(data) - 16, 97):
        broken = data.copy()
        broken[at] ^= 1 << at % 8
        with pytest.raises(DataError, match=r"frame_0007\.png.*checksum"):
            decode_image(written(tmp_path, bytes(broken)))


def test_half_a_jpeg_is_an_error(tmp_path: Path) -> None:
    data = encoded("JPEG", repeat=10)
    with pytest.raises(DataError, match=r"half\.jpg.*damaged image.*truncated"):
        decode_image(written(tmp_path, data[: len(data) // 2], "half.jpg"))
    with pytest.raises(DataError, match=r"half\.jpg.*not an image.*cut off in its header"):
        decode_image(written(tmp_path, data[:200], "half.jpg"))


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "empty"),
        (b"<!DOCTYPE html><html><body>404</body></html>", "HTML"),
        (b"\n  <html lang='en'>", "HTML"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n", "Git LFS"),
        (b"GIF87nonsense", "not an image"),
    ],
)
def test_what_is_no_image_is_said_by_name(tmp_path: Path, data: bytes, says: str) -> None:
    file = written(tmp_path, data)
    for read in (decode_image, image_size):
        with pytest.raises(DataError, match=rf"frame_0007\.png.*{says}"):
            read(file)


@pytest.mark.parametrize("format", ["PNG", "JPEG"])
def test_image_data_is_not_taken_for_something_else(format: str) -> None:
    assert not_media(encoded(format)) is None


def test_grey_palette_and_rgba_become_rgb(tmp_path: Path) -> None:
    image = Image.fromarray(PIXELS)
    grey = image.convert("L")
    grey.save(tmp_path / "grey.png")
    palette = image.quantize(16)
    palette.save(tmp_path / "palette.png")
    with_alpha = image.copy()
    with_alpha.putalpha(10)
    with_alpha.save(tmp_path / "rgba.png")
    grey_pixels = np.repeat(np.asarray(grey)[:, :, None], 3, axis=2)
    np.testing.assert_array_equal(decode_image(tmp_path / "grey.png")[0], grey_pixels)
    np.testing.assert_array_equal(decode_image(tmp_path / "palette.png")[0], np.asarray(palette.convert("RGB")))
    np.testing.assert_array_equal(decode_image(tmp_path / "rgba.png")[0], PIXELS)


def test_16_bit_grey_is_scaled_by_its_range(tmp_path: Path) -> None:
    levels = np.array([[0, 256, 257, 385, 386, 32768, 65535]], np.uint16)
    Image.fromarray(levels).save(tmp_path / "deep.png")
    pixels, _ = decode_image(tmp_path / "deep.png")
    np.testing.assert_array_equal(pixels[0, :, 0], [0, 1, 1, 1, 2, 128, 255])
    assert pixels.shape == (1, 7, 3) and pixels.dtype == np.uint8


def test_floating_point_pixels_are_refused(tmp_path: Path) -> None:
    Image.fromarray(np.zeros((4, 4), np.float32)).save(tmp_path / "depth.tif")
    with pytest.raises(DataError, match=r"depth\.tif.*no defined range"):
        decode_image(tmp_path / "depth.tif")


def test_missing_file_and_folder(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        decode_image(tmp_path / "no.png")
    with pytest.raises(DataError, match="cannot be read"):
        decode_image(tmp_path)


def test_undecodable_name_is_shown_with_escapes() -> None:
    name = os.fsdecode(b"stra\xc3\x9fe_\xff.png")
    assert shown(name) == "straße_\\xff.png"
    shown(name).encode()


@pytest.mark.parametrize(
    "name", [b"plain", b"with space", b"it's", b"caf\xc3\xa9", b"\xff1", b"esc\x1b[31m", b"a\\xffb", b"$HOME"]
)
def test_a_shell_reads_the_word_back(name: bytes) -> None:
    word = shell_word(os.fsdecode(name))
    assert word.isprintable()
    told = subprocess.run(["bash", "-c", f"printf %s {word}"], capture_output=True, check=True).stdout
    assert told == name
