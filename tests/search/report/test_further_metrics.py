"""Metrics beyond the paper's three in a report, and tables of earlier versions, which describe none."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from metrics.metric import Metric
from metrics.registry import METRICS
from search.report import analyse, read_tables, write_report
from search.report.figures import curves, matrix, scatter
from search.report.palette import DARK, FURTHER, LIGHT, tokens
from search.report.sample import networks, undefined_networks
from search.report.summary import best_table

WriteTables = Callable[..., Path]
BLUR = Metric("blur", "Blur of predictions", "pixels", False, 0.0, 9.0, "A. Author (2020).", title="Blur", digits=2)


@pytest.fixture
def with_blur(write_tables: WriteTables) -> Path:
    """40 networks whose blur follows their MSE; trial 5 has none, and one other video's error stands beside."""
    described = [metric.description() for metric in (*METRICS.values(), BLUR)]
    folder = write_tables(record={"metrics": described, "stopping": {"rule": "stability", "metric": "blur"}})
    trials, epochs = (pd.read_csv(folder / f"{name}.csv") for name in ("trials", "epochs"))
    for table in (trials, epochs):
        table["blur"], table["blur_status"] = 10 * table["mse"] + 0.1, "ok"
        table.loc[table["tid"] == 5, ["blur", "blur_status"]] = [np.nan, "undefined_zero"]
    trials["mse_vlog"] = trials["mse"] * 2
    for name, table in (("trials", trials), ("epochs", epochs)):
        table.to_csv(folder / f"{name}.csv", index=False)
    return folder


def test_a_further_metric_is_in_every_statistic(with_blur: Path) -> None:
    tables = read_tables(with_blur)
    sample = networks(tables)
    assert sample.measured == ("hms", "mse", "accuracy", "blur") and sample.excluded == (5,)
    assert sample.reason == "blur undefined_zero (1)"
    assert undefined_networks(tables)["metric"].tolist() == ["blur"]
    analysis = analyse(tables)
    pairs = analysis.defined.correlations.query("controls == 'none'").set_index(["x", "y"])["rho"]
    assert pairs["mse", "blur"] == pytest.approx(1.0)
    assert pairs["hms", "blur"] == pairs["hms", "mse"]
    cells = analysis.defined.table_1.query("group == 'all'").set_index("metric")
    assert cells.loc["blur", "mean"] == pytest.approx(10 * cells.loc["mse", "mean"] + 0.1)
    assert np.isnan(cells.loc["blur", "paper_mean"])
    places = {row["place"]: row["tid"] for row in best_table(analysis)}
    lowest = int(tables.finished.set_index("tid")["blur"].idxmin())
    assert lowest in [tid for place, tid in places.items() if "best Blur" in place]


def test_it_is_drawn_with_its_unit_and_a_colour_of_its_own(with_blur: Path) -> None:
    tables = read_tables(with_blur)
    analysis = analyse(tables)
    drawn = curves.prepare(tables, None, None)
    spec = curves.interactive(drawn)
    titles = [axis["title"]["text"] for key, axis in spec["layout"].items() if key.startswith("yaxis")]
    assert titles == [metric.axis for metric in tables.metrics.values()] and titles[-1] == "Blur (pixels)"
    assert "@fourth" in json.dumps(spec) and spec["panels"] == 4
    assert [ax.get_title() for ax in curves.printed(drawn).axes] == ["HMS", "MSE", "Accuracy", "Blur"]
    dots = scatter.prepare(analysis.defined.rows, analysis.defined.correlations)
    assert ("blur", "hms") in dots.pairs and "NaN" not in json.dumps(scatter.interactive(dots))
    grid = matrix.prepare(analysis.defined.correlations, tables.metrics)
    assert list(grid.columns) == ["HMS", "MSE", "Accuracy", "Blur"] and "learning rate" in grid.index


def test_the_page_says_what_it_is(with_blur: Path, tmp_path: Path) -> None:
    page = write_report(with_blur, tmp_path / "out").read_text()
    assert "Blur: Blur of predictions, pixels, lower is better, 0..9." in page
    assert "--fourth:#E69F00" in page and "MSE vlog" in page
    assert "metric Blur" in page and "The networks in numbers" in page


def test_one_that_no_network_has_leaves_the_others_alone(with_blur: Path) -> None:
    for name in ("trials", "epochs"):
        table = pd.read_csv(with_blur / f"{name}.csv")
        table["blur"], table["blur_status"] = np.nan, "undefined"
        table.to_csv(with_blur / f"{name}.csv", index=False)
    sample = networks(read_tables(with_blur))
    assert sample.measured == ("hms", "mse", "accuracy") and sample.n == 40


def test_tables_that_describe_no_metrics_or_lack_their_columns_still_load(write_tables: WriteTables) -> None:
    assert list(read_tables(write_tables("old", trials=6)).metrics) == ["hms", "mse", "accuracy"]
    described = [metric.description() for metric in (*METRICS.values(), BLUR)]
    early = read_tables(write_tables("early", trials=6, parquet=True, record={"metrics": described}))
    assert early.trials["blur"].isna().all() and set(early.trials["blur_status"]) == {""}
    assert networks(early).measured == ("hms", "mse", "accuracy")


def test_colours_are_the_papers_own_then_further_ones_and_all_are_there() -> None:
    names = [f"hms_{letter}" for letter in "abcdefg"]
    given = tokens(["hms", "mse", "accuracy", *names])
    assert [given[name] for name in ("hms", "mse", "accuracy")] == ["hms", "mse", "accuracy"]
    assert [given[name] for name in names] == [*FURTHER, *FURTHER[:2]]
    assert LIGHT.keys() == DARK.keys() >= set(FURTHER)
