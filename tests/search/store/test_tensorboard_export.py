"""Event files, read back with TensorBoard's own reader and its plugin for hyperparameters."""

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams import metadata

from search.config_reader import parse_config
from search.store import new_job_document
from search.tensorboard_export import write_events

OWNER = {"host": "h", "pid": 1, "device": "cpu"}
CONFIG = {
    "search": {"name": "s", "max_trials": 3},
    "space": {"learning_rate": {"log_uniform": [1e-4, 1e-2]}, "loss": {"choice": ["L0", "Lall"]}},
    "training": {"learner": "toy", "device": "cpu", "epochs": 10},
    "metrics": {"every": 5},
}


@pytest.fixture
def search(store):
    """A trial that ended, one that failed, one that waits."""
    config = parse_config(CONFIG, source="this test")
    store.create_or_resume("s", config=config.document(), hashes=config.hashes(), provenance={})
    points = [{"learning_rate": 0.001 * (tid + 1), "loss": ("L0", "Lall")[tid % 2]} for tid in range(3)]
    store.insert(new_job_document("s", tid, params=point, seed=tid) for tid, point in enumerate(points))
    job = store.reserve("s", OWNER)
    for epoch in (0, 5, 10):
        store.record(job, epoch, {"hms": epoch / 50, "mse": 0.5 if epoch else None, "val_loss": 2.0})
    store.finish(job, {"status": "ok", "loss": -0.2, "finish": "max_epochs", "hms": 0.2})
    store.fail(store.reserve("s", OWNER), "no memory", "Traceback ...")
    return store


def events(folder):
    found = EventAccumulator(str(folder))
    found.Reload()
    return found


def content(run, tag):
    return run.summary_metadata[tag].plugin_data.content


def test_every_trial_is_a_run_with_its_epochs_as_steps(search, tmp_path):
    folder = write_events(search, "s", tmp_path)
    assert folder == tmp_path / "s" and sorted(path.name for path in folder.iterdir() if path.is_dir()) == [
        *("000000", "000001", "000002")
    ]
    run = events(folder / "000000")
    assert set(run.Tags()["scalars"]) == {"hms", "mse", "val_loss"}
    rows = search.epochs("s", 0)
    assert [(point.step, point.value) for point in run.Scalars("hms")] == [
        (row["epoch"], pytest.approx(row["hms"], rel=1e-6)) for row in rows
    ]
    assert [point.wall_time for point in run.Scalars("hms")] == [
        pytest.approx(row["recorded"].timestamp(), abs=1e-3) for row in rows
    ]
    assert [point.step for point in run.Scalars("mse")] == [5, 10]
    assert events(folder / "000002").Tags()["scalars"] == []


def test_hyperparameters_are_there_for_the_plugin(search, tmp_path):
    folder = write_events(search, "s", tmp_path)
    experiment = metadata.parse_experiment_plugin_data(content(events(folder), metadata.EXPERIMENT_TAG))
    assert [info.name for info in experiment.hparam_infos] == ["learning_rate", "loss"]
    assert [info.name.tag for info in experiment.metric_infos] == ["hms", "mse", "accuracy"]
    for tid, status in ((0, "STATUS_SUCCESS"), (1, "STATUS_FAILURE")):
        run = events(folder / f"{tid:06d}")
        start = metadata.parse_session_start_info_plugin_data(content(run, metadata.SESSION_START_INFO_TAG))
        assert start.hparams["learning_rate"].number_value == 0.001 * (tid + 1)
        assert start.hparams["loss"].string_value == ("L0", "Lall")[tid]
        end = metadata.parse_session_end_info_plugin_data(content(run, metadata.SESSION_END_INFO_TAG))
        ended = search.job("s", tid)["refresh_time"].timestamp()
        assert end.end_time_secs == pytest.approx(ended, abs=1e-3)
        assert end.DESCRIPTOR.fields_by_name["status"].enum_type.values_by_number[end.status].name == status
    assert metadata.SESSION_END_INFO_TAG not in events(folder / "000002").summary_metadata


def test_written_again_it_is_replaced_and_files_of_others_stay(search, tmp_path):
    folder = write_events(search, "s", tmp_path)
    (folder / "000000" / "notes.txt").write_text("mine")
    write_events(search, "s", tmp_path)
    names = sorted(path.name for path in (folder / "000000").iterdir())
    assert len(names) == 2 and names[0].startswith("events.out.tfevents.") and names[1] == "notes.txt"
    assert len(events(folder / "000000").Scalars("hms")) == 3
