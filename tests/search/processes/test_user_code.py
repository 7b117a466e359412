"""What goes wrong inside a trial: it raises, dies, kills its worker, returns NaN or what no database holds.

One search of six such trials, and beside it in the same database one in which everything is undefined. Their workers'
clocks are an hour slow.
"""

import contextlib

import pytest

from search.config_reader import load_config
from search.store import State

pytestmark = pytest.mark.chaos

CONFIG = """\
search: {name: mixed, algorithm: tpe, max_trials: 6, seed: 1, lease_seconds: 60, heartbeat_seconds: 1}
space: {learning_rate: {log_uniform: [1e-4, 1e-2]}, epochs: {choice: [40]}}
training: {learner: toy, toy_seconds: 0.02, device: cpu}
metrics: {every: 1}
stopping: {tolerance: 0.04}
"""
CODE = """
from search.toy_learner import ToyLearner

clock = time.time
time.time = lambda: clock() - 3600
KILLS, RAISES, NAN, DIES_AT_7, UNSTORABLE, GOOD = range(6)

class Learner(ToyLearner):
    def __init__(self, order):
        super().__init__(order)
        self.order, self.tid = order, order.tid if order.name == "mixed" else NAN
        if self.tid == DIES_AT_7 and not order.checkpoints:
            no_checkpoint_after(5)

    def train_epoch(self, epoch, check):
        if self.tid == KILLS:
            os.kill(multiprocessing.parent_process().pid, signal.SIGKILL)
        if self.tid == RAISES and epoch == 3:
            raise KeyError("no such unit")
        if self.tid == DIES_AT_7 and epoch == 8 and not self.order.checkpoints:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().train_epoch(epoch, check)

    def evaluate(self, check):
        row = super().evaluate(check)
        if self.tid == NAN:
            row |= {"hms": float("nan"), "mse": float("inf")}
        if self.tid == UNSTORABLE:
            row |= {"hms_of_units": {1, 2}}
        return row

def no_checkpoint_after(last):
    from search import trial

    save = trial.save_checkpoint

    def refuse(path, state):
        if state["progress"]["epoch"] > last:
            raise trial.CheckpointError("the disk is full")
        return save(path, state)

    trial.save_checkpoint = refuse
"""


@pytest.fixture(scope="module")
def searched(module_hms, with_user_code, until):
    """The two searches, served until they are finished; (hms, the drivers as they ended)."""
    hms = module_hms
    hms.config.write_text(CONFIG)
    user = with_user_code(hms, CODE)
    few = ("--set", "search.max_trials=2", "--name", "undefined")
    with hms.store() as store:
        drivers = [hms.start("driver", str(hms.config)), hms.start("driver", str(hms.config), *few)]
        until(lambda: store.names() == ["mixed", "undefined"])
        workers = {}
        while any(driver.poll() is None for driver in drivers):
            for name in store.names():
                if name not in workers or workers[name].poll() not in (None, 0):
                    workers[name] = user.start("worker", "--name", name)
            with contextlib.suppress(AssertionError):
                until(lambda: any(p.poll() is not None for p in (*drivers, *workers.values())), timeout=1)
        yield hms, [hms.wait(driver) for driver in drivers], {job["tid"]: job for job in store.jobs("mixed")}


def hows(document):
    return [attempt["how"] for attempt in document["history"]]


def test_the_search_ends_and_says_what_failed(searched):
    hms, (mixed, _), documents = searched
    assert mixed.code == 4 and "3 trials are in ERROR" in mixed.out, (mixed.out, mixed.err)
    states = [State(documents[tid]["state"]).name for tid in range(6)]
    assert states == ["ERROR", "ERROR", "DONE", "DONE", "ERROR", "DONE"]
    shown = hms("status", "mixed").out
    for words in ("lost: 3 attempts", "no such unit", "builtins.set"):
        assert words in shown


def test_a_trial_that_kills_its_worker_each_time_is_given_up(searched):
    document = searched[2][0]
    assert document["error"]["message"].startswith("lost: 3 attempts in a row crashed")
    assert hows(document) == ["worker_died"] * 3


def test_an_objective_that_always_raises_is_an_error_with_its_traceback(searched):
    document = searched[2][1]
    assert document["attempt"] == 1 and hows(document) == ["failed"]
    assert document["error"]["message"] == "KeyError: 'no such unit'"
    assert "in train_epoch" in document["error"]["traceback"]


def test_nan_is_a_result_that_failed(searched):
    result = searched[2][2]["result"]
    assert (result["status"], result["finish"], result["hms"]) == ("fail", "diverged", None)
    assert result["hms_status"] == result["mse_status"] == "diverged" and "loss" not in result


def test_killed_at_epoch_7_with_a_checkpoint_at_5(searched, undisturbed):
    hms, _, documents = searched
    document = documents[3]
    assert hows(document) == ["worker_died", "finished"] and document["resume_epoch"] == 5
    assert "killed by SIGKILL" in document["history"][0]["reason"]
    with hms.store() as store:
        rows = store.epochs("mixed", 3)
    result, expected = undisturbed(load_config(hms.config, []), document)
    assert [row["attempt"] for row in rows] == [1] * 6 + [2] * (len(expected) - 6)
    numbers = ("epoch", "hms", "window_sd", "stable")
    assert [[row[key] for key in numbers] for row in rows] == [[row[key] for key in numbers] for row in expected]
    verdict = ("finish", "stopped", "epochs_trained", "stable_epoch", "hms", "loss")
    assert [document["result"][key] for key in verdict] == [result[key] for key in verdict]
    assert result["finish"] == "hms_stable"


def test_what_cannot_be_stored_is_an_error_by_name(searched):
    document = searched[2][4]
    assert document["attempt"] == 1 and hows(document) == ["failed"]
    assert "hms_of_units is a builtins.set" in document["error"]["message"]


def test_a_workers_clock_an_hour_off_costs_no_lease(searched):
    document = searched[2][5]
    assert document["attempt"] == 1 and hows(document) == ["finished"]
    assert document["refresh_time"] > document["book_time"] > searched[2][0]["history"][0]["began"]


def test_a_search_in_which_all_is_undefined_ends_well_and_its_report_says_so(searched):
    hms, (_, undefined), _ = searched
    assert undefined.code == 0 and "2 DONE" in undefined.out, (undefined.out, undefined.err)
    report = hms("report", "undefined")
    assert report.code == 0, report.err
    text = (hms.results / "undefined" / "report" / "report.html").read_text()
    assert "No finished network has all of its metrics defined: there is nothing to correlate." in text
