"""The sentence about the validation split of Lotter et al. stands only where the record shows it and more is asked."""

import json

import pytest

from search.report import analyse, read_tables
from search.report.notices import notices


@pytest.mark.parametrize(
    ("kind", "frames", "space", "told"),
    [
        ("kitti", 154, {"kind": "stepped", "low": 100, "high": 1900, "step": 100}, "above 145 (up to 1900 here)"),
        ("hkl", 154, {"kind": "choice", "values": [100, 200]}, "above 145 (up to 200 here)"),
        ("kitti", 154, {"kind": "choice", "values": [100, 145]}, None),
        ("kitti", 300, {"kind": "choice", "values": [1900]}, None),
        ("video", 154, {"kind": "choice", "values": [1900]}, None),
        ("kitti", 154, None, "above 145 (up to 500 here)"),
    ],
)
def test_val_sequences_beyond_the_windows_are_told(write_tables, kind, frames, space, told):
    folder = write_tables(trials=4)
    file = next(folder.rglob("search.json"))
    record = json.loads(file.read_text())
    record["data"] |= {"kind": kind}
    record["data"]["splits"]["val"]["frames"] = frames
    record["config"] |= {"training": {"nt": 10, "val_sequences": 500}}
    record["config"] |= {"space": {"val_sequences": space} if space else {}}
    file.write_text(json.dumps(record))
    found = [text for text in notices(analyse(read_tables(folder))) if "val_sequences" in text]
    assert len(found) == (told is not None)
    assert told is None or (told in found[0] and "154 frames, 145 windows of 10" in found[0])
