"""From a study's stored events to its tidy tables: pure functions, which give the same tables whenever they run.

Every answer is joined with what the plan of its session says about the trial; the events themselves say nothing of
right and wrong.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from psychophysics.columns import Columns, checked
from psychophysics.config import StudyConfig
from psychophysics.exclusions import Thresholds, exclusions
from psychophysics.responses import (
    COMMENTS,
    NETWORKS,
    PARTICIPANTS,
    QUERIES,
    TRIALS,
    Responses,
    Study,
    check_participants,
    check_trials,
)
from psychophysics.server.store.contract import Event, Participant
from psychophysics.session_plan import SessionPlan, session_plan
from psychophysics.stimuli.freeze import Frozen
from psychophysics.stimuli.manifest import Manifest

Row = dict[str, Any]


class Session:
    """What one participant did: the rows of the tables. `events`: of this participant, by rising `seq`."""

    def __init__(self, plan: SessionPlan, person: Participant, events: Sequence[Event]) -> None:
        self.plan, self.person, self.events = plan, person, events
        self.planned = {trial.id: trial for block in (*plan.blocks, plan.main) for trial in block}
        self.answers = [(self.planned[event.content["trial"]], event) for event in events if event.kind == "answer"]

    def trial_rows(self) -> list[Row]:
        """Rows of `TRIALS`, in the order answered."""
        return [
            {
                "participant": self.person.id,
                "condition": self.person.condition,
                "network": trial.network,
                "layer": trial.layer,
                "unit": str(trial.channel),
                "image_set": trial.image_set,
                "kind": trial.kind,
                "attempt": trial.attempt,
                "position": trial.position,
                "query_max": trial.query_max,
                "query_min": trial.query_min,
                "target_side": trial.target_side,
                "response_side": side_of(event.content["button"]),
                "confidence": abs(event.content["button"]),
                "correct": side_of(event.content["button"]) == trial.target_side,
                "rt_s": event.content["rt_ms"] / 1000,
            }
            for trial, event in self.answers
        ]

    def participant_row(self) -> Row:
        """The row of `PARTICIPANTS`."""
        begun = _first(self.events, "instructions_shown")
        shown = (self.planned[event.content["trial"]] for event in self.events if event.kind == "trial_shown")
        return {
            "participant": self.person.id,
            "condition": self.person.condition,
            "instruction_s": _seconds(begun, _first(self.events, "instructions_done")),
            "total_s": _seconds(begun, self.answers[-1][1] if self.answers else None),
            "practice_attempts": max((trial.attempt for trial in shown), default=0),
            "finished": self.finished,
            "withdrawn": self.person.withdrawn,
        }

    def comment_rows(self) -> list[Row]:
        """Rows of `COMMENTS`: the questions that were answered with something."""
        return [
            {"participant": self.person.id, "question": question, "text": text}
            for event in self.events
            if event.kind == "questions"
            for question, text in event.content["answers"].items()
            if text.strip()
        ]

    @property
    def finished(self) -> bool:
        """Whether the last trial was answered, or the last practice block failed."""
        answered = {trial.id for trial, _ in self.answers}
        if all(trial.id in answered for trial in self.plan.main):
            return True
        last = self.plan.blocks[-1] if self.plan.blocks else ()
        right = [
            side_of(event.content["button"]) == trial.target_side for trial, event in self.answers if trial in last
        ]
        return bool(last) and len(right) == len(last) and not all(right)


def broken_rules(session: Session, limits: Thresholds) -> list[Row]:
    """Rows of `psychophysics.exclusions.exclusions` for one participant; empty for somebody accepted or unfinished."""
    trials = _table(session.trial_rows(), TRIALS)
    broken = exclusions(trials, _table([session.participant_row()], PARTICIPANTS), limits)
    return [{str(key): value for key, value in row.items()} for row in broken.to_dict("records")]


def side_of(button: int) -> str:
    """Buttons are -3..-1 on the left, 1..3 on the right."""
    return "left" if button < 0 else "right"


def collect(
    frozen: Frozen,
    manifest: Manifest,
    participants: Sequence[Participant],
    events: Iterable[Event],
    baselines: pd.DataFrame | None = None,
) -> Responses:
    """The checked tables of a study; participants in the order given.

    Who withdrew keeps a row without answers; who has not finished is there with `finished` false. `baselines`: as
    `psychophysics.baselines.pictures.manifest_baselines` computes them from the pictures.
    """
    config = frozen.study_config
    of_person: dict[str, list[Event]] = defaultdict(list)
    for event in sorted(events, key=lambda event: event.seq):
        of_person[event.participant].append(event)
    people: list[Row] = []
    answers: list[Row] = []
    comments: list[Row] = []
    for person in participants:
        own = [] if person.withdrawn else of_person[person.id]
        session = Session(session_plan(frozen, manifest, person.place), person, own)
        answers += session.trial_rows()
        people.append(session.participant_row())
        comments += session.comment_rows()
    trials = check_trials(_table(answers, TRIALS))
    return Responses(
        trials,
        check_participants(_table(people, PARTICIPANTS), trials),
        queries=collected_queries(frozen, manifest),
        baselines=baselines,
        networks=_networks(config),
        comments=checked(_table(comments, COMMENTS), COMMENTS, "comments"),
        study=fixed_study(frozen, config),
    )


def collected_queries(frozen: Frozen, manifest: Manifest) -> pd.DataFrame:
    """The table `QUERIES` of all query pairs that participants see: those under study and the curated ones."""
    curated = {identifier for role, sets in frozen.curated.items() if role != "instruction" for identifier in sets}
    shown = [(unit, record) for unit in manifest.units for record in unit.sets]
    shown += [(unit, record) for unit in manifest.candidates for record in unit.sets if record.id in curated]
    rows = [
        {
            "network": unit.network,
            "layer": unit.layer,
            "unit": str(unit.channel),
            "image_set": record.number,
            "activation_base": record.pair.base.activation,
            "activation_min": record.pair.minimum.activation,
            "activation_max": record.pair.maximum.activation,
        }
        for unit, record in shown
    ]
    return checked(_table(rows, QUERIES), QUERIES, "queries")


def _networks(config: StudyConfig) -> pd.DataFrame | None:
    """HMS and MSE of the networks, where the configuration gives any."""
    rows = [{"network": network.name, "hms": network.hms, "mse": network.mse} for network in config.networks]
    if all(row["hms"] is None and row["mse"] is None for row in rows):
        return None
    return checked(_table(rows, NETWORKS), NETWORKS, "networks")


def fixed_study(frozen: Frozen, config: StudyConfig) -> Study:
    """What the frozen configuration fixes for the analysis."""
    return Study(
        name=frozen.study,
        config_hash=frozen.sha256,
        equivalence_bound=config.analysis.equivalence_bound,
        seed=config.study.seed,
        exclusions=config.exclusions.model_dump(mode="json"),
        alpha=config.analysis.alpha,
    )


def _table(rows: Sequence[Row], columns: Columns) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=list(columns))


def _first(events: Sequence[Event], kind: str) -> Event | None:
    return next((event for event in events if event.kind == kind), None)


def _seconds(begin: Event | None, end: Event | None) -> float:
    """Between two events by the participant's clock, or the server's where that one was set back; NaN without both."""
    if begin is None or end is None:
        return float("nan")
    own = (end.at_ms - begin.at_ms) / 1000
    return own if own >= 0 else end.received_at - begin.received_at
