"""What the page of a running study shows: how full it is, who takes part, who is excluded and why, times and sides.

No accuracy is in it, so that nobody ends a study because of one.
"""

import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from psychophysics.collection import Session, broken_rules, fixed_study
from psychophysics.config import ExclusionsSection
from psychophysics.server.assignment import Standing, standing
from psychophysics.server.progress import Progress, block, replay
from psychophysics.server.running import RunningStudy
from psychophysics.server.store.contract import Participant
from psychophysics.session_plan import SessionPlan

STAGES = {
    "instructions": "Agreed, instructions",
    "practice": "Practice",
    "main": "Main trials",
    "questions": "Last trial answered",
    "done": "Last page",
}
TIME_BIN_S, TIME_BINS = 0.5, 31  # reaction times up to 15 s, and one bin for all that are longer
SHARE_BINS = 10
LISTED = 200  # rows of a table
Row = dict[str, Any]


@dataclass(frozen=True)
class Person:
    """What the page needs of one participant: where they are, the rules they break, the main trials they answered."""

    participant: Participant
    progress: Progress
    at: str
    broken: Sequence[Row]
    main: Sequence[Row]


class Overview:
    """Reads a study's store; what it has computed of a participant it keeps until there is news of them."""

    def __init__(self, study: RunningStudy) -> None:
        self._study = study
        self._limits = fixed_study(study.frozen, study.config).thresholds
        self._known: dict[str, Person] = {}
        self._lock = threading.Lock()

    def summary(self, now: float) -> Row:
        """Everything on the page, as JSON; `now`: seconds since 1970."""
        with self._lock:
            participants = self._study.store.participants()
            self._known = {who.id: self._person(who) for who in participants if not who.withdrawn}
            people = list(self._known.values())
        stands = {person.participant.id: self._stands(person, now) for person in people}
        config, count = self._study.config, Counter(stands.values())
        design = config.design
        finished = [person for person in people if person.progress.finished]
        return {
            "name": config.study.name,
            "title": config.study.title,
            "now_ms": 1000 * now,
            "rehearsal": self._study.folder.rehearsal,
            "patience_s": self._study.reservation,
            "places": len(design.conditions) * design.sets * design.participants_per_cell,
            "places_per_cell": design.participants_per_cell,
            "conditions": design.conditions,
            "sets": list(range(design.sets)),
            "people": {
                "joined": len(participants),
                "finished": len(finished),
                "withdrawn": len(participants) - len(people),
                **{name: count[name] for name in ("live", "left", "accepted", "excluded")},
            },
            "cells": _cells(people, stands, design.conditions, design.sets),
            "stages": _stages(people, stands),
            "rules": _rules(finished, config.exclusions),
            "excluded": [_excluded(row) for person in finished for row in person.broken][:LISTED],
            "answers": _answers(people, finished),
            "live": [_live(person, now) for person in people if stands[person.participant.id] == "live"][:LISTED],
        }

    def _person(self, who: Participant) -> Person:
        known = self._known.get(who.id)
        if known is not None and known.participant == who:
            return known
        events = self._study.store.events(who.id)
        plan = self._study.plan(who.place)
        progress = replay(plan, events)
        session = Session(plan, who, events)
        main = [row for row in session.trial_rows() if row["kind"] == "main"]
        broken = broken_rules(session, self._limits) if progress.finished else []
        return Person(who, progress, _where(plan, progress), broken, main)

    def _stands(self, person: Person, now: float) -> Standing:
        return standing(person.participant, lambda who: not person.broken, now, self._study.reservation)


def _where(plan: SessionPlan, progress: Progress) -> str:
    """The stage in words, such as `Main trials, 7 of 21`."""
    name = STAGES[progress.stage]
    trials = block(plan, progress)
    attempt = f" {progress.attempt}" if progress.stage == "practice" else ""
    return f"{name}{attempt}, {progress.position + 1} of {len(trials)}" if trials else name


def _cells(
    people: Sequence[Person], stands: Mapping[str, Standing], conditions: Sequence[str], sets: int
) -> list[list[Row]]:
    """A row a condition, an entry an image set: how many are accepted, and how many take part."""
    count: Counter[tuple[str, int, Standing]] = Counter()
    for person in people:
        count[(*person.participant.place[:2], stands[person.participant.id])] += 1
    return [
        [{name: count[condition, image_set, name] for name in ("accepted", "live")} for image_set in range(sets)]
        for condition in conditions
    ]


def _stages(people: Sequence[Person], stands: Mapping[str, Standing]) -> list[Row]:
    """How many reached each stage, are in it now, and ended in it. A failed practice counts as ended there."""
    order = list(STAGES)
    reached, here, ended = Counter[str](), Counter[str](), Counter[str]()
    for person in people:
        stage = "practice" if person.progress.practice_failed else person.progress.stage
        reached.update(order[: order.index(stage) + 1])
        stand = stands[person.participant.id]
        here[stage] += stand == "live"
        ended[stage] += stand == "left" or person.progress.practice_failed
    return [{"name": STAGES[s], "reached": reached[s], "here": here[s], "ended": ended[s]} for s in order]


def _rules(finished: Sequence[Person], section: ExclusionsSection) -> list[Row]:
    """How many of the finished break each rule; `passed` is None while nobody has finished."""
    s = section
    limits = {
        "practice": f"a block without an error within {s.practice_attempts} attempts",
        "catch": f"at least {s.catch_correct} catch trials correct",
        "side": f"at least {s.rarer_side} main trials answered on the rarer side",
        "instruction": f"at least {s.instruction_seconds:g} s ({s.instruction_seconds_none:g} s in condition none)",
        "total": f"{_range(s.total_seconds)} s ({_range(s.total_seconds_none)} s in condition none)",
    }
    broken = Counter(row["rule"] for person in finished for row in person.broken)
    passed = {rule: 1 - broken[rule] / len(finished) if finished else None for rule in limits}
    return [{"name": r, "broken": broken[r], "passed": passed[r], "limit": limit} for r, limit in limits.items()]


def _range(seconds: tuple[float, float]) -> str:
    return f"{seconds[0]:g} to {seconds[1]:g}"


def _answers(people: Sequence[Person], finished: Sequence[Person]) -> Row:
    """Distributions over main trials: reaction times, buttons from -3 to 3; and over people: share of answers left."""
    rows = [row for person in people for row in person.main]
    times = [row["rt_s"] for row in rows]
    bins = Counter(min(int(time / TIME_BIN_S), TIME_BINS - 1) for time in times)
    buttons = Counter((row["response_side"], row["confidence"]) for row in rows)
    of_people = [[row["response_side"] == "left" for row in person.main] for person in finished if person.main]
    shares = Counter(min(int(SHARE_BINS * sum(own) / len(own)), SHARE_BINS - 1) for own in of_people)
    order = [("left", 3), ("left", 2), ("left", 1), ("right", 1), ("right", 2), ("right", 3)]
    return {
        "count": len(rows),
        "times": {
            "width_s": TIME_BIN_S,
            "counts": [bins[index] for index in range(TIME_BINS)],
            "median_s": median(times) if times else None,
        },
        "buttons": [buttons[button] for button in order],
        "target_left": sum(row["target_side"] == "left" for row in rows) / len(rows) if rows else None,
        "left_shares": [shares[index] for index in range(SHARE_BINS)],
    }


def _excluded(row: Row) -> Row:
    shown = {name: row[name] for name in ("condition", "rule", "reason")}
    return {"participant": row["participant"][:8], **shown}


def _live(person: Person, now: float) -> Row:
    who = person.participant
    return {
        "participant": who.id[:8],
        "condition": who.condition,
        "image_set": who.image_set,
        "stage": person.at,
        "here_s": now - (who.consented_at or now),
        "seen_s": max(0.0, now - (who.last_seen_at or now)),
    }
