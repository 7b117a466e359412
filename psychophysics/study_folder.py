"""Where the files of a study lie: `results/studies/NAME/`. One class owns the names."""

from dataclasses import dataclass
from pathlib import Path

from psychophysics.units import Unit


@dataclass(frozen=True)
class StudyFolder:
    """The folder of one study. Paths in its manifest are relative to `root`."""

    root: Path

    @classmethod
    def of(cls, results: Path, name: str) -> "StudyFolder":
        """The folder of the study `name` under `results`."""
        return cls(results / "studies" / name)

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

    def activations(self, network: str) -> Path:
        """Activations of a network's units over the pool."""
        return self.root / "activations" / network

    def unit(self, network: str, unit: Unit) -> Path:
        """The stimuli of one unit."""
        return self.root / "stimuli" / network / unit.folder

    def relative(self, path: Path) -> str:
        """A path as the manifest writes it."""
        return path.relative_to(self.root).as_posix()
