import json
import os
import resource
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from prednet.data.cache import VideoDataset
from prednet.data.video import prepare_videos
from prednet.errors import DataError

Writer = Callable[..., list[Path]]

BUILDER = textwrap.dedent(
    """
    import json, os, signal, sys, time
    from pathlib import Path
    from prednet.data.video import prepare_videos
    from prednet.errors import DataError

    clips, dest, act = sys.argv[1:]
    said = []

    def progress(what, done, total):
        said.append((what.split()[0], done, total))
        if act == "kill" and what == "decoding frames" and done >= total * 3 // 5:
            os.kill(os.getpid(), signal.SIGKILL)
        if act == "hold" and what == "decoding frames":
            Path(dest + ".started").touch()
            while not Path(dest + ".waiting").exists():
                time.sleep(0.01)
        if act == "wait" and what.startswith("waiting"):
            Path(dest + ".waiting").touch()

    try:
        dataset = prepare_videos([clips], dest, height=16, width=20, workers=2, progress=progress)
        print(json.dumps({"fingerprint": dataset.fingerprint, "said": said}))
    except DataError as error:
        print(json.dumps({"error": str(error)}))
    """
)


def builder(clips: Path, dest: Path, act: str = "", **kwargs: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", BUILDER, str(clips), str(dest), act]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **kwargs)  # type: ignore[call-overload]


def answer(process: subprocess.Popen[str]) -> dict[str, object]:
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0, out
    return json.loads(out)


@pytest.fixture
def clips(tmp_path: Path, write_frames: Writer) -> Path:
    for index, name in enumerate("abcdef"):
        write_frames(tmp_path / "clips" / name, 20, seed=index)
    return tmp_path / "clips"


def build(clips: Path, dest: Path, **kwargs: object) -> tuple[VideoDataset, list[tuple[str, int, int]]]:
    said: list[tuple[str, int, int]] = []
    dataset = prepare_videos(
        [clips],
        dest,
        height=16,
        width=20,
        progress=lambda *news: said.append(news),
        **kwargs,  # type: ignore[arg-type]
    )
    return dataset, said


def test_building_shows_progress_and_leaves_only_the_dataset(clips: Path, tmp_path: Path) -> None:
    dataset, said = build(clips, tmp_path / "out")
    decoding = [(done, total) for what, done, total in said if what == "decoding frames"]
    assert decoding[-1] == (120, 120) and [done for done, _ in decoding] == sorted(done for done, _ in decoding)
    kinds = sorted(file.name.split("-")[0] for file in dataset.path.iterdir())
    assert kinds == ["meta.json", "source_files.json", "test", "train", "val"]


def test_the_same_request_builds_nothing(clips: Path, tmp_path: Path) -> None:
    first, _ = build(clips, tmp_path / "out")
    stamps = {file: file.stat().st_mtime_ns for file in first.path.iterdir()}
    again, said = build(clips, tmp_path / "out")
    assert again.fingerprint == first.fingerprint and said == []
    assert {file: file.stat().st_mtime_ns for file in first.path.iterdir()} == stamps


def test_a_changed_source_or_option_rebuilds_and_removes_the_old_frames(
    clips: Path, tmp_path: Path, write_frames: Writer
) -> None:
    first, _ = build(clips, tmp_path / "out")
    keep = first.path / "mine.npy"
    np.save(keep, np.zeros(3))
    write_frames(clips / "a", 20, seed=50)
    second, said = build(clips, tmp_path / "out")
    assert second.fingerprint != first.fingerprint and said
    third, _ = build(clips, tmp_path / "out", resize="legacy")
    assert third.fingerprint != second.fingerprint and third.meta["resize"] == "legacy"
    assert len(list(third.path.glob("*.npy"))) == 4 and keep.exists()
    assert third.split("train").frames.shape[0] == 80


def test_the_fingerprint_is_of_the_content_not_of_paths_and_times(clips: Path, tmp_path: Path) -> None:
    first, _ = build(clips, tmp_path / "out")
    moved = clips.rename(tmp_path / "elsewhere")
    for file in moved.rglob("*.png"):
        os.utime(file, (1, 1))
    second, _ = build(moved, tmp_path / "other", workers=1)
    assert second.fingerprint == first.fingerprint


def test_a_missing_frame_file_is_built_again(clips: Path, tmp_path: Path) -> None:
    first, _ = build(clips, tmp_path / "out")
    first.split("val").file.unlink()
    second, _ = build(clips, tmp_path / "out")
    assert second.fingerprint == first.fingerprint and second.split("val").frames.any()


def test_bad_frame_leaves_no_partial_cache_and_an_older_one_untouched(clips: Path, tmp_path: Path) -> None:
    first, _ = build(clips, tmp_path / "out")
    bad = clips / "e" / "0000000012.png"
    bad.write_bytes(bad.read_bytes()[:150])
    for dest in (tmp_path / "new", tmp_path / "out"):
        with pytest.raises(DataError, match=r"0000000012\.png.*--skip-bad"):
            build(clips, dest)
    assert not (tmp_path / "new").exists()
    assert VideoDataset.open(tmp_path / "out").fingerprint == first.fingerprint
    assert VideoDataset.open(tmp_path / "out").split("train").frames.any()
    assert not (tmp_path / "out" / ".building").exists()


def test_skip_bad_splits_the_recording_there(clips: Path, tmp_path: Path) -> None:
    bad = clips / "b" / "0000000012.png"
    bad.write_bytes(b"")
    dataset, _ = build(clips, tmp_path / "out", skip_bad=True)
    spans = [(r.name, r.offset, r.length) for r in dataset.split("train").recordings]
    assert spans == [("a", 0, 20), ("b", 20, 12), ("b [2]", 33, 7), ("c", 40, 20), ("d", 60, 20)]
    assert dataset.split("train").n_frames == 79
    assert any("0000000012.png" in text and "empty" in text for text in dataset.warnings)


def test_torn_png_is_used_and_warned_of(clips: Path, tmp_path: Path) -> None:
    torn = clips / "b" / "0000000012.png"
    torn.write_bytes(torn.read_bytes()[:-8])
    dataset, _ = build(clips, tmp_path / "out")
    assert dataset.split("train").n_frames == 80
    assert [text for text in dataset.warnings if "0000000012.png" in text and "end marker" in text]


def test_read_only_source_is_left_alone(clips: Path, tmp_path: Path) -> None:
    before = {file: file.stat().st_mtime_ns for file in clips.rglob("*")}
    folders = [clips, *(folder for folder in clips.iterdir())]
    for folder in folders:
        folder.chmod(0o555)
    try:
        build(clips, tmp_path / "out")
    finally:
        for folder in folders:
            folder.chmod(0o755)
    assert {file: file.stat().st_mtime_ns for file in clips.rglob("*")} == before


def test_a_killed_build_continues_behind_the_last_whole_recording(clips: Path, tmp_path: Path) -> None:
    expected, _ = build(clips, tmp_path / "expected")
    process = builder(clips, tmp_path / "out", "kill")
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    with pytest.raises(DataError, match="not finished"):
        VideoDataset.open(tmp_path / "out")
    journal = (tmp_path / "out" / ".building" / "journal.jsonl").read_text().splitlines()
    assert len(journal) == 3
    dataset, said = build(clips, tmp_path / "out")
    steps = [done for what, done, _ in said if what == "decoding frames"]
    assert steps[:3] == [20, 40, 60] and steps[3] - steps[2] < 20
    assert dataset.fingerprint == expected.fingerprint


def test_a_torn_journal_and_a_lost_file_are_built_again(clips: Path, tmp_path: Path) -> None:
    expected, _ = build(clips, tmp_path / "expected")
    builder(clips, tmp_path / "out", "kill").communicate(timeout=60)
    working = tmp_path / "out" / ".building"
    journal = working / "journal.jsonl"
    journal.write_text(journal.read_text()[:-20])
    assert build(clips, tmp_path / "out")[0].fingerprint == expected.fingerprint
    builder(clips, tmp_path / "third", "kill").communicate(timeout=60)
    (tmp_path / "third" / ".building" / "train.npy").unlink()
    assert build(clips, tmp_path / "third")[0].fingerprint == expected.fingerprint


def test_of_two_builders_one_builds_and_the_other_waits(clips: Path, tmp_path: Path) -> None:
    first = builder(clips, tmp_path / "out", "hold")
    deadline = time.monotonic() + 60
    while not (tmp_path / "out.started").exists():
        assert time.monotonic() < deadline and first.poll() is None
        time.sleep(0.01)
    second = builder(clips, tmp_path / "out", "wait")
    one, two = answer(first), answer(second)
    assert one["fingerprint"] == two["fingerprint"]
    assert {step[0] for step in one["said"]} >= {"finding", "decoding", "checking"}  # type: ignore[attr-defined]
    assert [step[0] for step in two["said"]] == ["waiting"]  # type: ignore[attr-defined]


def test_a_file_size_limit_is_a_clean_error(clips: Path, tmp_path: Path) -> None:
    limit = 40_000  # the train split needs 80 * 960 bytes

    process = builder(
        clips,
        tmp_path / "out",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    error = answer(process)["error"]
    assert "no space" in str(error) and "115,200 bytes" in str(error) and "HMS_DATA" in str(error)
    assert not (tmp_path / "out").exists()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)], capture_output=True)
    if mounted.returncode:
        pytest.skip("needs the right to mount a small tmpfs")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_is_a_clean_error(clips: Path, small_disk: Path) -> None:
    with pytest.raises(DataError, match=r"no space \(No space left on device\).*nothing was left behind"):
        build(clips, small_disk / "out")
    assert not (small_disk / "out").exists()


def test_a_destination_that_cannot_be_written_is_named(clips: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match=r"file.*cannot be written"):
        build(clips, tmp_path / "file" / "out")
    with pytest.raises(DataError, match="cannot be written"):
        build(clips, tmp_path / "file")
