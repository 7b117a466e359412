"""Everything that needs a GPU, in one go: parity, graphs, determinism, resumption, two slots, out of memory, speed.

    python scripts/check_gpu.py                  some minutes on one GPU; exits 1 at the first failure, 2 without a GPU

The searches need the 92 stimuli: from `HMS_TEST_DATA` where it is set, otherwise `hms data stimuli92` fetches them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CONFIG = """\
search: {name: gpu, max_trials: 4, seed: 3}
space: {learning_rate: {log_uniform: [1e-3, 1e-2]}}
data: {dataset: demo, height: 24, width: 32}
network: {channels: [3, 4, 8, 8]}
training: {nt: 6, epochs: 10, batch_size: 2, train_sequences: 5, val_sequences: 4, device: cuda, deterministic: true}
metrics: {mse: {max_windows: 4}, matching: {objects: 16, views: 6, trials: 20, gallery: 12, same_family: 3, frames: 3}}
"""


def main() -> None:
    """Run all checks; the last lines are the benchmark."""
    import torch

    if not torch.cuda.is_available():
        print("there is no CUDA device here: nothing was checked; run this on a GPU machine")
        raise SystemExit(2)
    properties = torch.cuda.get_device_properties(0)
    print(f"{properties.name}, {properties.total_memory / 2**30:.0f} GiB, torch {torch.__version__}", flush=True)
    run("-m", "pytest", "-q", "tests/prednet/test_graph.py", "tests/prednet/test_train.py")
    with tempfile.TemporaryDirectory() as folder:
        search_on_two_slots(Path(folder))
        search_out_of_memory(Path(folder), properties.total_memory)
    run("scripts/benchmarks/training.py", "--device", "cuda", "--parts", "training,memory")


def run(*arguments: str, expected: int = 0) -> None:
    """A Python command in the repository, its output shown; ends the program when it exits otherwise than expected."""
    print("$ python", *arguments, flush=True)
    code = subprocess.run([sys.executable, *arguments], cwd=ROOT, check=False).returncode
    expect(code == expected, f"exit code {code}, expected {expected}")


def expect(condition: bool, otherwise: str) -> None:
    """End the program with what was seen unless the condition holds."""
    if not condition:
        raise SystemExit(f"FAILED: {otherwise}")


def search_on_two_slots(folder: Path) -> None:
    """Two workers share one GPU and end all trials."""
    os.environ["HMS_RESULTS"], os.environ["HMS_DATA"] = str(folder / "results"), str(folder / "data")
    (folder / "gpu.yaml").write_text(CONFIG)
    given = os.environ.get("HMS_TEST_DATA")
    run("-m", "search", "data", "stimuli92", *(["--from", f"{given}/human92"] if given else []))
    run("-m", "search", "run", str(folder / "gpu.yaml"), "--devices", "cuda:0", "--workers", "2")
    ended = [(trial["state"], trial["device"]) for trial in trials("gpu", folder)]
    expect(ended == [("DONE", "cuda:0")] * 4, f"two workers on one GPU ended with {ended}")


def search_out_of_memory(folder: Path, memory: int) -> None:
    """A batch that no memory holds ends each trial in ERROR by itself, at its first attempt."""
    batch = memory // 400_000  # these sequences take about 1 MB each
    settings = ["search.max_trials=2", f"training.batch_size={batch}", f"training.train_sequences={batch}"]
    overrides = [word for setting in settings for word in ("--set", setting)]
    run("-m", "search", "run", str(folder / "gpu.yaml"), "--name", "oom", "--workers", "1", *overrides, expected=4)
    ended = [(trial["state"], trial["attempts"], trial["error"]) for trial in trials("oom", folder)]
    print(ended[0][2])
    right = all(state == "ERROR" and n == 1 and f"a batch of {batch}" in error for state, n, error in ended)
    expect(len(ended) == 2 and right, f"out of memory ended with {ended}")


def trials(name: str, folder: Path) -> list[dict[str, object]]:
    """The exported table of trials."""
    out = folder / f"tables-{name}"
    run("-m", "search", "export", name, "--format", "json", "--out", str(out))
    return json.loads((out / "trials.json").read_text())


if __name__ == "__main__":
    main()
