"""`hms report --watch` beside a search that really runs; several searches of the store side by side."""

import re
import signal

import pytest
import yaml

from search.config_reader import parse_config
from search.status import cancel_trials
from search.store import new_job_document


def page(hms, name="toy"):
    return hms.results / name / "report" / "report.html"


@pytest.fixture
def waiting(hms, until):
    """The driver of a search without a worker: it is unfinished for as long as the test wants."""
    with hms.store() as store:
        driver = hms.start("driver", str(hms.config))
        until(lambda: "toy" in store.names(), timeout=200)
    return driver


def test_it_follows_a_search_to_its_end(hms, waiting, until):
    watch = hms.start("report", "toy", "--watch", "--every", "5")
    text = until(lambda: page(hms).exists() and page(hms).read_text(), timeout=200)
    assert "not finished" in text and 'id="follow"' in text
    worker = hms.start("worker", "--name", "toy", "--devices", "cpu")
    for process in (worker, waiting, watch):
        done = hms.wait(process, 200)
        assert done.code == 0, done.err
    assert done.lines[-1] == str(page(hms))
    told = [line for line in done.lines if re.match(r"\d\d:\d\d:\d\d .*: .*report\.html$", line)]
    assert len(told) >= 2 and "DONE" not in told[0] and "4 DONE: " in told[-1]
    text = page(hms).read_text()
    assert "not finished" not in text and 'id="follow"' not in text
    assert sorted(file.stem for file in page(hms).parent.glob("trials/*.html")) == [f"{tid:06d}" for tid in range(4)]


@pytest.mark.usefixtures("waiting")
def test_ctrl_c_leaves_the_last_report(hms, until):
    watch = hms.start("report", "toy", "--watch", "--every", "60")
    until(lambda: page(hms).exists(), timeout=200)
    watch.send_signal(signal.SIGINT)
    done = hms.wait(watch)
    assert done.code == 130 and "Traceback" not in done.err, done.err
    assert "no longer followed" in done.out or "no report" in done.out
    assert page(hms).read_text().rstrip().endswith("</html>")


def test_an_epoch_that_no_network_has_reached_is_waited_for_until_the_search_is_cancelled(hms):
    config = parse_config(yaml.safe_load(hms.config.read_text()), source="this test")
    config = config.model_copy(update={"search": config.search.model_copy(update={"name": "s"})})
    with hms.store() as store:
        store.create_or_resume("s", config=config.document(), hashes=config.hashes(), provenance={})
        store.insert(new_job_document("s", tid, params={"learning_rate": 0.001}, seed=tid) for tid in range(2))
        job = store.reserve("s", {"host": "h", "pid": 1, "device": "cpu"})
        store.record(job, 0, {"hms": 0.0, "mse": 0.1, "accuracy": 0.1})
        watch = hms.start("report", "s", "--watch", "--every", "5", "--epoch-rule", "5")
        assert "no report yet: --epoch-rule 5: no network was evaluated at epoch 5" in watch.stdout.readline()
        store.record(job, 5, {"hms": 0.1, "mse": 0.05, "accuracy": 0.2})
        assert watch.stdout.readline().rstrip().endswith(f"1 NEW, 1 RUNNING: {page(hms, 's')}")
        assert watch.poll() is None
        cancel_trials(store, "s", None)  # no driver runs that would call the search finished
        done = hms.wait(watch, 60)
    assert done.code == 0 and "2 CANCEL: " in done.out, done.err


def test_two_searches_of_a_store_and_a_folder_are_compared(finished, tmp_path):
    exported = tmp_path / "elsewhere" / "tables"
    assert finished("export", "toy", "--out", str(exported)).code == 0
    done = finished("report", "toy", f"{exported.parent}/", "--out", str(tmp_path / "both"))
    assert done.code == 0, done.err
    assert done.lines[-1] == str(tmp_path / "both" / "report.html")
    assert "toy (1) and toy (2)" in (tmp_path / "both" / "report.html").read_text()
    twice = finished("report", "toy", "toy")
    assert twice.code == 2 and "the same search twice" in twice.err
    missing = finished("report", "toy", "toi")
    assert missing.code == 2 and "toi" in missing.err
    assert not (finished.results / "toy+toi").exists()
    assert finished("report", "toy", "other", "--watch").code == 2
