"""`hms study export`: the data of a study with what it was made with and what its participants agreed to."""

from pathlib import Path

import yaml

from psychophysics.collect import collect_study
from psychophysics.config import StudyConfig
from psychophysics.export.dataset import Particulars, write_dataset
from psychophysics.export.preregistration import public_document
from psychophysics.responses import read_responses
from psychophysics.stimuli.freeze import open_frozen
from psychophysics.study_folder import StudyFolder


def export_study(folder: StudyFolder, store: str | None, out: Path, particulars: Particulars) -> Path:
    """Collect the answers so far and write them as a dataset into `out`; return it.

    Beside the data there are `materials/` (configuration, manifest of the stimuli; no pictures, whose licences differ)
    and `documentation/` (consent, and the preregistration where there is one).

    Raises:
        ResponsesError: nobody has taken part yet.
        StimuliError: the study is not frozen, or what was frozen has changed.
        StoreError: the store cannot be used.
        StudyError: `out` holds something else, or cannot be written.
    """
    collect_study(folder, store, folder.responses)
    frozen, _ = open_frozen(folder)
    config = frozen.study_config
    further = {
        "materials/configuration.yaml": yaml.safe_dump(public_document(config), sort_keys=False, allow_unicode=True),
        "materials/manifest.json": folder.manifest.read_text(encoding="utf-8"),
        "documentation/consent.md": _consent(config),
    }
    if folder.preregistration.is_file():
        further["documentation/preregistration.md"] = folder.preregistration.read_text(encoding="utf-8")
    titled = Particulars(
        particulars.title or config.study.title, particulars.authors, particulars.license, particulars.comments
    )
    return write_dataset(read_responses(folder.responses), out, titled, further)


def _consent(config: StudyConfig) -> str:
    paragraphs = "\n\n".join(config.consent.paragraphs)
    return f"# {config.consent.title}\n\nVersion {config.consent.version}\n\n{paragraphs}\n"
