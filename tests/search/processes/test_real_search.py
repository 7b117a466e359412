"""A whole search in miniature with nothing but real parts: video, brain data, objects, PredNets, `mongod`."""

import json
import os
import shutil
import signal
from pathlib import Path

import numpy as np
import psutil
import pytest
import torch

from prednet.checkpoint import load_checkpoint
from psychophysics.config_reader import load_study
from search.learning_curve import read_curve

CONFIG = """\
search: {name: mini, max_trials: 2, seed: 3}
space: {learning_rate: {log_uniform: [1e-3, 1e-2]}, filter_size_R1: {stepped: [2, 3]}}
data: {dataset: demo, height: 24, width: 32}
network: {channels: [3, 4, 8, 8]}
training: {nt: 6, epochs: 10, batch_size: 2, train_sequences: 4, val_sequences: 4, device: cpu}
metrics: {mse: {max_windows: 4}, matching: {objects: 16, views: 6, trials: 20, gallery: 12, same_family: 3, frames: 3}}
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    given = os.environ.get("HMS_TEST_DATA")
    if not given:
        pytest.skip("HMS_TEST_DATA is not set: it holds the 92 stimuli and the human RDMs")
    return Path(given), tmp_path_factory.mktemp("data")


@pytest.fixture
def mini(hms, data):
    hms.config.write_text(CONFIG)
    hms.environment["HMS_DATA"] = str(data[1])
    done = hms("data", "stimuli92", "--from", str(data[0] / "human92"))
    assert done.code == 0, done.err
    return hms


def test_a_search_with_real_parts(mini, expect_whole):
    done = mini("run", str(mini.config), "--workers", "2")
    assert done.code == 0, done.err
    trials, epochs = mini.tables("mini")
    expect_whole(trials, epochs, 2)
    for row in epochs:
        assert (row["hms_status"], row["mse_status"], row["accuracy_status"]) == ("ok", "ok", "ok")
        assert -1 <= row["hms"] <= 1 and 0 <= row["accuracy"] <= 1 and row["mse"] > 0
    for tid in (0, 1):
        curve = [row["mse"] for row in epochs if row["tid"] == tid]
        assert curve[-1] < 0.8 * curve[0], "two networks that learn nothing"
    assert all(trial["mse_test"] > 0 for trial in trials)

    folder = mini.results / "mini"
    rdm = np.load(folder / "trials" / "000000" / "rdm.npz")["rdm"]
    assert rdm.shape == (92, 92) and np.allclose(rdm, rdm.T)
    search = json.loads((folder / "tables" / "search.json").read_text())
    assert search["hms_baselines"]["pixels"] == pytest.approx(0.10645374653499715, abs=1e-10)
    assert search["data"]["splits"]["train"]["frames"] > 200 and search["mse_windows_digest"]
    assert set(search["seconds"]) >= {"training", "hms", "mse", "matching", "checkpoint", "store", "preparation"}

    weights = folder / "trials" / "000000" / "network.pt"
    scored = mini("score", str(weights), "--config", str(mini.config), "--json")
    assert scored.code == 0, scored.err
    row = json.loads(scored.out)
    for metric in ("hms", "mse", "accuracy"):
        assert row[metric] == pytest.approx(trials[0][metric], rel=1e-5), metric

    study = folder / "study.yaml"
    chosen = mini("study", "from-search", "mini", "--networks", "2", "--units", "4", "--out", str(study))
    assert chosen.code == 0, chosen.err
    assert "2 networks: the question cannot be answered with fewer than 6" in chosen.out
    hms = sorted((trial["hms"], int(trial["tid"])) for trial in trials)
    assert [network.name for network in load_study(study).networks] == [f"trial-{tid:06d}" for _, tid in hms]

    again = mini("rerun", "mini", "--tid", "1")
    assert again.code == 0, again.err
    assert "hms, mse, accuracy are equal to those logged at all 3 evaluations" in again.out
    assert mini.tables("mini") == (trials, epochs)
    first, second = (load_checkpoint(folder / kind / "000001" / "network.pt")["model"] for kind in ("trials", "reruns"))
    assert all(torch.equal(first[key], second[key]) for key in first)


def test_a_learning_rate_that_diverges_is_a_result_and_not_an_error(mini):
    settings = ["space={learning_rate: {choice: [1.0e+6]}}", "search.max_trials=1", "training.epochs=60"]
    done = mini("run", str(mini.config), *[word for setting in settings for word in ("--set", setting)])
    assert done.code == 0, done.err
    (trial,), _ = mini.tables("mini")
    assert trial["finish"] in ("diverged", "collapsed") and trial["status"] == "fail"
    assert trial["state"] == "DONE" and trial["hms"] is None and trial["hms_status"] != "ok"
    assert "diverged" in done.out or "collapsed" in done.out


@pytest.mark.chaos
def test_a_network_too_large_for_memory_is_a_clear_error_and_the_next_trial_runs(mini):
    # Kernels of 2 million units a layer: more than any machine gives, so that the allocation fails at once.
    settings = ["search.max_trials=2", "training.epochs=5", "network.channels=[3,2000000]"]
    done = mini("run", str(mini.config), *[word for setting in settings for word in ("--set", setting)])
    assert done.code == 4, done.err
    trials, _ = mini.tables("mini")
    for trial in trials:
        assert trial["state"] == "ERROR" and trial["attempts"] == 1
        assert "out of memory on cpu: a batch of 2 sequences of 6 frames of 24x32" in trial["error"]
        assert "hms retry mini --state failed" in trial["error"]


@pytest.mark.chaos
def test_a_killed_and_pre_empted_trial_ends_with_the_weights_of_an_undisturbed_one_bit_by_bit(mini, until):
    settings = ["search.max_trials=1", "training.epochs=12", "stopping.rule=none", "training.precision=bf16"]
    settings += ["metrics.every=4", "stopping.window=4"]
    command = ["run", str(mini.config), "--workers", "1"]
    command += [word for setting in settings for word in ("--set", setting)]
    whole = mini.start(*command, "--name", "whole")
    broken = mini.start(*command, "--name", "broken", "--set", "search.checkpoints=gridfs")
    trial = mini.results / "broken" / "trials" / "000000"
    with mini.store() as store:

        def named():
            (job,) = (store.jobs("broken") if "broken" in store.names() else None) or [{}]
            return job.get("attempt", 0), (job.get("checkpoint") or {}).get("epoch", 0)

        for deed, passed in ((signal.SIGKILL, (1, 4)), (signal.SIGUSR1, (2, 8))):
            until(lambda passed=passed: named() >= passed, timeout=120)
            (worker,) = [process for process in mini.workers() if "broken" in process.cmdline()]
            gone = [worker, *worker.children(recursive=True)]
            worker.send_signal(deed)
            until(lambda gone=gone: not any(_lives(process) for process in gone))
            shutil.rmtree(trial)  # the next attempt runs on another machine
    for run in (broken, whole):
        done = mini.wait(run, timeout=240)
        assert done.code == 0, done.err
    (row,), _ = mini.tables("broken")
    assert (row["attempts"], row["preemptions"]) == (3, 1)
    assert "fetched checkpoint-" in (mini.results / "broken" / "logs" / "worker-0.log").read_text()
    folders = [mini.results / search / "trials" / "000000" for search in ("broken", "whole")]
    curves = [read_curve(folder / "curve.csv") for folder in folders]
    assert [[row[key] for key in ("epoch", "train_loss", "val_loss")] for row in curves[0]] == [
        [row[key] for key in ("epoch", "train_loss", "val_loss")] for row in curves[1]
    ]
    for name in ("network.pt", "best.pt"):
        mine, theirs = (load_checkpoint(folder / name)["model"] for folder in folders)
        assert mine.keys() == theirs.keys()
        assert all(torch.equal(mine[key], theirs[key]) for key in mine), name


def _lives(process):
    try:
        return process.status() != "zombie"
    except psutil.NoSuchProcess:
        return False


def test_other_data_under_the_same_name_are_refused(mini, data):
    few = ("--set", "search.max_trials=1", "--set", "training.epochs=5")
    assert mini("run", str(mini.config), *few).code == 0
    tampered = data[1] / "video" / "demo-24x32" / "meta.json"
    original = tampered.read_text()
    tampered.write_text(original.replace(json.loads(original)["fingerprint"], "0" * 64))
    try:
        more = mini("run", str(mini.config), "--set", "search.max_trials=2", "--set", "training.epochs=5")
    finally:
        tampered.write_text(original)
    assert more.code == 2 and "was begun with other data (video, mse_windows)" in more.err


def test_sequences_longer_than_every_recording_are_refused_before_anything_runs(mini):
    done = mini("run", str(mini.config), "--set", "training.nt=100")
    assert done.code == 2 and "no window of 100 frames" in done.err and "Traceback" not in done.err
