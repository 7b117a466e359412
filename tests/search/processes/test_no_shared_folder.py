"""Workers that share nothing but the store: each machine has a results folder of its own, checkpoints are in GridFS."""

import dataclasses
import math
from pathlib import Path

import pytest

from search.mongod import embedded_server
from search.store import Store

pytestmark = pytest.mark.chaos


def test_a_worker_elsewhere_goes_on_where_a_killed_one_was(hms, until, expect_whole, tmp_path):
    options = ["--set", "search.checkpoints=gridfs", "--set", "search.max_trials=1"]
    with embedded_server(tmp_path / "server") as uri, Store.connect(uri) as store:
        here = dataclasses.replace(hms, environment={"HMS_MONGO": uri})
        there = dataclasses.replace(here, results=tmp_path / "there")
        driver = here.start("driver", str(hms.config), *options, "--set", "training.toy_seconds=0.1")
        until(lambda: "toy" in store.names() and store.counts("toy")["NEW"])
        first = here.start("worker", "--name", "toy")
        until(lambda: ((store.job("toy", 0) or {}).get("checkpoint") or {}).get("previous"))
        first.kill()
        served = there("worker", "--name", "toy")
        assert served.code == 0 and "trial 0: fetched checkpoint-" in served.out, served.err
        assert here.wait(driver).code == 0
        document = store.job("toy", 0)
        assert document["attempt"] == 2 and document["resume_epoch"] >= 10
        assert [file.file for file in store.files("toy")] == ["log.txt"]
        trials, epochs = there.tables()
    assert not list((tmp_path / "there").glob("toy/trials/*/checkpoint-*"))
    expect_whole(trials, epochs, 1)
    for row in epochs:
        unbroken = 0.2 * (1 - math.exp(-row["epoch"] / 10)) + (document["seed"] % 1000) / 20_000
        assert row["hms"] == unbroken and row["attempt"] == (1 if row["epoch"] <= document["resume_epoch"] else 2)


def test_a_store_that_is_killed_while_it_takes_a_file_is_waited_for(hms, until, expect_whole, tmp_path):
    options = ["--set", "search.checkpoints=gridfs", "--set", "search.max_trials=1"]
    large = Path(hms.results) / "toy" / "trials" / "000000" / "network.pt"
    large.parent.mkdir(parents=True)
    large.write_bytes(bytes(200 * 2**20))
    run = hms.start("run", str(hms.config), *options, "--workers", "1")
    until(lambda: list(large.parent.glob("checkpoint-*")))
    with embedded_server(hms.results) as uri, Store.connect(uri) as store:
        chunks = store._jobs.database["trial_files.chunks"]
        until(lambda: chunks.count_documents({"files_id": {"$regex": "network.pt"}}) > 20)
        (server,) = [process for process in hms.processes() if process.name() == "mongod"]
        server.kill()
    done = hms.wait(run)
    assert done.code == 0, done.err
    expect_whole(*hms.tables(), 1)
    with embedded_server(hms.results) as uri, Store.connect(uri) as store:
        (stored,) = [file for file in store.files("toy") if file.file == "network.pt"]
        assert stored.bytes == large.stat().st_size and store.job("toy", 0)["attempt"] == 1
        store.fetch_file("toy", stored, tmp_path / "copy.pt")
