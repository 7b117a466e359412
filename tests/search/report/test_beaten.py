from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from search.report.analysis import analyse
from search.report.artifacts import read_brain
from search.report.beaten import beaten_baseline
from search.report.notices import notices
from search.report.palette import CATEGORY_MARKS
from search.report.tables import read_tables

WriteTables = Callable[..., Path]


def noisy(rdm: np.ndarray, spread: float, seed: int) -> np.ndarray:
    noise = np.random.default_rng(seed).normal(0, spread, rdm.shape)
    found = np.clip(rdm + (noise + noise.T) / 2, 0, 2)
    np.fill_diagonal(found, 0)
    return found.astype(np.float32)


@pytest.fixture
def folder(write_tables: WriteTables) -> Path:
    """Six networks: 0 close to the people, 1 a little above the baseline, 2 above it without an RDM, others below."""
    folder = write_tables(trials=6)
    with np.load(folder / "brain.npz") as file:
        arrays = dict(file)
    human = arrays["human_rdm"].astype(float)
    baseline = noisy(human, 1.5, 1)
    arrays |= {"image_names": np.array(["noise", "pixels"]), "image_rdms": np.array([noisy(human, 9, 0), baseline])}
    np.savez(folder / "brain.npz", **arrays)
    trials = pd.read_csv(folder / "trials.csv")
    trials["hms"] = [0.95, 0.999, 0.9, 0.01, 0.02, 0.03]
    trials.to_csv(folder / "trials.csv", index=False)
    for tid, rdm in ((0, noisy(human, 0.1, 2)), (1, noisy(human, 1.49, 3))):
        there = folder / "trials" / f"{tid:06d}"
        there.mkdir(parents=True, exist_ok=True)
        np.savez(there / "rdm.npz", rdm=rdm, labels=arrays["labels"])
    (folder / "trials" / "000002" / "rdm.npz").unlink(missing_ok=True)
    return folder


def test_only_networks_whose_interval_is_above_the_baseline_beat_it(folder: Path) -> None:
    tables = read_tables(folder)
    found = beaten_baseline(tables, read_brain(tables))
    assert found is not None
    assert (found.baseline, found.networks) == ("pixels", 6)
    assert found.beating == (0,)
    assert found.without_rdm == (2,)
    told = " ".join(notices(analyse(tables)))
    assert "1 by more than the 95 % interval of the difference" in told
    assert "RDMs of 1 network above it are not there" in told


def test_an_export_without_the_baselines_rdms_gives_point_values(write_tables: WriteTables) -> None:
    tables = read_tables(write_tables(trials=6))
    assert beaten_baseline(tables, read_brain(tables)) is None
    assert beaten_baseline(tables, None) is None
    assert "These are point values" in " ".join(notices(analyse(tables)))


def test_categories_differ_in_colour_and_in_shape() -> None:
    colours, markers = zip(*CATEGORY_MARKS, strict=True)
    assert len(set(colours)) == len(set(markers)) == len(CATEGORY_MARKS) >= 6
