"""The tidy tables of a study: what server, simulation, analysis and export share.

A folder of responses holds
    trials.csv         one row a shown trial (`TRIALS`), required
    participants.csv   one row a participant (`PARTICIPANTS`), required
    queries.csv        one row a query pair (`QUERIES`): its activations; optional
    baselines.csv      one row a query pair and baseline (`BASELINES`): what a simple strategy would answer; optional
    networks.csv       one row a network (`NETWORKS`) of a study over networks of a search; optional
    comments.csv       one row a free text (`COMMENTS`), which may name its writer; optional
    study.json         what the frozen configuration fixed for the analysis; optional, see `Study`

A unit is named by `network`, `layer` and `unit` together, a query pair by these and `image_set`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import pandas as pd

from psychophysics.columns import Column, Columns, checked
from psychophysics.config import CONDITIONS
from psychophysics.errors import ResponsesError
from psychophysics.exclusions import Thresholds
from search.atomic import replacing

KINDS = ("instruction", "practice", "catch", "main")
SIDES = ("left", "right")
UNIT = ["network", "layer", "unit"]
QUERY = [*UNIT, "image_set"]

_PARTICIPANT = Column("text", "pseudonym of the participant; no recruiter id")
_QUERY: dict[str, Column] = {
    "network": Column("text", "network that the unit belongs to"),
    "layer": Column("text", "layer of the unit"),
    "unit": Column("text", "channel of the layer"),
    "image_set": Column("integer", "image set of the unit: its references and its query pair", low=0),
}

TRIALS: Columns = {
    "participant": _PARTICIPANT,
    "condition": Column("text", "what the reference images were", choices=CONDITIONS),
    **_QUERY,
    "kind": Column("text", "part of the experiment", choices=KINDS),
    "attempt": Column("integer", "which repetition of the practice block, from 1; 0 outside practice", low=0),
    "position": Column("integer", "place of the trial in the order shown to this participant, from 0", low=0),
    "query_max": Column("text", "id of the query image with the higher activation, the correct one"),
    "query_min": Column("text", "id of the query image with the lower activation"),
    "target_side": Column("text", "side of the image that the unit favours more: the correct answer", choices=SIDES),
    "response_side": Column("text", "side that was chosen", choices=SIDES),
    "confidence": Column("integer", "|button|, equal on both sides: 1 least, 3 most confident", low=1, high=3),
    "correct": Column("truth", "whether the chosen side is the target side"),
    "rt_s": Column("number", "from the trial's rendering to the click", unit="s", low=0),
}

PARTICIPANTS: Columns = {
    "participant": _PARTICIPANT,
    "condition": TRIALS["condition"],
    "instruction_s": Column("number", "time on the instructions", unit="s", low=0, missing=True),
    "total_s": Column("number", "from the first instruction to the last trial", unit="s", low=0, missing=True),
    "practice_attempts": Column("integer", "practice blocks begun; 0 in condition `none`", low=0),
    "finished": Column("truth", "whether the last trial was answered"),
    "withdrawn": Column("truth", "whether consent was withdrawn; the trials are then erased"),
}

QUERIES: Columns = {
    **_QUERY,
    "activation_base": Column("number", "activation of the image without a patch"),
    "activation_min": Column("number", "activation with the patch at the position of minimal activation"),
    "activation_max": Column("number", "activation with the patch at the position of maximal activation"),
}

BASELINES: Columns = {
    "baseline": Column("text", "name of the strategy"),
    **_QUERY,
    "correct": Column("number", "expected correctness: 1 right, 0 wrong, in between undecided", low=0, high=1),
}

NETWORKS: Columns = {
    "network": _QUERY["network"],
    "hms": Column("number", "human-model similarity of the network", low=-1, high=1, missing=True),
    "mse": Column("number", "its next-frame mean squared error", low=0, missing=True),
}

COMMENTS: Columns = {
    "participant": _PARTICIPANT,
    "question": Column("text", "which of the questions at the end"),
    "text": Column("text", "what was written, unchanged: it may name its writer"),
}


@dataclass(frozen=True)
class Study:
    """What was fixed before the data: from study.json.

    equivalence_bound: largest difference of two accuracies that counts as none (a share, 0.05 = 5 points); None where
    the configuration fixed none, and then nothing is tested for equivalence. seed: of the bootstrap. exclusions: limits
    by name as in `psychophysics.exclusions.Thresholds`; those not given have its defaults. alpha: a relation to HMS
    is said to be shown where p is below.
    """

    name: str = "study"
    config_hash: str = ""
    equivalence_bound: float | None = None
    seed: int = 0
    exclusions: Mapping[str, Any] = field(default_factory=dict)
    alpha: float = 0.05

    @property
    def thresholds(self) -> Thresholds:
        """The limits of the exclusion rules; ResponsesError for a name that is none."""
        names = [limit.name for limit in fields(Thresholds)]
        unknown = [name for name in self.exclusions if name not in names]
        if unknown:
            raise ResponsesError(f"study.json: exclusions has `{unknown[0]}`; the limits are {', '.join(names)}.")
        pairs: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in self.exclusions.items()}
        return Thresholds(**pairs)


@dataclass(frozen=True)
class Responses:
    """The checked tables of one study; optional ones are None where the folder has none."""

    trials: pd.DataFrame
    participants: pd.DataFrame
    queries: pd.DataFrame | None = None
    baselines: pd.DataFrame | None = None
    networks: pd.DataFrame | None = None
    comments: pd.DataFrame | None = None
    study: Study = field(default_factory=Study)


def check_trials(trials: pd.DataFrame, columns: Columns = TRIALS) -> pd.DataFrame:
    """The trials with their promised types, or ResponsesError.

    Beyond the columns: `correct` agrees with the sides, and no participant answers a position of a block twice.
    """
    frame = checked(trials, columns, "trials")
    wrong = frame["correct"] != (frame["target_side"] == frame["response_side"])
    if wrong.any():
        row = frame[wrong].iloc[0]
        raise ResponsesError(
            f"trials: `correct` is {row['correct']} for participant {row['participant']} at position "
            f"{row['position']}, but target is {row['target_side']} and response {row['response_side']}."
        )
    _refuse_repeats(frame, ["participant", "kind", "attempt", "position"], "trials")
    return frame


def check_participants(participants: pd.DataFrame, trials: pd.DataFrame) -> pd.DataFrame:
    """The participants with their promised types, or ResponsesError: each once, and all who have trials."""
    frame = checked(participants, PARTICIPANTS, "participants")
    _refuse_repeats(frame, ["participant"], "participants")
    unknown = sorted(set(trials["participant"]) - set(frame["participant"]))
    if unknown:
        raise ResponsesError(f"participants: {unknown[0]} has trials but no row here ({len(unknown)} such).")
    timed = frame["finished"] & ~frame["withdrawn"]
    for name in ("instruction_s", "total_s"):
        if frame.loc[timed, name].isna().any():
            who = frame.loc[timed & frame[name].isna(), "participant"].iloc[0]
            raise ResponsesError(f"participants: {who} has finished but `{name}` is empty; exclusions need it.")
    return frame


def read_responses(folder: Path) -> Responses:
    """Read and check a folder of responses; ResponsesError names the file that is missing or wrong."""
    trials = check_trials(_read(folder / "trials.csv"))
    participants = check_participants(_read(folder / "participants.csv"), trials)
    optional: dict[str, pd.DataFrame] = {}
    for name, columns, key in (
        ("queries", QUERIES, QUERY),
        ("baselines", BASELINES, ["baseline", *QUERY]),
        ("networks", NETWORKS, ["network"]),
        ("comments", COMMENTS, ["participant", "question"]),
    ):
        if (folder / f"{name}.csv").exists():
            optional[name] = checked(_read(folder / f"{name}.csv"), columns, name)
            _refuse_repeats(optional[name], key, name)
    study = _read_study(folder / "study.json")
    return Responses(trials, participants, study=study, **optional)


def write_responses(responses: Responses, folder: Path) -> None:
    """Write the tables as CSV and study.json, each file whole or not at all."""
    names = ("trials", "participants", "queries", "baselines", "networks", "comments")
    tables = {name: getattr(responses, name) for name in names}
    for name, table in tables.items():
        if table is not None:
            with replacing(folder / f"{name}.csv") as temporary:
                table.to_csv(temporary, index=False, lineterminator="\n")
    with replacing(folder / "study.json") as temporary:
        temporary.write_text(json.dumps(vars(responses.study), indent=1) + "\n", encoding="utf-8")


def _read(path: Path) -> pd.DataFrame:
    if not path.is_file():
        raise ResponsesError(
            f"No {path.name} in {path.parent}; a folder of responses has trials.csv, participants.csv."
        )
    try:
        return pd.read_csv(path, dtype=str, keep_default_na=False)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise ResponsesError(f"{path} is not a CSV table: {error}") from error


def _read_study(path: Path) -> Study:
    if not path.exists():
        return Study()
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, UnicodeDecodeError) as error:
        raise ResponsesError(f"{path} is not JSON: {error}") from error
    known = {name: found[name] for name in vars(Study()) if name in found}
    study = Study(**known)
    bound = study.equivalence_bound
    if bound is not None and not (isinstance(bound, int | float) and 0 < bound < 1):
        raise ResponsesError(f"{path}: equivalence_bound is {bound!r}; it is a share between 0 and 1, such as 0.05.")
    if not (isinstance(study.alpha, int | float) and 0 < study.alpha < 1):
        raise ResponsesError(f"{path}: alpha is {study.alpha!r}; it is a share between 0 and 1, such as 0.05.")
    return study


def _refuse_repeats(frame: pd.DataFrame, key: list[str], table: str) -> None:
    again = frame[frame.duplicated(key)]
    if len(again):
        shown = ", ".join(f"{name} {again.iloc[0][name]}" for name in key)
        raise ResponsesError(f"{table}: {shown} is there twice ({len(again)} such rows).")
