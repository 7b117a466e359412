"""Curated trials: candidates for instruction, practice and catch trials, which the experimenter accepts and signs.

The file `curation.yaml` gives each candidate a role; suggestions are filled in by the largest relative activation
difference, and nothing counts before a person has signed. Units of instruction, practice and catch trials are disjoint.
"""

from datetime import UTC, datetime
from typing import Any

import yaml
from pydantic import Field, ValidationError

from psychophysics.config import CurationSection
from psychophysics.errors import StimuliError
from psychophysics.stimuli.files import document_sha256, written
from psychophysics.stimuli.manifest import Manifest, SetRecord, UnitRecord
from psychophysics.study_folder import StudyFolder
from search.config_section import Section, nearest

ROLES = ("instruction", "catch", "very_easy", "easy")
GROUP = {"instruction": "instruction", "catch": "catch", "very_easy": "practice", "easy": "practice"}
HEAD = """\
# Look at curation.html. Give each candidate a role: instruction, catch, very_easy or easy (both practice); or "".
# Units of instruction, catch and practice trials must differ. Then sign: hms study curate CONFIG --sign "YOUR NAME"
"""


class Signature(Section):
    """Who accepted which pictures, and when. `pictures`: hash of the query pairs with a role."""

    name: str = Field(min_length=1)
    time: str
    pictures: str


class Curation(Section):
    """Role of each candidate, by set id; empty where it is not used."""

    signature: Signature | None = None
    roles: dict[str, str]

    def with_role(self, role: str) -> list[str]:
        """Set ids, in the order of the file."""
        return [identifier for identifier, given in self.roles.items() if given == role]


def suggest(manifest: Manifest, section: CurationSection) -> Curation:
    """Roles by relative activation difference: the clearest units for instruction, then catch, then practice.

    Pairs whose base activation is not above 0 come after all others, by their difference as a share of the unit's range
    over the pool.
    """
    needed = _needed(section)
    clear = {record.id: _clearness(unit, record) for unit in manifest.candidates for record in unit.sets}
    units = sorted(manifest.candidates, key=lambda unit: max(clear[record.id] for record in unit.sets), reverse=True)
    roles = {record.id: "" for unit in units for record in unit.sets}
    for group in dict.fromkeys(GROUP.values()):
        wanted = [role for role in ROLES if GROUP[role] == group for _ in range(needed[role])]
        count = -(-len(wanted) // section.sets)
        mine, units = units[:count], units[count:]
        sets = sorted((record for unit in mine for record in unit.sets), key=lambda s: clear[s.id], reverse=True)
        for role, record in zip(wanted, sets, strict=False):
            roles[record.id] = role
    return Curation(roles=roles)


def with_all_candidates(curation: Curation, manifest: Manifest) -> Curation:
    """The curation with an empty role for candidates that it does not name.

    Raises:
        StimuliError: it names an unknown candidate or role.
    """
    known = {record.id for unit in manifest.candidates for record in unit.sets}
    for identifier, role in curation.roles.items():
        if identifier not in known:
            raise StimuliError(
                f"curation.yaml: {identifier} is no candidate{nearest(identifier, sorted(known))}. "
                "Next: mend it, or delete the file to start from the suggestions"
            )
        if role and role not in ROLES:
            raise StimuliError(f"curation.yaml: {identifier} has the role `{role}`{nearest(role, list(ROLES))}")
    unnamed = dict.fromkeys(sorted(known - set(curation.roles)), "")
    return Curation(signature=curation.signature, roles=curation.roles | unnamed)


def check_roles(curation: Curation, manifest: Manifest, section: CurationSection) -> None:
    """Refuse roles that don't fit the study.

    Raises:
        StimuliError: wrong numbers, a unit in two groups.
    """
    counts = {role: len(curation.with_role(role)) for role in ROLES}
    if counts != (needed := _needed(section)):
        told = ", ".join(f"{role} {counts[role]} of {needed[role]}" for role in ROLES if counts[role] != needed[role])
        raise StimuliError(
            f"curation.yaml does not give the study its curated trials: {told}. Next: change roles, or more "
            f"curation.units (now {len(manifest.candidates)} with {section.sets} sets each) and `hms study stimuli`"
        )
    groups: dict[str, set[str]] = {}
    for identifier, role in curation.roles.items():
        if role:
            groups.setdefault(_unit_of(identifier), set()).add(GROUP[role])
    for unit, used in groups.items():
        if len(used) > 1:
            raise StimuliError(
                f"curation.yaml: {unit} is used for {' and '.join(sorted(used))}: their units must differ"
            )


def sign(curation: Curation, manifest: Manifest, name: str) -> Curation:
    """The curation with the signature of a person, bound to the pictures of its query pairs."""
    time = datetime.now(UTC).isoformat(timespec="seconds")
    signature = Signature(name=name, time=time, pictures=_pictures(curation, manifest))
    return Curation(signature=signature, roles=curation.roles)


def check_signature(curation: Curation, manifest: Manifest) -> None:
    """Refuse a curation that nobody has signed, or whose pictures are not those that were signed."""
    if curation.signature is None:
        raise StimuliError(
            "the catch trials are not curated: nobody has signed curation.yaml. Next: look at curation.html, then "
            'hms study curate CONFIG --sign "YOUR NAME"'
        )
    if curation.signature.pictures != _pictures(curation, manifest):
        raise StimuliError(
            f"curation.yaml was signed by {curation.signature.name} for other roles or other pictures. "
            'Next: look at curation.html again, then hms study curate CONFIG --sign "YOUR NAME"'
        )


def read_curation(folder: StudyFolder) -> Curation | None:
    """What `curation.yaml` says; None: there is no such file.

    Raises:
        StimuliError: it can't be read.
    """
    try:
        document = yaml.safe_load(folder.curation.read_text(encoding="utf-8"))
        return Curation.model_validate(document)
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError, yaml.YAMLError, ValidationError) as error:
        raise StimuliError(
            f"{folder.curation} cannot be read ({error}). Next: mend it, or delete it to start from the suggestions"
        ) from None


def write_curation(folder: StudyFolder, curation: Curation, manifest: Manifest) -> None:
    """Write `curation.yaml`, with each candidate's relative activation difference as a comment."""
    signature = curation.signature.model_dump() if curation.signature else None
    lines = [HEAD + yaml.safe_dump({"signature": signature}, sort_keys=False) + "roles:"]
    for identifier, role in curation.roles.items():
        difference = manifest.set(identifier).pair.relative_difference
        told = "undefined, base not above 0" if difference is None else f"{difference:.3f}"
        shown = role or "''"
        lines.append(f"  {identifier}: {shown}  # relative difference {told}")
    with written(folder.curation) as temporary:
        temporary.write_text("\n".join(lines) + "\n", encoding="utf-8")


def accepted_sets(folder: StudyFolder) -> frozenset[str]:
    """Ids of the candidates that a signed curation uses."""
    curation = read_curation(folder)
    if curation is None or curation.signature is None:
        return frozenset()
    return frozenset(identifier for identifier, role in curation.roles.items() if role)


def _needed(section: CurationSection) -> dict[str, int]:
    return {role: int(getattr(section, role)) for role in ROLES}


def _clearness(unit: UnitRecord, record: SetRecord) -> tuple[float, float]:
    pair = record.pair
    relative = pair.relative_difference
    share = (pair.maximum.activation - pair.minimum.activation) / (unit.highest - unit.lowest)
    return float("-inf") if relative is None else relative, share


def _unit_of(identifier: str) -> str:
    return identifier.rpartition("/")[0]


def _pictures(curation: Curation, manifest: Manifest) -> str:
    shown: dict[str, Any] = {}
    for identifier, role in curation.roles.items():
        if role:
            pair = manifest.set(identifier).pair
            shown[identifier] = [role, pair.base.sha256, pair.minimum.sha256, pair.maximum.sha256]
    return document_sha256(shown)
