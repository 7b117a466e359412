"""A participant of the drawn study with events in a real store."""

from collections.abc import Callable
from typing import Any

import pytest

from psychophysics.server.store.contract import Event, Newcomer, Participant
from psychophysics.server.store.sqlite import SqliteStore
from psychophysics.session_plan import Place, session_plan

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
        newcomer = Newcomer(identifier, "1", (1024, 768), f"hash of {identifier}")
        person = store.join(newcomer, lambda _: place, BEGIN)
        plan = session_plan(frozen, manifest, place)
        kinds: list[tuple[str, dict[str, Any]]] = []
        for index, trial in enumerate((*plan.practice(1), *plan.main[:answered])):
            wrong = trial.target_side == "left" if index % 2 else trial.target_side == "right"
            button = (1 if wrong else -1) * (1 + index % 3)
            kinds.append(("trial_shown", {"trial": trial.id}))
            if index == 0:
                kinds += [("visibility", {"visible": False}), ("visibility", {"visible": True}), kinds[-1]]
            kinds.append(("answer", {"trial": trial.id, "button": button, "rt_ms": 1234 + index}))
        kinds.append(("trial_shown", {"trial": plan.main[answered].id}))
        events = [
            Event(identifier, seq, kind, 1000 * (BEGIN + seq), BEGIN + seq, content)
            for seq, (kind, content) in enumerate(kinds)
        ]
        store.append(identifier, events, BEGIN + 100)
        store.close()
        return person

    return take_part
