"""One `mongod` process: started on a port of the loopback interface, watched until it listens, stopped."""

import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import psutil

from search.errors import StoreError, StoreFull, StoreRefused
from search.mongod.folder import ServerFolder
from search.process_identity import ProcessIdentity

START_SECONDS = 60.0
STOP_SECONDS = 30.0
LOG_BYTES = 16 * 2**20
FREE_BYTES = 2**20
JOURNAL = "log=(file_max=32MB,prealloc=false)"  # the default fills 300 MB of each server with zeros beforehand
PARAMETERS = (
    # A primary that is asked to stop would wait 15 s for secondaries.
    "shutdownTimeoutMillisForSignaledShutdown=100",
    # A transaction cut off by an outage locks its trial for that long; the default is 60 s.
    "transactionLifetimeLimitSeconds=15",
    "diagnosticDataCollectionEnabled=false",
)


class PortTaken(Exception):
    """Another program listens on the port."""


def free_port() -> int:
    """A port of the loopback interface that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def start_mongod(program: Path, folder: ServerFolder, port: int, replica_set: str) -> subprocess.Popen[bytes]:
    """Start the server and wait until it listens; the caller makes it a replica set.

    It has its own session: Ctrl-C would end it before workers can requeue. Raises `PortTaken`, `StoreFull`, or
    `StoreRefused` with the end of the log.
    """
    folder.data.mkdir(exist_ok=True, mode=0o700)
    if folder.log.exists() and folder.log.stat().st_size > LOG_BYTES:
        folder.log.replace(folder.log.with_suffix(".log.old"))
    log_start = folder.log.stat().st_size if folder.log.exists() else 0
    process = _spawn(program, folder, port, replica_set)
    _wait_until_listening(process, folder.log, log_start)
    return process


def _spawn(program: Path, folder: ServerFolder, port: int, replica_set: str) -> subprocess.Popen[bytes]:
    options = {
        "--dbpath": folder.data,
        "--port": port,
        "--bind_ip": "127.0.0.1",
        "--replSet": replica_set,
        "--keyFile": folder.key,
        "--logpath": folder.log,
        "--wiredTigerCacheSizeGB": 0.5,
        "--oplogSize": 256,
        "--wiredTigerEngineConfigString": JOURNAL,
    }
    words = [str(word) for pair in options.items() for word in pair]
    words += [word for parameter in PARAMETERS for word in ("--setParameter", parameter)]
    command = [str(program), *words, "--logappend", "--nounixsocket"]
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        raise StoreRefused(f"{program} cannot be run: {error.strerror}. See what works: hms doctor") from error


def stop_mongod(identity: ProcessIdentity) -> None:
    """End a server by SIGTERM, and by SIGKILL (its journal survives that) if it stays."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        deadline = time.monotonic() + STOP_SECONDS
        if identity.alive():
            os.kill(identity.pid, number)
        while identity.alive() and time.monotonic() < deadline:
            time.sleep(0.02)


def stop_orphan(folder: ServerFolder) -> None:
    """End a server of this folder that an interrupted start left behind: it would hold the data files."""
    lock = folder.data / "mongod.lock"
    text = lock.read_text().strip() if lock.exists() else ""
    if not text.isdigit():
        return
    identity = ProcessIdentity.of(int(text))
    try:
        ours = identity is not None and str(folder.data) in psutil.Process(identity.pid).cmdline()
    except psutil.Error:
        return
    if identity is not None and ours:
        stop_mongod(identity)


def _wait_until_listening(process: subprocess.Popen[bytes], log: Path, log_start: int) -> None:
    """Wait for the server's own word in its log that it listens.

    A connection would not tell: on a port that another `mongod` holds, ours exits and the other one answers.
    """
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        ended = process.poll() is not None
        text = _log_since(log, log_start)
        if "Waiting for connections" in text and not ended:
            return
        if ended:
            raise _start_error(process, log, text)
        time.sleep(0.02)
    process.kill()
    process.wait()
    raise StoreRefused(f"mongod did not listen within {START_SECONDS:.0f} s; the reason may be in {log}")


def _log_since(log: Path, start: int) -> str:
    if not log.exists():
        return ""
    with log.open("rb") as file:
        file.seek(start)
        return file.read().decode(errors="replace")


def _start_error(process: subprocess.Popen[bytes], log: Path, text: str) -> StoreError | PortTaken:
    if "Address already in use" in text:
        return PortTaken()
    # On a full disk the log itself may be cut off.
    if "No space left on device" in text or shutil.disk_usage(log.parent).free < FREE_BYTES:
        return StoreFull(f"the disk of {log.parent} is full: mongod cannot start. Make room, then repeat the command")
    end = "\n".join(text.splitlines()[-3:])[-1500:]
    return StoreRefused(
        f"mongod ended at its start with exit code {process.returncode}. The end of its log:\n{end}\n"
        f"The whole log: less {log}. See what works: hms doctor"
    )
