"""Tables of responses by construction: every number of them is chosen by the test that asks. A drawn, frozen study."""

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from psychophysics.config import StudyConfig
from psychophysics.config_reader import parse_study
from psychophysics.server.store.contract import Event, Newcomer, Participant
from psychophysics.server.store.sqlite import SqliteStore
from psychophysics.session_plan import Place, session_plan
from psychophysics.stimuli.curation import ROLES, Curation, sign, write_curation
from psychophysics.stimuli.files import document_sha256, file_sha256
from psychophysics.stimuli.freeze import Frozen, freeze
from psychophysics.stimuli.manifest import (
    Controls,
    Manifest,
    NetworkRecord,
    Picture,
    PoolRecord,
    QueryPair,
    SetRecord,
    UnitRecord,
    write_manifest,
)
from psychophysics.study_folder import StudyFolder

MakeTrials = Callable[..., pd.DataFrame]
MakeParticipants = Callable[..., pd.DataFrame]


@pytest.fixture
def make_trials() -> MakeTrials:
    """A function: main trials of one participant, correct as given; sides alternate, each of a unit of its own."""

    def make(participant: str, condition: str, correct: list[bool], **columns: Any) -> pd.DataFrame:
        n = len(correct)
        target = np.where(np.arange(n) % 2 == 0, "left", "right")
        other = np.where(target == "left", "right", "left")
        return pd.DataFrame(
            {
                "participant": participant,
                "condition": condition,
                "network": "net",
                "layer": "conv",
                "unit": [str(i) for i in range(n)],
                "image_set": 0,
                "kind": "main",
                "attempt": 0,
                "position": range(n),
                "query_max": "max",
                "query_min": "min",
                "target_side": target,
                "response_side": np.where(correct, target, other),
                "confidence": 2,
                "correct": correct,
                "rt_s": 3.0,
            }
            | columns
        )

    return make


@pytest.fixture
def make_participants() -> MakeParticipants:
    """A function: rows of participants (name -> condition) that pass every exclusion rule unless columns say else."""

    def make(conditions: dict[str, str], **columns: Any) -> pd.DataFrame:
        return pd.DataFrame(
            {
                "participant": list(conditions),
                "condition": list(conditions.values()),
                "instruction_s": 60.0,
                "total_s": 300.0,
                "practice_attempts": 1,
                "finished": True,
                "withdrawn": False,
            }
            | columns
        )

    return make


DrawnStudy = tuple[Frozen, Manifest, StudyFolder]
MakeDrawnStudy = Callable[..., DrawnStudy]


@pytest.fixture(scope="session")
def make_drawn_study() -> MakeDrawnStudy:
    """A function: a frozen study in `results/studies/drawn` in well under a second, without any network.

    Its pictures are drawn; all else is real: manifest, hashes, signed curation, freeze. The studied unit favours what
    the left half of a picture holds: of a query pair the patch lies on the right of `maximum`, on the left of
    `minimum`. The strategy `centre` is right for even channels, `variance` for those with channel % 4 < 3. Keyword
    arguments replace keys of the configuration's sections; `draw=False` makes no files and freezes nothing on disk,
    for tests of large designs.
    """
    return lambda results, *, draw=True, **changes: _drawn_study(results, drawn_config(**changes), draw)


@pytest.fixture(scope="session")
def drawn_once(make_drawn_study: MakeDrawnStudy, tmp_path_factory: pytest.TempPathFactory) -> DrawnStudy:
    """The drawn study without changes, only to be read."""
    return make_drawn_study(tmp_path_factory.mktemp("results"))


@pytest.fixture
def drawn_study(drawn_once: DrawnStudy, tmp_path: Path) -> DrawnStudy:
    """A copy of it in `tmp_path/studies/drawn`."""
    frozen, manifest, folder = drawn_once
    shutil.copytree(folder.root, tmp_path / "studies" / "drawn")
    return frozen, manifest, StudyFolder.of(tmp_path, "drawn")


def drawn_config(**changes: dict[str, Any]) -> StudyConfig:
    """Four units, two image sets, five conditions, one participant a cell; two catch, one very easy and one easy."""
    document: dict[str, Any] = {
        "study": {"name": "drawn", "title": "Which image?", "seed": 11},
        "networks": [
            {"name": "net", "source": "drawn:none", "height": 60, "width": 60, "units": {"layers": ["conv"]}}
        ],
        "images": {"pool": "drawn"},
        "design": {"ranked_sets": 2, "sets": 2, "participants_per_cell": 1},
        "trials": {"main": 4, "catch": 2, "practice_very_easy": 1, "practice_easy": 1, "practice_attempts": 3},
        "curation": {
            "network": "net", "units": {"layers": ["conv"]}, "sets": 1, "very_easy": 1, "easy": 2, "catch": 2,
        },
        "exclusions": {"practice_attempts": 3, "catch_correct": 2},
        "consent": {"version": "1", "paragraphs": ["You will see images.", "You may stop."], "contact": "a@lab.org"},
        "analysis": {"equivalence_bound": 0.05},
    }  # fmt: skip
    for section, keys in changes.items():
        document[section] = document.get(section, {}) | keys
    return parse_study(document, "test")


def _drawn_study(results: Path, config: StudyConfig, draw: bool) -> DrawnStudy:
    folder = StudyFolder.of(results, config.study.name)
    manifest = _drawn_manifest(config, folder, draw)
    ids = [record.id for unit in manifest.candidates for record in unit.sets]
    counts = {role: getattr(config.curation, role) for role in ROLES}
    roles = dict(zip(ids, [role for role, count in counts.items() for _ in range(count)], strict=True))
    curation = sign(Curation(roles=roles), manifest, "A. Person")
    if draw:
        write_manifest(folder, manifest)
        write_curation(folder, curation, manifest)
        return freeze(config, folder, "study.yaml"), manifest, folder
    curated = {role: tuple(curation.with_role(role)) for role in ROLES}
    frozen = Frozen(
        study=config.study.name, time="", config=config.document(), curated=curated, signed_by="A. Person",
        manifest_sha256="", sha256="",
    )  # fmt: skip
    return frozen, manifest, folder


def _drawn_manifest(config: StudyConfig, folder: StudyFolder, draw: bool) -> Manifest:
    curated = sum(getattr(config.curation, role) for role in ROLES)
    units = [_drawn_unit(config, folder, channel, config.design.sets, draw) for channel in range(config.trials.main)]
    candidates = [_drawn_unit(config, folder, 100 + index, 1, draw) for index in range(curated)]
    network = NetworkRecord(source="drawn:none", identity="0" * 64, height=60, width=60, patch_side=24, strides=(8,))
    return Manifest(
        study=config.study.name, seed=config.study.seed, config_sha256=document_sha256(config.document()),
        pool=PoolRecord(source="drawn", photographs=1, images=1, fingerprint="0" * 64), networks={"net": network},
        units=tuple(units), candidates=tuple(candidates), regret=(),
    )  # fmt: skip


def _drawn_unit(config: StudyConfig, folder: StudyFolder, channel: int, sets: int, draw: bool) -> UnitRecord:
    def picture(name: str, activation: float, place: tuple[int, int] | None = None) -> Picture:
        file = f"stimuli/net/conv-{channel}/{name}.png"
        source = f"photo-{channel}-{name.partition('-')[0]}#0"
        sha256 = _draw(folder.root / file, source, name, place) if draw else name
        return Picture(file=file, sha256=sha256, activation=activation, source=source, place=place)

    def record(number: int) -> SetRecord:
        pair = QueryPair(
            base=picture(f"{number}-base", 2.0), minimum=picture(f"{number}-minimum", 1.0, (18, 0)),
            maximum=picture(f"{number}-maximum", 3.0, (18, 32) if channel % 2 else (36, 36)),
            map=f"stimuli/net/conv-{channel}/{number}-map.csv",
            map_sha256=_map(folder.root / f"stimuli/net/conv-{channel}/{number}-map.csv") if draw else "",
            mode="exhaustive", evaluations=1, controls=Controls(),
        )  # fmt: skip
        references = {
            condition: tuple(
                picture(f"{number}-{condition}-{index}", 1.0)
                for index in range(0 if condition == "none" else config.design.references)
            )
            for condition in config.design.conditions
        }
        return SetRecord(id=f"net/conv/{channel}/{number}", number=number, pair=pair, references=references)

    records = tuple(record(number) for number in range(sets))
    return UnitRecord(network="net", layer="conv", channel=channel, lowest=0.0, highest=3.0, sets=records)


def _draw(path: Path, source: str, name: str, place: tuple[int, int] | None) -> str:
    """A picture that its source decides, half of it noise; references have a pixel of their own, queries a patch."""
    rng = np.random.default_rng(list(source.encode()))
    pixels = np.empty((60, 60, 3), np.uint8)
    pixels[:] = rng.integers(0, 256, 3)
    noisy = slice(30, 60) if int(source.split("-")[1]) % 4 == 3 else slice(0, 30)
    pixels[:, noisy] = rng.integers(0, 256, (60, 30, 3))
    if place is not None:
        covered = pixels[place[0] : place[0] + 24, place[1] : place[1] + 24]
        covered[:] = covered.mean(axis=(0, 1)) + 1
    elif not name.endswith("-base"):
        pixels[59, 59] = list(hashlib.sha256((source + name).encode()).digest()[:3])
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)
    return file_sha256(path)


def _map(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("top,left,activation\n18,0,1.0\n18,34,3.0\n")
    return file_sha256(path)


BEGIN = 1_796_000_000.0  # 2026-11-30 00:53:20 UTC
TakePart = Callable[..., Participant]


@pytest.fixture
def take_part(drawn_study) -> TakePart:
    """A function: somebody joins at a place and answers so many main trials; every second one is wrong.

    After the first trial was shown the page was hidden once, and the first trial was shown again.
    """
    frozen, manifest, folder = drawn_study

    def take_part(identifier: str, place: Place, answered: int) -> Participant:
        store = SqliteStore(folder.answers, frozen.sha256)
        newcomer = Newcomer(identifier, "1", (1024, 768), f"withdrawal of {identifier}", f"recruiter of {identifier}")
        person = store.join(newcomer, lambda _: place, BEGIN)
        plan = session_plan(frozen, manifest, place)
        kinds: list[tuple[str, dict[str, Any]]] = [("instructions_shown", {}), ("instructions_done", {})]
        for index, trial in enumerate((*plan.practice(1), *plan.main[:answered])):
            wrong = trial.target_side == "left" if index % 2 else trial.target_side == "right"
            button = (1 if wrong else -1) * (1 + index % 3)
            kinds.append(("trial_shown", {"trial": trial.id}))
            if index == 0:
                kinds += [("visibility", {"visible": False}), ("visibility", {"visible": True}), kinds[-1]]
            kinds.append(("answer", {"trial": trial.id, "button": button, "rt_ms": 1234 + index}))
        if answered < len(plan.main):
            kinds.append(("trial_shown", {"trial": plan.main[answered].id}))
        else:
            kinds.append(("questions", {"answers": {"strategy": "edges", "comments": ""}}))
        events = [
            Event(identifier, seq, kind, 1000 * (BEGIN + seq), BEGIN + seq, content)
            for seq, (kind, content) in enumerate(kinds)
        ]
        store.append(identifier, events, BEGIN + 100)
        store.close()
        return person

    return take_part
