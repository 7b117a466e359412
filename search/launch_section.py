"""The part of the configuration about where workers run. It changes no number, and belongs to no hash."""

from typing import Literal

from pydantic import Field, field_validator

from search.config_section import PositiveInt, Section

SBATCH_OWN = ("array", "error", "job_name", "open_mode", "output", "signal")


class SlurmSection(Section):
    """What each worker's Slurm job asks for.

    `setup` and `additional` are readable by others on most clusters: no place for passwords.
    """

    partition: str | None = None
    """Partition of the jobs; unset: the cluster's default."""
    account: str | None = None
    """Account that the jobs are booked on; unset: the user's default."""
    qos: str | None = None
    """Quality of service; unset: the cluster's default."""
    constraint: str | None = None
    """Features that nodes must have, as `sbatch --constraint` takes them."""
    gpus_per_worker: int | None = Field(default=None, ge=0)
    """GPUs a job; unset: one where the search trains on cuda, else none."""
    cpus_per_worker: PositiveInt = 4
    """CPU cores a job."""
    memory_gb: float | None = Field(default=None, gt=0)
    """Memory a job, in GB; unset: the cluster's default."""
    minutes: PositiveInt = 1440
    """Time limit of a job, in minutes; before it ends a worker writes a checkpoint and requeues its job."""
    requeue: bool = True
    """Put a job back into the queue at its time limit or when it is pre-empted."""
    setup: tuple[str, ...] = ()
    """Lines of shell before the worker, such as `module load cuda`."""
    additional: dict[str, bool | int | float | str] = Field(default_factory=dict)
    """Any other option of sbatch, by its name without dashes in front; not those that `hms` sets itself (array, error,
    job-name, open-mode, output, signal)."""

    @field_validator("additional")
    @classmethod
    def _not_ours(cls, value: dict[str, bool | int | float | str]) -> dict[str, bool | int | float | str]:
        taken = sorted(key for key in value if key.replace("-", "_") in SBATCH_OWN)
        if taken:
            raise ValueError(f"{', '.join(taken)}: set by `hms` itself, without which it could not watch its jobs")
        return value


class LaunchSection(Section):
    """Where workers run: as processes of this machine, or as Slurm jobs."""

    kind: Literal["local", "slurm"] = "local"
    """`local`: processes of this machine; `slurm`: a job a worker."""
    workers: PositiveInt | None = None
    """How many; unset: one a core (at most 8) or GPU of this machine. Slurm needs a number. `--workers` goes first."""
    slurm: SlurmSection = SlurmSection()
