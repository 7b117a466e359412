"""The mirror of a search in Optuna, read back with Optuna itself."""

from datetime import UTC

import optuna
import pytest
from optuna.trial import TrialState

from search.config_reader import parse_config
from search.errors import UsageError
from search.optuna_mirror import mirror
from search.store import Job, new_job_document

OWNER = {"host": "h", "pid": 1, "device": "cpu"}
CONFIG = {
    "search": {"name": "s", "max_trials": 8},
    "space": {
        "learning_rate": {"log_uniform": [1e-4, 1e-2]},
        "epochs": {"stepped": [20, 60, 20]},
        "loss": {"choice": ["L0", "Lall"]},
    },
    "training": {"learner": "toy", "device": "cpu"},
    "metrics": {"every": 5},
}
ENDS = ("hms_stable", "max_epochs", "below_threshold", "collapsed", "error", "cancelled", "running", "new")
HMS = (0.125, 0.25, 0.0625)


def finish(store, job, finish, hms):
    for epoch in (0, 5, 10):
        store.record(job, epoch, {"hms": None if hms is None else hms * epoch / 10, "mse": 0.01})
    result = {"finish": finish, "hms": hms, "mse": 0.01, "epochs_trained": 10, "seconds": {"training": 3.0}}
    store.finish(job, {**result, "status": "fail" if hms is None else "ok", "loss": None if hms is None else -hms})


@pytest.fixture
def search(store):
    """Eight trials, one of each way to be."""
    config = parse_config(CONFIG, source="this test")
    store.create_or_resume("s", config=config.document(), hashes=config.hashes(), provenance={})
    points = [{"learning_rate": 0.001 * (tid + 1), "epochs": 20 + 20 * (tid % 3), "loss": "L0"} for tid in range(8)]
    store.insert(new_job_document("s", tid, params=point, seed=tid) for tid, point in enumerate(points))
    for tid, end in enumerate(ENDS[:7]):
        job = store.reserve("s", OWNER)
        assert job is not None and job.tid == tid
        if end == "error":
            store.fail(job, "no memory", "Traceback ...")
        elif end == "cancelled":
            store.cancel("s", tid)
        elif end == "running":
            store.record(job, 0, {"hms": 0.01, "mse": 0.02})
        else:
            finish(store, job, end, HMS[tid] if tid < 3 else None)
    return store


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path}/f.db"


def test_the_study_says_what_the_search_says(search, url):
    assert mirror(search, "s", url) == {"COMPLETE": 2, "PRUNED": 1, "FAIL": 3, "RUNNING": 1, "WAITING": 1}
    study = optuna.load_study(study_name="s", storage=url)
    assert study.direction == optuna.study.StudyDirection.MAXIMIZE
    trials = study.trials
    assert [trial.number for trial in trials] == [trial.user_attrs["tid"] for trial in trials] == list(range(8))
    assert [trial.state for trial in trials[:3]] == [TrialState.COMPLETE, TrialState.COMPLETE, TrialState.PRUNED]
    assert [trial.value for trial in trials] == [*HMS, *[None] * 5]
    assert study.best_trial.number == 1 and study.best_params["epochs"] == 40
    jobs = search.jobs("s")
    for job, trial in zip(jobs, trials, strict=True):
        assert trial.params == job["params"] and trial.intermediate_values == {
            row["epoch"]: row["hms"] for row in search.epochs("s", job["tid"]) if row["hms"] is not None
        }
    assert trials[0].intermediate_values == {0: 0.0, 5: 0.0625, 10: 0.125} and trials[6].intermediate_values == {
        0: 0.01
    }
    assert trials[0].distributions == {
        "learning_rate": optuna.distributions.FloatDistribution(1e-4, 1e-2, log=True),
        "epochs": optuna.distributions.IntDistribution(20, 60, step=20),
        "loss": optuna.distributions.CategoricalDistribution(["L0", "Lall"]),
    }
    assert trials[1].user_attrs["mse"] == 0.01 and trials[1].user_attrs["finish"] == "max_epochs"
    assert trials[4].user_attrs["error"] == "no memory" and trials[5].user_attrs["hms_state"] == "CANCEL"
    ended = jobs[1]["refresh_time"].astimezone(UTC)
    assert trials[1].datetime_complete.astimezone(UTC) == ended


def test_a_search_that_is_guided_by_mse_is_minimised(search, url):
    search._searches.update_one({"exp_key": "s"}, {"$set": {"config.search.guide": "mse"}})
    mirror(search, "s", url)
    study = optuna.load_study(study_name="s", storage=url)
    assert study.direction == optuna.study.StudyDirection.MINIMIZE
    assert study.best_value == 0.01 and study.trials[0].intermediate_values == dict.fromkeys((0, 5, 10), 0.01)


def test_a_repeated_export_follows_the_search_and_changes_nothing_else(search, url):
    mirror(search, "s", url)
    first = optuna.load_study(study_name="s", storage=url)
    mirror(search, "s", url)
    again = optuna.load_study(study_name="s", storage=url)
    assert (again._study_id, again.trials) == (first._study_id, first.trials)

    running = Job.from_document(search.job("s", 6))
    search.record(running, 5, {"hms": 0.02, "mse": 0.01})
    mirror(search, "s", url)
    later = optuna.load_study(study_name="s", storage=url)
    assert later._study_id == first._study_id and later.trials[6].intermediate_values == {0: 0.01, 5: 0.02}

    finish(search, running, "max_epochs", 0.9)
    assert mirror(search, "s", url)["COMPLETE"] == 3
    study = optuna.load_study(study_name="s", storage=url)
    assert study._study_id == first._study_id and study.best_trial.number == 6 and study.best_value == 0.9

    # An ended trial was repeated, and the search is at its end: what Optuna lets nobody mend is made anew.
    search.retry("s", "failed")
    search.cancel("s")
    mirror(search, "s", url)
    study = optuna.load_study(study_name="s", storage=url)
    assert optuna.get_all_study_names(storage=url) == ["s"]
    assert [trial.number for trial in study.trials] == list(range(8))
    assert study.trials[4].user_attrs["hms_state"] == "CANCEL"
    assert study.trials[6].datetime_complete.astimezone(UTC) == search.job("s", 6)["refresh_time"].astimezone(UTC)


def test_values_from_outside_of_the_space_widen_it(search, url):
    mirror(search, "s", url)
    point = {"learning_rate": 0.5, "epochs": 33, "loss": "L2"}  # as of a space that was changed by --force-space
    search.insert([new_job_document("s", 8, params=point, seed=8)])
    mirror(search, "s", url)
    trials = optuna.load_study(study_name="s", storage=url).trials
    assert len(trials) == 9 and trials[8].params == point
    assert trials[0].distributions["epochs"] == optuna.distributions.IntDistribution(20, 60)
    assert trials[0].distributions["loss"].choices == ("L0", "Lall", "L2")


def test_what_cannot_be_written_is_said(search, url, tmp_path):
    (tmp_path / "text.db").write_text("no database" * 100)
    for given in ("f.db", f"sqlite:///{tmp_path}/none/f.db", f"sqlite:///{tmp_path}/text.db", "nothing://x/y"):
        with pytest.raises(UsageError, match="It looks like sqlite:///"):
            mirror(search, "s", given)
    with pytest.raises(UsageError, match="password") as refused:
        mirror(search, "s", "postgresql://me:secret@host/db")
    assert "secret" not in str(refused.value)
    optuna.create_study(study_name="s", storage=url)
    with pytest.raises(UsageError, match="not of this search"):
        mirror(search, "s", url)
