"""Drivers that are killed, doubled, interrupted and cancelled; the numbers are those of an undisturbed search."""

import os
import signal
import sys
import threading

import pytest

from search.config_reader import load_config
from search.driver import Driver
from search.errors import DriverRunning
from search.run import open_search
from search.store.driver_lock import LOCK_SECONDS

pytestmark = pytest.mark.chaos
SLOW = ("--set", "training.toy_seconds=0.05")

DIES = """\
import os, signal
from search.cli import main
from search.store import Store

insert, inserted = Store.insert, []

def die_before_the_second(store, documents):
    if inserted:
        os.kill(os.getpid(), signal.SIGKILL)
    inserted.append(1)
    return insert(store, documents)

Store.insert = die_before_the_second
main()
"""


def test_a_second_driver_is_refused_and_the_same_command_goes_on_after_a_kill_and_after_ctrl_c(
    hms, until, expect_undisturbed
):
    command = ("run", str(hms.config), "--workers", "2", "--set", "training.toy_seconds=0.08")

    def checkpoints():
        return set((hms.results / "toy" / "trials").glob("*/checkpoint-*"))

    run = hms.start(*command)
    until(checkpoints)
    second = hms("driver", str(hms.config), *command[4:])
    assert second.code == 2 and f"pid {run.pid}" in second.err and "hms worker --name toy" in second.err
    run.kill()
    run.communicate()
    # Its workers notice, give their trials back and leave; the server goes with the last of them.
    until(lambda: not hms.processes(), timeout=30)
    before = checkpoints()
    again = hms.start(*command)
    until(lambda: checkpoints() - before)
    os.killpg(again.pid, signal.SIGINT)
    interrupted = hms.wait(again)
    assert interrupted.code == 130 and "continue with" in interrupted.out, interrupted.err
    # Python's own tracker of shared memory outlives the processes that it served by a moment.
    until(lambda: not hms.processes(), timeout=5)
    assert hms(*command).code == 0
    assert sum(trial["preemptions"] for trial in expect_undisturbed(hms)) >= 2


def test_a_driver_that_dies_between_choice_and_insert_leaves_no_hole(hms, until, tmp_path, expect_undisturbed):
    script = tmp_path / "dies.py"
    script.write_text(DIES)
    hms.program = (sys.executable, str(script))
    dying = hms.start("driver", str(hms.config))
    with hms.store() as store:
        until(lambda: "toy" in store.names() and store.jobs("toy"))
        hms.program = (sys.executable, "-m", "search")
        worker = hms.start("worker", "--name", "toy")
        assert dying.wait(60) == -signal.SIGKILL
        assert [job["tid"] for job in store.jobs("toy")] == [0]
        again = hms("driver", str(hms.config))
        assert again.code == 0, again.err
        assert hms.wait(worker).code == 0
        expect_undisturbed(hms)


def test_a_driver_that_lost_its_lock_stops(hms):
    config = load_config(hms.config, ["training.device=cpu"])
    with hms.store() as store:
        _, lock = open_search(store, config, "hms driver toy.yaml")
        driver = Driver(store, config, say=lambda text: None)

        def another_takes_over(documents):
            store.release_driver("toy", lock)
            store.acquire_driver("toy", {"host": "elsewhere", "pid": 1}, 60)
            driver.renewed -= LOCK_SECONDS

        with pytest.raises(DriverRunning, match="another driver took over `toy`; this one stops"):
            driver.run(lock, threading.Event(), another_takes_over)
        assert store.search("toy")["driver"]["owner"]["host"] == "elsewhere"


def test_cancel_ends_the_search_at_once(hms, until):
    run = hms.start("run", str(hms.config), "--workers", "2", *SLOW, "--set", "search.max_trials=50")
    until(lambda: any((hms.results / "toy" / "trials").glob("*/checkpoint-*")))
    cancelled = hms("cancel", "toy")
    assert cancelled.code == 0 and cancelled.out.endswith("trials of `toy` cancelled\n")
    done = hms.wait(run, timeout=30)
    assert done.code == 0, done.err
    trials, _ = hms.tables()
    assert len(trials) < 20 and {trial["state"] for trial in trials} <= {"DONE", "CANCEL"}
    assert not hms.processes()
