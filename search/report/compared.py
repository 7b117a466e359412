"""What networks were compared with, in words: the reference of HMS, and the further ones beside it."""

from dataclasses import dataclass, field

from metrics.stimulus_sets import STIMULI92
from search.report.artifacts import Brain
from search.report.record import SearchRecord


@dataclass(frozen=True)
class Compared:
    """`title` of the reference for headings; `rdm`: its RDM; `words`: with the stimuli; `subjects`: what RDMs are of.

    `beside`: column (`hms_NAME`) -> where that further reference came from.
    """

    title: str
    rdm: str
    words: str
    subjects: str
    beside: dict[str, str] = field(default_factory=dict)

    @property
    def beside_words(self) -> str:
        """`; beside it with monkey_it (hms_monkey)`; empty without further references."""
        if not self.beside:
            return ""
        return "; beside it with " + ", ".join(f"{source} ({column})" for column, source in self.beside.items())


def compared(record: SearchRecord, brain: Brain | None) -> Compared:
    """Of one search, as configured; `brain` tells of how many subjects a reference of the user's own is the mean."""
    section = (record.config.get("metrics") or {}).get("hms") or {}
    stimuli = str(section.get("stimuli") or STIMULI92)
    beside = {f"hms_{name}": _source(given) for name, given in (section.get("references") or {}).items()}
    if stimuli == STIMULI92:
        words = "human inferior temporal cortex (fMRI of four people, 92 images; Kriegeskorte et al. 2008)"
        return Compared("human IT", "mean human IT RDM", words, "people", beside)
    count = 0 if brain is None or brain.subjects is None else len(brain.subjects)
    mean = f"mean RDM of {count} subjects of {stimuli}" if count > 1 else f"RDM of {stimuli}"
    images = "" if brain is None else f" ({len(brain.labels)} stimuli)"
    return Compared(stimuli, mean, f"the reference {stimuli}{images}", "subjects", beside)


def _source(given: object) -> str:
    return str(given.get("path", "")) if isinstance(given, dict) else str(given)
