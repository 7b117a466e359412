import json
import math
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from search.report import read_tables
from search.report.figures import timeline as figure
from search.report.figures.style import print_settings
from search.report.record import SearchRecord
from search.report.timeline import FAILED, FINISHED, INTERRUPTED, RUNNING, busy_share, timeline

WriteTables = Callable[..., Path]
HEADER = ["tid", "attempt", "host", "pid", "device", "slot", "began", "ended", "how"]
ATTEMPTS = [
    (0, 1, "a", 11, "cpu", 0, "2024-01-01 00:00:00+00:00", "2024-01-01 00:10:00.500000+00:00", "finished"),
    (1, 1, "b", 12, "cuda:0", 0, "2024-01-01 00:05:00+00:00", "2024-01-01 00:06:00+00:00", "preempted"),
    (1, 2, "a", 11, "cpu", 0, "2024-01-01 00:11:00+00:00", "2024-01-01 00:20:00+00:00", "failed"),
    (2, 1, "b", 12, "cuda:0", 0, "2024-01-01 00:07:00+00:00", "", "running"),
    (3, 1, "", "", "", "", "", "2024-01-01 00:07:00+00:00", "cancelled"),
]


@pytest.fixture
def folder(write_tables: WriteTables) -> Path:
    written = write_tables(trials=4, record={"exported": "2024-01-01T01:30:00+01:00"})
    pd.DataFrame(ATTEMPTS, columns=HEADER).to_csv(written / "attempts.csv", index=False)
    return written


def test_every_attempt_is_a_row_of_its_worker(folder: Path) -> None:
    rows = timeline(read_tables(folder))
    found = [tuple(row) for row in rows.to_numpy()]
    assert found == [
        ("a cpu (11)", 0, 1, 0.0, 600.5, FINISHED),
        ("a cpu (11)", 1, 2, 660.0, 540.0, FAILED),
        ("b cuda:0 (12)", 1, 1, 300.0, 60.0, INTERRUPTED),
        ("b cuda:0 (12)", 2, 1, 420.0, 1380.0, RUNNING),  # to the export, 00:30 UTC
    ]


def test_busy_share_by_hand(folder: Path) -> None:
    tables = read_tables(folder)
    expected = (600.5 + 540 + 60 + 1380) / (1800 + 1500)
    assert busy_share(timeline(tables), tables.record) == pytest.approx(expected)
    assert math.isnan(busy_share(timeline(tables).head(0), SearchRecord("x")))


def test_older_exports_show_each_trial_once(write_tables: WriteTables) -> None:
    rows = timeline(read_tables(write_tables(trials=6, failed=1, unfinished=2)))
    assert set(rows["worker"]) == {"host:0", "host:1"} and rows["tid"].is_unique
    done = rows[rows["outcome"] == FINISHED]
    assert set(done["seconds"]) == {60.0} and len(done) == 3
    assert set(rows["outcome"]) <= {FINISHED, RUNNING}


def test_no_times_are_no_rows_and_no_figure(write_tables: WriteTables) -> None:
    empty = timeline(read_tables(write_tables(trials=0, artifacts=0)))
    assert empty.empty and figure.prepare(empty) is None


def test_the_figure_has_a_bar_an_attempt_and_a_row_a_worker(folder: Path) -> None:
    drawn = figure.prepare(timeline(read_tables(folder)))
    assert drawn is not None and (drawn.unit, drawn.workers) == ("minutes", ["a cpu (11)", "b cuda:0 (12)"])
    spec = figure.interactive(drawn)
    assert [trace["name"] for trace in spec["data"]] == [FINISHED, FAILED, INTERRUPTED, RUNNING]
    assert spec["layout"]["yaxis"]["ticktext"] == drawn.workers and "NaN" not in json.dumps(spec)
    with print_settings():
        ax = figure.printed(drawn).axes[0]
    assert ax.get_xlabel() == "Time since the first trial began (minutes)"
    boxes = [path.get_extents() for bars in ax.collections for path in bars.get_paths()]
    assert sorted(box.width for box in boxes) == pytest.approx([1, 9, 600.5 / 60, 23])
    assert {round((box.y0 + box.y1) / 2) for box in boxes} == {0, 1}
    assert ax.get_xlim()[0] == 0 and ax.get_xlim()[1] >= max(box.x1 for box in boxes)


def test_many_workers_have_no_names(folder: Path) -> None:
    rows = timeline(read_tables(folder)).iloc[[0]]
    many = pd.concat([rows.assign(worker=f"w{i}") for i in range(60)])
    drawn = figure.prepare(many)
    assert drawn is not None and drawn.labels == []
    assert figure.interactive(drawn)["layout"]["yaxis"]["title"]["text"] == "Worker"
