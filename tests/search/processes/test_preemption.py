"""Pre-emption: within the grace time a worker checkpoints, gives its trial back and exits; another goes on.

Three workers are pre-empted at once: the code of their trials catches every exception, or never looks up from its work.
"""

import signal
import time

import pytest

from search.config_reader import load_config

pytestmark = pytest.mark.chaos

CONFIG = """\
search: {name: toy, max_trials: 3, seed: 1, lease_seconds: 60, heartbeat_seconds: 1, grace_seconds: 3}
space: {learning_rate: {log_uniform: [1e-4, 1e-2]}, epochs: {choice: [40]}}
training: {learner: toy, toy_seconds: 0.1, device: cpu}
metrics: {every: 5}
"""
CODE = """
from search.toy_learner import ToyLearner

class Learner(ToyLearner):
    def __init__(self, order):
        super().__init__(order)
        self.deaf = order.tid > 0 and not order.checkpoints
        self.slow = order.tid == 0 and not order.checkpoints  # it must not end before the others are where they wait

    def train_epoch(self, epoch, check):
        def checked():
            try:
                check()
            except Exception:
                pass

        while self.deaf and epoch == 8:
            time.sleep(1)
        if self.slow:
            time.sleep(0.3)
        try:
            return super().train_epoch(epoch, checked)
        except Exception:
            return super().train_epoch(epoch, checked)
"""


def test_pre_empted_workers_give_their_trials_back_in_time_and_others_go_on(
    hms, until, with_user_code, undisturbed, expect_whole
):
    hms.config.write_text(CONFIG)
    user = with_user_code(hms, CODE)
    with hms.store() as store:
        driver = hms.start("driver", str(hms.config))
        until(lambda: "toy" in store.names())
        started = [user.start("worker", "--name", "toy") for _ in range(3)]

        def trained():
            return [(job.get("progress") or {}).get("epoch", 0) for job in store.jobs("toy")]

        until(lambda: len(trained()) == 3 and all(epoch >= 6 for epoch in trained()[:1]) and min(trained()[1:]) >= 7)
        owners = {job["tid"]: job["owner"]["pid"] for job in store.jobs("toy")}
        by_pid = {worker.pid: worker for worker in started}
        workers = [by_pid[owners[tid]] for tid in range(3)]
        began = time.monotonic()
        workers[0].send_signal(signal.SIGTERM)
        workers[1].send_signal(signal.SIGUSR1)
        workers[2].send_signal(signal.SIGTERM)
        assert workers[0].wait(3) == 0, "in the middle of an epoch, long before the grace time ends"
        assert workers[1].poll() is None and workers[2].poll() is None
        workers[2].send_signal(signal.SIGTERM)
        assert workers[2].wait(2) == 128 + signal.SIGTERM, "a second signal exits at once"
        assert workers[1].wait(10) == 0 and time.monotonic() - began < 3 + 3
        given_back = {job["tid"]: job for job in store.jobs("toy")}
        for tid in (0, 1):
            assert (given_back[tid]["state"], given_back[tid]["preemptions"], given_back[tid]["crashes"]) == (0, 1, 0)
        assert given_back[1]["checkpoint"]["trained"] == 5
        newest = given_back[0]["checkpoint"]
        assert newest["trained"] >= newest["epoch"] > 0

        other = user("worker", "--name", "toy")
        assert other.code == 0 and hms.wait(driver).code == 0
        documents = store.jobs("toy")
        ways = [[attempt["how"] for attempt in document["history"]] for document in documents]
        assert ways == [["preempted", "finished"], ["preempted", "finished"], ["worker_died", "finished"]]
        rows = store.epochs("toy")
    trials, epochs = hms.tables()
    expect_whole(trials, epochs, 3)
    config = load_config(hms.config, [])
    for document in documents:
        _, expected = undisturbed(config, document)
        mine = [row for row in rows if row["tid"] == document["tid"]]
        assert [(row["epoch"], row["hms"]) for row in mine] == [(row["epoch"], row["hms"]) for row in expected]
