"""The learning curve of one trial: `curve.csv`, one row an epoch, and on request TensorBoard events."""

import contextlib
import csv
import importlib.util
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from search.config import SearchConfig
from search.errors import UsageError

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

COLUMNS = ("epoch", "train_loss", "val_loss", "learning_rate", "seconds")


def require_tensorboard(config: SearchConfig) -> None:
    """Refuse a search that asks for TensorBoard events where the package is missing.

    Raises:
        UsageError: with the command that installs it.
    """
    if config.training.tensorboard and importlib.util.find_spec("tensorboard") is None:
        raise UsageError(
            "training.tensorboard is true, but the package `tensorboard` is not installed: "
            "pip install 'hms-search[tensorboard]', or --set training.tensorboard=false"
        )


class LearningCurve:
    """Writes the curve of one trial to its folder.

    A resumed trial may repeat epochs that an earlier attempt has written: their rows and events are replaced. `rows`
    belong to the trial's state: resumed on another machine, it finds no file. `scratch` is a folder of the same file
    system that nobody else writes to; default: the trial's.
    """

    def __init__(self, folder: Path, scratch: Path | None = None, *, tensorboard: bool = False) -> None:
        self.folder, self.scratch, self.tensorboard = folder, scratch or folder, tensorboard
        self.rows = read_curve(folder / "curve.csv") if (folder / "curve.csv").exists() else []
        self._writers: dict[str, SummaryWriter] = {}

    def add(self, epoch: int, *, train_loss: float, val_loss: float, learning_rate: float, seconds: float) -> None:
        """One epoch, counted from 1; `seconds` of training and validation in this attempt."""
        values = (train_loss, val_loss, learning_rate, seconds)
        self._write_row(dict(zip(COLUMNS, (epoch, *values), strict=True)))
        self.events("training", epoch, dict(zip(COLUMNS[1:], values, strict=True)))

    def events(self, run: str, epoch: int, values: Mapping[str, float | None]) -> None:
        """Scalars of one epoch for TensorBoard, undefined ones left out; nothing without `tensorboard`.

        `run` is `training` or `evaluation`: they advance apart, and each is resumed at an epoch of its own.
        """
        if not self.tensorboard:
            return
        if run not in self._writers:
            from torch.utils.tensorboard import SummaryWriter  # slow to import, and rarely asked for

            # What an earlier attempt wrote from this epoch on is struck out.
            self._writers[run] = SummaryWriter(str(self.folder / "tensorboard" / run), purge_step=epoch)
        with contextlib.suppress(OSError):  # a full disk costs events, not the trial
            for name, value in values.items():
                if value is not None and math.isfinite(value):
                    self._writers[run].add_scalar(name, value, epoch)
            self._writers[run].flush()

    def _write_row(self, row: dict[str, float]) -> None:
        self.rows = [earlier for earlier in self.rows if earlier["epoch"] < row["epoch"]] + [row]
        path, temporary = self.folder / "curve.csv", self.scratch / "curve.part"
        with contextlib.suppress(OSError):  # on a full disk training goes on; the next epoch writes all rows
            self.scratch.mkdir(parents=True, exist_ok=True)
            with temporary.open("w", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, COLUMNS)
                writer.writeheader()
                writer.writerows(self.rows)
            temporary.replace(path)


def read_curve(path: Path) -> list[dict[str, float]]:
    """The rows of a `curve.csv`, in the order of epochs (from 1); losses as in training, seconds of wall time."""
    with path.open(newline="", encoding="utf-8") as file:
        return [
            {**{key: float(value) for key, value in row.items()}, "epoch": int(row["epoch"])}
            for row in csv.DictReader(file)
        ]
