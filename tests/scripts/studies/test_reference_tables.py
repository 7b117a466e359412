"""The committed reference study: its page shows the numbers of its tables, and the rule ended the very same runs."""

import importlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from search.metric_sections import StoppingSection
from search.report import SearchTables, read_tables
from search.stopping import Evaluation, decide

ROOT = Path(__file__).parents[3]
FULL, STOPPED = ROOT / "results" / "reference", ROOT / "results" / "reference-stability"
METRICS = ["hms", "mse", "accuracy"]


@pytest.fixture(scope="module")
def with_rule() -> SearchTables:
    """The search with the stability rule."""
    return read_tables(STOPPED)


@pytest.fixture(scope="module")
def full() -> SearchTables:
    """The search whose networks were all trained to the end."""
    return read_tables(FULL)


@pytest.mark.parametrize("page", ["docs/explanation/reference_study.md"])
def test_the_page_shows_the_tables(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "scripts" / "studies"))
    reference_tables = importlib.import_module("reference_tables")
    text = (ROOT / page).read_text(encoding="utf-8")
    missing = [title for title, table in reference_tables.tables(FULL, STOPPED).items() if table not in text]
    assert not missing, f"{page} differs from scripts/studies/reference_tables.py in {missing}"


def test_both_searches_trained_the_same_networks(full: SearchTables, with_rule: SearchTables) -> None:
    assert len(full.finished) == len(with_rule.finished) >= 40
    shared = ["tid", "epochs_planned", *full.parameters]
    pd.testing.assert_frame_equal(full.trials[shared], with_rule.trials[shared])
    both = with_rule.epochs.merge(full.epochs, on=["tid", "epoch"], suffixes=("", "_full"))
    assert len(both) == len(with_rule.epochs)
    for metric in METRICS:
        np.testing.assert_array_equal(both[metric], both[f"{metric}_full"])


def test_the_rule_ended_each_run_where_its_history_says(full: SearchTables, with_rule: SearchTables) -> None:
    rule = StoppingSection(**with_rule.record.stopping)
    for trial in full.finished.itertuples():
        rows = full.epochs[full.epochs["tid"] == trial.tid]
        history, ended = [], int(trial.epochs_planned)
        for row in rows.itertuples():
            history.append(Evaluation(int(row.epoch), None if np.isnan(row.hms) else float(row.hms)))
            if decide(history, rule, every=5, epochs_planned=int(trial.epochs_planned)).finish is not None:
                ended = int(row.epoch)
                break
        assert ended == int(with_rule.trials.set_index("tid").loc[trial.tid, "epochs_trained"])
