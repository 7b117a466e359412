"""The frozen, validated configuration of a whole study. `psychophysics.config_reader` reads it from YAML.

What may be seen by a participant, and how it is analysed, is all in here: a study is frozen by the hash of this
document and of its stimuli. Defaults are the design of Zimmermann, Borowski et al. (NeurIPS 2021).
"""

import re
from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from search.config_section import NAME_PATTERN, PositiveInt, Section, nearest

Condition = Literal["natural", "synthetic", "mixed", "blurred", "none"]
CONDITIONS: tuple[Condition, ...] = ("natural", "synthetic", "mixed", "blurred", "none")
UNIT_PATTERN = r"^.+/\d+$"
TO_REPLACE = "Replace this"  # begins a text of consent that nobody has written yet
Fraction = Annotated[float, Field(gt=0, le=1)]


class StudySection(Section):
    """What the study is called and the seed of all its random choices. `search`: whose networks it compares, if any."""

    name: str = Field(pattern=NAME_PATTERN)
    title: str = ""
    seed: int = Field(default=0, ge=0)
    search: str | None = None


class UnitsSection(Section):
    """Units, as a list of `layer/channel`, or so many channels of each of some layers, drawn with the study's seed."""

    listed: tuple[str, ...] = ()
    layers: tuple[str, ...] = ()
    per_layer: PositiveInt = 1
    exclude: tuple[str, ...] = ()

    @field_validator("listed", "exclude")
    @classmethod
    def _units(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for text in value:
            if not re.match(UNIT_PATTERN, text):
                raise ValueError(f"`{text}` is no unit: give layer/channel, such as mixed4a/257 or R2/17")
        if len(set(value)) < len(value):
            raise ValueError(f"a unit is given twice: {', '.join(sorted({u for u in value if value.count(u) > 1}))}")
        return value

    @model_validator(mode="after")
    def _one_way(self) -> "UnitsSection":
        if bool(self.listed) == bool(self.layers):
            raise ValueError("give the units as `listed: [layer/channel, ...]` or as `layers: [...]`, one of the two")
        return self


class NetworkSource(Section):
    """A network: where it comes from and how images are shown to it.

    `source`: `network.pt` of a trial or Keras weights (PredNet) · `efficientnet-lite0` · `module:function` that returns
    a torch network of float32 images (n, 3, height, width), RGB in [0, 1]. `height`, `width`: of its input; unset: 224
    x 224, or 128 x 160 for a PredNet. `steps`: of the static clip that a PredNet sees; R is averaged over steps
    1..steps-1.
    """

    name: str = Field(pattern=NAME_PATTERN)
    source: str
    height: PositiveInt | None = None
    width: PositiveInt | None = None
    steps: int = Field(default=5, ge=2)


class NetworkSection(NetworkSource):
    """A network and its units under study. `hms`, `mse`: what its search measured, where it comes from one."""

    units: UnitsSection
    hms: float | None = Field(default=None, ge=-1, le=1)
    mse: float | None = Field(default=None, ge=0)


class ImagesSection(Section):
    """The pool of natural images: a folder, or `photographs`, those that come with packages of the extra `study`.

    `keep`: side of the centre crop as a share of the largest one (224 of 256 pixels in the paper). `crops_per_photo`:
    above 1 further crops of each photograph, at random places and sizes of `smallest` up to 1 of the largest; crops of
    a photograph are never query and reference in one set. `labels`: what counts as an image's class.
    """

    pool: str
    keep: Fraction = 0.875
    crops_per_photo: PositiveInt = 1
    smallest: Fraction = 0.4
    labels: Literal["predicted", "folders"] = "predicted"


class DesignSection(Section):
    """Conditions, image sets and participants. `ranked_sets` sets are formed for a unit, the first `sets` are used."""

    conditions: tuple[Condition, ...] = CONDITIONS
    references: PositiveInt = 9
    ranked_sets: PositiveInt = 20
    sets: PositiveInt = 10
    participants_per_cell: PositiveInt = 5

    @model_validator(mode="after")
    def _fits(self) -> "DesignSection":
        if not self.conditions or len(set(self.conditions)) < len(self.conditions):
            raise ValueError(f"conditions are {list(self.conditions)}: give one or more of {', '.join(CONDITIONS)}")
        if self.sets > self.ranked_sets:
            raise ValueError(f"sets is {self.sets}, but only ranked_sets = {self.ranked_sets} are formed")
        return self


class OcclusionSection(Section):
    """The search for the patches. Pixels are those of a 224-pixel input and scale with the shorter side of others.

    `mode` `exhaustive` tries every position of the finest lattice; `coarse-to-fine` starts on the coarsest and refines
    around the `top` best. `exhaustive_sample`: so many pairs are searched both ways, and the regret is reported.
    """

    mode: Literal["coarse-to-fine", "exhaustive"] = "coarse-to-fine"
    side: Fraction = 0.4
    strides: tuple[PositiveInt, ...] = (8, 4, 2)
    top: PositiveInt = 3
    exhaustive_sample: int = Field(default=3, ge=0)
    batch: PositiveInt = 64

    @field_validator("strides")
    @classmethod
    def _halving(cls, value: tuple[int, ...]) -> tuple[int, ...]:
        steps = pairwise(value)
        if not value or any(coarse <= fine or coarse % fine for coarse, fine in steps):
            raise ValueError(f"strides are {list(value)}: give them from coarse to fine, each a multiple of the next")
        return value


class SynthesisSection(Section):
    """Activation maximisation. `diversity` weighs the mean similarity of the images' Gram matrices against the
    activation in units of the largest one of a natural image (of the range, where some are negative);
    `diversity_layer`: unset, the unit's own layer."""

    steps: PositiveInt = 512
    learning_rate: float = Field(default=0.05, gt=0)
    diversity: float = Field(default=0.5, ge=0)
    diversity_layer: str | None = None
    jitter: Fraction = 0.06
    scale: tuple[float, float] = (0.9, 1.1)
    rotate: float = Field(default=10.0, ge=0, le=180)


class TrialsSection(Section):
    """Trials of a participant. `main` must be the number of units under study: each is shown once."""

    main: PositiveInt = 18
    catch: PositiveInt = 3
    practice_very_easy: int = Field(default=1, ge=0)
    practice_easy: int = Field(default=3, ge=0)
    practice_attempts: PositiveInt = 5


class CurationSection(Section):
    """Candidates for instruction, practice and catch trials, and how many of each the experimenter must accept.

    `network`: the name of one of `networks`, or of the one given in `further_network`, whose units may be clearer.
    """

    network: str
    units: UnitsSection
    sets: PositiveInt = 2
    instruction: PositiveInt = 1
    very_easy: int = Field(default=3, ge=0)
    easy: int = Field(default=7, ge=0)
    catch: PositiveInt = 3


class RecruitmentSection(Section):
    """Where participants come from. `completion_code` is shown at the end (Prolific asks for it)."""

    kind: Literal["local", "prolific"] = "local"
    completion_code: str = ""
    completion_url: str = ""
    refills: int = Field(default=3, ge=0)

    @model_validator(mode="after")
    def _code(self) -> "RecruitmentSection":
        if self.kind == "prolific" and not self.completion_code:
            raise ValueError("kind is prolific: give the completion_code of the Prolific study")
        return self


class ConsentSection(Section):
    """What a participant agrees to; a changed text needs another version."""

    version: str
    title: str = "Consent"
    paragraphs: tuple[str, ...] = Field(min_length=1)
    contact: str


class ExclusionsSection(Section):
    """When a participant's data are left out; seconds."""

    practice_attempts: PositiveInt = 5
    catch_correct: int = Field(default=2, ge=0)
    rarer_side: int = Field(default=1, ge=0)
    instruction_seconds: float = Field(default=20.0, ge=0)
    instruction_seconds_none: float = Field(default=15.0, ge=0)
    total_seconds: tuple[float, float] = (90.0, 900.0)
    total_seconds_none: tuple[float, float] = (40.0, 900.0)


class AnalysisSection(Section):
    """What must be fixed before data are seen. `equivalence_bound`: in accuracy (0.05 = 5 points), no default."""

    equivalence_bound: float = Field(gt=0, lt=0.5)
    alpha: float = Field(default=0.05, gt=0, lt=1)


class StudyConfig(Section):
    """The whole configuration of a study."""

    study: StudySection
    networks: tuple[NetworkSection, ...] = Field(min_length=1)
    further_network: NetworkSource | None = None
    images: ImagesSection
    design: DesignSection = DesignSection()
    occlusion: OcclusionSection = OcclusionSection()
    synthesis: SynthesisSection = SynthesisSection()
    trials: TrialsSection = TrialsSection()
    curation: CurationSection
    recruitment: RecruitmentSection = RecruitmentSection()
    consent: ConsentSection
    exclusions: ExclusionsSection = ExclusionsSection()
    analysis: AnalysisSection

    @model_validator(mode="after")
    def _fits(self) -> "StudyConfig":
        names = [network.name for network in self.networks]
        if len(set(names)) < len(names):
            raise ValueError(f"networks are called {', '.join(names)}: each needs a name of its own")
        if self.curation.network not in self.network_sections:
            raise ValueError(
                f"curation.network is `{self.curation.network}`, which is none of the networks"
                f"{nearest(self.curation.network, list(self.network_sections))}"
            )
        if self.trials.practice_very_easy > self.curation.very_easy or self.trials.practice_easy > self.curation.easy:
            raise ValueError(
                f"a practice block takes {self.trials.practice_very_easy} very easy and {self.trials.practice_easy} "
                f"easy trials, but curation provides {self.curation.very_easy} and {self.curation.easy}"
            )
        if self.trials.catch != self.curation.catch:
            raise ValueError(
                f"trials.catch is {self.trials.catch}, curation.catch {self.curation.catch}: everybody sees the same"
            )
        if self.exclusions.catch_correct > self.trials.catch or 2 * self.exclusions.rarer_side > self.trials.main:
            raise ValueError(
                f"nobody could be accepted: exclusions ask for {self.exclusions.catch_correct} of {self.trials.catch} "
                f"catch trials correct, and for {self.exclusions.rarer_side} of {self.trials.main} main trials on the "
                "rarer side; lower exclusions.catch_correct or exclusions.rarer_side"
            )
        return self

    @property
    def network_sections(self) -> dict[str, NetworkSource]:
        """All networks by name: those under study, and the further one for curated trials."""
        further = (self.further_network,) if self.further_network is not None else ()
        return {network.name: network for network in (*self.networks, *further)}

    def document(self) -> dict[str, Any]:
        """The resolved configuration as plain JSON values."""
        return self.model_dump(mode="json")
