"""Which launcher `hms run` takes: processes of this machine, or Slurm jobs."""

from collections.abc import Callable
from dataclasses import dataclass

from search.config import SearchConfig
from search.errors import UsageError
from search.launch import Launcher, LocalProcesses
from search.paths import RunFolder
from search.place import Place
from search.provenance import usable_cores
from search.slots import choose_devices, device_slots
from search.store import Store


@dataclass(frozen=True)
class RunOptions:
    """What `hms run` was told beside the configuration; `command` is the command line that repeats it."""

    command: str
    workers: int | None = None
    devices: str | None = None
    allow_mixed: bool = False
    force_space: bool = False


@dataclass(frozen=True)
class LaunchOrder:
    """What a launcher is made from; `config` has its device class resolved."""

    store: Store
    config: SearchConfig
    place: Place
    folder: RunFolder
    options: RunOptions
    say: Callable[[str], None]

    @property
    def workers(self) -> int | None:
        """Workers asked for: on the command line, or in the configuration."""
        return self.options.workers or self.config.launch.workers


def refuse_unlaunchable(config: SearchConfig, place: Place, options: RunOptions) -> None:
    """Before anything is prepared: Slurm needs a MongoDB that its nodes reach, and a number of jobs.

    Raises:
        UsageError: one of them is missing.
    """
    if config.launch.kind != "slurm":
        return
    if place.uri is None:
        raise UsageError(
            "launch.kind is slurm, but no MongoDB is given that the nodes reach; the embedded server listens on this "
            "machine's loopback only. Start a replica set (docs/cluster.md), then: export HMS_MONGO=FILE_WITH_ITS_URI"
        )
    if not (options.workers or config.launch.workers):
        raise UsageError("launch.kind is slurm: how many jobs? --workers N, or launch.workers in the configuration")


def choose_launcher(order: LaunchOrder) -> Launcher:
    """The launcher that `launch.kind` names, not started."""
    return _slurm_jobs(order) if order.config.launch.kind == "slurm" else _local_processes(order)


def _local_processes(order: LaunchOrder) -> Launcher:
    cores, allow_mixed = usable_cores(), order.options.allow_mixed
    devices = choose_devices(order.options.devices, order.config, allow_mixed=allow_mixed)
    count = order.workers or (min(cores, 8) if devices == ["cpu"] else len(devices))
    return LocalProcesses(
        device_slots(devices, -(-count // len(devices)))[:count],
        name=order.config.search.name,
        uri=order.place.uri,
        logs=order.folder.logs,
        results=order.place.results,
        threads=max(1, cores // count),
        store=order.store,
        allow_mixed=allow_mixed,
    )


def _slurm_jobs(order: LaunchOrder) -> Launcher:
    from search.slurm import SlurmJobs  # where no cluster is used, nothing of it is imported

    assert order.workers is not None and order.place.uri is not None  # refuse_unlaunchable
    return SlurmJobs(
        order.config,
        workers=order.workers,
        uri=order.place.uri,
        folder=order.folder,
        store=order.store,
        say=order.say,
        devices=order.options.devices,
        allow_mixed=order.options.allow_mixed,
    )
