import subprocess
import sys

import pytest

from prednet.config import PredNetConfig
from prednet.errors import ModelError
from prednet.memory import training_memory
from prednet.train import TrainConfig

# The peak of resident memory above that of a process that has imported torch; writing 5 there resets the peak.
REAL_STEP = """
import sys
from pathlib import Path
import numpy as np
import torch
from prednet.config import PredNetConfig
from prednet.model import PredNet
from prednet.train import TrainConfig, Trainer

def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])

channels, k, batch, nt, size = eval(sys.argv[1])
torch.set_num_threads(1)
config = PredNetConfig(channels, (), (k,) * (len(channels) - 1), (k,) * len(channels), (k,) * len(channels))
Path("/proc/self/clear_refs").write_text("5")
before = peak()
trainer = Trainer(PredNet(config), TrainConfig())
frames = np.zeros((batch, nt, *size, 3), np.uint8)
for _ in range(2):
    trainer.step(frames)
print(peak() - before)
"""
LIBRARIES = 250e6  # what they load, compile and use as workspace for convolutions


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc/self/status")
@pytest.mark.parametrize(
    ("channels", "k", "batch", "nt", "size"),
    [((3, 48, 96, 192), 3, 2, 4, (128, 160)), ((3, 32, 64, 128), 8, 1, 2, (16, 16))],
    ids=["mostly units", "mostly weights"],
)
def test_a_real_step_takes_what_is_predicted(channels, k, batch, nt, size):
    command = [sys.executable, "-c", REAL_STEP, repr((channels, k, batch, nt, size))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    config = PredNetConfig(channels, (), (k,) * 3, (k,) * 4, (k,) * 4)
    predicted = training_memory(config, TrainConfig(), *size, nt, batch).peak
    assert predicted > 2 * LIBRARIES
    assert 0.8 * predicted < int(done.stdout) < 1.25 * predicted + LIBRARIES


def test_memory_grows_with_the_batch_and_with_graphs_and_shrinks_with_bf16():
    config = PredNetConfig((3, 8, 16))

    def peak(batch=2, precision="fp32", graphs=()):
        return training_memory(config, TrainConfig(precision=precision), 32, 32, 6, batch, graphs).peak

    assert 1.7 * peak(2) < peak(4) < 2 * peak(2)
    assert peak(precision="bf16") < peak()
    assert peak(graphs=(2, 1)) > 2 * peak()


def test_frames_that_do_not_fit_are_refused():
    with pytest.raises(ModelError, match="multiples of 4"):
        training_memory(PredNetConfig((3, 4, 6)), TrainConfig(), 30, 32, 5, 1)
