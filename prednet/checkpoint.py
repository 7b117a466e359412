"""Checkpoints: written whole or not at all, verified when read, and loaded without running code from the file."""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import zipfile
from pathlib import Path
from typing import Any

import torch

from prednet.config import PredNetConfig
from prednet.errors import CheckpointDamaged, CheckpointError
from prednet.model import PredNet

FORMAT = "hms-checkpoint"
VERSION = 1


def save_checkpoint(path: Path, payload: dict[str, Any]) -> str:
    """Write a payload with the states of torch's random generators; an old file stays until the new one is safe.

    Args:
        path: of the file; its folder is made when missing.
        payload: tensors and plain Python values, such as {"trainer": trainer.state_dict(), "epoch": 5}.

    Returns:
        The sha256 of the file, in hexadecimal.

    Raises:
        CheckpointError: when the file can't be written (disk full, no permission).
    """
    path = Path(path)
    document = {"format": FORMAT, "version": VERSION, "rng": _rng_state(), "payload": payload}
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            torch.save(document, file)
            file.flush()
            os.fsync(file.fileno())
        digest = _sha256(temporary)
        temporary.replace(path)
        _sync_folder(path.parent)
    except (OSError, RuntimeError) as error:
        raise CheckpointError(
            f"can't write the checkpoint {path} ({error}): free some space or choose another folder"
        ) from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()  # gone already when all went well
    return digest


def load_checkpoint(path: Path, sha256: str | None = None, *, restore_rng: bool = False) -> dict[str, Any]:
    """Read the payload of a checkpoint; tensors come back on the CPU.

    Args:
        path: of the file.
        sha256: what `save_checkpoint` returned; without it only the checksums inside the file are verified.
        restore_rng: also set torch's random generators to where they were.

    Raises:
        CheckpointDamaged: when the file is missing, torn or altered.
        CheckpointError: when it can't be read now (permission, input, output), is none of ours, or of a newer version.
    """
    path = Path(path)
    try:
        if sha256 is not None and (found := _sha256(path)) != sha256:
            raise CheckpointDamaged(
                f"the checkpoint {path} was altered: its sha256 is {found[:12]}..., expected {sha256[:12]}...; "
                "delete it to start over, or restore it from a copy"
            )
        document = _read(path, whole=sha256 is not None)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        raise CheckpointDamaged(f"there is no checkpoint at {path}: check the path (ls {path.parent})") from None
    except OSError as error:
        raise CheckpointError(f"the checkpoint {path} can't be read: {error.strerror or error}") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise CheckpointError(f"{path} is no checkpoint of this program: give a file that a search has written")
    if document["version"] != VERSION:
        raise CheckpointError(
            f"{path} has checkpoint version {document['version']}, this program reads {VERSION}: "
            "update with pip install --upgrade hms-search"
        )
    if restore_rng:
        _restore_rng(document["rng"])
    return document["payload"]


def load_network(path: Path) -> PredNet:
    """The network of a checkpoint whose payload is a `Trainer.state_dict()` or holds one under "trainer".

    Raises:
        CheckpointError: as `load_checkpoint`, or when there is no network in the file.
    """
    payload = load_checkpoint(path)
    state = payload.get("trainer", payload)
    try:
        model = PredNet(PredNetConfig.from_dict(state["config"]))
        model.to(state["model"]["gates.0.weight"].dtype).load_state_dict(state["model"])
    except (KeyError, TypeError, RuntimeError) as error:
        raise CheckpointError(f"{path} holds no network ({error}): give a checkpoint written by training") from error
    return model


def _read(path: Path, *, whole: bool) -> Any:
    """What torch finds in a file; one that is known to be `whole` is not damaged, whatever torch makes of it."""
    try:
        with zipfile.ZipFile(path) as archive:
            if bad := archive.testzip():
                raise zipfile.BadZipFile(f"wrong checksum of {bad}")
        return torch.load(path, map_location="cpu", weights_only=True)
    except (zipfile.BadZipFile, pickle.UnpicklingError, RuntimeError, EOFError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise (CheckpointError if whole else CheckpointDamaged)(
            f"the checkpoint {path} ({path.stat().st_size} bytes) is torn or no checkpoint ({reason}): "
            "delete it to start over, or restore it from a copy"
        ) from error


def _rng_state() -> dict[str, Any]:
    # Asking CUDA for its generators would start it in a process that doesn't use it.
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []
    return {"cpu": torch.get_rng_state(), "cuda": cuda}


def _restore_rng(state: dict[str, Any]) -> None:
    torch.set_rng_state(state["cpu"])
    for index, generator in enumerate(state["cuda"]):
        if torch.cuda.is_available() and index < torch.cuda.device_count():
            torch.cuda.set_rng_state(generator, index)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
