"""What `hms status`, `hms workers` and `hms log` say: on a terminal and in lines, alive, stale, failed, finished."""

import io
import re
import threading
import time

import pytest
from rich.console import Console

from search.errors import LeaseLost, UsageError
from search.logs import show_trial_log, show_worker_logs
from search.paths import RunFolder
from search.process_identity import ProcessIdentity
from search.status import Status, cancel_trials, retry_trials, show_status
from search.workers import show_workers

HERE = {**ProcessIdentity.current().to_dict(), "device": "cpu", "slot": 0}
CLUSTER = {"host": "node[7]", "realm": "r", "pid": 1, "started": 1.0, "slot": 2, "device": "cuda:0", "slurm_job": "9_2"}


@pytest.fixture
def running(store, fill):
    """A search of six trials: two ended, one failed, one runs here, one in a Slurm job, one waits."""
    config = {"search": {"name": "s", "max_trials": 6}}
    store.create_or_resume("s", config=config, hashes={"space": "a", "training": "b"}, provenance={})
    store.update_search("s", command="hms run x.yaml --name s")
    fill(store, 6, params={"epochs": 10})
    for tid in range(3):
        job = store.reserve("s", HERE)
        if tid == 2:
            store.fail(job, "ValueError: [bold]brackets[/bold]\nmore", "Traceback ...\nValueError: brackets")
        else:
            store.finish(job, {"status": "ok", "loss": -0.1, "finish": "max_epochs", "hms": 0.1, "epochs_trained": 10})
    store.greet("s", {**HERE, "slot": 1})
    return [store.reserve("s", owner) for owner in (HERE, CLUSTER)]


def console(terminal):
    return Console(file=io.StringIO(), force_terminal=terminal, width=150, height=50, color_system=None)


def shown(call, terminal=False):
    out = console(terminal)
    call(out)
    return out.file.getvalue()


@pytest.mark.parametrize("terminal", [False, True])
def test_status_says_it_all(store, running, terminal):
    store.acquire_driver("s", HERE, 30)
    store.heartbeat(running[0], {"epoch": 3, "epochs": 10, "evaluated": 0, "hms": 0.25, "mse": None, "accuracy": 0.5})
    text = shown(lambda out: show_status(store, "s", out), terminal)
    lines = text.splitlines()
    assert "s: 1 NEW, 2 RUNNING, 2 DONE, 1 ERROR; not finished" in lines
    assert any(line.startswith(f"driver: {HERE['host']} pid {HERE['pid']}, for 0 s") for line in lines)
    assert "workers: 2 work, 1 idle" in lines
    assert any(" trials an hour; about 0 s left" in line for line in lines)
    assert "trial 2: ValueError: [bold]brackets[/bold] ..." in lines
    assert "stale" not in text and "job 9_2" in text and "0.25" in text


def test_stale_leases_and_dead_drivers_are_named(store, running):
    store.lease_seconds = 0.0
    store.heartbeat(running[0])
    store.acquire_driver("s", {**CLUSTER, "pid": 5}, 0)
    time.sleep(0.01)
    text = shown(lambda out: show_status(store, "s", out))
    assert "stale: trial 3, lease out for 0 s; a driver or worker takes it back, or: hms retry s --state stale" in text
    assert "no driver runs; continue with: hms run x.yaml --name s" in text
    assert "workers: 1 work, 1 idle, 1 silent" in text
    assert store.retry("s", "stale") == [3]
    assert "stale" not in shown(lambda out: show_status(store, "s", out))


def test_a_running_trials_warning_is_shown_and_steers_no_terminal(store, running):
    store.heartbeat(running[0], {"warning": "no checkpoint after epoch 3: \x1b[2Jdisk full"})
    for terminal in (False, True):
        text = shown(lambda out: show_status(store, "s", out), terminal)
        assert r"warning: trial 3: no checkpoint after epoch 3: \x1b[2Jdisk full" in text.splitlines()


def test_what_stands_in_a_database_is_no_markup_and_steers_no_terminal(store, running):
    job = running[0]
    store.finish(job, {"status": "ok", "loss": 0.0, "finish": "\x1b]0;title\x07[/nope]", "hms": 0.1})
    store.greet("s", {**HERE, "host": "\x1b[2J[/here]", "slot": 7, "pid": 1})
    for call in (lambda out: show_status(store, "s", out), lambda out: show_workers(store, "s", out)):
        for terminal in (False, True):
            assert "\x1b]" not in (text := shown(call, terminal)) and "\x1b[2J" not in text and "\x07" not in text
    assert "[/nope]" in shown(lambda out: show_status(store, "s", out), True)


def test_a_retry_makes_a_search_unfinished_and_a_cancel_leaves_a_finished_one(store, running):
    with pytest.raises(UsageError, match="trial 0 of `s` is DONE"):
        cancel_trials(store, "s", 0)
    store.update_search("s", finished=True)
    with pytest.raises(UsageError, match="`s` is finished"):
        cancel_trials(store, "s", None)
    assert not store.search("s").get("cancelled")
    assert retry_trials(store, "s", "failed") == [2] and store.search("s")["finished"] is False
    store.update_search("s", imported={"from": "elsewhere"})
    for call in (lambda: cancel_trials(store, "s", None), lambda: retry_trials(store, "s", "failed")):
        with pytest.raises(UsageError, match="was imported"):
            call()


def test_only_the_newest_errors_are_shown(store, running, fill):
    fill(store, 16)
    for number in range(8):
        store.fail(store.reserve("s", HERE), f"error {number}")
    text = shown(lambda out: show_status(store, "s", out))
    listed = [
        line for line in text.splitlines() if line.startswith("trial ") and "ERROR" not in line and "error" in line
    ]
    assert [line[-1] for line in listed] == list("34567")
    assert "4 older errors" in text


@pytest.mark.parametrize("terminal", [False, True])
def test_watch_follows_to_the_end_without_repeating_itself(connect, running, terminal):
    out, watching = console(terminal), connect()
    thread = threading.Thread(target=show_status, args=(watching, "s", out), kwargs={"watch": True})
    thread.start()
    store = connect()
    time.sleep(0.3)
    for job in running:
        store.finish(job, {"status": "ok", "loss": -0.1, "finish": "hms_stable", "hms": 0.3, "epochs_trained": 5})
    store.cancel("s", 5)
    store.update_search("s", finished=True)
    thread.join(20)
    assert not thread.is_alive()
    text = out.file.getvalue()
    assert "not finished" in text and "s: 4 DONE, 1 ERROR, 1 CANCEL; finished" in text
    if terminal:
        assert "\x1b[1A" in text  # drawn again in place
    else:
        assert text.count("trial 0: ") == 1 and text.count("trial 3: ") == 2


@pytest.mark.parametrize("terminal", [False, True])
def test_watch_shows_the_pace_and_wraps_what_is_longer_than_the_screen(connect, running, terminal):
    command = "hms run configs/a_long_name_of_a_configuration.yaml --name s --set search.max_trials=600"
    store, watching = connect(), connect()
    store.update_search("s", command=command)
    out = Console(file=io.StringIO(), force_terminal=terminal, width=44, height=80, color_system=None)
    thread = threading.Thread(target=show_status, args=(watching, "s", out), kwargs={"watch": True})
    thread.start()
    time.sleep(0.3)
    store.update_search("s", finished=True)
    thread.join(20)
    assert not thread.is_alive()
    lines = [line.rstrip() for line in re.sub(r"\x1b\[[?0-9]*[A-Za-z]", "", out.file.getvalue()).splitlines()]
    assert f"no driver runs; continue with: {command}" in (" ".join(lines) if terminal else lines)
    assert " trials an hour" in " ".join(lines)
    if terminal:
        assert max(map(len, lines)) <= 44


def test_only_what_changed_is_read_again(store, running):
    earlier = Status.read(store, "s")
    assert [job["tid"] for job in earlier.documents] == list(range(6))
    store.cancel("s", 5)
    later = Status.read(store, "s", earlier)
    assert later.jobs[0] is earlier.jobs[0] and later.jobs[5] is not earlier.jobs[5]


def test_workers_are_listed_with_what_they_do(store, running):
    for terminal in (False, True):
        text = shown(lambda out: show_workers(store, "s", out), terminal)
        assert "node[7]" in text and "job 9_2" in text and "cuda:0" in text and str(HERE["pid"]) in text
    text = shown(lambda out: show_workers(store, None, out))
    assert f"s: {HERE['host']} pid {HERE['pid']} slot 1 cpu: idle, here for 0 s, last sign of life 0 s ago" in text
    assert "s: node[7] pid 1 slot 2 cuda:0 job 9_2: works on trial 4" in text
    store.create_or_resume("t", config={}, hashes={"space": "a", "training": "b"}, provenance={})
    assert shown(lambda out: show_workers(store, "t", out)) == "no worker of `t` lives: hms worker --name t\n"


def test_a_look_tells_a_worker_that_its_trial_was_cancelled(store, running):
    assert all(map(store.holds, running))
    version = store.job("s", 3)["version"]
    store.cancel("s", 3)
    assert [store.holds(job) for job in running] == [False, True]
    assert store.job("s", 3)["version"] == version + 1
    with pytest.raises(LeaseLost):
        store.finish(running[0], {"status": "ok", "loss": 0.0})


def test_the_log_of_a_trial(store, running, tmp_path):
    folder = RunFolder.of(tmp_path, "s")
    said = []
    show_trial_log(store, "s", 2, folder, said.append)
    assert said[0] == f"== {folder.trial(2) / 'log.txt'}: not on this machine"
    assert said[1] == "== trial 2: ERROR, 1 attempts" and ": failed (ValueError" in said[2]
    assert said[-1] == "ValueError: brackets"
    with pytest.raises(UsageError, match="no trial 77"):
        show_trial_log(store, "s", 77, folder, said.append)


def test_the_log_of_a_trial_of_another_machine_is_fetched(store, running, tmp_path):
    path = tmp_path / "log.txt"
    path.write_text("".join(f"line {number}\n" for number in range(100)))
    store.put_file(running[1], path)
    store.fail(running[1], "too bad", "where\nwhat")
    folder, said = RunFolder.of(tmp_path, "s"), []
    show_trial_log(store, "s", 4, folder, said.append, lines=3)
    assert said[:4] == [f"== {folder.trial(4) / 'log.txt'}", "line 97", "line 98", "line 99"]
    assert said[4:] == ["== trial 4: ERROR, 1 attempts", said[5], "error: too bad", "where", "what"]


def test_following_a_trial_until_it_ends(connect, running, tmp_path):
    folder, said = RunFolder.of(tmp_path, "s"), []
    path = folder.trial(3) / "log.txt"
    path.parent.mkdir(parents=True)
    path.write_text("first\n")
    watching, store = connect(), connect()
    follow = threading.Thread(
        target=show_trial_log, args=(watching, "s", 3, folder, said.append), kwargs={"follow": True}
    )
    follow.start()
    for text, expected in (("sec", ["first"]), ("ond\nthird\n", ["first", "second", "third"])):
        with path.open("a") as file:
            file.write(text)
        deadline = time.monotonic() + 10
        while said[1:] != expected and time.monotonic() < deadline:
            time.sleep(0.05)
        assert said[1:] == expected
    store.fail(running[0], "the end")
    follow.join(10)
    assert not follow.is_alive() and said[-1] == "error: the end"


def test_the_logs_of_workers(store, running, tmp_path):
    folder, said = RunFolder.of(tmp_path, "s"), []
    with pytest.raises(UsageError, match="no worker of `s` wrote a log"):
        show_worker_logs(store, "s", folder, said.append)
    folder.logs.mkdir(parents=True)
    for number in range(2):
        (folder.logs / f"worker-{number}.log").write_text(f"a\nb{number}\n")
    (folder.logs / "worker-0.log.1").write_text("older\n")
    show_worker_logs(store, "s", folder, said.append, lines=1)
    assert said == [f"== {folder.logs / 'worker-0.log'}", "b0", f"== {folder.logs / 'worker-1.log'}", "b1"]
