"""MongoDB killed, and away for longer than server selection waits: training goes on, nothing is lost."""

import os
import signal
import time

import pytest

from search.mongod import EmbeddedServer

pytestmark = pytest.mark.chaos
SLOW = ("--set", "training.toy_seconds=0.05")


def test_a_killed_mongod_comes_back_and_the_search_goes_on(hms, until, expect_undisturbed):
    run = hms.start("run", str(hms.config), "--workers", "2", *SLOW)
    until(lambda: any((hms.results / "toy" / "trials").glob("*/checkpoint-*")))
    (server,) = [process for process in hms.processes() if process.name() == "mongod"]
    server.kill()
    done = hms.wait(run)
    assert done.code == 0, done.err
    expect_undisturbed(hms)


def test_a_mongod_that_is_away_for_longer_than_server_selection_is_waited_for_and_training_goes_on(
    hms, until, tmp_path, expect_undisturbed
):
    embedded = EmbeddedServer(tmp_path / "server")
    embedded.join()
    try:
        hms.environment["HMS_MONGO"] = embedded.uri
        run = hms.start("run", str(hms.config), "--workers", "2", *SLOW, "--set", "search.lease_seconds=60")
        until(lambda: any((hms.results / "toy" / "trials").glob("*/checkpoint-*")))
        os.kill(embedded.pid, signal.SIGKILL)
        time.sleep(11)  # a write waits for 10
        assert embedded.ensure_running()
        done = hms.wait(run)
        assert done.code == 0, done.err
        trials = expect_undisturbed(hms)
    finally:
        embedded.leave()
    assert [trial["attempts"] for trial in trials] == [1, 1, 1, 1]
    logs = "".join(log.read_text() for log in (hms.results / "toy" / "logs").glob("worker-*.log"))
    assert "messages wait for the store" in logs


def test_a_driver_whose_workers_are_all_gone_restarts_the_server_itself(hms, until):
    driver = hms.start("driver", str(hms.config))
    until(lambda: [process for process in hms.processes() if process.name() == "mongod"])
    with hms.store() as store:
        until(lambda: "toy" in store.names() and store.jobs("toy"))
    (server,) = [process for process in hms.processes() if process.name() == "mongod"]
    server.kill()
    until(lambda: [p for p in hms.processes() if p.name() == "mongod" and p.pid != server.pid])
    driver.send_signal(signal.SIGINT)
    assert hms.wait(driver).code == 130
    assert not hms.processes()
