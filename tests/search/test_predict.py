import csv
import resource
from contextlib import contextmanager

import av
import numpy as np
import pytest
import torch
from PIL import Image

from metrics.next_frame import next_frame_mse, previous_frame_mse
from prednet.checkpoint import save_checkpoint
from prednet.config import PredNetConfig
from prednet.data.clip import read_clip
from prednet.data.demo import demo_clips
from prednet.errors import PredNetError
from prednet.features import predict
from prednet.keras_export import save_keras_weights
from prednet.model import PredNet
from prednet.rollout import extrapolate
from search.cli import main
from search.errors import UsageError
from search.predict import PredictOptions, frame_size, predict_video

SIZE = "24x32"


def quiet(what, done, total):
    assert 0 <= done <= total


@pytest.fixture(scope="module")
def model():
    return PredNet(PredNetConfig(stack_sizes=(3, 4, 6)), seed=1)


@pytest.fixture(scope="module")
def weights(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("weights") / "network.pt"
    save_checkpoint(path, {"config": model.config.to_dict(), "model": model.state_dict()})
    return path


@pytest.fixture(scope="module")
def bikes():
    return demo_clips()["train"]


def rows_of(out):
    with (out / "mse.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def film_of(out):
    with av.open(str(out / "predictions.mp4")) as container:
        return [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]


def contents(out):
    """Bytes of every file but the film, in which x264 leaves a few that mean nothing."""
    return {path.name: path.read_bytes() for path in out.rglob("*.*") if path.is_file() and path.suffix != ".mp4"}


def test_errors_and_pictures_are_those_of_the_metrics_and_the_network(tmp_path, bikes, weights, model):
    text = predict_video(bikes, weights, PredictOptions(tmp_path, start=5, frames=12, size=SIZE), quiet)
    frames = read_clip(bikes, 24, 32, start=5, count=12).frames[None]
    scaled, predicted = frames.astype(np.float32) / 255.0, predict(model, frames)
    rows = rows_of(tmp_path)
    assert [(row["step"], row["frame"]) for row in rows] == [(str(t), str(t + 5)) for t in range(1, 12)]
    assert {row["extrapolated"] for row in rows} == {"no"}
    mse, previous = (np.mean([float(row[name]) for row in rows]) for name in ("mse", "previous_frame_mse"))
    assert mse == pytest.approx(next_frame_mse(predicted, scaled)[0], rel=1e-6)
    assert previous == pytest.approx(previous_frame_mse(scaled)[0], rel=1e-12)
    assert f"MSE {mse:.5f} over 11 frames (repeating the previous frame: {previous:.5f}" in text
    for t in range(1, 12):
        with Image.open(tmp_path / "frames" / f"predicted_{t:06d}.png") as image:
            np.testing.assert_allclose(np.asarray(image), predicted[0, t] * 255, atol=0.51)
    assert len(film_of(tmp_path)) == 11
    assert all(str(tmp_path / name) in text for name in ("frames", "strip.png", "predictions.mp4", "mse.csv"))


def test_windows_give_the_error_of_a_search(tmp_path, bikes, weights, model):
    predict_video(bikes, weights, PredictOptions(tmp_path, frames=20, nt=10, size=SIZE), quiet)
    windows = read_clip(bikes, 24, 32, count=20).frames.reshape(2, 10, 24, 32, 3)
    expected = next_frame_mse(predict(model, windows), windows.astype(np.float32) / 255.0).mean()
    rows = rows_of(tmp_path)
    assert [int(row["step"]) for row in rows] == [*range(1, 10), *range(11, 20)]
    assert np.mean([float(row["mse"]) for row in rows]) == pytest.approx(expected, rel=1e-6)


def test_extrapolated_frames_are_compared_where_the_video_goes_on(tmp_path, bikes, weights, model):
    text = predict_video(bikes, weights, PredictOptions(tmp_path, frames=6, extrapolate=3, size=SIZE), quiet)
    frames = read_clip(bikes, 24, 32, count=9).frames
    scaled, ahead = frames / 255, extrapolate(model, frames[None, :6], steps=3)[0]
    rows = rows_of(tmp_path)
    assert [row["extrapolated"] for row in rows] == ["no"] * 5 + ["yes"] * 3
    for step in range(3):
        row = rows[5 + step]
        assert int(row["frame"]) == 6 + step
        assert float(row["mse"]) == pytest.approx(np.mean((ahead[step] - scaled[6 + step]) ** 2), rel=1e-5)
        repeated = np.mean((scaled[5] - scaled[6 + step]) ** 2)
        assert float(row["previous_frame_mse"]) == pytest.approx(repeated, rel=1e-5)
    assert "extrapolated: MSE" in text and "over 3 frames (repeating the last frame seen" in text
    assert len(film_of(tmp_path)) == 8


def test_extrapolation_beyond_the_end_has_no_error(tmp_path, bikes, weights):
    total = len(read_clip(bikes, 8, 8).frames)
    options = PredictOptions(tmp_path, start=total - 4, extrapolate=12, size=SIZE)
    text = predict_video(bikes, weights, options, quiet)
    rows = rows_of(tmp_path)
    assert len(rows) == 15
    assert all(row["frame"] == row["mse"] == row["previous_frame_mse"] == "" for row in rows[3:])
    assert "12 extrapolated frames lie beyond the end" in text
    assert len(film_of(tmp_path)) == 15


def test_again_replaces_everything_and_keeps_foreign_files(tmp_path, bikes, weights):
    (tmp_path / "frames").mkdir()
    (tmp_path / "frames" / "mine.png").write_bytes(b"mine")
    predict_video(bikes, weights, PredictOptions(tmp_path, frames=9, size=SIZE), quiet)
    predict_video(bikes, weights, PredictOptions(tmp_path, frames=4, size=SIZE), quiet)
    found, film = contents(tmp_path), film_of(tmp_path)
    predict_video(bikes, weights, PredictOptions(tmp_path, frames=4, size=SIZE), quiet)
    assert found == contents(tmp_path)
    np.testing.assert_array_equal(film, film_of(tmp_path))
    pictures = [f"predicted_{t:06d}.png" for t in (1, 2, 3)]
    assert sorted(found) == sorted([*pictures, "mine.png", "mse.csv", "strip.png"])


def test_keras_weights_and_folders_of_pictures(tmp_path, bikes, model, weights):
    for t, frame in enumerate(read_clip(bikes, 24, 32, count=6).frames):
        (tmp_path / "pictures").mkdir(exist_ok=True)
        Image.fromarray(frame).save(tmp_path / "pictures" / f"{t}.png")
    save_keras_weights(model, tmp_path / "prednet.hdf5", tmp_path / "prednet.json")
    options = PredictOptions(tmp_path / "keras", size=SIZE, convention="tensorflow")
    predict_video(tmp_path / "pictures", tmp_path / "prednet.hdf5", options, quiet)
    predict_video(bikes, weights, PredictOptions(tmp_path / "ours", frames=6, size=SIZE), quiet)
    assert rows_of(tmp_path / "keras") == rows_of(tmp_path / "ours")


def test_the_size_is_the_trained_one_or_near_that_of_the_paper(tmp_path, model, weights):
    assert frame_size(None, weights, model) == (128, 160)
    assert frame_size("24X32", weights, model) == (24, 32)
    deep = PredNet(PredNetConfig(stack_sizes=(1,) * 7))
    assert frame_size(None, weights, deep) == (128, 128)
    trained = tmp_path / "network.pt"
    document = {"config": model.config.to_dict(), "model": model.state_dict(), "frame_size": [64, 80]}
    save_checkpoint(trained, document)
    assert frame_size(None, trained, model) == (64, 80)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"size": "128"}, "HEIGHTxWIDTH"),
        ({"size": "0x32"}, "HEIGHTxWIDTH"),
        ({"size": "24x30"}, "multiples of 4"),
        ({"frames": 1}, "give 2 or more"),
        ({"start": 100000}, "no frame 100000"),
        ({"fps": 100.0}, "frames would repeat"),
    ],
)
def test_options_that_cannot_be(tmp_path, bikes, weights, change, message):
    options = PredictOptions(tmp_path / "out", **{"size": SIZE, "frames": 5} | change)
    with pytest.raises((UsageError, PredNetError), match=message):
        predict_video(bikes, weights, options, quiet)
    assert not (tmp_path / "out").exists()


def test_files_that_are_not_what_they_should_be(tmp_path, bikes, weights):
    text = tmp_path / "text.txt"
    text.write_text("neither a video nor a network")
    picture = tmp_path / "picture.png"
    Image.new("RGB", (32, 24)).save(picture)
    grey = tmp_path / "grey.pt"
    network = PredNet(PredNetConfig(stack_sizes=(1, 4)))
    save_checkpoint(grey, {"config": network.config.to_dict(), "model": network.state_dict()})
    out = tmp_path / "out"
    for video, network_file, folder, message in (
        (tmp_path / "none.mp4", weights, out, "no such file"),
        (text, weights, out, "not a complete video"),
        (picture, weights, out, "1 frame of"),
        (bikes, tmp_path / "none.pt", out, "none.pt is no file"),
        (bikes, tmp_path, out, "is no file"),
        (bikes, text, out, "no checkpoint"),
        (bikes, grey, out, "3 channels"),
        (bikes, weights, text, "is a file: name a folder"),
        (bikes, weights, text / "out", "can't write to"),
    ):
        with pytest.raises((UsageError, PredNetError), match=message):
            predict_video(video, network_file, PredictOptions(folder, frames=3, size=SIZE), quiet)


def test_broken_weights_are_named(tmp_path, bikes, model):
    state = {key: value.clone() for key, value in model.state_dict().items()}
    state["gates.1.bias"][0] = torch.nan
    save_checkpoint(tmp_path / "network.pt", {"config": model.config.to_dict(), "model": state})
    with pytest.raises(UsageError, match="predicts NaN at step"):
        predict_video(bikes, tmp_path / "network.pt", PredictOptions(tmp_path, frames=4, size=SIZE), quiet)
    assert [path.name for path in tmp_path.iterdir()] == ["network.pt"]


@pytest.fixture
def hms(monkeypatch, capsys):
    """Runs `hms predict ...` in this process: (exit code, standard output, standard error)."""

    def run(*arguments):
        monkeypatch.setattr("sys.argv", ["hms", "predict", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        return ended.value.code or 0, captured.out, captured.err

    return run


@contextmanager
def files_of_at_most(size):
    """Stands for a full disk: the kernel refuses larger writes in the same way."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_the_command(tmp_path, bikes, weights, hms):
    options = ("--weights", weights, "--out", tmp_path / "out", "--size", SIZE)
    code, out, err = hms(bikes, *options, "--from", 2, "--frames", 5, "--extrapolate", 2, "--nt", 3, "--fps", 12.5)
    assert code == 0, err
    assert out.splitlines()[-1] == str(tmp_path / "out" / "mse.csv")
    rows = rows_of(tmp_path / "out")
    assert [int(row["step"]) for row in rows] == [1, 2, 4, 5, 6]
    assert [int(row["frame"]) for row in rows] == [4, 6, 10, 12, 14]


def test_a_mistake_exits_with_2_and_one_message(tmp_path, weights, hms):
    code, out, err = hms(tmp_path / "none.mp4", "--weights", weights, "--out", tmp_path / "out")
    assert (code, out) == (2, "")
    assert err.startswith(f"hms: {tmp_path / 'none.mp4'}: no such file or folder. Next:")
    assert len(err.splitlines()) == 1
    assert hms(tmp_path / "none.mp4", "--weights", weights)[0] == 2  # no --out


def test_a_full_disk_leaves_the_former_results(tmp_path, bikes, weights, hms):
    out = tmp_path / "out"
    predict_video(bikes, weights, PredictOptions(out, frames=4, size=SIZE), quiet)
    before = {path: path.read_bytes() for path in out.rglob("*.*") if path.is_file()}
    with files_of_at_most(4096):
        code, _, err = hms(bikes, "--weights", weights, "--out", out, "--size", SIZE, "--frames", 12)
    assert code == 2
    assert "free some space" in err
    assert before == {path: path.read_bytes() for path in out.rglob("*.*") if path.is_file()}
    assert not list(out.glob(".predict*"))
