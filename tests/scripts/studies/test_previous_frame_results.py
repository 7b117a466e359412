"""The table of the footage study says for every clip what was and wasn't reached."""

import importlib
from pathlib import Path

import pytest


@pytest.fixture
def results(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[3] / "scripts" / "studies"))
    return importlib.import_module("previous_frame_results")


def rows(clip, previous, curves):
    """One row an epoch and seed; `curves`: seed -> MSE at epochs 0, 1, ..."""
    keys = ("seed", "clip", "epoch", "mse", "previous_frame_mse", "n_windows")
    return [
        dict(zip(keys, (seed, clip, epoch, mse, previous, 2), strict=True))
        for seed, curve in curves.items()
        for epoch, mse in enumerate(curve)
    ]


@pytest.fixture
def made():
    return [
        *rows("fast", 0.02, {0: [0.2, 0.018, 0.010], 1: [0.2, 0.030, 0.014]}),
        *rows("slow", 0.002, {0: [0.2, 0.01, 0.0018], 1: [0.2, 0.01, 0.0026]}),
        *rows("still", 0.0002, {0: [0.2, 0.01, 0.001], 1: [0.2, 0.01, 0.001]}),
    ]


def test_every_clip_is_listed_and_what_is_missed_is_named(results, made, tmp_path):
    results.write_results(tmp_path, made, {"fast": 0.03, "slow": 0.003, "still": 0.0002})
    text = (tmp_path / "table.md").read_text()
    assert "| fast | 0.03000 | 0.02000 | 2 | 0.01200 ± 0.00283 | 0.600 ± 0.141 | 2 of 2 | 2 |" in text
    assert "| slow | 0.00300 | 0.00200 | 2 | 0.00220 ± 0.00057 | 1.100 ± 0.283 | 1 of 2 | never |" in text
    assert "| still | 0.00020 |" in text
    assert "Of 2 clips above 0.001, below the baseline with every seed: 1." in text
    assert "Not reached: slow (1.10, 1 of 2 seeds)." in text
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
    assert len((tmp_path / "epochs.csv").read_text().splitlines()) == 1 + len(made)


def test_a_seed_that_is_behind_is_named_and_not_counted(results, made, tmp_path):
    partial = [row for row in made if not (row["seed"] == 1 and row["epoch"] == 2)]
    results.write_results(tmp_path, partial, {"fast": 0.03, "slow": 0.003, "still": 0.0002})
    text = (tmp_path / "table.md").read_text()
    assert text.startswith("Epoch 2, seeds 0, held-out")
    assert "Not counted: seed 1 is at epoch 1." in text
    assert "| fast | 0.03000 | 0.02000 | 2 | 0.01000 | 0.500 | 1 of 1 | 1 |" in text
