"""Five networks evaluated every 5 epochs whose values at every epoch are known.

0: planned 60, trained 60, HMS moves by 0.02 a step, never stable. 1: planned 60, trained 60, constant from epoch 10:
stable at 30, the first full window. 2: planned 40, stopped at 30 as stable. 3: planned 20, trained 20.
4: diverged at 15.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from search.errors import UsageError
from search.report import analyse, write_report
from search.report.captions import table_1 as caption_1
from search.report.epoch_rule import EpochRule, finished_at
from search.report.reliability import replicate_table
from search.report.sample import networks, undefined_networks
from search.report.tables import SearchTables, read_tables

NETWORKS = ((60, 60, "max_epochs"), (60, 60, "max_epochs"), (40, 30, "hms_stable"), (20, 20, "max_epochs"),
            (60, 15, "diverged"))  # fmt: skip


def hms(tid: int, epoch: int) -> float:
    return {0: epoch * 0.004, 1: 1 + min(epoch, 10) / 1000, 2: 2 + min(epoch, 5) / 1000}.get(tid, tid + epoch / 1000)


@pytest.fixture
def tables(tmp_path: Path) -> SearchTables:
    return read_tables(written(tmp_path / "tables"))


def written(folder: Path, **record: object) -> Path:
    folder.mkdir()
    epochs, trials = [], []
    for tid, (planned, trained, finish) in enumerate(NETWORKS):
        for epoch in range(0, trained + 1, 5):
            broken = finish == "diverged" and epoch == trained
            value = np.nan if broken else hms(tid, epoch)
            status = "diverged" if broken else "ok"
            epochs.append({"tid": tid, "epoch": epoch, "hms": value, "mse": value / 100, "accuracy": epoch / 100}
                          | {"hms_status": status, "mse_status": status, "accuracy_status": "ok"}
                          | {"mse_previous_frame": 0.01})  # fmt: skip
        last = epochs[-1]
        trials.append(
            {"tid": tid, "point": tid // 2, "replicate": tid % 2, "state": "DONE", "finish": finish, "reason": ""}
            | {key: last[key] for key in last if key not in ("tid", "epoch")}
            | {"epochs_planned": planned, "epochs_trained": trained, "seconds": 1.0, "unmoved": False}
            | {"device": "cpu", "precision": "fp32", "error": "", "param.epochs": planned}
        )
    pd.DataFrame(epochs).to_csv(folder / "epochs.csv", index=False)
    pd.DataFrame(trials).to_csv(folder / "trials.csv", index=False)
    description = {"name": "five", "algorithm": "rand", "stopping": {"rule": "none", "window": 25, "tolerance": 0.01},
                   "config": {"metrics": {"every": 5}}, "replicates": 2} | record  # fmt: skip
    (folder / "search.json").write_text(json.dumps(description))
    return folder


def values(tables: SearchTables, rule: str) -> dict[int, tuple[float, float]]:
    """tid -> (HMS, trained epochs) of the networks that the rule takes in."""
    frame = networks(tables, EpochRule.parse(rule)).frame
    return {int(row.tid): (row.hms, row.epochs_trained) for row in frame.itertuples()}


def test_last_is_the_last_evaluation(tables: SearchTables) -> None:
    assert values(tables, "last") == {tid: (pytest.approx(hms(tid, NETWORKS[tid][1])), NETWORKS[tid][1])
                                      for tid in range(4)}  # fmt: skip


def test_final_takes_only_networks_that_trained_all_their_epochs(tables: SearchTables) -> None:
    assert list(values(tables, "final")) == [0, 1, 3]
    sample = networks(tables, EpochRule("final"))
    assert sample.excluded == (2, 4)
    assert sample.reason == (
        "ended before its planned epochs, diverged (1); ended before its planned epochs, hms_stable (1)"
    )
    assert sample.cut_off == 1  # the stable one; that one diverged has nothing to do with the rule


def test_stopped_is_the_evaluation_where_the_rule_stops(tables: SearchTables) -> None:
    found = values(tables, "stopped")
    assert found[0] == (pytest.approx(hms(0, 60)), 60)  # never stable
    assert found[1] == (pytest.approx(hms(1, 35)), 30)  # six points from 5 to 30: SD 0.0019
    assert found[2] == (pytest.approx(hms(2, 30)), 30)
    assert found[3] == (pytest.approx(hms(3, 20)), 20)  # too short for a window


def test_stopped_of_a_search_with_a_threshold_is_where_it_ended(tmp_path: Path) -> None:
    tables = read_tables(written(tmp_path / "tables", stopping={"rule": "threshold", "threshold": 0.1}))
    assert values(tables, "stopped") == values(tables, "last")


def test_at_an_epoch_every_value_is_of_that_epoch(tables: SearchTables) -> None:
    found = values(tables, "25")
    assert found == {tid: (pytest.approx(hms(tid, 25)), 25) for tid in range(3)}
    sample = networks(tables, EpochRule("epoch", 25))
    assert (sample.excluded, sample.cut_off) == ((3, 4), 0)
    assert sample.reason == "ended before epoch 25, diverged (1); planned fewer than 25 epochs (1)"
    assert networks(tables, EpochRule("epoch", 40)).cut_off == 1


def test_what_is_undefined_is_so_at_that_evaluation(tables: SearchTables) -> None:
    assert list(undefined_networks(tables)["tid"]) == [4, 4]
    assert undefined_networks(tables, EpochRule("epoch", 10)).empty
    assert list(networks(tables, EpochRule("epoch", 10)).frame["tid"]) == [0, 1, 2, 3, 4]
    assert list(undefined_networks(tables, EpochRule("epoch", 15))["metric"]) == ["hms", "mse"]


def test_left_out_networks_are_never_scored(tables: SearchTables) -> None:
    assert networks(tables, EpochRule("final"), undefined_scored=True).excluded == (2, 4)


def test_columns_keep_their_types_and_the_tables_theirs(tables: SearchTables) -> None:
    before = tables.trials.copy()
    for rule in (EpochRule("stopped"), EpochRule("epoch", 25), EpochRule("final")):
        frame = finished_at(tables, rule)
        assert frame["hms"].dtype == frame["epochs_trained"].dtype == np.float64
        assert set(frame["accuracy_status"]) == {"ok"}
    pd.testing.assert_frame_equal(tables.trials, before)


def test_replicates_follow_the_rule(tables: SearchTables) -> None:
    assert set(replicate_table(tables, EpochRule("epoch", 25))["epoch_rule"]) == {"at epoch 25"}
    by_hand = finished_at(tables, EpochRule("epoch", 10)).groupby("point")["hms"].mean()
    assert by_hand[0] == pytest.approx((hms(0, 10) + hms(1, 10)) / 2)


@pytest.mark.parametrize(
    ("rule", "words", "random"),
    [
        ("last", "epoch rule last: values of each network's last evaluation", True),
        ("final", "epoch rule final: values of the last evaluation, only of networks that trained all", False),
        ("stopped", "(SD of HMS over 25 epochs at most 0.01), or the last where it never does", True),
        ("25", "epoch rule at epoch 25: values of the evaluation at epoch 25", True),
        ("40", "epoch rule at epoch 40", False),
    ],
)
def test_captions_name_the_rule_and_a_sample_cut_by_it_is_descriptive(
    tables: SearchTables, rule: str, words: str, random: bool
) -> None:
    analysis = analyse(tables, EpochRule.parse(rule))
    assert words in caption_1(analysis, analysis.defined)
    assert analysis.random_sample is random
    table = analysis.defined.correlations
    assert set(table["epoch_rule"]) == set(analysis.defined.table_1["epoch_rule"]) == {EpochRule.parse(rule).name}
    assert table["reason"].str.contains("descriptive only").all() != random
    assert analysis.defined.table_1["paper_mean"].notna().any() == random


def test_the_page_says_it(tables: SearchTables, tmp_path: Path) -> None:
    page = write_report(tables.directory, tmp_path / "out", "final").read_text()
    assert "the epoch rule, final, leaves out 1 network that stopping ended early" in page
    assert "epoch rule final: values of the last evaluation" in page


@pytest.mark.parametrize("text", ["first", "", "-5", "3.5", "٣"])
def test_other_words_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="expected last, final, stopped or an epoch such as 30"):
        EpochRule.parse(text)


def test_an_epoch_that_nobody_was_evaluated_at_names_the_nearest(tables: SearchTables) -> None:
    with pytest.raises(UsageError, match="no network was evaluated at epoch 33; the nearest are 30, 35, 40"):
        analyse(tables, EpochRule("epoch", 33))
