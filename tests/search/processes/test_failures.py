"""Nothing is lost: kill -9, Ctrl-C, dead drivers; each on real processes."""

import os
import signal
import time

import pytest

pytestmark = pytest.mark.chaos
SLOW = ("--set", "training.toy_seconds=0.05")


def test_kill_9_of_a_worker_loses_nothing(hms, until, expect_whole):
    run = hms.start("run", str(hms.config), "--workers", "2", *SLOW)
    workers = until(lambda: len(hms.workers()) == 2 and hms.workers())
    until(lambda: any((hms.results / "toy" / "trials").glob("*/checkpoint-*")))
    victim = workers[0]
    children = victim.children(recursive=True)
    victim.kill()
    until(lambda: not any(child.is_running() and child.status() != "zombie" for child in children), timeout=10)
    done = hms.wait(run)
    assert done.code == 0, done.err
    trials, epochs = hms.tables()
    expect_whole(trials, epochs, 4)
    assert sorted(trial["attempts"] for trial in trials)[-1] == 2
    assert not hms.processes()


def test_ctrl_c_then_the_same_command_continues_where_it_was(hms, until, expect_whole):
    undisturbed = hms("run", str(hms.config), "--workers", "2", *SLOW, "--name", "reference")
    assert undisturbed.code == 0, undisturbed.err
    run = hms.start("run", str(hms.config), "--workers", "2", *SLOW)
    until(lambda: any((hms.results / "toy" / "trials").glob("*/checkpoint-*")))
    os.killpg(run.pid, signal.SIGINT)
    interrupted = hms.wait(run)
    assert interrupted.code == 130 and "continue with" in interrupted.out, interrupted.err
    assert not hms.processes()
    assert hms("run", str(hms.config), "--workers", "2", *SLOW).code == 0
    trials, epochs = hms.tables()
    expect_whole(trials, epochs, 4)
    assert any(trial["preemptions"] == 1 for trial in trials)
    reference, reference_epochs = hms.tables("reference")
    shown = ("tid", "finish", "epochs_trained", "hms", "mse", "param.learning_rate")
    assert [[t[k] for k in shown] for t in trials] == [[t[k] for k in shown] for t in reference]
    assert [(r["tid"], r["epoch"], r["hms"]) for r in epochs] == [
        (r["tid"], r["epoch"], r["hms"]) for r in reference_epochs
    ]


def test_a_killed_driver_is_restarted_by_the_same_command(hms, until, expect_whole):
    run = hms.start("run", str(hms.config), "--workers", "2", *SLOW)
    until(lambda: any((hms.results / "toy" / "trials").glob("*/checkpoint-*")))
    run.kill()
    run.communicate()
    # Its workers notice, give their trials back and leave; the server goes with the last of them.
    until(lambda: not hms.processes(), timeout=30)
    again = hms("run", str(hms.config), "--workers", "2", *SLOW)
    assert again.code == 0, again.err
    expect_whole(*hms.tables(), 4)


def test_a_killed_mongod_comes_back_and_the_search_goes_on(hms, until, expect_whole):
    run = hms.start("run", str(hms.config), "--workers", "2", *SLOW)
    until(lambda: any((hms.results / "toy" / "trials").glob("*/checkpoint-*")))
    servers = [p for p in hms.processes() if p.name() == "mongod"]
    assert len(servers) == 1
    servers[0].kill()
    done = hms.wait(run)
    assert done.code == 0, done.err
    expect_whole(*hms.tables(), 4)


def test_sigterm_of_one_worker_gives_its_trial_back_as_no_crash(hms, until, expect_whole):
    run = hms.start("run", str(hms.config), "--workers", "2", *SLOW)
    until(lambda: any((hms.results / "toy" / "trials").glob("*/checkpoint-*")))
    victim = hms.workers()[0]
    victim.terminate()
    done = hms.wait(run)
    assert done.code == 0, done.err
    trials, epochs = hms.tables()
    expect_whole(trials, epochs, 4)
    assert sum(trial["preemptions"] for trial in trials) == 1


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


def test_a_stopped_mongod_is_waited_for_and_training_goes_on(hms, until, expect_whole):
    run = hms.start("run", str(hms.config), "--workers", "2", *SLOW, "--set", "search.lease_seconds=60")
    until(lambda: any((hms.results / "toy" / "trials").glob("*/checkpoint-*")))
    (server,) = [process for process in hms.processes() if process.name() == "mongod"]
    server.suspend()
    time.sleep(15)  # longer than server selection (10 s)
    server.resume()
    done = hms.wait(run)
    assert done.code == 0, done.err
    trials, epochs = hms.tables()
    expect_whole(trials, epochs, 4)
    assert [trial["attempts"] for trial in trials] == [1, 1, 1, 1]
