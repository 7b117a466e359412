import json
import shutil

import pytest
import yaml

from psychophysics.errors import StimuliError
from psychophysics.stimuli.build import build_stimuli
from psychophysics.stimuli.curate import curate
from psychophysics.stimuli.curation import read_curation, suggest
from psychophysics.stimuli.freeze import freeze, open_frozen
from psychophysics.stimuli.manifest import UnitRecord, read_manifest
from psychophysics.study_folder import StudyFolder


def quiet(what, done, total):
    pass


@pytest.fixture(scope="session")
def signed_once(built_once, tmp_path_factory):
    config, built = built_once
    folder = StudyFolder(tmp_path_factory.mktemp("signed") / "study")
    shutil.copytree(built.root, folder.root)
    curate(config, folder, None, "study.yaml")
    curate(config, folder, "A. Person", "study.yaml")
    build_stimuli(config, folder, quiet)
    return config, folder


@pytest.fixture
def signed(signed_once, tmp_path):
    config, folder = signed_once
    shutil.copytree(folder.root, tmp_path / "study")
    return config, StudyFolder(tmp_path / "study")


def test_suggestions_take_the_clearest_candidates_of_disjoint_units(built_study):
    config, folder = built_study
    told = curate(config, folder, None, "study.yaml")
    assert "6 candidates to look at" in told and 'hms study curate study.yaml --sign "YOUR NAME"' in told
    curation = read_curation(folder)
    assert curation.signature is None
    units = {
        role: {i.rpartition("/")[0] for i in curation.with_role(role)} for role in ("instruction", "catch", "easy")
    }
    assert all(len(found) == 1 for found in units.values()) and len(set.union(*units.values())) == 3
    assert len(curation.with_role("very_easy")) == 1
    page = folder.curation_page.read_text()
    assert page.count("<section>") == 6 and "Not signed yet" in page


def test_candidates_without_a_relative_difference_are_suggested_last_by_their_share_of_the_range(built_study):
    config, folder = built_study
    manifest = read_manifest(folder)
    negative, positive, both = (unit.model_dump() for unit in manifest.candidates)
    for unit, low, differences in ((negative, -4.0, (0.5, 2.0)), (positive, 1.0, (0.1, 0.2)), (both, -8.0, (3.0, 0.1))):
        unit |= {"lowest": low, "highest": low + 4.0}
        for record, difference in zip(unit["sets"], differences, strict=True):
            for name, activation in (("base", low), ("minimum", low), ("maximum", low + difference)):
                record["pair"][name]["activation"] = activation
    changed = manifest.model_copy(
        update={"candidates": tuple(UnitRecord.model_validate(unit) for unit in (negative, positive, both))}
    )
    roles = suggest(changed, config.curation).roles
    order = [f"{unit['layer']}/{unit['channel']}" for unit in (positive, both, negative)]
    assert [identifier.split("/", 1)[1].rpartition("/")[0] for identifier in roles][::2] == order
    assert roles[negative["sets"][1]["id"]] == "very_easy" and roles[negative["sets"][0]["id"]] == "easy"


def test_a_study_without_curated_catch_trials_cannot_be_frozen(built_study):
    config, folder = built_study
    with pytest.raises(StimuliError, match=r"the catch trials are not curated\. Next: hms study curate study\.yaml"):
        freeze(config, folder, "study.yaml")
    curate(config, folder, None, "study.yaml")
    with pytest.raises(StimuliError, match="nobody has signed"):
        freeze(config, folder, "study.yaml")
    curate(config, folder, "A. Person", "study.yaml")
    with pytest.raises(
        StimuliError, match=r"has no references for synthetic, mixed, blurred, none yet\. Next: hms study stimuli study"
    ):
        freeze(config, folder, "study.yaml")


@pytest.mark.parametrize("written", [{"contact": "Replace this by a name."}, {"paragraphs": ("Yes.", "Replace this.")}])
def test_a_consent_that_nobody_wrote_cannot_be_frozen(signed, written):
    config, folder = signed
    waiting = config.model_copy(update={"consent": config.consent.model_copy(update=written)})
    with pytest.raises(StimuliError, match=r"still begins with `Replace this`.*Next: write both in study\.yaml"):
        freeze(waiting, folder, "study.yaml")
    assert not folder.frozen.exists()


def test_a_frozen_study_is_known_by_its_hash(signed):
    config, folder = signed
    frozen = freeze(config, folder, "study.yaml")
    assert frozen.signed_by == "A. Person" and len(frozen.curated["catch"]) == 1
    assert freeze(config, folder, "study.yaml") == frozen
    assert open_frozen(folder)[0] == frozen and frozen.study_config == config


def test_roles_that_do_not_fit_are_refused(built_study):
    config, folder = built_study
    curate(config, folder, None, "study.yaml")
    original = yaml.safe_load(folder.curation.read_text())

    def refused(change, told):
        document = json.loads(json.dumps(original))
        change(document["roles"])
        folder.curation.write_text(yaml.safe_dump(document))
        with pytest.raises(StimuliError, match=told):
            curate(config, folder, "A. Person", "study.yaml")

    catch = next(name for name, role in original["roles"].items() if role == "catch")
    easy = next(name for name, role in original["roles"].items() if role == "easy")
    unused = next(n for n in original["roles"] if n.rpartition("/")[0] == catch.rpartition("/")[0] and n != catch)
    refused(lambda roles: roles.update({catch: ""}), "catch 0 of 1")
    refused(lambda roles: roles.update({catch: "cath"}), "did you mean `catch`")
    refused(lambda roles: roles.update({"net/3/99/0": "easy"}), "net/3/99/0 is no candidate")
    refused(lambda roles: roles.update({easy: "", unused: "easy"}), "is used for catch and practice")
    folder.curation.write_text("roles: [")
    with pytest.raises(StimuliError, match="cannot be read"):
        curate(config, folder, None, "study.yaml")


def test_a_signature_holds_for_the_roles_and_pictures_that_were_seen(signed):
    config, folder = signed
    document = yaml.safe_load(folder.curation.read_text())
    easy = next(name for name, role in document["roles"].items() if role == "easy")
    very = next(name for name, role in document["roles"].items() if role == "very_easy")
    document["roles"] |= {easy: "very_easy", very: "easy"}
    folder.curation.write_text(yaml.safe_dump(document))
    with pytest.raises(StimuliError, match=r"was signed by A\. Person for other roles or other pictures"):
        freeze(config, folder, "study.yaml")


def test_a_frozen_study_refuses_changed_and_missing_stimuli_by_name(signed):
    config, folder = signed
    freeze(config, folder, "study.yaml")
    _, manifest = open_frozen(folder)
    picture = manifest.units[0].sets[1].references["natural"][3].file
    before = (folder.root / picture).read_bytes()
    (folder.root / picture).write_bytes(before[:-1] + b"x")
    with pytest.raises(StimuliError, match=f"1 changed: {picture}"):
        open_frozen(folder)
    (folder.root / picture).unlink()
    with pytest.raises(StimuliError, match=f"1 missing: {picture}"):
        open_frozen(folder)
    (folder.root / picture).write_bytes(before)
    text = folder.manifest.read_text()
    folder.manifest.write_text(text.replace('"number": 0', '"number": 7', 1))
    with pytest.raises(StimuliError, match=r"manifest\.json was changed after the study was frozen"):
        open_frozen(folder)
    folder.manifest.write_text(text)
    frozen = json.loads(folder.frozen.read_text())
    frozen["config"]["analysis"]["equivalence_bound"] = 0.2
    folder.frozen.write_text(json.dumps(frozen))
    with pytest.raises(StimuliError, match=r"frozen\.json was changed"):
        open_frozen(folder)


def test_a_frozen_study_is_not_built_again_nor_frozen_otherwise(signed, make_study):
    config, folder = signed
    freeze(config, folder, "study.yaml")
    with pytest.raises(StimuliError, match="study `small` is frozen"):
        build_stimuli(config, folder, quiet)
    other, _ = make_study(analysis={"equivalence_bound": 0.1})
    with pytest.raises(StimuliError, match=r"made from another configuration\. Next: hms study stimuli study\.yaml"):
        freeze(other, folder, "study.yaml")


def test_an_unbuilt_study_says_what_to_type(make_study):
    config, folder = make_study()
    for command in (lambda: freeze(config, folder, "study.yaml"), lambda: curate(config, folder, None, "study.yaml")):
        with pytest.raises(StimuliError, match=r"manifest\.json is missing\. Next: hms study stimuli study\.yaml"):
            command()
    with pytest.raises(StimuliError, match=r"frozen\.json is missing\. Next: hms study freeze"):
        open_frozen(folder)
