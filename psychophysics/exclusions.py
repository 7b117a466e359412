"""Whose data are left out of the analysis, and why: pure functions of the tidy tables, recomputable at any time.

Excluded participants are paid all the same; their place is filled again. Rules of Zimmermann, Borowski et al. (2021).
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

COLUMNS = ["participant", "condition", "rule", "value", "limit", "reason"]


@dataclass(frozen=True)
class Thresholds:
    """Limits that are still accepted; seconds. Pairs are (lowest, highest)."""

    practice_attempts: int = 5
    catch_correct: int = 2
    rarer_side: int = 1
    instruction_seconds: float = 20.0
    instruction_seconds_none: float = 15.0
    total_seconds: tuple[float, float] = (90.0, 900.0)
    total_seconds_none: tuple[float, float] = (40.0, 900.0)


def exclusions(trials: pd.DataFrame, participants: pd.DataFrame, thresholds: Thresholds = Thresholds()) -> pd.DataFrame:
    """One row for each rule that a finished participant breaks; columns `COLUMNS`, in the order of `participants`.

    `practice`: at most so many attempts, and the last one without an error. `catch`: so many catch trials correct.
    `side`: so many main trials answered on the rarer side; both only of those who came that far. `instruction`,
    `total`: time. Participants who did not finish or withdrew are no exclusions; they are not in the result and not in
    `accepted`.
    """
    groups = dict(iter(trials.groupby("participant")))
    rows: list[dict[str, object]] = []
    finished = participants[participants["finished"] & ~participants["withdrawn"]]
    for person in finished.to_dict("records"):
        own = groups.get(person["participant"], trials.iloc[:0])
        rows += [
            {"participant": person["participant"], "condition": person["condition"]} | broken
            for broken in (*_by_answers(own, person, thresholds), *_by_time(person, thresholds))
        ]
    return pd.DataFrame(rows, columns=COLUMNS)


def accepted(participants: pd.DataFrame, excluded: pd.DataFrame) -> list[str]:
    """Names of those who finished, did not withdraw and broke no rule of `excluded`."""
    kept = participants["finished"] & ~participants["withdrawn"]
    kept &= ~participants["participant"].isin(set(excluded["participant"]))
    return list(participants.loc[kept, "participant"])


def pass_rates(participants: pd.DataFrame, excluded: pd.DataFrame) -> pd.DataFrame:
    """Of each rule: how many of the finished break it, how many finished, and the share that passes."""
    finished = int((participants["finished"] & ~participants["withdrawn"]).sum())
    broken = excluded["rule"].value_counts()
    rows = [
        {"rule": rule, "broken": int(broken.get(rule, 0)), "finished": finished}
        for rule in ("practice", "catch", "side", "instruction", "total")
    ]
    table = pd.DataFrame(rows)
    return table.assign(passed=1 - table["broken"] / finished if finished else float("nan"))


def _by_answers(trials: pd.DataFrame, person: Mapping[Hashable, Any], limits: Thresholds) -> list[dict[str, object]]:
    broken = []
    attempts = int(person["practice_attempts"])
    practice = trials[trials["kind"] == "practice"]
    last = practice[practice["attempt"] == practice["attempt"].max()]
    if attempts > limits.practice_attempts:
        text = f"{attempts} practice attempts, more than {limits.practice_attempts}"
        broken.append(_row("practice", attempts, limits.practice_attempts, text))
    elif len(last) and not last["correct"].all():
        text = f"practice not passed: {int(last['correct'].sum())} of {len(last)} correct in attempt {attempts}"
        broken.append(_row("practice", attempts, limits.practice_attempts, text))
    if broken and not trials["kind"].isin(["main", "catch"]).any():
        return broken  # the study ended with the practice: no other trials were shown
    catch = trials[trials["kind"] == "catch"]
    correct = int(catch["correct"].sum())
    if correct < limits.catch_correct:
        text = f"{correct} of {len(catch)} catch trials correct, fewer than {limits.catch_correct}"
        broken.append(_row("catch", correct, limits.catch_correct, text))
    sides = trials.loc[trials["kind"] == "main", "response_side"].value_counts()
    rarer = int(min(sides.get("left", 0), sides.get("right", 0)))
    if rarer < limits.rarer_side:
        text = f"{rarer} of {int(sides.sum())} answers on the rarer side, fewer than {limits.rarer_side}"
        broken.append(_row("side", rarer, limits.rarer_side, text))
    return broken


def _by_time(person: Mapping[Hashable, Any], limits: Thresholds) -> list[dict[str, object]]:
    without = person["condition"] == "none"
    shortest = limits.instruction_seconds_none if without else limits.instruction_seconds
    low, high = limits.total_seconds_none if without else limits.total_seconds
    instruction, total = float(person["instruction_s"]), float(person["total_s"])
    broken = []
    if instruction < shortest:
        text = f"{instruction:.1f} s on the instructions, less than {shortest:g} s"
        broken.append(_row("instruction", instruction, shortest, text))
    if total < low:
        broken.append(_row("total", total, low, f"{total:.1f} s in total, less than {low:g} s"))
    if total > high:
        broken.append(_row("total", total, high, f"{total:.1f} s in total, more than {high:g} s"))
    return broken


def _row(rule: str, value: float, limit: float, reason: str) -> dict[str, object]:
    return {"rule": rule, "value": float(value), "limit": float(limit), "reason": reason}
