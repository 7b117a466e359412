"""Where events lead, against what the tables of a study say of the same events."""

import numpy as np
import pytest

from psychophysics.collection import Session
from psychophysics.server.progress import OutOfTurn, Progress, advance, current_trial, replay
from psychophysics.server.store.contract import Event, Participant
from psychophysics.session_plan import Place, session_plan


@pytest.fixture(scope="module")
def plans(drawn_once):
    frozen, manifest, _ = drawn_once
    return {c: session_plan(frozen, manifest, Place(c, 0, 0)) for c in ("natural", "none")}


def walk(plan, rng, right):
    """A random session of events that fit: right answers with the given probability."""
    progress, events = Progress(), []

    def add(kind, **content):
        nonlocal progress
        progress = advance(plan, progress, kind, content)
        events.append(Event("p", len(events), kind, 1000.0 * len(events), 0.0, content))

    add("instructions_shown")
    add("instructions_done")
    while (trial := current_trial(plan, progress)) and rng.random() > 0.02:
        if rng.random() < 0.1:
            add("visibility", visible=False)
        add("trial_shown", trial=trial.id)
        correct = rng.random() < right
        add("answer", trial=trial.id, button=2 if (trial.target_side == "right") == correct else -2, rt_ms=1.0)
    return progress, events


@pytest.mark.parametrize("condition", ["natural", "none"])
def test_random_sessions_end_as_their_tables_say(plans, condition):
    plan, rng, ends = plans[condition], np.random.default_rng(3), set()
    for number in range(200):
        progress, events = walk(plan, rng, right=(0.3, 0.7, 1.0)[number % 3])
        session = Session(plan, Participant("p", plan.place, "1", 0.0, 0.0), events)
        assert progress.finished == session.finished
        assert progress == replay(plan, events) and progress.next_seq == len(events)
        rows = session.trial_rows()
        if progress.stage == "questions":
            assert [row["position"] for row in rows if row["kind"] != "practice"] == list(range(6))
        if progress.practice_failed:
            assert [row["attempt"] for row in rows] == [1, 1, 2, 2, 3, 3]
        attempts = {row["attempt"] for row in rows if row["kind"] == "practice"}
        for attempt in attempts - {max(attempts, default=0)}:  # a block with all right is never repeated
            assert not all(row["correct"] for row in rows if row["attempt"] == attempt)
        ends.add((progress.stage, progress.practice_failed))
    assert ends >= ({("done", True), ("questions", False)} if condition == "natural" else {("questions", False)})


def test_what_does_not_fit_is_refused(plans):
    plan = plans["natural"]
    first = plan.practice(1)[0].id
    shown = advance(plan, Progress(), "instructions_shown", {})
    practice = advance(plan, shown, "instructions_done", {})
    for progress, kind, content in (
        (Progress(), "instructions_done", {}),
        (Progress(), "trial_shown", {"trial": first}),
        (shown, "answer", {"trial": first, "button": 1, "rt_ms": 1.0}),
        (shown, "questions", {"answers": {}}),
        (practice, "instructions_done", {}),
        (practice, "instructions_shown", {}),
        (practice, "answer", {"trial": plan.practice(1)[1].id, "button": 1, "rt_ms": 1.0}),
        (practice, "answer", {"trial": "main-0", "button": 1, "rt_ms": 1.0}),
        (practice, "questions", {"answers": {}}),
        (Progress(stage="questions"), "answer", {"trial": "main-5", "button": 1, "rt_ms": 1.0}),
        (Progress(stage="done"), "questions", {"answers": {}}),
    ):
        with pytest.raises(OutOfTurn):
            advance(plan, progress, kind, content)
