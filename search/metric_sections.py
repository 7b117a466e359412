"""The parts of the configuration about metrics: what is logged, on what, and what the stopping rule makes of it."""

import re
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from search.config_section import PositiveInt, Section, nearest

REFERENCE_NAME = r"[a-z][a-z0-9_]{0,29}"


class ReferenceSection(Section):
    """A reference RDM: a path, alone or with what its file does not say (`metrics.references.load_reference`); a name.

    A path has a `.` or `/` in it and is made absolute, from the folder in which `hms` runs. A name is of `hms data
    brain`, or of the 92 stimuli's own references.
    """

    path: str
    """A file, a folder of subjects, or a name. It may be given alone: `monkey: monkey_it`."""
    variable: str | None = None
    """Which of several arrays of the file is meant."""
    labels: Path | None = None
    """A file with one label a line, where the RDM's own file has none."""

    @model_validator(mode="before")
    @classmethod
    def _path_alone(cls, value: Any) -> Any:
        return {"path": value} if isinstance(value, str) else value

    @field_validator("path")
    @classmethod
    def _path_or_name(cls, value: str) -> str:
        return str(Path(value).expanduser().absolute()) if "/" in value or "." in value else value

    @field_validator("labels")
    @classmethod
    def _absolute(cls, value: Path | None) -> Path | None:
        return None if value is None else value.expanduser().absolute()


class HmsSection(Section):
    """Human-model similarity: the stimuli, how they are shown, and further brains to compare with."""

    frames: int = Field(default=5, ge=2)
    """Frames of the static clip in which a stimulus is shown; the first step is left out."""
    mapping: Literal["stretch", "pad", "crop"] = "stretch"
    """How square stimuli come to the frames' size."""
    stimuli: str = "stimuli92"
    """`stimuli92`, or the name of images and RDMs that `hms data brain` prepared."""
    references: dict[str, ReferenceSection] = Field(default_factory=dict)
    """Further reference RDMs by name, each a file or folder, a prepared name, or one of the 92 stimuli's own such as
    `monkey_it`; each is a metric `hms_NAME` (docs/brains.md)."""

    @field_validator("references")
    @classmethod
    def _names(cls, value: dict[str, ReferenceSection]) -> dict[str, ReferenceSection]:
        for name in value:
            if not re.fullmatch(REFERENCE_NAME, name):
                raise ValueError(f"{name!r} is no name of a reference: lower-case letters, digits and `_`, at most 30")
        return value


class MseSection(Section):
    """Next-frame MSE."""

    max_windows: PositiveInt | None = None
    """At most so many fixed windows, evenly spaced over the validation recordings; unset: all."""


class MatchingSection(Section):
    """Object matching: the pool of object images and the trials drawn from it (docs/gazoobian.md)."""

    preset: Literal["mix_m", "mix_l"] = "mix_l"
    """How far the views of an object differ: medium, or large (harder)."""
    objects: int = Field(default=100, ge=2)
    """Objects of the pool; at least as many as images in a gallery."""
    views: int = Field(default=12, ge=2)
    """Images of each object."""
    trials: PositiveInt = 500
    """Trials, drawn once: the same for all networks of a search."""
    gallery: int = Field(default=50, ge=2)
    """Images to choose from in a trial, each of another object; chance is one of them."""
    same_family: int = Field(default=7, ge=0)
    """How many of the wrong images are of the target's family."""
    seed: int = Field(default=0, ge=0)
    """Seed of the objects and of the trials."""
    frames: int = Field(default=5, ge=2)
    """Frames of the static clip in which an object is shown; the first step is left out."""
    dials: dict[str, float] = Field(default_factory=dict)
    """Widths of changes other than the preset's, `yaw: 40` or `mixed.yaw: 40`."""
    folder: Path | None = None
    """Your own images, `objects/OBJECT/VIEW.png` below it, instead of Gazoobian objects; then `preset`, `objects`,
    `views` and `dials` mean nothing."""
    mode: Literal["clean", "legacy"] = "clean"
    """`legacy` draws trials and counts answers as the published code does."""

    @field_validator("dials")
    @classmethod
    def _turnable(cls, value: dict[str, float]) -> dict[str, float]:
        if value:
            from metrics.errors import StimuliError
            from metrics.gazoobian.views import PRESETS, turned

            try:
                turned(PRESETS["mix_l"], value)
            except StimuliError as error:
                raise ValueError(str(error)) from None
        return value

    @field_validator("folder")
    @classmethod
    def _absolute(cls, value: Path | None) -> Path | None:
        return None if value is None else value.expanduser().absolute()

    @model_validator(mode="after")
    def _gallery_fits(self) -> "MatchingSection":
        if self.folder is None and self.gallery > self.objects:
            raise ValueError(
                f"gallery is {self.gallery} but only {self.objects} objects exist: each image of a gallery "
                "shows another object; raise metrics.matching.objects or lower metrics.matching.gallery"
            )
        return self


class MetricsSection(Section):
    """The three metrics, further ones, and how often they are logged."""

    every: PositiveInt = 5
    """Epochs from one evaluation to the next; epoch 0 and the last are always logged."""
    also: tuple[str, ...] = ()
    """Further metrics by name, of the registry or of an installed package (docs/metrics.md)."""
    hms: HmsSection = HmsSection()
    mse: MseSection = MseSection()
    matching: MatchingSection = MatchingSection()

    @field_validator("also")
    @classmethod
    def _offered(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not value:
            return value
        from metrics.registry import ALWAYS, offered  # it imports every metric's mathematics

        for name in value:
            if name in ALWAYS:
                raise ValueError(f"`{name}` is always logged: leave it out")
            if name not in offered():
                hint = nearest(name, offered()) if offered() else ": no installed package offers one (docs/metrics.md)"
                raise ValueError(f"`{name}` is no metric on this machine{hint}")
        twice = sorted({name for name in value if value.count(name) > 1})
        if twice:
            raise ValueError(f"given twice: {', '.join(twice)}")
        return value

    @property
    def names(self) -> tuple[str, ...]:
        """The metrics that are logged, in the order of tables."""
        return ("hms", "mse", "accuracy", *(f"hms_{name}" for name in self.hms.references), *self.also)


class StoppingSection(Section):
    """When training ends before its epochs are over; see `search.stopping`."""

    rule: Literal["stability", "threshold", "none"] = "stability"
    """`stability`: stop when the metric is stable; `threshold`: once it is stable, discard the network if it is worse
    than a threshold, else train on; `none`: train all epochs."""
    metric: str = "hms"
    """Whose curve the rule looks at: any metric that is logged."""
    window: PositiveInt = 25
    """Length of the trailing window in epochs, both ends included; a multiple of `metrics.every`."""
    tolerance: float = Field(default=0.01, ge=0)
    """Stable: the standard deviation over the window is at most this, in the metric's unit."""
    ddof: Literal[0, 1] = 0
    """The standard deviation divides by n (0) or by n - 1 (1)."""
    min_epochs: int = Field(default=0, ge=0)
    """Never stable before this epoch."""
    threshold: float | None = None
    """Of the rule `threshold`: an absolute value in the metric's unit, 0.161 of HMS in the paper."""
    threshold_sd: float | None = None
    """Of the rule `threshold`, in place of `threshold`: so many standard deviations better than the mean of the
    networks that have finished."""
    threshold_after: PositiveInt = 20
    """With `threshold_sd`, no network is discarded before so many have finished."""
    collapsed_after: PositiveInt = 6
    """So many evaluations in a row without a defined value end the trial as `collapsed`."""

    @model_validator(mode="after")
    def _threshold_given(self) -> "StoppingSection":
        if self.rule == "threshold" and (self.threshold is None) == (self.threshold_sd is None):
            raise ValueError("rule `threshold` needs exactly one of threshold (0.161 in the paper) and threshold_sd")
        return self


def metrics_hashed(document: dict[str, Any]) -> dict[str, Any]:
    """What is hashed of metrics and stopping: what an earlier version had no key for is left out where it is unset.

    Of references and a folder of objects only that they are there: their content is compared with the search's data,
    and a file may move.
    """
    metrics, stopping = dict(document["metrics"]), dict(document["stopping"])
    hms = dict(metrics["hms"])
    references = sorted(hms.pop("references"))
    if hms["stimuli"] == "stimuli92":
        del hms["stimuli"]
    metrics["hms"] = hms | ({"references": references} if references else {})
    metrics["matching"] = _matching_hashed(metrics["matching"])
    if not metrics["also"]:
        del metrics["also"]
    if stopping["metric"] == "hms":
        del stopping["metric"]
    return {"metrics": metrics, "stopping": stopping}


def _matching_hashed(matching: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in matching.items() if key not in ("dials", "folder", "mode")}
    if matching["dials"]:
        kept["dials"] = matching["dials"]
    if matching["folder"] is not None:
        kept["folder"] = True
    if matching["mode"] != "clean":
        kept["mode"] = matching["mode"]
    return kept
