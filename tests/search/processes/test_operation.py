"""Looking after a search from the outside: what a person types while it runs and afterwards."""

import os
import pty
import signal
import subprocess
import sys
import time

import pytest

from search.workers import all_workers


@pytest.fixture(scope="module")
def kept(finished):
    """The finished search, its server kept running between commands."""
    with finished.store():
        yield finished


def test_workers_and_cancel_and_nothing_alive_is_forgotten(hms, until):
    """One trial for two workers. Its epochs take a minute: neither message nor heartbeat tells of the cancelling."""
    slow = ("training.toy_seconds=60", "search.lease_seconds=90", "search.heartbeat_seconds=40", "search.max_trials=1")
    options = [word for setting in slow for word in ("--set", setting)]
    run = hms.start("run", str(hms.config), "--workers", "2", *options)
    with hms.store() as store:
        until(lambda: store.names() and (store.job("toy", 0) or {}).get("progress", {}).get("evaluated") == 0)
        until(lambda: [worker.condition for worker in all_workers(store, "toy")].count("idle") == 1)
        pids = {worker.condition: worker.owner["pid"] for worker in all_workers(store, "toy")}
        os.kill(pids["idle"], signal.SIGKILL)
        until(lambda: "dead" in [worker.condition for worker in all_workers(store, "toy")])
        listed = hms("workers", "toy").out
        assert f"pid {pids['works']} slot" in listed and ": works on trial 0, here for " in listed
        assert any(f"pid {pids['idle']} slot" in line and ": dead, here for " in line for line in listed.splitlines())

        refused = hms("forget", "toy", "--yes")
        assert refused.code == 2 and "a driver of the search 'toy' runs" in refused.err
        nobody_to_ask = hms("forget", "toy", "--force")
        assert nobody_to_ask.code == 2 and "hms forget toy --yes" in nobody_to_ask.err
        assert store.counts("toy")["RUNNING"] == 1

        assert hms("cancel", "toy", "--tid", "0").out == "1 trials of `toy` cancelled\n"
        asked = time.monotonic()
        logs = sorted((hms.results / "toy" / "logs").glob("worker-?.log"))
        until(lambda: any("trial 0: taken over or cancelled" in log.read_text() for log in logs), timeout=20)
        assert time.monotonic() - asked < 6  # two seconds on a machine that has nothing else to do
        assert hms.wait(run).code == 0
        assert "toy: 1 CANCEL; finished" in hms("status", "toy").out
    assert not hms.processes()


def test_everything_there_and_back_again(kept, tmp_path):
    archive = str(tmp_path / "toy.jsonl.gz")
    saved = kept("backup", "toy", archive)
    assert saved.code == 0 and saved.lines[-1] == archive, saved.err
    assert saved.lines[0].startswith("toy: 4 in jobs, ") and "1 in searches" in saved.lines[0]
    assert kept("backup", archive).code == 2
    refused = kept("restore", archive)
    assert refused.code == 2 and "stays as it is" in refused.err
    assert kept("restore", archive, "--name", "copy").code == 0
    assert kept.tables("copy") == kept.tables("toy")
    again = kept("run", str(kept.config), "--name", "copy", "--workers", "1")
    assert again.code == 0 and "nothing to add" in again.out
    assert (kept.results / "copy" / "report" / "report.html").exists()
    assert kept("forget", "copy", "--yes").out == "`copy` was removed\n"
    assert not (kept.results / "copy").exists() and (kept.results / "toy" / "report").exists()
    assert kept("status").out.splitlines() == ["toy: 4 DONE"]


def test_logs_of_a_finished_search(kept):
    shown = kept("log", "toy", "--tid", "1", "--lines", "2")
    assert shown.code == 0 and shown.lines[0] == f"== {kept.results / 'toy' / 'trials' / '000001' / 'log.txt'}"
    assert shown.lines[2].startswith("done: ") and shown.lines[3] == "== trial 1: DONE, 1 attempts"
    workers = kept("log", "toy")
    assert "worker-0.log" in workers.out and "worker-1.log" in workers.out and "trials ended here" in workers.out


def test_watch_and_forget_on_a_terminal(kept):
    """A real terminal: the view is drawn, and a person is asked."""

    def typed(*command, answer=""):
        master, slave = pty.openpty()
        environment = {**os.environ, "HMS_RESULTS": str(kept.results), "TERM": "xterm", "COLUMNS": "120"}
        words = [sys.executable, "-m", "search", *command]
        process = subprocess.Popen(words, stdin=slave, stdout=slave, stderr=slave, env=environment)
        os.close(slave)
        os.write(master, answer.encode())
        output = b""
        try:
            while piece := os.read(master, 65536):
                output += piece
        except OSError:  # the other side closed it
            pass
        os.close(master)
        return process.wait(30), output.decode()

    code, text = typed("status", "toy", "--watch")
    assert code == 0 and "4 DONE; finished" in text and "max_epochs" in text
    code, text = typed("forget", "toy", answer="n\n")
    assert code == 0 and "Remove all of it for ever?" in text and "`toy` stays as it is" in text
    assert "4 in jobs" in text and kept("status").out.startswith("toy: 4 DONE")
