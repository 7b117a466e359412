from collections.abc import Callable
from pathlib import Path

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient

from search.errors import UsageError
from search.report import analyse, load, load_rdm, read_tables
from search.report.exports import export_tables

NOTEBOOK = Path(__file__).parents[3] / "docs" / "notebooks" / "reading_a_search.ipynb"
WriteTables = Callable[..., Path]


def test_a_search_is_a_data_frame_of_its_trials_or_its_epochs(write_tables: WriteTables) -> None:
    folder = write_tables(trials=8, diverged=1)
    trials, epochs = load(folder.parent), load(folder.parent, "epochs")
    assert list(trials["tid"]) == list(range(8))
    assert trials["hms"].isna().sum() == 1
    last = epochs.groupby("tid").tail(1)["hms"]
    np.testing.assert_array_equal(trials["hms"], last)


def test_an_rdm_has_the_labels_of_its_stimuli(write_tables: WriteTables) -> None:
    folder = write_tables(trials=4, artifacts=1)
    (trial,) = (folder / "trials").iterdir()
    ours, human = load_rdm(folder, int(trial.name)), load_rdm(folder)
    with np.load(trial / "rdm.npz") as file:
        np.testing.assert_array_equal(ours.to_numpy(), file["rdm"])
    assert list(ours.index) == list(ours.columns) == list(human.index)
    assert ours.shape == (92, 92)


def test_what_is_not_there_is_named(write_tables: WriteTables) -> None:
    folder = write_tables(trials=4, artifacts=1)
    (trial,) = (folder / "trials").iterdir()
    with pytest.raises(UsageError, match=rf"no RDM of trial 99: RDMs are there of trials {int(trial.name)}\."):
        load_rdm(folder, 99)
    with pytest.raises(UsageError, match="expected 'trials' or 'epochs'"):
        load(folder, "curves")  # type: ignore[arg-type]
    (folder / "brain.npz").unlink()
    with pytest.raises(UsageError, match=r"holds no brain\.npz.*hms export invented"):
        load_rdm(folder)


def test_the_notebook_of_the_docs_runs_and_draws(write_tables: WriteTables, tmp_path: Path) -> None:
    folder = tmp_path / "results" / "quickstart"
    folder.mkdir(parents=True)
    write_tables(trials=12, diverged=1, collapsed=1).rename(folder / "tables")
    export_tables(analyse(read_tables(folder)), folder / "report" / "tables")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert sum("image/png" in output.get("data", {}) for output in outputs) == 2
    assert sum("text/html" in output.get("data", {}) for output in outputs) == 4
    assert [output.name for output in outputs if output.output_type == "stream"] == ["stdout"]  # no warning
