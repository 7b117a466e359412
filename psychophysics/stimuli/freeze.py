"""`hms study freeze`: configuration, curated trials and stimuli become one hash; what is changed later is refused."""

from datetime import UTC, datetime
from typing import Any, Literal

from pydantic import ValidationError

from psychophysics.catch_distractor import catch_distractors
from psychophysics.config import TO_REPLACE, StudyConfig
from psychophysics.config_reader import parse_study
from psychophysics.errors import StimuliError
from psychophysics.stimuli.curation import (
    ROLES,
    Curation,
    check_roles,
    check_signature,
    read_curation,
    with_all_candidates,
)
from psychophysics.stimuli.files import document_sha256, file_sha256, read_json, write_json
from psychophysics.stimuli.manifest import Manifest, check_files, read_manifest
from psychophysics.study_folder import StudyFolder
from search.config_section import Section


class Frozen(Section):
    """A frozen study. `sha256` is the hash of the others but `time`; `curated`: role -> ids of sets."""

    version: Literal[1] = 1
    study: str
    time: str
    config: dict[str, Any]
    curated: dict[str, tuple[str, ...]]
    signed_by: str
    manifest_sha256: str
    sha256: str

    @property
    def study_config(self) -> StudyConfig:
        """The configuration, validated."""
        return parse_study(self.config, source="frozen.json")


def freeze(config: StudyConfig, folder: StudyFolder, command: str) -> Frozen:
    """Check that the study is complete and unchanged, and write `frozen.json`.

    Args:
        config: of the study.
        folder: of the study.
        command: the configuration as the person typed it, for messages.

    Raises:
        StimuliError: consent not written, frozen already with something else, not built from this configuration,
            catch trials not curated, references missing, files missing or changed.
    """
    consent = config.consent
    if any(text.startswith(TO_REPLACE) for text in (*consent.paragraphs, consent.contact)):
        raise StimuliError(
            f"the text of consent or its contact still begins with `{TO_REPLACE}`: nobody could agree to that. "
            f"Next: write both in {command}, then hms study stimuli {command}"
        )
    manifest = read_manifest(folder, command)
    if manifest.config_sha256 != document_sha256(config.document()):
        raise StimuliError(f"the stimuli were made from another configuration. Next: hms study stimuli {command}")
    curation = _curated(config, folder, manifest, command)
    check_files(folder, manifest)
    assert curation.signature is not None
    curated = {role: tuple(curation.with_role(role)) for role in ROLES}
    if "none" in config.design.conditions:
        catch_distractors(curated, manifest, config.study.seed)
    content: dict[str, Any] = {
        "study": config.study.name,
        "config": config.document(),
        "curated": curated,
        "signed_by": curation.signature.name,
        "manifest_sha256": file_sha256(folder.manifest),
    }
    sha256 = document_sha256(content)
    if folder.frozen.is_file():
        before = _read(folder)
        if before.sha256 != sha256:
            raise StimuliError(
                f"study `{config.study.name}` was frozen at {before.time} as {before.sha256[:12]}, and would now be "
                f"{sha256[:12]}: a frozen study is not changed. Next: give the configuration another study.name"
            )
        return before
    time = datetime.now(UTC).isoformat(timespec="seconds")
    frozen = Frozen(time=time, sha256=sha256, **content)
    write_json(folder.frozen, frozen.model_dump(mode="json"))
    return frozen


def open_frozen(folder: StudyFolder) -> tuple[Frozen, Manifest]:
    """A frozen study, after every file was compared with its hash.

    Raises:
        StimuliError: it is not frozen, or something in it is missing or changed; the message names it.
    """
    frozen = _read(folder)
    content = frozen.model_dump(mode="json", exclude={"version", "time", "sha256"})
    if document_sha256(content) != frozen.sha256:
        raise StimuliError(f"{folder.frozen} was changed after the study was frozen. Next: restore it from a copy")
    if not folder.manifest.is_file() or file_sha256(folder.manifest) != frozen.manifest_sha256:
        raise StimuliError(f"{folder.manifest} was changed after the study was frozen. Next: restore it from a copy")
    manifest = read_manifest(folder)
    check_files(folder, manifest)
    return frozen, manifest


def _curated(config: StudyConfig, folder: StudyFolder, manifest: Manifest, command: str) -> Curation:
    curation = read_curation(folder)
    if curation is None:
        raise StimuliError(f"the catch trials are not curated. Next: hms study curate {command}")
    curation = with_all_candidates(curation, manifest)
    check_roles(curation, manifest, config.curation)
    check_signature(curation, manifest)
    for identifier, role in curation.roles.items():
        missing = [name for name in config.design.conditions if name not in manifest.set(identifier).references]
        if role and missing:
            raise StimuliError(
                f"{identifier} has no references for {', '.join(missing)} yet. Next: hms study stimuli {command}"
            )
    return curation


def _read(folder: StudyFolder) -> Frozen:
    try:
        return Frozen.model_validate(read_json(folder.frozen, "hms study freeze CONFIG"))
    except ValidationError as error:
        raise StimuliError(f"{folder.frozen} is no frozen study of this version ({error.errors()[0]['msg']})") from None
