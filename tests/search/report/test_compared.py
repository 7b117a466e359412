"""What the report says networks were compared with: the 92 stimuli, other stimuli, further references."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from metrics.measured.human_similarity import beside_reference
from metrics.registry import METRICS
from search.report import analyse, read_tables, write_report
from search.report.analysis import Analysis
from search.report.compared import compared
from search.report.drawings import drawings
from search.report.record import SearchRecord
from search.report.references import reference_table

WriteTables = Callable[..., Path]
IMAGES = {"pixels": 0.05, "silhouette": 0.2}


def config(**hms: object) -> dict[str, object]:
    return {"metrics": {"every": 5, "hms": hms, "matching": {"gallery": 50}}}


@pytest.fixture
def dogs(write_tables: WriteTables) -> Path:
    """A search on the stimuli `dogs`, with a second reference that ranks its networks the other way round."""
    hms = {"stimuli": "dogs", "references": {"v1": {"path": "monkey_v1"}}}
    described = [metric.description() for metric in (*METRICS.values(), beside_reference("v1"))]
    record = {"config": config(**hms), "metrics": described, "hms_baselines": {"pixels": 0.1, "silhouette": 0.12},
              "references": {"v1": {"subjects": 1, "baselines": IMAGES}}, "human_self_similarity": {}}  # fmt: skip
    folder = write_tables(trials=12, collapsed=1, one_category=True, record=record)
    for name in ("trials", "epochs"):
        table = pd.read_csv(folder / f"{name}.csv")
        table["hms_v1"], table["hms_v1_status"] = 0.3 - table["hms"], table["hms_status"]
        table.to_csv(folder / f"{name}.csv", index=False)
    with np.load(folder / "brain.npz") as file:
        arrays = dict(file)
    beside = {"beside_names": np.array(["v1"]), "beside_rdms": 1 - arrays["human_rdm"][None].astype(float)}
    np.savez(folder / "brain.npz", **arrays, **beside, reference=np.array("dogs"))
    return folder


@pytest.fixture
def analysis(dogs: Path) -> Analysis:
    return analyse(read_tables(dogs))


def test_the_92_stimuli_are_human_it_whatever_is_not_said() -> None:
    for given in ({}, config(), config(stimuli="stimuli92")):
        found = compared(SearchRecord("x", config=given), None)
        assert (found.title, found.rdm, found.subjects) == ("human IT", "mean human IT RDM", "people")
        assert found.beside_words == ""


def test_other_stimuli_are_called_by_their_name(analysis: Analysis) -> None:
    found = analysis.compared
    assert (found.title, found.rdm) == ("dogs", "mean RDM of 4 subjects of dogs")
    assert found.words == "the reference dogs (92 stimuli)"
    assert found.beside_words == "; beside it with monkey_v1 (hms_v1)"
    one = compared(SearchRecord("x", config=config(stimuli="cats")), None)
    assert (one.rdm, one.words) == ("RDM of cats", "the reference cats")


def test_no_human_is_named_where_none_was_compared_with(dogs: Path, tmp_path: Path) -> None:
    page = write_report(dogs, tmp_path / "out").read_text()
    text = page[page.index("<body>") : page.index('id="figures"')]
    assert "human" not in text.lower().replace("human-model similarity", "")
    assert "compared with the reference dogs (92 stimuli); beside it with monkey_v1 (hms_v1)" in text
    assert "The best network and dogs" in text and "one subject left out" in text
    assert "know the categories or are a brain" not in text


def test_the_human_brain_is_named_where_it_was(write_tables: WriteTables, tmp_path: Path) -> None:
    page = write_report(write_tables(trials=6), tmp_path / "out").read_text()
    assert "compared with human inferior temporal cortex (fMRI of four people, 92 images; Kriegeskorte" in page
    assert "The best network and human IT" in page and "one person left out" in page
    assert 'id="references"' not in page


def test_every_reference_has_a_panel_and_bars_name_the_first(analysis: Analysis) -> None:
    drawn = {drawing.name: drawing for drawing in drawings(analysis)}
    titles = [title for title, _ in drawn["rdms"].data.panels]
    assert titles[1:] == ["Dogs (mean of subjects and sessions)", "v1 (hms_v1)"] and len(titles) == 3
    upper = np.triu_indices(92, 1)
    own, other = (panel[1][upper] for panel in drawn["rdms"].data.panels[1:])
    np.testing.assert_allclose(own, 1 - other, atol=1e-6)
    assert drawn["baselines"].data.title == "HMS (Spearman ρ with the mean RDM of 4 subjects of dogs)"
    assert len(drawn["rdms"].printed(drawn["rdms"].data).axes) == 4


def test_networks_and_image_models_stand_beside_each_reference(analysis: Analysis) -> None:
    table = reference_table(analysis)
    done = analysis.tables.finished.dropna(subset=["hms"]).sort_values("hms")
    expected = [*done["tid"].tail(3)[::-1], *done["tid"].head(3)[::-1]]  # best by hms, then best by hms_v1
    assert list(table["tid"].dropna()) == expected
    networks = table.dropna(subset=["tid"])
    np.testing.assert_allclose(networks["hms_v1"], 0.3 - networks["hms"])
    images = table[table["tid"].isna()].set_index("model")
    assert images["hms"].to_dict() == {"silhouette": 0.12, "pixels": 0.1}
    assert images["hms_v1"].to_dict() == IMAGES


def test_best_values_by_reference_are_among_the_key_numbers(dogs: Path, tmp_path: Path) -> None:
    page = write_report(dogs, tmp_path / "out").read_text()
    assert "Best HMS (v1)" in page
    written = pd.read_csv(tmp_path / "out" / "tables" / "references.csv")
    assert list(written.columns) == ["model", "tid", "hms", "hms_v1"] and len(written) == 8
