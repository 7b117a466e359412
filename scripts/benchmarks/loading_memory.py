"""Memory of loader processes that read the same cache: what each holds after every epoch.

`scripts/benchmarks/loading.py` prints it. USS: pages of this process alone. PSS: those and its share of the pages that
several processes map. Anonymous: what cannot be dropped: not the mapped frames, which are the page cache.
"""

from __future__ import annotations

import multiprocessing
import pickle
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from prednet.data.sequences import Windows, epoch_batches

FIELDS = ("USS", "PSS", "anonymous")


@dataclass(frozen=True)
class LoaderMemory:
    """`pickled`: bytes that went to each process. `epochs[e][p]`: bytes of process p after epoch e; 0 is before any."""

    pickled: int
    epochs: tuple[tuple[dict[str, int], ...], ...]


def loader_memory(windows: Windows, *, processes: int = 2, epochs: int = 3, batch: int = 4) -> LoaderMemory:
    """Read all windows in `processes` fresh processes, each in an order of its own, epoch by epoch together."""
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(processes)
    pipes = []
    running = []
    data = pickle.dumps(windows)
    for number in range(processes):
        ours, theirs = context.Pipe()
        process = context.Process(target=_load, args=(data, number, epochs, batch, barrier, theirs))
        process.start()
        pipes.append(ours)
        running.append(process)
    measured = [[pipe.recv() for pipe in pipes] for _ in range(epochs + 1)]
    for process in running:
        process.join()
    return LoaderMemory(len(data), tuple(tuple(row) for row in measured))


def _load(data: bytes, seed: int, epochs: int, batch: int, barrier, pipe: Connection) -> None:  # type: ignore[no-untyped-def]
    windows: Windows = pickle.loads(data)
    for epoch in range(epochs + 1):
        if epoch:
            for frames in epoch_batches(windows, len(windows), batch, seed, epoch):
                frames.sum()
        barrier.wait()  # nobody unmaps a page that another is counting
        pipe.send(held())
        barrier.wait()


def held() -> dict[str, int]:
    """Bytes of this process by `FIELDS` (Linux only)."""
    rows = [line.split() for line in Path("/proc/self/smaps_rollup").read_text().splitlines()[1:]]
    kib = {row[0].rstrip(":"): int(row[1]) for row in rows}
    uss = kib["Private_Clean"] + kib["Private_Dirty"]
    return {name: 1024 * value for name, value in zip(FIELDS, (uss, kib["Pss"], kib["Anonymous"]), strict=True)}
