"""The manifest of a study's stimuli: what was made, from what, with which activations and hashes.

Paths are relative to the study's folder. A set is known by its id, `network/layer/channel/number`.
"""

from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from psychophysics.config import Condition
from psychophysics.errors import StimuliError
from psychophysics.stimuli.files import file_sha256, read_json, write_json
from psychophysics.study_folder import StudyFolder
from search.config_section import Section


class Picture(Section):
    """An 8-bit PNG.

    `activation`: of the unit, measured on the saved file. `source`: `photograph#crop` of the pool, or `synthetic`.
    `place`: (top, left) of its patch, pixels; None: it has none. `label`: what the controls take for its class.
    """

    file: str
    sha256: str
    activation: float
    source: str
    place: tuple[int, int] | None = None
    label: str | None = None


class Controls(Section):
    """What might help participants beside the visualizations.

    `label_overlap`: share of the natural references with the label of the query. `top5_minimum`, `top5_maximum`: the
    class that is most likely for the query is among the five most likely ones for the occluded image. Where a network
    has no classes, `correlation_minimum` and `correlation_maximum`: Pearson correlation of all units of the layer,
    query against occluded image.
    """

    label_overlap: float | None = None
    top5_minimum: bool | None = None
    top5_maximum: bool | None = None
    correlation_minimum: float | None = None
    correlation_maximum: float | None = None


class QueryPair(Section):
    """A query image and its two occluded copies. `map`: CSV of the activation at every place tried."""

    base: Picture
    minimum: Picture
    maximum: Picture
    map: str
    map_sha256: str
    mode: Literal["coarse-to-fine", "exhaustive"]
    evaluations: int
    controls: Controls

    @property
    def relative_difference(self) -> float | None:
        """(maximum - minimum) / base; None where the base activation is not above 0."""
        if self.base.activation <= 0:
            return None
        return (self.maximum.activation - self.minimum.activation) / self.base.activation


class SetRecord(Section):
    """One image set of a unit: query pair and the references of each condition, from the first shown to the last."""

    id: str
    number: int
    pair: QueryPair
    references: dict[Condition, tuple[Picture, ...]]


class UnitRecord(Section):
    """A unit and its sets. `lowest`, `highest`: activation over the pool. `synthesis`: of each run, what it reached."""

    network: str
    layer: str
    channel: int
    lowest: float
    highest: float
    sets: tuple[SetRecord, ...]
    synthesis: dict[str, dict[str, Any]] = Field(default_factory=dict)


class NetworkRecord(Section):
    """A network: its source, hash of its weights, sizes and strides of the search in pixels of its input."""

    source: str
    identity: str
    height: int
    width: int
    patch_side: int
    strides: tuple[int, ...]


class PoolRecord(Section):
    """The pool of natural images."""

    source: str
    photographs: int
    images: int
    fingerprint: str


class Regret(Section):
    """One query pair searched both ways: regret is the share of the range that coarse-to-fine misses."""

    set: str
    evaluations: int
    exhaustive_evaluations: int
    regret: float


class Manifest(Section):
    """All of it. `units` are under study; `candidates` may become instruction, practice and catch trials."""

    version: Literal[1] = 1
    study: str
    seed: int
    config_sha256: str
    pool: PoolRecord
    networks: dict[str, NetworkRecord]
    units: tuple[UnitRecord, ...]
    candidates: tuple[UnitRecord, ...]
    regret: tuple[Regret, ...]

    def files(self) -> dict[str, str]:
        """Path -> sha256 of every file."""
        found: dict[str, str] = {}
        for unit in (*self.units, *self.candidates):
            for record in unit.sets:
                pair = record.pair
                found[pair.map] = pair.map_sha256
                pictures = [pair.base, pair.minimum, pair.maximum]
                pictures += [picture for shown in record.references.values() for picture in shown]
                found |= {picture.file: picture.sha256 for picture in pictures}
        return found

    def set(self, identifier: str) -> SetRecord:
        """The set of this id, which the manifest holds."""
        every = (record for unit in (*self.units, *self.candidates) for record in unit.sets)
        return next(record for record in every if record.id == identifier)


def write_manifest(folder: StudyFolder, manifest: Manifest) -> None:
    """Write it as JSON."""
    write_json(folder.manifest, manifest.model_dump(mode="json"))


def read_manifest(folder: StudyFolder, config: Path | str = "CONFIG") -> Manifest:
    """The manifest of a study.

    Raises:
        StimuliError: it is missing or no manifest of this version.
    """
    again = f"hms study stimuli {config}"
    document = read_json(folder.manifest, again)
    try:
        return Manifest.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise StimuliError(
            f"{folder.manifest} is no manifest of this version ({where}: {first['msg']}). Next: {again}"
        ) from None


def check_files(folder: StudyFolder, manifest: Manifest) -> None:
    """Compare every file with its hash.

    Raises:
        StimuliError: naming those that are missing or changed.
    """
    missing, changed = [], []
    for file, sha256 in manifest.files().items():
        path = folder.root / file
        if not path.is_file():
            missing.append(file)
        elif file_sha256(path) != sha256:
            changed.append(file)
    if missing or changed:
        told = [
            f"{len(files)} {what}: {_first(files)}"
            for what, files in (("missing", missing), ("changed", changed))
            if files
        ]
        raise StimuliError(
            f"stimuli of {folder.root} are not those of its manifest: {'; '.join(told)}. "
            "Next: restore them from a copy; while the study is not frozen, `hms study stimuli` makes them anew"
        )


def _first(files: list[str]) -> str:
    return ", ".join(files[:5]) + (", ..." if len(files) > 5 else "")
