"""`hms data inspect|list|verify|remove` and `--dry-run`, as a person types them."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
from PIL import Image

from metrics.gazoobian.dataset import prepare_gazoobian
from prednet.data.build import build_lock
from prednet.data.cache import VideoDataset
from search.cli import main
from search.prepared_data import prepared_data, users_of

DRIVES = ("2011_09_26_drive_0001", "2011_09_26_drive_0002", "2011_09_26_drive_0005")


def write_images(folder: Path, n: int, seed: int) -> None:
    folder.mkdir(parents=True)
    blocks = Image.fromarray(np.random.default_rng(seed).integers(0, 255, (3, 5, 3), np.uint8))
    for number in range(n):
        blocks.resize((30, 24), Image.Resampling.NEAREST).rotate(number).save(folder / f"{number:010d}.png")


@pytest.fixture
def raw(tmp_path, monkeypatch):
    monkeypatch.setenv("HMS_DATA", str(tmp_path / "data"))
    for seed, drive in enumerate(DRIVES):
        write_images(tmp_path / "raw" / drive[:10] / f"{drive}_sync" / "image_03" / "data", 12, seed)
    return tmp_path / "raw"


@pytest.fixture
def hms(monkeypatch, capsys):
    def run(*words):
        monkeypatch.setattr(sys, "argv", ["hms", *map(str, words)])
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = stop.code or 0
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def prepare(hms, raw, name="k"):
    code, out, _ = hms("data", "kitti", raw, "--name", name, "--height", 16, "--width", 20)
    assert code == 0
    return out


def test_a_dry_run_prints_the_plan_and_writes_nothing(hms, raw, tmp_path):
    code, out, _ = hms("data", "kitti", raw, "--name", "k", "--height", 16, "--width", 20, "--dry-run")
    assert code == 0 and not (tmp_path / "data").exists()
    assert "val: 12 frames in 1 recordings: 2011_09_26_drive_0005 (12)" in out and "needs 0.0 MB" in out
    prepare(hms, raw)
    *_, last = hms("data", "kitti", raw, "--name", "k", "--height", 16, "--width", 20, "--dry-run")[1].splitlines()
    assert "prepared already" in last or "note:" in last


def test_inspect_prints_writes_a_sheet_and_gives_the_next_command(hms, raw, tmp_path):
    sheet = tmp_path / "sheets" / "a.png"
    code, out, err = hms("data", "inspect", raw, "--contact-sheet", sheet)
    assert code == 0 and "reading images: 36 of 36" in err
    assert out.startswith(f"{raw}: KITTI raw recordings, DATE/DRIVE/image_0X layout: 3 drives")
    assert f"Next: hms data kitti {raw}\n" in out and out.rstrip().endswith(str(sheet))
    with Image.open(sheet) as image:
        assert image.height > 3 * 96
    assert not (tmp_path / "data").exists()


def test_inspect_as_json_holds_every_bad_file(hms, raw):
    bad = sorted(raw.rglob("*.png"))[4:7]
    for file in bad:
        file.write_bytes(b"")
    code, out, _ = hms("data", "inspect", raw, "--json")
    (found,) = json.loads(out)
    assert code == 0 and found["kind"] == "kitti" and len(found["problems"]) == 3
    assert all(str(file) in " ".join(found["problems"]) for file in bad)
    assert found["ways"][0]["command"].endswith("--skip-bad")


def test_inspect_finds_every_kind_below_one_folder(hms, raw, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    raw.rename(home / "raw")
    write_images(home / "frames", 30, 9)
    for name, member, shape in (("release", "X_val", (12, 16, 20, 3)), ("vlog/v_1", "clip", (15, 16, 20, 3))):
        (home / name).mkdir(parents=True)
        with h5py.File(home / name / f"{member}.hkl", "w") as file:
            file["data_0"] = np.zeros(shape, np.uint8)
    with h5py.File(home / "release" / "sources_val.hkl", "w") as file:
        file["data_0"] = np.array(["a"] * 12, "S")
    prepare_gazoobian(home / "gaz", objects=2, views=2, height=16, width=20, samples=1, workers=1)
    prepare(hms, home / "raw")
    (tmp_path / "data" / "video" / "k").rename(home / "k")
    code, out, _ = hms("data", "inspect", home, "--json", "--contact-sheet", tmp_path / "a.png")
    found = {inspection["kind"]: inspection for inspection in json.loads(out)}
    assert code == 0 and set(found) == {"kitti", "hkl", "vlog", "video", "objects", "prepared"}
    assert found["kitti"]["path"] == str(home / "raw") and found["video"]["recordings"][0]["name"] == "frames"
    assert [(r["name"], r["frames"]) for r in found["vlog"]["recordings"]] == [("v_1", 15)]
    assert [r["name"] for r in found["objects"]["recordings"]] == ["f00-00", "f00-01"]
    assert {r["camera"] for r in found["prepared"]["recordings"]} == {"train", "val", "test"}
    # `hms data video HOME` would take images of the drives and of the objects too.
    assert found["video"]["ways"][0]["command"] == f"hms data video {home / 'frames'}"


def test_inspect_says_what_it_cannot_recognise(hms, tmp_path):
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / "b.mat").write_text("x")
    for path, says in (
        (tmp_path, "1 .txt, 1 .mat found"),
        (tmp_path / "a.txt", "a .txt file is none of"),
        (tmp_path / "none", "no such file"),
    ):
        code, _, err = hms("data", "inspect", path)
        assert code == 2 and says in err


def test_list_shows_kind_size_splits_and_whether_the_source_changed(hms, raw, tmp_path):
    assert "try `hms data demo`" in hms("data", "list")[1]
    prepare(hms, raw)
    prepare_gazoobian(
        tmp_path / "data" / "gazoobian" / "g", objects=2, views=2, height=8, width=8, samples=1, workers=1
    )
    (tmp_path / "data" / "brains" / "monkey").mkdir(parents=True)
    (tmp_path / "data" / "video" / "half" / ".building").mkdir(parents=True)
    (row,) = [item for item in json.loads(hms("data", "list", "--json")[1]) if item["name"] == "k"]
    assert row["kind"] == "kitti" and row["frames"] == 36 and row["splits"] == "train 12, val 12, test 12"
    assert row["source"] == str(raw) and row["state"] == "source unchanged" and row["bytes"] >= 36 * 960
    next(raw.rglob("*.png")).touch()
    lines = {line.split()[0]: line for line in hms("data", "list")[1].splitlines()}
    assert set(lines) == {"name", "half", "k", "g", "monkey"}
    assert "source changed" in lines["k"] and "not finished" in lines["half"] and "rendered here" in lines["g"]


def test_verify_says_what_changed_and_its_command_mends_it(hms, raw, tmp_path):
    prepare(hms, raw)
    code, out, _ = hms("data", "verify", "k")
    assert code == 0 and "every checksum is right, source unchanged" in out
    file = sorted(raw.rglob("*.png"))[0]
    Image.open(file).rotate(90).resize((30, 24)).save(file)
    code, _, err = hms("data", "verify", "k")
    *_, last = err.strip().splitlines()
    assert code == 2 and file.name in err
    assert last == f"Next: hms data kitti {raw} --name k --height 16 --width 20"
    before = VideoDataset.open(tmp_path / "data" / "video" / "k").fingerprint
    assert hms(*last.removeprefix("Next: hms ").split())[0] == 0
    assert hms("data", "verify", "k")[0] == 0
    assert VideoDataset.open(tmp_path / "data" / "video" / "k").fingerprint != before


def test_verify_finds_altered_frames_and_a_lost_source_is_only_a_note(hms, raw, tmp_path):
    prepare(hms, raw)
    shutil.rmtree(raw)
    code, out, _ = hms("data", "verify", "k")
    assert code == 0 and "note: source gone" in out
    val = VideoDataset.open(tmp_path / "data" / "video" / "k").split("val").file
    data = val.read_bytes()
    val.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    code, _, err = hms("data", "verify", "k")
    assert code == 2 and val.name in err


def test_a_killed_command_goes_on_with_the_one_that_verify_names(hms, raw, tmp_path):
    script = (
        "import os, signal, sys\nfrom prednet.data import fill\nfrom search.cli import main\n"
        "def kill(meter, frames):\n"
        "    meter.done += frames\n"
        "    if meter.done >= 30: os.kill(os.getpid(), signal.SIGKILL)\n"
        "fill._Meter.add = kill\nsys.argv[0] = 'hms'\nmain()"
    )
    words = ["data", "kitti", str(raw), "--name", "k", "--height", "16", "--width", "20"]
    killed = subprocess.run([sys.executable, "-c", script, *words], capture_output=True, timeout=60)
    assert killed.returncode == -9
    journal = tmp_path / "data" / "video" / "k" / ".building" / "journal.jsonl"
    assert len(journal.read_text().splitlines()) == 2
    code, _, err = hms("data", "verify", "k")
    assert code == 2 and "not finished" in err
    command = err.strip().splitlines()[-1].removeprefix("Next: hms ")
    assert command.split() == words
    assert hms(*words)[0] == 0 and hms("data", "verify", "k")[0] == 0


def test_verify_of_objects_names_every_altered_image(hms, raw, tmp_path):
    root = tmp_path / "data" / "gazoobian" / "g"
    prepare_gazoobian(root, objects=3, views=2, height=8, width=8, samples=1, workers=1)
    assert hms("data", "verify", "g")[0] == 0
    altered, broken, lost = sorted(root.glob("objects/*/*.png"))[:3]
    Image.new("RGB", (8, 8)).save(altered)
    broken.write_bytes(b"x")
    lost.unlink()
    code, _, err = hms("data", "verify", "g")
    assert code == 2 and all(str(file) in err for file in (altered, broken, lost))
    assert "Next: hms data gazoobian --preset mix_l --objects 3 --views 2 --height 8 --width 8 --seed 0" in err


def test_names_that_are_wrong_or_used_twice(hms, raw, tmp_path):
    prepare(hms, raw, "kitti")
    code, _, err = hms("data", "verify", "kity")
    assert code == 2 and "did you mean 'kitti'? Next: `hms data list`" in err
    prepare_gazoobian(
        tmp_path / "data" / "gazoobian" / "kitti", objects=2, views=2, height=8, width=8, samples=1, workers=1
    )
    code, _, err = hms("data", "remove", "kitti", "--yes")
    assert code == 2 and "video/kitti, gazoobian/kitti" in err
    assert hms("data", "remove", "gazoobian/kitti", "--yes")[0] == 0
    assert [item.kind for item in prepared_data(tmp_path / "data")] == ["kitti"]


def test_remove_asks_and_leaves_what_is_not_ours(hms, raw, tmp_path, monkeypatch):
    prepare(hms, raw)
    folder = tmp_path / "data" / "video" / "k"
    mine = folder / "mine.npy"
    np.save(mine, np.zeros(3))
    monkeypatch.setattr("builtins.input", lambda *_: "n")
    code, _, _ = hms("data", "remove", "k")
    assert code != 0 and (folder / "meta.json").exists()
    code, out, _ = hms("data", "remove", "k", "--yes")
    assert code == 0 and f"left alone: {mine}" in out and [f.name for f in folder.iterdir()] == ["mine.npy"]
    assert raw.exists()


def test_folders_of_the_user_below_the_data_are_neither_listed_nor_removed(hms, raw, tmp_path):
    root = tmp_path / "data"
    root.mkdir()
    raw.rename(root / "kitti_raw")
    write_images(root / "video" / "holiday", 12, 1)
    (root / "video" / "half" / ".building").mkdir(parents=True)
    (root / "video" / "half" / "notes.txt").write_text("mine")
    assert [item.name for item in prepared_data(root)] == ["half"]
    for name in ("2011_09_26", "kitti_raw/2011_09_26", "holiday"):
        code, _, err = hms("data", "remove", name, "--yes")
        assert code == 2 and "nothing named" in err
    code, out, _ = hms("data", "remove", "half", "--yes")
    assert code == 0 and "left alone" in out and [f.name for f in (root / "video" / "half").iterdir()] == ["notes.txt"]
    assert len(list(root.rglob("*.png"))) == 12 * (len(DRIVES) + 1)


def test_remove_is_refused_while_a_process_reads_the_frames(hms, raw, tmp_path):
    if not Path("/proc/self/maps").exists():
        pytest.skip("needs /proc")
    prepare(hms, raw)
    folder = tmp_path / "data" / "video" / "k"
    script = (
        "import sys\nfrom prednet.data.cache import VideoDataset\n"
        "frames = VideoDataset.open(sys.argv[1]).split('train').frames\nprint(len(frames), flush=True)\ninput()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as reader:
        assert reader.stdout.readline().strip() == "12"
        code, _, err = hms("data", "remove", "k", "--yes")
        assert code == 2 and f"in use by {reader.pid} " in err and (folder / "meta.json").exists()
        reader.communicate("\n", timeout=30)
    assert users_of(folder) == []
    assert hms("data", "remove", "k", "--yes")[0] == 0 and not folder.exists()


def test_remove_is_refused_while_the_data_are_being_prepared(hms, raw, tmp_path):
    prepare(hms, raw)
    folder = tmp_path / "data" / "video" / "k"
    with build_lock(folder):
        code, _, err = hms("data", "remove", "k", "--yes")
    assert code == 2 and "being prepared" in err and (folder / "meta.json").exists()
    assert hms("data", "remove", "k", "--yes")[0] == 0 and not list(folder.parent.iterdir())


def test_own_pictures_are_never_removed(hms, raw, tmp_path):
    write_images(tmp_path / "data" / "gazoobian" / "own" / "objects" / "cup", 2, 1)
    code, _, err = hms("data", "remove", "own", "--yes")
    assert code == 2 and "not made here" in err


def test_names_outside_utf8_and_control_characters_reach_no_terminal_raw(hms, tmp_path, monkeypatch):
    monkeypatch.setenv("HMS_DATA", str(tmp_path / "data"))
    source = tmp_path / os.fsdecode(b"f\xff\x1b[31m")
    for seed, name in enumerate("ab"):
        write_images(source / name, 12, seed)
    for words in (("inspect", source), ("video", source, "--name", "v", "--height", 16, "--width", 20), ("list",)):
        code, out, err = hms("data", *words)
        assert code == 0 and "\x1b" not in out + err and ("\\xff" in out or words[0] == "video")
