"""Which process is meant, even after its pid was given to another one.

A pid alone is not an identity: pids are reused. Pid plus start time is, within one boot of one machine and one
pid namespace; that pair is the realm, so that two containers of the same host name never judge each other's processes.
"""

import os
import socket
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import psutil


@dataclass(frozen=True)
class ProcessIdentity:
    """One process of one machine.

    `host` is for people; `realm` is boot and pid namespace; `started` is in clock ticks since boot on Linux, in
    seconds since 1970 elsewhere.
    """

    host: str
    realm: str
    pid: int
    started: float

    @classmethod
    def current(cls) -> "ProcessIdentity":
        """The identity of the process that calls."""
        identity = cls.of(os.getpid())
        if identity is None:
            raise RuntimeError(f"the running process {os.getpid()} has no start time; is /proc mounted?")
        return identity

    @classmethod
    def of(cls, pid: int) -> "ProcessIdentity | None":
        """The identity of a process of this machine; None when it is dead or a zombie."""
        started = _start_time(pid)
        return None if started is None else cls(socket.gethostname(), _realm(), pid, started)

    @classmethod
    def from_dict(cls, fields: Any) -> "ProcessIdentity | None":
        """The identity inside a stored owner, which may hold more keys; None when the fields are not there."""
        if not isinstance(fields, Mapping) or not {"host", "realm", "pid", "started"} <= fields.keys():
            return None
        return cls(str(fields["host"]), str(fields["realm"]), int(fields["pid"]), float(fields["started"]))

    def to_dict(self) -> dict[str, Any]:
        """The plain fields `host`, `realm`, `pid`, `started`."""
        return asdict(self)

    def known_dead(self) -> bool:
        """Whether the process certainly ended: False for one of another machine, boot or container."""
        return self.realm == _realm() and self.host == socket.gethostname() and not self.alive()

    def alive(self) -> bool:
        """Whether the process runs here now; a zombie does not."""
        return _start_time(self.pid) == self.started


@cache
def _realm() -> str:
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return "one"


def _start_time(pid: int) -> float | None:
    if Path("/proc/self/stat").exists():
        try:
            # The command name stands in parentheses and may hold spaces and parentheses itself.
            fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            return None
        return None if fields[0] in "ZX" else float(fields[19])
    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else process.create_time()
    except psutil.Error:
        return None
