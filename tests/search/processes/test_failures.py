"""Nothing is lost: kill -9, Ctrl-C, dead drivers; each on real processes."""

import os
import signal

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
