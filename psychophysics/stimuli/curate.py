"""`hms study curate`: show the candidates, keep the roles, take the signature."""

from importlib.resources import files

from jinja2 import Environment, StrictUndefined

from psychophysics.config import StudyConfig
from psychophysics.stimuli.curation import (
    Curation,
    check_roles,
    read_curation,
    sign,
    suggest,
    with_all_candidates,
    write_curation,
)
from psychophysics.stimuli.files import written
from psychophysics.stimuli.manifest import Manifest, read_manifest
from psychophysics.study_folder import StudyFolder


def curate(config: StudyConfig, folder: StudyFolder, signed_by: str | None, command: str) -> str:
    """Write `curation.html`, and `curation.yaml` unless it is there; with a name, check the roles and sign them.

    Args:
        config: of the study.
        folder: of the study.
        signed_by: name of the experimenter who has looked at the candidates.
        command: the configuration as the person typed it, for messages.

    Returns:
        What was done and what to type next.

    Raises:
        StimuliError: no manifest, a file that can't be read, roles that don't fit the study.
    """
    manifest = read_manifest(folder, command)
    before = read_curation(folder)
    curation = suggest(manifest, config.curation) if before is None else with_all_candidates(before, manifest)
    if signed_by is not None:
        check_roles(curation, manifest, config.curation)
        curation = sign(curation, manifest, signed_by)
    write_curation(folder, curation, manifest)
    _write_page(folder, manifest, curation)
    if curation.signature is not None:
        return (
            f"{folder.curation}: signed by {curation.signature.name}, {curation.signature.time}\n"
            f"next: hms study stimuli {command} (the references of these trials), then hms study freeze {command}"
        )
    return (
        f"{folder.curation_page}: {len(curation.roles)} candidates to look at\n"
        f"{folder.curation}: their roles, as suggested; change what is not clear to a person\n"
        f'next: hms study curate {command} --sign "YOUR NAME"'
    )


def _write_page(folder: StudyFolder, manifest: Manifest, curation: Curation) -> None:
    template = files("psychophysics.stimuli").joinpath("curation.html.j2").read_text(encoding="utf-8")
    records = {record.id: record for unit in manifest.candidates for record in unit.sets}
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    html = environment.from_string(template).render(
        study=manifest.study,
        candidates=[(records[identifier], role) for identifier, role in curation.roles.items()],
        signature=curation.signature,
        side={name: network.patch_side for name, network in manifest.networks.items()},
    )
    with written(folder.curation_page) as temporary:
        temporary.write_text(html, encoding="utf-8")
