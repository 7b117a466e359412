"""The page of a replay: the screen in a frame of the participant's window, and below it what lay behind it."""

import base64
import math
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from psychophysics.replay.moment import Moment, clock
from psychophysics.session_plan import PlannedTrial
from psychophysics.stimuli.files import read_png
from psychophysics.stimuli.freeze import Frozen
from psychophysics.stimuli.manifest import Manifest, Picture, SetRecord
from psychophysics.study_folder import StudyFolder

SMALLEST = (940, 600)  # the window that the study asks for, where the participant's is not known


def replay_page(folder: StudyFolder, frozen: Frozen, manifest: Manifest, moment: Moment) -> str:
    """One self-contained HTML page. The screen has the page's own style and the size of the participant's window."""
    trial = moment.trial
    pictures = _Pictures(folder)
    width, height = moment.participant.viewport or SMALLEST
    # `--shape` is width / height of all images of a trial.
    rows, columns = read_png(folder.root / trial.base).shape[:2]
    environment = _environment()
    screen = environment.get_template("screen.html.j2").render(
        style=Markup(_page_style()), trial=trial, uri=pictures.uri, shape=columns / rows,
        columns=math.ceil(math.sqrt(len(trial.references))), title=_title(moment),
        of=moment.of, example=trial.kind == "instruction",
    )  # fmt: skip
    return environment.get_template("replay.html.j2").render(
        title=frozen.study_config.study.title or frozen.study,
        moment=moment,
        trial=trial,
        screen=screen,
        width=width,
        height=height,
        known_window=moment.participant.viewport is not None,
        facts=_facts(frozen, moment),
        pictures=_explained(manifest, trial, pictures),
        references=_references(manifest, trial, pictures),
    )


class _Pictures:
    """Pictures as data URIs."""

    def __init__(self, folder: StudyFolder) -> None:
        self.folder = folder

    def uri(self, file: str) -> str:
        """The bytes of a PNG of the study, in the page."""
        return "data:image/png;base64," + base64.b64encode((self.folder.root / file).read_bytes()).decode()


def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(str(files("psychophysics.replay"))), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip


def _page_style() -> str:
    """The style sheet of the participants' page, so that a replay cannot drift from it."""
    return files("psychophysics").joinpath("page/src/style.css").read_text(encoding="utf-8")


def _title(moment: Moment) -> str:
    if moment.trial.kind != "practice":
        return "Main part"
    attempt = moment.trial.attempt
    return f"Practice, round {attempt}" if attempt > 1 else "Practice"


def _facts(frozen: Frozen, moment: Moment) -> list[tuple[str, str]]:
    person, trial = moment.participant, moment.trial
    facts = [
        ("Participant", person.id),
        ("Place", f"condition {person.condition}, image set {person.image_set}, number {person.slot}"),
        ("Trial", f"{trial.id} ({trial.kind}), {trial.position + 1} of {moment.of}"),
        ("Unit", f"{trial.network}, layer {trial.layer}, channel {trial.channel}, image set {trial.image_set}"),
        ("Correct side", trial.target_side),
    ]
    if moment.answer is not None and moment.button is not None:
        side = "left" if moment.button < 0 else "right"
        facts += [
            ("Answer", f"{side}, confidence {abs(moment.button)} of 3: {'correct' if moment.correct else 'wrong'}"),
            ("Reaction time", f"{moment.answer.content['rt_ms'] / 1000:.3f} s"),
        ]
    elif trial.kind != "instruction":
        facts.append(("Answer", "none is stored"))
    facts += [("Shown" if not i else "Shown again", clock(event.at_ms)) for i, event in enumerate(moment.shown)]
    if moment.answer is not None:
        facts.append(("Answered", clock(moment.answer.at_ms)))
    if moment.hidden:
        facts.append(("Out of sight before the answer", f"{moment.hidden} times"))
    return [*facts, ("Frozen study", f"{frozen.study}, sha256 {frozen.sha256[:16]}")]


def _explained(manifest: Manifest, trial: PlannedTrial, pictures: _Pictures) -> list[dict[str, Any]]:
    """Base, left and right query with activation and the outline of the patch in percent of the image."""
    own = manifest.set(f"{trial.network}/{trial.layer}/{trial.channel}/{trial.image_set}")
    found = []
    for name, file in (("Original image", trial.base), ("Left", trial.left), ("Right", trial.right)):
        picture, record = _picture(manifest, own, file)
        network = manifest.networks[record.id.partition("/")[0]]
        box = None
        if picture.place is not None:
            top, left, side = *picture.place, network.patch_side
            box = {
                "left": 100 * left / network.width,
                "top": 100 * top / network.height,
                "width": 100 * side / network.width,
                "height": 100 * side / network.height,
            }
        found.append(
            {
                "name": name,
                "uri": pictures.uri(file),
                "file": file,
                "activation": picture.activation,
                "place": picture.place,
                "side": network.patch_side,
                "box": box,
                "target": file == trial.query_max and name != "Original image",
                "other_unit": "" if record is own else record.id.rpartition("/")[0],
            }
        )
    return found


def _references(manifest: Manifest, trial: PlannedTrial, pictures: _Pictures) -> list[dict[str, Any]]:
    own = manifest.set(f"{trial.network}/{trial.layer}/{trial.channel}/{trial.image_set}")
    by_file = {picture.file: picture for shown in own.references.values() for picture in shown}
    return [
        {"uri": pictures.uri(file), "activation": by_file[file].activation, "source": by_file[file].source}
        for file in trial.references
    ]


def _picture(manifest: Manifest, own: SetRecord, file: str) -> tuple[Picture, SetRecord]:
    """A picture and the set it belongs to: the trial's own, or, for some catch trials, one of another unit."""
    every = [own, *(record for unit in (*manifest.units, *manifest.candidates) for record in unit.sets)]
    for record in every:
        for picture in (record.pair.base, record.pair.minimum, record.pair.maximum):
            if picture.file == file:
                return picture, record
    raise AssertionError(f"{file} is planned, but not in the manifest")
