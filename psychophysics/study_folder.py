"""Where the files of a study lie: `results/studies/NAME/`. One class owns the names."""

from dataclasses import dataclass
from pathlib import Path

from psychophysics.config_reader import load_study
from psychophysics.errors import StimuliError
from psychophysics.units import Unit
from search.config_section import nearest


@dataclass(frozen=True)
class StudyFolder:
    """The folder of one study. Paths in its manifest are relative to `root`.

    `rehearsal`: answers, and all that is made of them, lie apart, in the folder `rehearsal`.
    """

    root: Path
    rehearsal: bool = False

    @classmethod
    def of(cls, results: Path, name: str) -> "StudyFolder":
        """The folder of the study `name` under `results`."""
        return cls(results / "studies" / name)

    def rehearsed(self, rehearsal: bool) -> "StudyFolder":
        """The same study, for a rehearsal or not."""
        return StudyFolder(self.root, rehearsal)

    def answered(self, study: str) -> str:
        """The name of its answers: that of the study, or one that no study can have, for a rehearsal."""
        return f"{study} (rehearsal)" if self.rehearsal else study

    @property
    def manifest(self) -> Path:
        """All stimuli with their hashes."""
        return self.root / "manifest.json"

    @property
    def curation(self) -> Path:
        """What the experimenter accepted for instruction, practice and catch trials."""
        return self.root / "curation.yaml"

    @property
    def curation_page(self) -> Path:
        """The candidates, to look at."""
        return self.root / "curation.html"

    @property
    def frozen(self) -> Path:
        """Configuration, curated trials and hashes of a frozen study."""
        return self.root / "frozen.json"

    @property
    def taken(self) -> Path:
        """Where the answers lie, and what is made of them."""
        return self.root / "rehearsal" if self.rehearsal else self.root

    @property
    def answers(self) -> Path:
        """The SQLite database of participants and their events."""
        return self.taken / "answers.sqlite"

    @property
    def secrets(self) -> Path:
        """Keys and tokens of the study server, readable by their owner only."""
        return self.taken / "secrets.json"

    @property
    def store(self) -> Path:
        """What kind of store holds the answers: noted when the study is first served."""
        return self.taken / "store.txt"

    @property
    def responses(self) -> Path:
        """The tidy tables of the answers, as last collected."""
        return self.taken / "responses"

    @property
    def report(self) -> Path:
        """The report on them."""
        return self.taken / "report"

    @property
    def preregistration(self) -> Path:
        """The text that was registered before the study."""
        return self.root / "preregistration.md"

    @property
    def replays(self) -> Path:
        """Pages of single trials."""
        return self.taken / "replays"

    @property
    def dataset(self) -> Path:
        """The data as a folder to publish."""
        return self.taken / "psych-ds"

    def activations(self, network: str) -> Path:
        """Activations of a network's units over the pool."""
        return self.root / "activations" / network

    def unit(self, network: str, unit: Unit) -> Path:
        """The stimuli of one unit."""
        return self.root / "stimuli" / network / unit.folder

    def relative(self, path: Path) -> str:
        """A path as the manifest writes it."""
        return path.relative_to(self.root).as_posix()


def find_study(text: str, results: Path) -> StudyFolder:
    """The folder that a person means: a study's name, its folder, or its configuration.

    Args:
        text: as typed.
        results: the results folder; studies lie in `studies` under it.

    Raises:
        StimuliError: no such study; the message names those that are known.
        ConfigError: the text names a YAML file that does not describe a study.
    """
    path = Path(text).expanduser()
    if path.suffix in (".yaml", ".yml"):
        return StudyFolder.of(results, load_study(path).study.name)
    if path.is_dir() and any(StudyFolder(path.absolute()).root.glob("*.json")):
        return StudyFolder(path.absolute())
    if "/" not in text and (folder := StudyFolder.of(results, text)).root.is_dir():
        return folder
    known = sorted(folder.name for folder in (results / "studies").glob("*") if folder.is_dir())
    hint = nearest(text, known) if known else f": there are none under {results / 'studies'}"
    raise StimuliError(f"`{text}` is no study{hint}. Next: hms study stimuli CONFIG makes one".replace("?. ", "? "))
