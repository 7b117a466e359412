"""What Slurm knows of jobs and is told about them: squeue, scancel, scontrol; and which job this process belongs to.

Only the controller is asked: small clusters have no accounting database, and `sacct` fails there.
"""

import os
import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from search.errors import HmsError

COMMAND_SECONDS = 15.0
"""Less than a driver may be silent before its lock runs out."""
LIVING = {
    *("PENDING", "CONFIGURING", "RUNNING", "SUSPENDED", "STOPPED", "COMPLETING", "SIGNALING", "STAGE_OUT", "RESIZING"),
    *("REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD"),
}
"""States of a job that runs or may run (again)."""


class SlurmAway(HmsError):
    """A Slurm command failed or did not answer; the message quotes it."""


@dataclass(frozen=True)
class QueuedJob:
    """One job or array task: `id` as in `123_4`, Slurm's state and reason, seconds that it ran, its exit code."""

    id: str
    state: str
    reason: str
    seconds: int
    exit_code: int

    @property
    def living(self) -> bool:
        """Whether it runs or may still run; a job that is being cleaned up counts as living."""
        return self.state in LIVING


def current_job() -> dict[str, Any]:
    """`slurm_job` and `slurm_restart` of the job that this process runs in; nothing outside Slurm."""
    own = os.environ
    if "SLURM_JOB_ID" not in own:
        return {}
    array = own.get("SLURM_ARRAY_JOB_ID")
    job = f"{array}_{own['SLURM_ARRAY_TASK_ID']}" if array else own["SLURM_JOB_ID"]
    return {"slurm_job": job, "slurm_restart": int(own.get("SLURM_RESTART_COUNT") or 0)}


def own_environment() -> dict[str, str]:
    """This process's environment without the variables by which a surrounding job or a person steers Slurm commands."""
    steering = ("SLURM_", "SLURMD_", "SRUN_", "SBATCH_", "SQUEUE_", "SCANCEL_", "SUBMITIT_")
    return {key: value for key, value in os.environ.items() if key == "SLURM_CONF" or not key.startswith(steering)}


def jobs_named(name: str) -> dict[str, QueuedJob]:
    """This user's jobs of that name by id: the living, and those that ended within the controller's memory.

    Raises:
        SlurmAway: the controller does not answer; nothing is known.
    """
    columns = "JobArrayID:64,State:32,exit_code:16,TimeUsed:32,Reason:256"
    lines = _slurm(
        "squeue",
        "--noheader",
        "--array",
        "--states=all",
        f"--user={os.getuid()}",
        f"--name={name}",
        "--Format",
        columns,
    )
    jobs = [parse_job(line) for line in lines.splitlines() if line.strip()]
    return {job.id: job for job in jobs}


def cancel(ids: Iterable[str], *options: str) -> None:
    """`scancel`, or with options such as `--state=PENDING`, `--signal=TERM`; jobs that have ended are no error."""
    listed = list(ids)
    if listed:
        _slurm("scancel", "--quiet", *options, *listed)


def requeue(job: str) -> None:
    """Put a running batch job back into the queue; Slurm then ends its processes."""
    _slurm("scontrol", "requeue", job)


def state_of(job: str) -> str:
    """The state of one job; `GONE` when the controller has forgotten it."""
    lines = _slurm("squeue", "--noheader", "--array", "--states=all", f"--jobs={job}", "--Format", "State:32")
    return lines.split()[0] if lines.split() else "GONE"


def _slurm(*command: str) -> str:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=COMMAND_SECONDS, env=own_environment(), check=False
        )
    except FileNotFoundError:
        raise SlurmAway(f"`{command[0]}` was not found: run this where Slurm's commands are, a login node") from None
    except subprocess.TimeoutExpired:
        raise SlurmAway(f"`{' '.join(command)}` gave no answer within {COMMAND_SECONDS:g} s") from None
    if done.returncode:
        raise SlurmAway(f"`{' '.join(command)}` failed: {done.stderr.strip()}")
    return done.stdout


def parse_job(line: str) -> QueuedJob:
    """A line of `jobs_named`: id, state, exit code, time used, reason (which may hold spaces)."""
    job, state, code, used, *reason = line.split(maxsplit=4)
    return QueuedJob(job, state, reason[0].strip() if reason else "", _seconds(used), _exit_code(code))


def _seconds(used: str) -> int:
    """`1-02:03:04`, `2:03` -> seconds; 0 for what is none (`INVALID`)."""
    if not re.fullmatch(r"(\d+-)?\d+(:\d+){0,2}", used):
        return 0
    days, _, clock = used.rpartition("-")
    total = 0
    for part in clock.split(":"):
        total = total * 60 + int(part)
    return int(days or 0) * 86_400 + total


def _exit_code(code: str) -> int:
    """A wait status, as Slurm 22 prints it, or `code:signal`; minus the signal where one ended the job."""
    if ":" in code:
        exited, signal = (int(part) for part in code.split(":")[:2])
        return -signal if signal else exited
    status = int(code) if code.isdigit() else 0
    return -(status & 127) if status & 127 else status >> 8
