"""What must be known to repeat a number: seeds, code, versions, device, threads. Never a credential.

Randomness enters in five places, each with a generator of its own; no number depends on a global one:

    which point a trial gets     `suggest_seed(search.seed, tid)`, and for `tpe` and `anneal` the trials seen before
    initial weights              the trial's seed, `trial_seed(search.seed, tid)`
    order of the sequences       the trial's seed and the epoch
    matching objects and trials  `metrics.matching.seed`
    the report's resampling      seeds in `search.report`

On a CPU the same seeds, versions and number of threads give the same bits. Another number of threads changes the order
of float sums; it stands in every result (`threads`). On CUDA set `training.deterministic` for the same bits.
"""

import importlib.metadata
import os
import platform
import socket
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

PACKAGES = ("hms-search", "torch", "numpy", "scipy", "hyperopt", "pymongo", "av", "pillow")


def trial_seed(study_seed: int, tid: int) -> int:
    """The seed of one trial: the first 63 bits of `SeedSequence([study_seed, tid])`."""
    return int(np.random.SeedSequence([study_seed, tid]).generate_state(1, np.uint64)[0] >> np.uint64(1))


def suggest_seed(study_seed: int, tid: int) -> int:
    """The seed that HyperOpt's `suggest` gets for this trial: another stream than the trial's own."""
    return int(np.random.SeedSequence([study_seed, tid, 1]).generate_state(1, np.uint32)[0] >> np.uint32(1))


@cache
def provenance() -> dict[str, Any]:
    """Host, Python, package versions and git state of the process that calls it; asked once a process."""
    return {
        "host": socket.gethostname(),
        "platform": platform.platform(),
        "python": sys.version.split()[0],
        "packages": {name: _version(name) for name in PACKAGES},
        "git": git_state(),
    }


def git_state() -> dict[str, Any] | None:
    """Commit and whether tracked files differ from it; None outside a checkout."""
    here = Path(__file__).resolve().parent
    commit = _git(here, "rev-parse", "HEAD")
    if commit is None:
        return None
    return {"commit": commit, "changed": bool(_git(here, "status", "--porcelain", "--untracked-files=no"))}


def usable_cores() -> int:
    """Cores that this process may use: Slurm's allotment, else the affinity mask."""
    slurm = os.environ.get("SLURM_CPUS_PER_TASK", "")
    if slurm.isdigit() and int(slurm) > 0:
        return int(slurm)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
