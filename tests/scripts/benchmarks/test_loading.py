"""The loading benchmark: every format gives the same frames, and a loader process holds no copy of the cache."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

NT = 10


@pytest.fixture
def benchmark(monkeypatch):
    """Import one of the benchmark's modules; processes that are started find it too."""
    place = str(Path(__file__).resolve().parents[3] / "scripts" / "benchmarks")
    monkeypatch.syspath_prepend(place)
    return importlib.import_module


def test_every_format_gives_the_same_sequences(benchmark, tmp_path):
    formats = benchmark("loading_formats")
    frames = np.random.default_rng(0).integers(0, 256, (30, 16, 24, 1), np.uint8)
    smooth = np.repeat(np.sort(np.sort(frames, axis=1), axis=2), 3, axis=3)  # which JPEG keeps well
    starts = [0, 20, 7]
    truth = np.stack([smooth[start : start + NT] for start in starts])
    for number, (name, write) in enumerate(formats.FORMATS.items()):
        found = write(smooth, tmp_path / str(number), NT)(starts)
        assert found.shape == truth.shape and found.dtype == np.uint8, name
        difference = np.abs(found.astype(int) - truth)
        assert difference.mean() < 5 if "JPEG" in name else difference.max() == 0, name


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_two_loader_processes_hold_no_copy_of_the_frames_and_do_not_grow(benchmark, tmp_path):
    formats, memory = benchmark("loading_formats"), benchmark("loading_memory")
    frames = np.zeros((4_000, 64, 80, 3), np.uint8)
    frames += np.arange(4_000, dtype=np.uint8)[:, None, None, None]
    windows = formats.our_windows(frames, tmp_path, NT)
    assert windows.take([5])[0, 0, 0, 0, 0] == 5  # the file is mapped when the windows are sent
    found = memory.loader_memory(windows, epochs=3)
    assert found.pickled < 0.01 * frames.nbytes
    before, *after = found.epochs
    for process in range(2):
        held = [row[process]["anonymous"] for row in after]
        # 61 MB of frames were read three times: neither a copy nor a leak of a tenth of it is anywhere.
        assert held[-1] - before[process]["anonymous"] < 0.1 * frames.nbytes
        assert held[-1] - held[0] < 0.05 * frames.nbytes
        assert after[-1][process]["USS"] - before[process]["USS"] < 0.2 * frames.nbytes
