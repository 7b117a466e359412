"""`hms run`, `driver`, `worker` from the outside: what a person types, sees and gets."""

import json
import re
from pathlib import Path

from search.mongod import embedded_server


def test_a_search_runs_and_the_same_command_adds_nothing(hms, expect_whole):
    first = hms("run", str(hms.config), "--workers", "2")
    assert first.code == 0, first.err
    report = Path(first.lines[-1])
    assert report.name == "report.html" and report.stat().st_size > 10_000
    expect_whole(*hms.tables(), 4)

    again = hms("run", str(hms.config), "--workers", "2")
    assert again.code == 0 and "nothing to add" in again.out
    assert again.lines[-1] == str(report)

    more = hms("run", str(hms.config), "--workers", "2", "--set", "search.max_trials=5")
    assert more.code == 0, more.err
    expect_whole(*hms.tables(), 5)
    assert not hms.processes()


def test_driver_and_workers_started_by_hand_do_the_same_search(hms, tmp_path, until, expect_whole):
    alone = hms("run", str(hms.config), "--workers", "1")
    assert alone.code == 0, alone.err
    expected = [trial["param.learning_rate"] for trial in hms.tables()[0]]
    with embedded_server(tmp_path / "server") as uri:
        hms.environment["HMS_MONGO"] = uri
        driver = hms.start("driver", str(hms.config))
        until(lambda: hms("status", "toy").code == 0)
        workers = [hms.start("worker", "--name", "toy", "--devices", "cpu") for _ in range(2)]
        assert hms.wait(driver).code == 0
        assert [hms.wait(worker).code for worker in workers] == [0, 0]
        trials, epochs = hms.tables()
        expect_whole(trials, epochs, 4)
        assert [trial["param.learning_rate"] for trial in trials] == expected
        secret = re.search(r"//[^:]+:([^@]+)@", uri).group(1)
        kept = [path for path in (tmp_path / "results").rglob("*") if path.is_file()]
        assert not [path for path in kept if secret.encode() in path.read_bytes() and ".mongod" not in path.parts]


def test_a_changed_configuration_is_refused_with_the_difference(hms):
    assert hms("run", str(hms.config), "--set", "search.max_trials=1").code == 0
    changed = hms("run", str(hms.config), "--set", "stopping.tolerance=0.5")
    assert changed.code == 2
    assert "stopping.tolerance: 0.01 -> 0.5" in changed.err and "--name" in changed.err
    assert "Traceback" not in changed.err


def test_replicates_share_a_point_and_differ_in_seed(hms):
    done = hms("run", str(hms.config), "--workers", "2", "--set", "search.replicates=2")
    assert done.code == 0, done.err
    trials, _ = hms.tables()
    assert [(trial["point"], trial["replicate"]) for trial in trials] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    rates = [trial["param.learning_rate"] for trial in trials]
    assert rates[0] == rates[1] != rates[2] == rates[3]
    assert len({trial["hms"] for trial in trials}) == 4


def test_status_of_a_finished_search(hms):
    assert hms("run", str(hms.config), "--set", "search.max_trials=2").code == 0
    shown = hms("status", "toy")
    assert shown.code == 0 and "2 DONE; finished" in shown.out
    assert hms("status").out.startswith("toy: 2 DONE")
    unknown = hms("status", "tay")
    assert unknown.code == 2 and "toy" in unknown.err


def test_export_writes_every_format(hms, tmp_path):
    assert hms("run", str(hms.config), "--set", "search.max_trials=2").code == 0
    for kind, stem in (
        ("csv", "trials.csv"),
        ("parquet", "epochs.parquet"),
        ("json", "trials.json"),
        ("latex", "trials.tex"),
    ):
        done = hms("export", "toy", "--format", kind, "--out", str(tmp_path / kind))
        assert done.code == 0, done.err
        assert (tmp_path / kind / stem).stat().st_size > 100
    search = json.loads((tmp_path / "csv" / "search.json").read_text())
    assert search["hashes"]["training"] and search["provenance"]["packages"]["torch"]
    assert hms("export", "toy", "--format", "xls").code == 2
