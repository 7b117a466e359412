"""`hms run`, `driver`, `worker`, `status`, `export` from the outside: what a person types, sees and gets."""

import json
import re
from pathlib import Path

from hyperopt import STATUS_OK

from search.mongod import embedded_server
from search.store import Store
from search.store.hyperopt_adapter import as_hyperopt_trials


def test_a_search_runs_and_the_report_is_the_last_line(finished, expect_whole):
    first = finished.first
    assert first.code == 0, first.err
    report = Path(first.lines[-1])
    assert report.name == "report.html" and report.stat().st_size > 10_000
    expect_whole(*finished.tables(), 4)
    assert not finished.processes()
    assert not list(finished.results.rglob("checkpoint-*"))


def test_the_same_command_adds_nothing_and_says_so(finished):
    again = finished("run", str(finished.config), "--workers", "2")
    assert again.code == 0 and "nothing to add" in again.out
    assert again.lines[-1] == finished.first.lines[-1]
    assert len(finished.tables()[0]) == 4


def test_a_changed_configuration_is_refused_with_the_difference(finished):
    changed = finished("run", str(finished.config), "--set", "stopping.tolerance=0.5")
    assert changed.code == 2
    assert "stopping.tolerance: 0.01 -> 0.5" in changed.err and "--name" in changed.err
    assert "Traceback" not in changed.err


def test_status_of_a_finished_search(finished):
    shown = finished("status", "toy")
    assert shown.code == 0 and "4 DONE; finished" in shown.out
    assert finished("status").out.startswith("toy: 4 DONE")
    unknown = finished("status", "tay")
    assert unknown.code == 2 and "toy" in unknown.err


def test_export_writes_every_format(finished, tmp_path):
    formats = {"csv": "trials.csv", "parquet": "epochs.parquet", "json": "trials.json", "latex": "trials.tex"}
    for kind, stem in formats.items():
        done = finished("export", "toy", "--format", kind, "--out", str(tmp_path / kind))
        assert done.code == 0, done.err
        assert (tmp_path / kind / stem).stat().st_size > 100
    search = json.loads((tmp_path / "csv" / "search.json").read_text())
    assert search["hashes"]["training"] and search["provenance"]["packages"]["torch"]
    assert search["rerun_command"] == f"hms run {finished.config} --name toy"
    assert finished("export", "toy", "--format", "xls").code == 2


def test_a_larger_budget_continues_and_replicates_share_a_point(hms, expect_whole):
    two = ("run", str(hms.config), "--workers", "2", "--set", "search.replicates=2")
    two += ("--set", "search.algorithm=anneal")
    assert hms(*two, "--set", "search.max_trials=2").code == 0
    done = hms(*two)
    assert done.code == 0, done.err
    trials, epochs = hms.tables()
    expect_whole(trials, epochs, 4)
    assert [(trial["point"], trial["replicate"]) for trial in trials] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    rates = [trial["param.learning_rate"] for trial in trials]
    assert rates[0] == rates[1] != rates[2] == rates[3]
    assert len({trial["hms"] for trial in trials}) == 4


def test_driver_and_workers_started_by_hand_do_the_same_search(finished, hms, tmp_path, until, expect_whole):
    shown = ("tid", "param.learning_rate", "finish", "epochs_trained", "hms", "mse")
    expected = [[trial[key] for key in shown] for trial in finished.tables()[0]]
    with embedded_server(tmp_path / "server") as uri:
        hms.environment["HMS_MONGO"] = uri
        driver = hms.start("driver", str(hms.config))
        until(lambda: hms("status", "toy").code == 0)
        workers = [hms.start("worker", "--name", "toy", "--devices", "cpu") for _ in range(2)]
        assert hms.wait(driver).code == 0
        assert [hms.wait(worker).code for worker in workers] == [0, 0]
        trials, epochs = hms.tables()
        expect_whole(trials, epochs, 4)
        assert [[trial[key] for key in shown] for trial in trials] == expected

        with Store.connect(uri) as store:
            read_back = as_hyperopt_trials(store.jobs("toy"))
        assert read_back.statuses() == [STATUS_OK] * 4
        assert read_back.best_trial["result"]["hms"] == max(trial["hms"] for trial in trials)
        assert read_back.vals["learning_rate"] == [trial["param.learning_rate"] for trial in trials]

        secret = re.search(r"//[^:]+:([^@]+)@", uri).group(1).encode()
        assert not [path for path in hms.results.rglob("*") if path.is_file() and secret in path.read_bytes()]


def test_a_trial_that_cannot_run_is_an_error_and_can_be_repeated(hms, expect_whole):
    blocked = hms.results / "toy" / "trials" / "000001"
    blocked.parent.mkdir(parents=True)
    blocked.write_text("a file where the trial's folder belongs")
    done = hms("run", str(hms.config), "--workers", "2")
    assert done.code == 4, (done.out, done.err)
    assert "hms retry toy --state failed" in done.out and "000001" in hms("status", "toy").out
    assert [trial["state"] for trial in hms.tables()[0]] == ["DONE", "ERROR", "DONE", "DONE"]
    blocked.unlink()
    assert hms("retry", "toy", "--state", "failed").out.startswith("1 trials")
    assert hms("run", str(hms.config), "--workers", "2").code == 0
    expect_whole(*hms.tables(), 4)


def test_a_changed_space_continues_only_when_it_is_forced(hms, expect_whole):
    wider = ("run", str(hms.config), "--workers", "1", "--set", "search.max_trials=2")
    assert hms(*wider[:-1], "search.max_trials=1").code == 0
    hms.config.write_text(hms.config.read_text().replace("[1e-4, 1e-2]", "[1e-1, 2e-1]"))
    refused = hms(*wider)
    assert refused.code == 2 and "space.learning_rate" in refused.err and "--force-space" in refused.err
    forced = hms(*wider, "--force-space")
    assert forced.code == 0, forced.err
    trials, epochs = hms.tables()
    expect_whole(trials, epochs, 2)
    assert [trial["param.learning_rate"] > 0.05 for trial in trials] == [False, True]
