"""The replay of a trial: what the manifest, the plan and the store say stands on one page that needs nothing else."""

import base64
import re
from html import unescape

import pytest
from typer.testing import CliRunner

from psychophysics.errors import ResponsesError
from psychophysics.replay import find_moment, replay_page
from psychophysics.replay.moment import find_participant, listed
from psychophysics.server.store.sqlite import SqliteStore
from psychophysics.session_plan import Place, session_plan
from psychophysics.stimuli.files import read_png
from search.cli import app

PLACE = Place("mixed", 1, 0)


def _stored(drawn_study):
    frozen, _, folder = drawn_study
    store = SqliteStore(folder.answers, frozen.sha256)
    found = store.participants(), store.events()
    store.close()
    return found


def _page(drawn_study, person, trial: str) -> str:
    frozen, manifest, folder = drawn_study
    _, events = _stored(drawn_study)
    own = [event for event in events if event.participant == person.id]
    return replay_page(folder, frozen, manifest, find_moment(frozen, manifest, person, own, trial))


def _text(page: str) -> str:
    return re.sub(
        r"\s+", " ", unescape(re.sub(r"<style>.*?</style>|<iframe.*?</iframe>|<[^>]+>", " ", page, flags=re.S))
    )


def _images(page: str) -> list[str]:
    return re.findall(r'<img src="(data:image/png;base64,[^"]+)"', page)


def test_the_page_says_what_was_shown_answered_and_right(drawn_study, take_part) -> None:
    person = take_part("ab12cd", PLACE, 3)
    frozen, manifest, _ = drawn_study
    trial = session_plan(frozen, manifest, PLACE).main[1]
    page = _page(drawn_study, person, trial.id)
    text = _text(page)
    correct = "correct" if (trial.target_side == "left") is ("left, confidence" in text) else "wrong"
    for words in (
        "Participant ab12cd",
        "condition mixed, image set 1, number 0",
        f"Trial {trial.id} ({trial.kind}), 2 of 6",
        f"Unit {trial.network}, layer {trial.layer}, channel {trial.channel}, image set {trial.image_set}",
        f"Correct side {trial.target_side}",
        f"confidence 1 of 3: {correct}",
        "Reaction time 1.237 s",
        "Shown 2026-11-30 00:53:31.000 UTC Answered 2026-11-30 00:53:32.000 UTC",
        "In a window of 1024 x 768 pixels",
        "activation 2 ",
        "patch of 24 pixels at row 18, column 0",
        f"patch of 24 pixels at row {18 if trial.channel % 2 else 36}, column {32 if trial.channel % 2 else 36}",
    ):
        assert words in text, words
    marked = re.search(r'class="target">.*?<strong>(\w+), correct</strong><br>\s*activation 3\b', page, re.S)
    assert marked and marked[1].lower() == trial.target_side
    assert "Out of sight" not in text and "http" not in page.replace("http-equiv", "")


def test_the_screen_holds_the_pictures_byte_for_byte_on_their_sides(drawn_study, take_part) -> None:
    person = take_part("ab12cd", PLACE, 3)
    frozen, manifest, folder = drawn_study
    trial = session_plan(frozen, manifest, PLACE).main[0]
    page = _page(drawn_study, person, trial.id)
    frame = unescape(re.search(r'srcdoc="([^"]*)"', page)[1])
    expected = [*trial.references, trial.base, trial.left, trial.right]
    files = [base64.b64decode(uri.partition(",")[2]) for uri in _images(frame)]
    assert files == [(folder.root / file).read_bytes() for file in expected] and len(files) == 12
    assert read_png(folder.root / trial.base).shape == (60, 60, 3) and "--shape: 1.0" in frame
    assert 'width="1024" height="768"' in page and "Main part: image 1 of 6" in frame


def test_practice_the_worked_example_and_a_catch_trial_without_references(drawn_study, take_part) -> None:
    frozen, manifest, _ = drawn_study
    person = take_part("ab12cd", PLACE, 3)
    practice = _text(_page(drawn_study, person, "practice-1-0"))
    assert "Shown again" in practice and "Out of sight before the answer 1 times" in practice
    assert "the correct side was told" in practice
    assert "The worked example stood among the instructions" in _text(_page(drawn_study, person, "instruction"))
    none = Place("none", 0, 0)
    catch = next(trial for trial in session_plan(frozen, manifest, none).main if trial.kind == "catch")
    other = take_part("ef34", none, 5)
    text = _text(_page(drawn_study, other, catch.id))
    assert "of another unit, net/conv/" in text and "References, as shown" not in text
    unanswered = _page(drawn_study, other, session_plan(frozen, manifest, none).main[5].id)
    assert "Answer none is stored" in _text(unanswered)


def test_what_is_not_there_is_named(drawn_study, take_part) -> None:
    frozen, manifest, _ = drawn_study
    person = take_part("ab12cd", PLACE, 2)
    take_part("ab77", Place("none", 0, 0), 1)
    people, events = _stored(drawn_study)
    assert find_participant(people, "ab1").id == person.id
    with pytest.raises(ResponsesError, match=r"2 participants begin with `ab`"):
        find_participant(people, "ab")
    with pytest.raises(ResponsesError, match=r"`x` is no participant"):
        find_participant(people, "x")
    own = [event for event in events if event.participant == person.id]
    with pytest.raises(ResponsesError, match=r"`main-9` is no trial of ab12cd: did you mean `main-"):
        find_moment(frozen, manifest, person, own, "main-9")
    with pytest.raises(
        ResponsesError, match=r"main-5 was not shown to ab12cd; shown: practice-1-0, practice-1-1, main-0"
    ):
        find_moment(frozen, manifest, person, own, "main-5")
    lines = listed(frozen, manifest, person, own)
    assert len(lines) == 5 and lines[-1].split()[0] == "main-2" and lines[-1].endswith("not answered")


def test_the_command_lists_trials_and_writes_the_page(drawn_study, take_part, monkeypatch) -> None:
    folder = drawn_study[2]
    monkeypatch.setenv("HMS_RESULTS", str(folder.root.parents[1]))
    none = CliRunner().invoke(app, ["study", "replay", "drawn", "ab", "main-0"])
    assert "there are no answers" in str(none.exception) and not folder.answers.exists()
    take_part("ab12cd", PLACE, 2)
    listing = CliRunner().invoke(app, ["study", "replay", "drawn", "ab"])
    assert listing.output.splitlines()[0].startswith("practice-1-0") and listing.exit_code == 0
    done = CliRunner().invoke(app, ["study", "replay", str(folder.root), "ab", "main-1"])
    path = folder.root / "replays" / "ab12cd-main-1.html"
    assert done.output.strip() == str(path) and "Reaction time" in path.read_text(encoding="utf-8")
    preregistered = CliRunner().invoke(app, ["study", "preregister", "drawn"])
    assert preregistered.exit_code == 0
    assert "Yes: 1 person had begun" in (folder.root / "preregistration.md").read_text(encoding="utf-8")
