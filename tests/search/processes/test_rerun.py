"""`hms rerun`: one trial trained again from the store's record of it, in a folder of its own."""

import pandas as pd

from search.rerun import compared


def test_the_numbers_are_those_logged(finished, tmp_path):
    trials, epochs = finished.tables()
    out = tmp_path / "again"
    done = finished("rerun", "toy", "--tid", "2", "--out", str(out))
    assert done.code == 0, done.err
    assert done.lines[-1] == str(out)
    rows = pd.read_csv(out / "epochs.csv")
    logged = [row for row in epochs if row["tid"] == 2]
    assert len(logged) > 2
    assert [list(rows[key]) for key in ("epoch", "hms", "mse", "accuracy")] == [
        [row[key] for row in logged] for key in ("epoch", "hms", "mse", "accuracy")
    ]
    assert f"are equal to those logged at all {len(logged)} evaluations" in done.lines[-2]
    assert f"after {trials[2]['epochs_trained']} epochs" in done.lines[-3]
    assert not list(out.glob("checkpoint*"))
    assert finished.tables() == (trials, epochs)


def test_what_cannot_be_rerun_is_said(finished, tmp_path):
    (tmp_path / "kept").write_text("mine")
    taken = finished("rerun", "toy", "--tid", "0", "--out", str(tmp_path))
    assert taken.code == 2 and "--out" in taken.err and (tmp_path / "kept").read_text() == "mine"
    missing = finished("rerun", "toy", "--tid", "9")
    assert missing.code == 2 and "no trial 9" in missing.err


def test_a_difference_is_named():
    logged = {0: {"hms": None, "mse": 0.5}, 5: {"hms": 0.1, "mse": 0.25}}
    rows = [{"epoch": 0, "hms": None, "mse": 0.5}, {"epoch": 5, "hms": 0.1, "mse": 0.125}]
    assert compared(logged, rows, ["hms"]) == "hms are equal to those logged at all 2 evaluations"
    told = compared(logged, rows, ["hms", "mse"])
    assert told.startswith("1 of 4 values differ from those logged, first mse at epoch 5: 0.125 now, 0.25 then")
    assert compared({}, rows, ["mse"]).startswith("nothing to compare")
