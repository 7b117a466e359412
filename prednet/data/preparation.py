"""A dataset that could be prepared: what was asked for, what it would hold, and the building of it."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prednet.data.build import is_prepared, prepare
from prednet.data.cache import VideoDataset
from prednet.data.images import shown
from prednet.data.sources import Plan, Progress, Request


@dataclass(frozen=True)
class Preparation:
    """A request and its plan, before anything is written."""

    request: Request
    make_plan: Callable[[Progress], Plan]

    def plan(self, progress: Progress | None = None) -> Plan:
        """Which recordings would go to which split; videos are decoded once to find their cuts. Raises DataError."""
        return self.make_plan(progress or _silent)

    def build(self, dest: str | Path, *, workers: int | None = None, progress: Progress | None = None) -> VideoDataset:
        """See `prepare`. Raises DataError."""
        return prepare(dest, self.request, lambda: self.plan(progress), workers=workers, progress=progress)

    def preview(self, dest: str | Path, progress: Progress | None = None) -> dict[str, Any]:
        """What `build` would do, as plain data, without writing: splits with their recordings, bytes, warnings.

        `prepared` says that the same request was built at `dest` already. Raises DataError as `build` would
        before it decodes a frame.
        """
        plan = self.plan(progress)
        target = self.request.target
        splits = {
            name: {
                "frames": sum(len(recording) for recording in recordings),
                "recordings": [
                    {"name": r.name, "frames": len(r), "category": r.category, "source": r.source} for r in recordings
                ],
            }
            for name, recordings in plan.splits.items()
        }
        frames = sum(len(recording) for recordings in plan.splits.values() for recording in recordings)
        return {
            "path": shown(dest),
            "kind": self.request.kind,
            "source": self.request.source,
            "size": [target.height, target.width],
            "resize": self.request.resize_label or target.resize,
            "options": dict(self.request.options),
            "held_out": plan.held_out,
            "splits": splits,
            "bytes": frames * target.height * target.width * 3,
            "free": shutil.disk_usage(_existing(Path(dest).absolute())).free,
            "prepared": is_prepared(Path(dest), self.request),
            "warnings": list(plan.warnings),
        }


def _silent(what: str, done: int, total: int) -> None:
    """Progress that nobody follows."""


def _existing(path: Path) -> Path:
    return next(folder for folder in (path, *path.parents) if folder.is_dir())
