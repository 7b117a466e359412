"""A metric from another package in a whole search: store, stopping, status, export and report, by its name alone."""

import importlib
import json
import re
import sys

import pytest
from typer.testing import CliRunner

from search.cli import app
from search.errors import ConfigError
from search.report.tables import read_tables

PACKAGE = """
from metrics.metric import Metric

def measure(network, inputs):
    raise AssertionError("the toy learner has no network")

METRIC = Metric("blur", "Blur of predictions", "pixels", False, 0.0, float("inf"), "A. Author (2020).", measure)
"""
SETTINGS = ("metrics.also=[blur]", "search.guide=blur", "stopping.metric=blur", "stopping.tolerance=0.001")
SETTINGS += ("search.max_trials=2",)


@pytest.fixture
def site(install_metric):
    return install_metric(PACKAGE, metric="blur")


@pytest.fixture
def words(hms):
    return ["run", str(hms.config), "--workers", "1", *[word for value in SETTINGS for word in ("--set", value)]]


@pytest.fixture
def here(hms, monkeypatch):
    """Runs a command in this process, on the same results folder."""
    monkeypatch.setenv("HMS_RESULTS", str(hms.results))
    return lambda *given: CliRunner().invoke(app, given)


def test_it_appears_by_itself(hms, here, words, site, monkeypatch):
    hms.environment["PYTHONPATH"] = str(site)
    done = hms(*words)
    assert done.code == 0, done.err
    assert re.search(r"HMS 0\.\d{3}, MSE 0\.\d{4}, Accuracy 0\.\d{3}, Blur of predictions 0\.\d{3}", done.out)

    # What follows works where the package is not installed.
    monkeypatch.delitem(sys.modules, "sharp_metric", raising=False)
    trials, epochs = hms.tables()
    for trial in trials:
        curve = {row["epoch"]: row["blur"] for row in epochs if row["tid"] == trial["tid"]}
        assert trial["finish"] == "stable" and trial["stable_epoch"] == trial["epochs_trained"] < 40
        assert trial["blur"] == curve[trial["epochs_trained"]] == trial["loss"]
        assert trial["blur_status"] == "ok" and "blur_best" in trial
    assert [key for key in epochs[0] if "blur" in key] == ["blur", "blur_status", "seconds_blur"]

    status = here("status", "toy")
    assert status.exit_code == 0 and "Blur of predictions" in status.output
    assert here("report", "toy").exit_code == 0
    folder = hms.results / "toy"
    search = json.loads((folder / "tables" / "search.json").read_text())
    described = search["metrics"][-1]
    assert (described["name"], described["package"], described["version"]) == ("blur", "sharp", "1.2")
    assert search["provenance"]["metrics"] == {"metric blur": "sharp 1.2"}
    assert read_tables(folder / "tables").metrics["blur"].axis == "Blur of predictions (pixels)"
    page = next(folder.rglob("report.html")).read_text()
    assert "Blur of predictions: pixels, lower is better, from 0" in page
    assert "@fourth" in page and "best Blur of predictions" in page
    assert "blur" in set((folder / "report" / "tables" / "correlations.csv").read_text().replace("\n", ",").split(","))


def test_a_search_that_cannot_import_it_is_not_made(hms, here, words, site, monkeypatch):
    monkeypatch.syspath_prepend(site)
    importlib.invalidate_caches()
    refused = here(*words, "--set", "metrics.also=[blurr]")
    assert isinstance(refused.exception, ConfigError) and "did you mean `blur`?" in str(refused.exception)
    next(site.glob("*.py")).write_text("raise OSError('a library is missing')")
    hms.environment["PYTHONPATH"] = str(site)
    refused = hms(*words)
    assert refused.code == 2 and "Traceback" not in refused.err
    assert "metric `blur` of sharp 1.2 (sharp_metric:METRIC) cannot be imported: OSError" in refused.err
    assert not hms.results.exists()
