"""The table of bad inputs in docs/data.md is what the program says: every row is made and its message compared."""

import os
import re
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import av
import h5py
import numpy as np
import pytest
from filelock import FileLock
from PIL import Image

from prednet.data.cache import VideoDataset
from prednet.data.hickle_files import prepare_hkl
from prednet.data.inspection.releases import inspect_hkl
from prednet.data.kitti import prepare_kitti
from prednet.data.verification import damaged_splits, source_state
from prednet.data.video import prepare_videos
from prednet.errors import DataError

DOCS = Path(__file__).parents[3] / "docs" / "data.md"
DRIVE, VAL, OTHER = "2011_09_26_drive_0001", "2011_09_26_drive_0005", "2011_09_26_drive_0002"
LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n"

Case = Callable[["Bench"], str]
CASES: dict[str, Case] = {}


def case(name: str) -> Callable[[Case], Case]:
    def enter(make: Case) -> Case:
        CASES[name] = make
        return make

    return enter


def rows() -> Iterator[tuple[str, str]]:
    """(input, message) of each row of the tables whose last cell is code or `none`."""
    for line in DOCS.read_text(encoding="utf-8").splitlines():
        cells = line.removeprefix("| ").removesuffix(" |").split(" | ")
        code = re.fullmatch(r"(`+) ?(.*?) ?\1|none", cells[-1])
        if code and line.startswith("|") and len(cells) == 3:
            yield cells[0], code.group(2) or "none"


ROWS = dict(rows())


class Bench:
    """A folder with sources, and the ways to read them at 16x20 pixels."""

    def __init__(self, root: Path, write_frames: Callable[..., list[Path]]) -> None:
        self.root = root
        self.write_frames = write_frames

    def clips(self, n: int = 12) -> list[Path]:
        """Frames of clip `b`; clips `a` and `c` stand beside it, `c` is held out."""
        self.write_frames(self.root / "in" / "a", 12, seed=1)
        self.write_frames(self.root / "in" / "c", 12, seed=3)
        return self.write_frames(self.root / "in" / "b", n, seed=2)

    def drive(
        self, name: str, n: int = 12, *, camera: str = "03", above: str = "", ending: str = "_sync"
    ) -> list[Path]:
        folder = self.root / "in" / above / name[:10] / f"{name}{ending}" / f"image_{camera}" / "data"
        return self.write_frames(folder, n, seed=int(name[-2:]) if name[-2:].isdigit() else 7)

    def release(self, sources: list[str], frames: int | None = None, dtype: type = np.uint8) -> Path:
        folder = self.root / "in"
        folder.mkdir(exist_ok=True)
        with h5py.File(folder / "X_val.hkl", "w") as file:
            file["data_0"] = np.zeros((frames or len(sources), 16, 20, 3), dtype)
        with h5py.File(folder / "sources_val.hkl", "w") as file:
            file["data_0"] = np.array(sources, "S")
        return folder

    def video(self, name: str = "b.mp4", n: int = 40, *, jump: bool = False, h: int = 48, w: int = 64) -> Path:
        file = self.root / name
        rng = np.random.default_rng(0)
        still = np.kron(rng.integers(0, 255, (2, h // 8, w // 8, 3), np.uint8), np.ones((1, 8, 8, 1), np.uint8))
        with av.open(str(file), "w") as container:
            stream = container.add_stream("mpeg4", rate=25, options={"qscale": "2"})
            stream.width, stream.height, stream.pix_fmt = w, h, "yuv420p"
            for t in range(n):
                picture = still[int(jump and t >= n // 2)]
                container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
            container.mux(stream.encode(None))
        return file

    def build(self, **options: object) -> VideoDataset:
        return prepare_videos([self.root / "in"], self.root / "out", height=16, width=20, **options)  # type: ignore[arg-type]

    def kitti(self, **options: object) -> VideoDataset:
        return prepare_kitti(self.root / "in", self.root / "out", height=16, width=20, **options)  # type: ignore[arg-type]

    def hkl(self) -> VideoDataset:
        return prepare_hkl(self.root / "in", self.root / "out")

    def films(self, *files: Path, **options: object) -> VideoDataset:
        return prepare_videos(files, self.root / "out", height=16, width=20, **options)  # type: ignore[arg-type]

    def refused(self, build: Callable[..., VideoDataset], *args: object, **options: object) -> str:
        """The message; and nothing was left behind."""
        with pytest.raises(DataError) as caught:
            build(*args, **options)
        assert not (self.root / "out").exists()
        return str(caught.value)


def warned(dataset: VideoDataset, part: str) -> str:
    (found,) = [text for text in dataset.warnings if part in text]
    return found


def silent(dataset: VideoDataset) -> str:
    about = [text for text in dataset.warnings if "held out" not in text]
    assert not about
    return "none"


@case("an image cut off in its pixels")
def _(bench: Bench) -> str:
    file = bench.clips()[7]
    file.write_bytes(file.read_bytes()[:300])
    return bench.refused(bench.build)


@case("the same, with `--skip-bad`")
def _(bench: Bench) -> str:
    file = bench.clips(23)[12]
    file.write_bytes(file.read_bytes()[:300])
    dataset = bench.build(skip_bad=True)
    assert [r.length for r in dataset.split("val").recordings] == [12, 10]
    return warned(dataset, "skipped")


@case("a PNG with a flipped bit")
def _(bench: Bench) -> str:
    file = bench.clips()[7]
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 8
    file.write_bytes(data)
    return bench.refused(bench.build)


@case("a PNG without its last 8 bytes")
def _(bench: Bench) -> str:
    file = bench.clips()[7]
    file.write_bytes(file.read_bytes()[:-8])
    return warned(bench.build(), "marker")


@case("half a JPEG")
def _(bench: Bench) -> str:
    file = bench.clips()[7]
    noise = np.random.default_rng(0).integers(0, 255, (240, 300, 3), np.uint8)
    for frame in file.parent.iterdir():
        Image.fromarray(noise).save(frame, "JPEG")
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    return bench.refused(bench.build)


@case("an empty file")
def _(bench: Bench) -> str:
    bench.clips()[7].write_bytes(b"")
    return bench.refused(bench.build)


@case("an HTML page instead of an image")
def _(bench: Bench) -> str:
    bench.clips()[7].write_bytes(b"<!DOCTYPE html><html>404")
    return bench.refused(bench.build)


@case("a Git LFS pointer")
def _(bench: Bench) -> str:
    bench.clips()[7].write_bytes(LFS)
    return bench.refused(bench.build)


@case("a file that is no image, whatever its name says")
def _(bench: Bench) -> str:
    bench.clips()[7].write_bytes(b"PK\x03\x04 an archive")
    return bench.refused(bench.build)


@case("an image of floating-point pixels")
def _(bench: Bench) -> str:
    file = bench.clips()[7]
    Image.fromarray(np.zeros((24, 30), np.float32)).save(file, "TIFF")
    return bench.refused(bench.build)


@case("grey, palette and RGBA images")
def _(bench: Bench) -> str:
    files = bench.clips()
    for file, mode in zip(files[3:6], ("L", "P", "RGBA"), strict=True):
        Image.open(file).convert(mode).save(file)
    return silent(bench.build())


@case("16-bit grey images")
def _(bench: Bench) -> str:
    for file in bench.clips():
        Image.fromarray(np.full((24, 30), 257 * 99, np.uint16)).save(file)
    dataset = bench.build()
    assert (dataset.split("val").frames == 99).all()
    return silent(dataset)


@case("images of several sizes in one drive or folder")
def _(bench: Bench) -> str:
    Image.fromarray(np.zeros((10, 12, 3), np.uint8)).save(bench.clips()[7])
    return bench.refused(bench.build)


@case("two images of one number")
def _(bench: Bench) -> str:
    file = bench.clips()[7]
    Image.open(file).save(file.with_suffix(".bmp"))
    return bench.refused(bench.build)


@case("missing frame numbers")
def _(bench: Bench) -> str:
    bench.clips(24)[12].unlink()
    return warned(bench.build(), "missing")


@case("names without leading zeros")
def _(bench: Bench) -> str:
    for file in bench.clips():
        file.rename(file.with_name(f"f{int(file.stem)}.png"))
    return silent(bench.build())


@case("a source narrower than the target")
def _(bench: Bench) -> str:
    bench.clips()
    bench.write_frames(bench.root / "in" / "b", 12, h=40, w=30)
    return warned(bench.build(), "narrow")


@case("too few frames in a row")
def _(bench: Bench) -> str:
    bench.clips(9)
    return warned(bench.build(), "fewer")


@case("no recording that is long enough")
def _(bench: Bench) -> str:
    bench.write_frames(bench.root / "in" / "a", 9)
    return bench.refused(bench.build)


@case("a single recording")
def _(bench: Bench) -> str:
    bench.write_frames(bench.root / "in" / "a", 60)
    return warned(bench.build(), "one recording only")


@case("a single recording, too short for that")
def _(bench: Bench) -> str:
    bench.write_frames(bench.root / "in" / "a", 45)
    return bench.refused(bench.build)


@case("names that are not UTF-8")
def _(bench: Bench) -> str:
    bench.clips()
    (bench.root / "in" / "b").rename(bench.root / "in" / os.fsdecode(b"b\xff"))
    dataset = bench.build()
    assert dataset.split("val").recordings[0].name == "b\\xff"
    return silent(dataset)


@case("links that form a loop")
def _(bench: Bench) -> str:
    bench.clips()
    (bench.root / "in" / "a" / "loop").symlink_to(bench.root / "in")
    return silent(bench.build())


@case("a source that can only be read")
def _(bench: Bench) -> str:
    bench.clips()
    folders = [bench.root / "in", *(bench.root / "in").iterdir()]
    for folder in folders:
        folder.chmod(0o555)
    try:
        return silent(bench.build())
    finally:
        for folder in folders:
            folder.chmod(0o755)


@case("a folder without videos and images")
def _(bench: Bench) -> str:
    (bench.root / "in").mkdir()
    return bench.refused(bench.build)


@case("a clip asked for in two splits")
def _(bench: Bench) -> str:
    bench.clips()
    clip = bench.root / "in" / "b"
    return bench.refused(bench.build, val=[clip], test=[clip])


@case("a video without its index")
def _(bench: Bench) -> str:
    file = bench.video()
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    return bench.refused(bench.films, file)


@case("a video that ends early")
def _(bench: Bench) -> str:
    file = bench.video("b.mkv", 200)
    file.write_bytes(file.read_bytes()[: file.stat().st_size * 3 // 4])
    return warned(bench.films(file), "declares")


@case("a file with sound alone")
def _(bench: Bench) -> str:
    file = bench.root / "b.wav"
    with av.open(str(file), "w") as container:
        stream = container.add_stream("pcm_s16le", rate=8000)
        silence = av.AudioFrame.from_ndarray(np.zeros((1, 800), np.int16), format="s16", layout="mono")
        silence.rate = 8000
        container.mux(stream.encode(silence))
        container.mux(stream.encode(None))
    return bench.refused(bench.films, file)


@case("cuts in a video")
def _(bench: Bench) -> str:
    return warned(bench.films(bench.video(n=400, jump=True)), "cut,")


@case("more frames a second than the video has")
def _(bench: Bench) -> str:
    return bench.refused(bench.films, bench.video(), fps=50)


@case("`--fps` with a folder of frames")
def _(bench: Bench) -> str:
    bench.write_frames(bench.root / "in" / "a", 60)
    return warned(bench.build(fps=5), "--fps")


@case("a folder without KITTI drives")
def _(bench: Bench) -> str:
    bench.clips()
    return bench.refused(bench.kitti)


@case("the camera is in no drive")
def _(bench: Bench) -> str:
    bench.drive(DRIVE, camera="00")
    bench.drive(VAL, camera="02")
    return bench.refused(bench.kitti)


@case("the camera is missing from one drive")
def _(bench: Bench) -> str:
    bench.drive(DRIVE)
    bench.drive(VAL)
    bench.drive(OTHER, camera="02")
    return warned(bench.kitti(), "no camera")


@case("an empty drive")
def _(bench: Bench) -> str:
    bench.drive(DRIVE)
    bench.drive(VAL)
    bench.drive(OTHER, 0)
    return warned(bench.kitti(), "holds no image")


@case("unsynchronised drives alone")
def _(bench: Bench) -> str:
    bench.drive(DRIVE, ending="_extract")
    return bench.refused(bench.kitti)


@case("a drive that lies there twice")
def _(bench: Bench) -> str:
    bench.drive(DRIVE)
    bench.drive(VAL)
    bench.drive(VAL, above="copy")
    return warned(bench.kitti(), "same drive")


@case("a drive that KITTI does not list")
def _(bench: Bench) -> str:
    bench.drive("2011_09_26_drive_9001")
    bench.drive(VAL)
    return warned(bench.kitti(), "not in KITTI's list")


@case("a drive of another category")
def _(bench: Bench) -> str:
    bench.drive(DRIVE)
    bench.drive(VAL)
    bench.drive("2011_09_28_drive_0016")
    return warned(bench.kitti(), "campus")


@case("every drive is one that is held out")
def _(bench: Bench) -> str:
    bench.drive(VAL)
    bench.drive("2011_09_26_drive_0104")
    return bench.refused(bench.kitti)


@case("a categories file that is no table")
def _(bench: Bench) -> str:
    bench.drive(DRIVE)
    table = bench.root / "drives.csv"
    table.write_text("number;kind\n1;city\n")
    return bench.refused(bench.kitti, categories_file=table)


@case("a categories file that names a drive twice")
def _(bench: Bench) -> str:
    bench.drive(DRIVE)
    table = bench.root / "drives.csv"
    table.write_text(f"drive,category\n{DRIVE},city\n{DRIVE}_sync,road\n")
    return bench.refused(bench.kitti, categories_file=table)


@case("a categories file that names an absent drive")
def _(bench: Bench) -> str:
    bench.drive(DRIVE)
    bench.drive(VAL)
    table = bench.root / "drives.yaml"
    table.write_text(f"{OTHER}: city\n")
    return warned(bench.kitti(categories_file=table), "categories file")


@case("an `.hkl` file cut off")
def _(bench: Bench) -> str:
    file = bench.release(["a"] * 12) / "X_val.hkl"
    file.write_bytes(file.read_bytes()[:-1000])
    return bench.refused(bench.hkl)


@case("an `.hkl` file that is something else")
def _(bench: Bench) -> str:
    (bench.release(["a"] * 12) / "sources_val.hkl").write_bytes(LFS)
    return bench.refused(bench.hkl)


@case("frames and sources of different number")
def _(bench: Bench) -> str:
    bench.release(["a"] * 12, 13)
    return bench.refused(bench.hkl)


@case("frames without their sources")
def _(bench: Bench) -> str:
    (bench.release(["a"] * 12) / "sources_val.hkl").unlink()
    return bench.refused(bench.hkl)


@case("an array that is no 8-bit colour video")
def _(bench: Bench) -> str:
    bench.release(["a"] * 12, dtype=np.float32)
    return bench.refused(bench.hkl)


@case("a source that comes back after another (A-B-A)")
def _(bench: Bench) -> str:
    folder = bench.release(["a"] * 11 + ["b"] * 10 + ["a"] * 12)
    assert [r.length for r in bench.hkl().split("val").recordings] == [11, 10, 12]
    found = inspect_hkl(folder, bench.root / "out", quick=False, progress=lambda what, done, total: None)
    (fact,) = [text for text in found.facts if "comes back" in text]
    return fact


@case("a full disk")
def _(bench: Bench) -> str:
    bench.clips()
    script = (
        "import sys\nfrom prednet.data.video import prepare_videos\nfrom prednet.errors import DataError\n"
        "try: prepare_videos([sys.argv[1]], sys.argv[2], height=16, width=20)\nexcept DataError as e: print(e)"
    )
    said = subprocess.run(
        [sys.executable, "-c", script, str(bench.root / "in"), str(bench.root / "out")],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000)),
        capture_output=True,
        text=True,
        timeout=60,
    ).stdout.strip()
    assert not (bench.root / "out").exists()
    return said


@case("a place that cannot be written")
def _(bench: Bench) -> str:
    bench.clips()
    (bench.root / "file").write_text("")
    return bench.refused(prepare_videos, [bench.root / "in"], bench.root / "file" / "out")


@case("another process prepares the same data")
def _(bench: Bench) -> str:
    bench.clips()
    said: list[str] = []

    def progress(what: str, done: int, total: int) -> None:
        said.append(what)
        if what.startswith("waiting"):
            lock.release()

    lock = FileLock(bench.root / ".out.lock")
    lock.acquire()
    bench.build(progress=progress)
    return next(text for text in said if text.startswith("waiting"))


@case("a source that changed after it was prepared")
def _(bench: Bench) -> str:
    file = bench.clips()[7]
    dataset = bench.build()
    Image.fromarray(np.zeros((24, 30, 3), np.uint8)).save(file)
    state = source_state(dataset)
    assert state.state == "changed" and bench.build().fingerprint != dataset.fingerprint
    return f"source {state.state}: {state.details[0]}"


@case("prepared frames that were altered")
def _(bench: Bench) -> str:
    bench.clips()
    dataset = bench.build()
    file = dataset.split("val").file
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    (problem,) = damaged_splits(dataset, lambda what, done, total: None)
    return problem


@pytest.mark.parametrize("name", CASES)
def test_the_message_is_the_one_in_the_docs(name: str, tmp_path: Path, write_frames: Callable[..., list[Path]]) -> None:
    said = CASES[name](Bench(tmp_path, write_frames)).replace(str(tmp_path), "DIR").replace("\n", " ")
    pattern = ".*".join(re.escape(part) for part in ROWS.get(name, "no such row").split("..."))
    assert re.fullmatch(pattern, said), f"docs/data.md: | {name} | ... | `{said}` |"


def test_the_docs_have_no_other_rows() -> None:
    assert set(ROWS) == set(CASES)
