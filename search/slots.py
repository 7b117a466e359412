"""Device slots: where a worker's trials run, what a slot can offer, and which slots a machine has."""

from dataclasses import dataclass
from typing import Any

from search.config import SearchConfig
from search.errors import UsageError


@dataclass(frozen=True)
class Slot:
    """Where trials of one worker run: a device such as `cpu` or `cuda:1`, and the CPU threads it may use."""

    device: str
    threads: int
    number: int = 0


def device_class(device: str) -> str:
    """`cuda:1` -> `cuda`."""
    return device.partition(":")[0]


def offers(device: str) -> dict[str, Any]:
    """The device class and precisions that a device gives a trial. It starts CUDA: call it where a trial may run."""
    import torch

    bf16 = device_class(device) != "cuda" or torch.cuda.get_device_capability(device) >= (8, 0)
    return {"device_class": device_class(device), "precision": ["fp32", "bf16"] if bf16 else ["fp32"]}


def device_slots(devices: list[str], per_device: int) -> list[str]:
    """`["cuda:0", "cuda:1"]`, 2 a device -> four slots, neighbours on different devices."""
    return [device for _ in range(per_device) for device in devices]


def choose_devices(given: str | None, config: SearchConfig, *, allow_mixed: bool) -> list[str]:
    """The devices of `--devices` (comma-separated), or all of the class that the search asks for.

    Raises:
        UsageError: a device is not there, or of another class than the search's without `--allow-mixed`.
    """
    wanted = config.training.device
    devices = [name.strip() for name in given.split(",") if name.strip()] if given else _all_of(wanted)
    if not devices:
        raise UsageError(f"--devices {given!r} names no device: expected cpu, or cuda:0,cuda:1")
    for device in devices:
        _check(device)
        if device_class(device) != wanted and not allow_mixed:
            raise UsageError(
                f"the search trains on {wanted}, and --devices names {device}: its numbers would differ. Pass "
                "--allow-mixed, which the report states, or make another search with "
                f"--set training.device={device_class(device)}"
            )
    return devices


def _all_of(kind: str) -> list[str]:
    if kind != "cuda":
        return ["cpu"]
    import torch

    count = torch.cuda.device_count()
    if count == 0:
        raise UsageError(
            "the search trains on cuda, but no GPU is visible: see `hms doctor`, or --set training.device=cpu"
        )
    return [f"cuda:{index}" for index in range(count)]


def _check(device: str) -> None:
    if device == "cpu":
        return
    kind, _, index = device.partition(":")
    if kind != "cuda" or not (index.isdigit() or not index):
        raise UsageError(f"--devices names {device!r}: expected cpu, cuda or cuda:N")
    import torch

    count = torch.cuda.device_count()
    if int(index or 0) >= count:
        raise UsageError(f"--devices names {device}, but {count} GPUs are visible: see `hms doctor`")
