"""What is known of a search that changes, of one that is away, and of one that was made anew."""

import json
import os
import signal
import time

import pytest

from search.errors import UnknownSearch
from search.mongod import EmbeddedServer
from search.serve.follower import Follower, look
from search.store import Store, new_job_document


def test_a_look_asks_only_for_what_changed(search):
    first = look(search, "s")
    assert json.loads(first.trials[0])["stopped"] == 30
    assert json.loads(first.curves[3]) == {
        "epoch": [0, 5, 10],
        "hms": [0.0, 0.05, 0.1],
        "mse": [0.02, 0.02 / 6, 0.02 / 11],
        "accuracy": [None] * 3,
    }
    again = look(search, "s", first)
    assert again.revision == first.revision and again.trials is first.trials

    job = search.reserve("s", {"host": "h", "pid": 1, "device": "cpu"})
    search.record(job, 0, {"hms": 0.5, "mse": 0.1, "accuracy": 0.2})
    later = look(search, "s", again)
    assert later.revision == first.revision + 1
    assert [tid for tid, revision in later.changed.items() if revision > first.revision] == [job.tid] == [4]
    assert json.loads(later.curves[4])["hms"] == [0.5] and json.loads(later.trials[4])["worker"] == "h cpu"
    assert later.curves[0] is first.curves[0]


def test_epochs_that_a_crashed_attempt_lost_are_gone_here_too(search):
    job = search.reserve("s", {"host": "h", "pid": 1})
    for epoch in (0, 5, 10):
        search.record(job, epoch, {"hms": epoch / 10})
    before = look(search, "s")
    search.begin_attempt(job, 5)
    assert json.loads(before.curves[job.tid])["epoch"] == [0, 5, 10]
    assert json.loads(look(search, "s", before).curves[job.tid])["epoch"] == [0, 5]


def test_a_search_that_was_removed_and_made_again_shares_nothing_with_the_old_one(search):
    before = look(search, "s")
    search.remove_search("s")
    with pytest.raises(UnknownSearch):
        look(search, "s", before)
    search.create_or_resume(
        "s", config=dict(before.status.search["config"]), hashes={"space": "a", "training": "b"}, provenance={}
    )
    search.insert([new_job_document("s", 0, params={"lr": 1.0}, seed=0)])
    after = look(search, "s", before)
    assert set(after.trials) == {0} and json.loads(after.trials[0])["state"] == "NEW"
    assert after.begun == after.revision == before.revision + 1
    assert (before.begun, look(search, "s", after).begun) == (1, after.begun)


@pytest.mark.chaos
def test_what_was_known_stays_while_the_store_is_away_and_it_is_found_again(tmp_path):
    server = EmbeddedServer(tmp_path)
    server.join()
    try:
        with Store.connect(server.uri, timeout_seconds=1.0) as store:
            config = {"search": {"name": "s", "max_trials": 1}}
            store.create_or_resume("s", config=config, hashes={"space": "a", "training": "b"}, provenance={})
            store.insert([new_job_document("s", 0, params={"lr": 1.0}, seed=0)])
            follower = Follower(store, "s")
            assert follower.now()[1] is None
            os.kill(server.pid, signal.SIGKILL)
            time.sleep(1.1)
            deadline = time.monotonic() + 30
            while follower.now()[1] is None:
                assert time.monotonic() < deadline
            moment, trouble = follower.now()
            assert "127.0.0.1" in trouble and set(moment.trials) == {0} and follower.age > 1
            server.ensure_running()
            while follower.now()[1] is not None:
                assert time.monotonic() < deadline
    finally:
        server.leave()
