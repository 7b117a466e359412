"""What decides the pixels of a set, and the file that says which set a folder holds."""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from metrics.errors import StimuliError
from metrics.gazoobian.objects import PREPARE
from metrics.gazoobian.views import PRESETS, Preset, turned

VERSION = 2  # of the generator: raised when the same settings give other pixels
MOST_FAMILIES = 12
FAMILY_SIZE = 8  # least members of a family, so that 7 distractors can share the target's


@dataclass(frozen=True)
class Settings:
    """Everything that decides the pixels of a set."""

    preset: str
    objects: int
    views: int
    height: int
    width: int
    samples: int
    seed: int
    dials: Mapping[str, float] = field(default_factory=dict)  # widths other than the preset's
    version: int = VERSION

    @property
    def families(self) -> int:
        """Number of families: at most 12, each with 8 members or more where there are that many objects."""
        return max(1, min(MOST_FAMILIES, self.objects // FAMILY_SIZE))

    @property
    def widths(self) -> Preset:
        """The preset, with the widths that were given instead."""
        return turned(PRESETS[self.preset], self.dials)

    def check(self) -> None:
        """Raise `StimuliError` for settings that give no usable set."""
        if self.preset not in PRESETS:
            raise StimuliError(f"Unknown preset {self.preset!r}: choose one of {', '.join(PRESETS)}.")
        for name, value, least in [
            ("objects", self.objects, 1),
            ("views", self.views, 2),
            ("height", self.height, 8),
            ("width", self.width, 8),
        ]:
            if value < least:
                raise StimuliError(f"Gazoobian {name} must be at least {least}, not {value}.")
        if self.samples not in (1, 4, 9, 16):
            raise StimuliError(f"{self.samples} samples a pixel cannot form a square grid: use 1, 4, 9 or 16.")
        turned(PRESETS[self.preset], self.dials)


def claim(root: Path, settings: Settings) -> None:
    """Write the settings into an empty folder; refuse a folder that holds another set."""
    file = root / "generator.json"
    wanted = asdict(settings)
    if file.is_file():
        try:
            found = json.loads(file.read_text(encoding="utf-8"))
            differ = {key: (found.get(key), value) for key, value in wanted.items() if found.get(key) != value}
        except (OSError, ValueError, AttributeError) as error:
            raise StimuliError(f"{file} cannot be read ({error}). Delete {root} and run: {PREPARE}") from error
        if differ:
            text = ", ".join(f"{key} {old} on disk, {new} asked" for key, (old, new) in differ.items())
            raise StimuliError(
                f"{root} holds another set of objects: {text}. Choose another folder or delete this one."
            )
        return
    if (root / "objects").exists():
        raise StimuliError(f"{root}/objects holds images that this generator did not make. Choose another folder.")
    try:
        root.mkdir(parents=True, exist_ok=True)
        write_text(file, json.dumps(wanted, indent=2) + "\n")
    except OSError as error:
        raise StimuliError(f"{root} cannot be written ({error}). Choose another folder.") from error


def write_text(file: Path, text: str) -> None:
    """Write beside `file`, then rename, so that no reader sees half of it."""
    temporary = file.with_name(f".{file.name}.{os.getpid()}")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(file)
