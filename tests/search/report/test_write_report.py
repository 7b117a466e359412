import base64
import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import plotly.graph_objects as go
import pytest
from plotly.offline import get_plotlyjs

from search.report import analyse, read_tables, write_report
from search.report.drawings import drawings
from search.report.exports import export_tables
from search.report.page import render
from search.report.palette import LIGHT

WriteTables = Callable[..., Path]

CASES = {
    "usual": {"trials": 24, "diverged": 1, "collapsed": 1, "failed": 1},
    "unfinished": {"trials": 8, "unfinished": 4},
    "nothing finished": {"trials": 3, "unfinished": 3, "artifacts": 0},
    "no trials": {"trials": 0, "artifacts": 0},
    "all diverged": {"trials": 4, "diverged": 4, "artifacts": 0},
    "one network": {"trials": 1},
    "three networks": {"trials": 3, "artifacts": 0},
    "one category": {"trials": 5, "one_category": True},
    "constant columns": {"trials": 6, "constant": ("learning_rate", "batch_size", "epochs")},
    "no accuracy": {"trials": 6, "without": ("accuracy",)},
    "replicates": {"trials": 12, "replicates": 3},
    "bare record": {"trials": 6, "record": {"seconds": {}, "hms_baselines": {}, "noise_ceiling": {}, "data": {}}},
}


def figures_of(page: str) -> dict[str, dict]:
    found = re.search(r'id="figures">(.*?)</script>', page, re.S)
    assert found
    return json.loads(found.group(1))


def painted(value: object) -> object:
    if isinstance(value, dict):
        return {key: painted(item) for key, item in value.items()}
    if isinstance(value, list):
        return [painted(item) for item in value]
    return LIGHT[value[1:]] if isinstance(value, str) and value.startswith("@") else value


def html(folder: Path) -> str:
    """The page without its figures, which take most of the time."""
    return render(analyse(read_tables(folder)), [])


@pytest.mark.parametrize("case", list(CASES))
def test_every_kind_of_search_gets_a_page(write_tables: WriteTables, case: str) -> None:
    analysis = analyse(read_tables(write_tables(**CASES[case])))
    drawn = drawings(analysis)
    text = render(analysis, drawn)
    assert len(text.encode()) < 8_000_000
    assert "<title>invented · HMS Search report</title>" in text
    assert set(figures_of(text)) == {drawing.name for drawing in drawn} - {"predictions"}
    for spec in figures_of(text).values():
        go.Figure(painted({"data": spec["data"], "layout": spec["layout"]}))
    for drawing in drawn:
        assert drawing.printed(drawing.data).axes


def test_the_files_of_a_report(write_tables: WriteTables, tmp_path: Path) -> None:
    folder = write_tables(trials=12, diverged=1, collapsed=1, replicates=2)
    page = write_report(folder, tmp_path / "out")
    assert page == tmp_path / "out" / "report.html"
    figures = ["curves", "scatter", "correlations", "rdms", "baselines", "predictions", "time", "replicates"]
    figures.append("early_stopping_networks")  # no run was long enough for more
    figures += ["importance", "parallel", "pareto", "timeline"]
    tables = "table1 correlations undefined time table1_undefined_scored correlations_undefined_scored replicates"
    tables += " stabilisation importance pareto timeline hms_by_layer_and_step"
    expected = {"report.html"} | {f"figures/{name}.{kind}" for name in figures for kind in ("png", "pdf")}
    expected |= {f"tables/{name}.csv" for name in [*tables.split(), "trials", "epochs"]}
    printed = {"table2", "parameters", "all_tables"} | {*tables.split()} - {
        "correlations",
        "correlations_undefined_scored",
    }
    printed |= {"table2_undefined_scored", "parameters_undefined_scored"}
    expected |= {f"tables/{name}.tex" for name in printed}
    expected |= {"trials/style.css"} | {f"trials/{tid:06d}.html" for tid in range(12)}
    expected |= {f"trials/{file.parent.name}.png" for file in folder.glob("trials/*/predictions.npz")}
    files = {file.relative_to(page.parent).as_posix(): file for file in page.parent.rglob("*") if file.is_file()}
    assert set(files) == expected
    assert all(file.stat().st_size > 50 for file in files.values())


def test_the_page_needs_no_network(write_tables: WriteTables) -> None:
    text = html(write_tables(trials=6))
    packed = re.search(r'id="plotly">(.*?)</script>', text, re.S)
    assert packed
    assert gzip.decompress(base64.b64decode(packed.group(1))).decode() == get_plotlyjs()
    assert text.count('id="plotly"') == 1
    assert re.findall(r'(?:src|href)="(?!data:|#)[^"]*"', text) == []


def test_csv_files_hold_the_numbers_of_the_page(write_tables: WriteTables, tmp_path: Path) -> None:
    folder = write_tables(trials=24, collapsed=2)
    analysis = analyse(read_tables(folder))
    export_tables(analysis, tmp_path)
    tables = tmp_path
    written = pd.read_csv(tables / "correlations.csv", keep_default_na=False, na_values=[""])
    pd.testing.assert_series_equal(written["rho"], analysis.defined.correlations["rho"])
    scored = pd.read_csv(tables / "correlations_undefined_scored.csv")
    assert (written["n"].max(), scored["n"].max()) == (22, 24)
    assert list(pd.read_csv(tables / "undefined.csv")["tid"].unique()) == [0, 1]


def test_tables_in_place_are_not_overwritten(write_tables: WriteTables) -> None:
    folder = write_tables(trials=6)
    before = (folder / "trials.csv").read_bytes()
    export_tables(analyse(read_tables(folder.parent)), folder)
    assert (folder / "trials.csv").read_bytes() == before
    assert (folder / "correlations.csv").exists()


def test_equal_tables_give_equal_files(write_tables: WriteTables, tmp_path: Path) -> None:
    folder = write_tables(trials=5, artifacts=0)
    for name in ("a", "b"):
        write_report(folder, tmp_path / name)
    first, second = tmp_path / "a", tmp_path / "b"
    for path in sorted(file.relative_to(first) for file in first.rglob("*") if file.is_file()):
        assert (first / path).read_bytes() == (second / path).read_bytes(), path


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"trials": 8, "unfinished": 3}, "This search is not finished: 5 of 8 trials are done"),
        ({"trials": 8}, "Correlations are illustrative: they rest on 8 networks, fewer than 30"),
        ({"trials": 4, "unfinished": 4, "artifacts": 0}, "No trial has finished yet"),
        ({"trials": 4, "diverged": 4, "artifacts": 0}, "No finished network has all of its metrics defined"),
        ({"trials": 8, "record": {"algorithm": "tpe"}}, "Adaptive or truncated sample (algorithm tpe)"),
        ({"trials": 8, "record": {"stopping": {"rule": "threshold"}}}, "a rule that discards networks"),
        ({"trials": 9, "collapsed": 1}, "1 network with an undefined metric: trial 0."),
        ({"trials": 9, "failed": 2}, "2 trials ended in ERROR"),
        ({"trials": 6, "record": {"mixed_precision": True}}, "--allow-mixed). cpu (fp32): 6 trials"),
        ({"trials": 6, "record": {"warnings": ["Disk <nearly> full"]}}, "Disk &lt;nearly&gt; full"),
        ({"trials": 6, "replicates": 2}, "correlations use point means"),
        ({"trials": 6}, "different data"),
        ({"trials": 6}, "64x80 (paper 128x160)"),
    ],
)
def test_what_a_reader_must_know_is_on_the_page(write_tables: WriteTables, options: dict, sentence: str) -> None:
    assert sentence in html(write_tables(**options))


def test_the_papers_values_go_with_a_random_sample_only(write_tables: WriteTables) -> None:
    for name, record, shown in (("rand", {}, True), ("tpe", {"algorithm": "tpe"}, False)):
        page = html(write_tables(name, trials=30, record=record))
        assert ("0.106 (0.055)" in page) is shown
        assert ("−0.646" in page) is shown


def test_missing_files_of_the_best_network_fall_back_and_say_so(write_tables: WriteTables) -> None:
    folder = write_tables(trials=8)
    first, second = analyse(read_tables(folder)).ranking[:2]
    (folder / "trials" / f"{first:06d}" / "rdm.npz").write_bytes(b"torn")
    page = html(folder)
    assert f"The files of the best network (trial {first}) are missing; shown is trial {second}." in page
    (folder / "brain.npz").unlink()
    names = {drawing.name for drawing in drawings(analyse(read_tables(folder)))}
    assert "rdms" in names


def test_above_three_hundred_trials_curves_become_bands(write_tables: WriteTables) -> None:
    analysis = analyse(read_tables(write_tables(trials=320, artifacts=0)))
    data = next(drawing.data for drawing in drawings(analysis) if drawing.name == "curves")
    assert data.networks == 320
    assert data.points["tid"].nunique() == 20
    assert set(data.bands) == {"hms", "mse", "accuracy"}
    best = analysis.tables.trials.nlargest(20, "hms")["tid"]
    assert set(data.points["tid"]) == set(best)
