"""Allocations that really fail, and what a trial then says."""

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from search.config_reader import parse_config
from search.order import TrialOrder
from search.out_of_memory import explain_exit, explain_out_of_memory, ran_out_of_memory

LIMITED = """
import resource
import numpy as np, torch
from prednet.model import PredNet
from prednet.config import PredNetConfig
from prednet.train import TrainConfig, Trainer
from search.out_of_memory import ran_out_of_memory
torch.set_num_threads(1)
trainer = Trainer(PredNet(PredNetConfig(stack_sizes=(3, 4, 6))), TrainConfig())
trainer.step(np.zeros((1, 3, 64, 64, 3), np.uint8))
batch = np.zeros((256, 3, 64, 64, 3), np.uint8)
used = int(next(line for line in open("/proc/self/status") if line.startswith("VmSize")).split()[1]) * 1024
resource.setrlimit(resource.RLIMIT_AS, (used + 60_000_000,) * 2)
try:
    trainer.step(batch)
except Exception as error:
    print(type(error).__name__, ran_out_of_memory(error))
trainer.step(np.zeros((1, 3, 64, 64, 3), np.uint8))
print("alive")
"""


@pytest.fixture
def order(tmp_path: Path) -> TrialOrder:
    config = parse_config(
        {"search": {"name": "big"}, "space": {"learning_rate": {"uniform": [0.1, 1.0]}}, "training": {"nt": 9}},
        source="the test",
    )
    return TrialOrder(
        "big", 3, config=config, params={"batch_size": 12}, seed=0, folder=tmp_path, data_root=tmp_path,
        device="cuda:1", threads=1,
    )  # fmt: skip


def failure(action):
    with pytest.raises((MemoryError, RuntimeError)) as caught:
        action()
    return caught.value


@pytest.mark.parametrize("allocate", [lambda: torch.empty(10**15), lambda: np.empty(10**15), lambda: bytearray(10**15)])
def test_a_failed_allocation_is_recognised_behind_the_error_that_it_causes(allocate):
    error = failure(allocate)
    assert ran_out_of_memory(error)
    try:
        try:
            raise error
        finally:
            raise RuntimeError("CUDA error: operation failed due to a previous error during capture")
    except RuntimeError as later:
        assert ran_out_of_memory(later)


def test_the_exception_of_a_gpu_is_recognised():
    assert ran_out_of_memory(torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"))


@pytest.mark.parametrize("error", [RuntimeError("shape mismatch"), ValueError("can't allocate memory"), None])
def test_other_errors_are_not(error):
    assert not ran_out_of_memory(error)


def test_a_process_that_may_have_no_more_memory_fails_one_step_and_goes_on():
    done = subprocess.run([sys.executable, "-c", LIMITED], capture_output=True, text=True, timeout=120)
    told, alive = done.stdout.splitlines()
    assert told.endswith("True") and alive == "alive", done.stderr


def test_the_message_names_what_was_too_large_and_every_remedy(order):
    said = explain_out_of_memory(order, "you tried to allocate 9 bytes")
    for part in (
        "cuda:1", "batch of 12", "9 frames", "128x160", "9 bytes",
        "batch_size", "training.recompute_every=3", "fewer workers", "hms retry big --state failed",
    ):  # fmt: skip
        assert part in said


def test_a_silent_end_is_named():
    assert "SIGKILL" in explain_exit(-signal.SIGKILL) and "memory" in explain_exit(-signal.SIGKILL)
    assert "batch_size" in explain_exit(-signal.SIGKILL)
    assert explain_exit(-signal.SIGSEGV) == "killed by SIGSEGV"
    assert explain_exit(3) == "exit code 3"
