"""Where things lie: prepared data under `HMS_DATA`, one folder a search under `results/`. One class owns the names."""

import os
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from search.metric_sections import MatchingSection
from search.trial_sections import DataSection


def data_root() -> Path:
    """`HMS_DATA`, or `hms-search` in the user's cache folder."""
    given = os.environ.get("HMS_DATA")
    return Path(given).expanduser() if given else Path(platformdirs.user_cache_dir("hms-search"))


def results_root() -> Path:
    """`HMS_RESULTS`, or `results` in the current folder; holds one folder a search and the embedded server."""
    return Path(os.environ.get("HMS_RESULTS", "results")).expanduser().absolute()


def video_path(root: Path, data: DataSection) -> Path:
    """The prepared video cache that a configuration names."""
    if data.dataset == "demo":
        return root / "video" / f"demo-{data.height}x{data.width}"
    if "/" in data.dataset or data.dataset.startswith((".", "~")):
        return Path(data.dataset).expanduser()
    return root / "video" / data.dataset


def stimuli_path(root: Path) -> Path:
    """The folder of the 92 stimuli and the human RDMs."""
    return root / "stimuli92"


def brain_path(root: Path, name: str) -> Path:
    """The folder of reference RDMs, and perhaps images, that `hms data brain --name NAME` prepared."""
    return root / "brains" / name


def gazoobian_path(root: Path, matching: MatchingSection, height: int, width: int) -> Path:
    """The folder of a rendered pool of Gazoobian objects; the name holds all that shapes it."""
    from metrics.gazoobian.settings import VERSION  # it imports the reading of images

    name = f"{matching.preset}-{matching.objects}x{matching.views}-{height}x{width}-seed{matching.seed}-v{VERSION}"
    dials = "".join(f"-{dial}={value:g}" for dial, value in sorted(matching.dials.items()))
    return root / "gazoobian" / (name + dials)


def attempt_name(token: str) -> str:
    """The name of the folder of one reservation of a trial."""
    return f"attempt-{token[:8]}"


@dataclass(frozen=True)
class RunFolder:
    """The folder of one search: `results/NAME/`."""

    root: Path

    @classmethod
    def of(cls, results: Path, name: str) -> "RunFolder":
        """The folder of the search `name` under `results`."""
        return cls(results / name)

    @property
    def report(self) -> Path:
        """The folder of `report.html`, `tables/` and `figures/`."""
        return self.root / "report"

    @property
    def tables(self) -> Path:
        """The exported tables, which the report reads."""
        return self.root / "tables"

    @property
    def logs(self) -> Path:
        """One log a worker."""
        return self.root / "logs"

    def trial(self, tid: int) -> Path:
        """Checkpoints, artifacts and the log of one trial."""
        return self.root / "trials" / f"{tid:06d}"

    def attempt(self, tid: int, token: str) -> Path:
        """What one reservation of a trial writes: another may write at the same time, once it lost its lease."""
        return self.trial(tid) / attempt_name(token)

    def attempts(self, trial: str = "*[0-9]") -> list[Path]:
        """The folders of attempts that are left in the trials that match a pattern."""
        return sorted(self.root.glob(f"trials/{trial}/attempt-*"))
