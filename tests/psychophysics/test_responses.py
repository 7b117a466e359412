"""The tidy tables: round trip through files, and what is refused."""

from pathlib import Path

import pandas as pd
import pytest

from psychophysics.columns import data_dictionary
from psychophysics.errors import ResponsesError
from psychophysics.responses import (
    PARTICIPANTS,
    TRIALS,
    Responses,
    Study,
    check_participants,
    check_trials,
    read_responses,
    write_responses,
)


def test_written_tables_are_read_back(tmp_path: Path, make_trials, make_participants) -> None:
    trials = check_trials(make_trials("007", "natural", [True, False, True], unit=["01", "2", "x,y"]))
    participants = check_participants(make_participants({"007": "natural"}), trials)
    study = Study("demo", "abc", 0.05, 3)
    write_responses(Responses(trials, participants, study=study), tmp_path)
    found = read_responses(tmp_path)
    pd.testing.assert_frame_equal(found.trials, trials)
    pd.testing.assert_frame_equal(found.participants, participants)
    assert found.trials["participant"].iloc[0] == "007" and found.trials["unit"].iloc[0] == "01"
    assert found.study == study and found.queries is None


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("confidence", 4, r"`confidence`, row 2: '4' must be at most 3 \(1 such rows\)"),
        ("confidence", 1.5, "must be a whole number"),
        ("rt_s", float("nan"), r"`rt_s`, row 2: empty must have a value"),
        ("rt_s", -0.1, "must be at least 0 s"),
        ("rt_s", float("inf"), "must be a finite number"),
        ("condition", "optimized", "'optimized' must be one of natural, synthetic, mixed, blurred, none"),
        ("correct", "perhaps", "must be true or false"),
        ("correct", True, "but target is right and response left"),
        ("position", 0, "participant p, kind main, attempt 0, position 0 is there twice"),
    ],
)
def test_a_wrong_cell_is_named(make_trials, column: str, value: object, message: str) -> None:
    trials = make_trials("p", "natural", [True, False])
    trials[column] = trials[column].astype(object)
    trials.loc[1, column] = value
    with pytest.raises(ResponsesError, match=message):
        check_trials(trials)


def test_a_missing_column_and_a_missing_file_are_named(tmp_path: Path, make_trials) -> None:
    with pytest.raises(ResponsesError, match="trials: column `rt_s` is missing"):
        check_trials(make_trials("p", "natural", [True]).drop(columns="rt_s"))
    with pytest.raises(ResponsesError, match=r"No trials\.csv in .*participants\.csv"):
        read_responses(tmp_path)


def test_participants_without_a_row_or_without_times_are_named(make_trials, make_participants) -> None:
    trials = check_trials(make_trials("p", "natural", [True]))
    with pytest.raises(ResponsesError, match="p has trials but no row here"):
        check_participants(make_participants({"q": "natural"}), trials)
    with pytest.raises(ResponsesError, match="p has finished but `total_s` is empty"):
        check_participants(make_participants({"p": "natural"}, total_s=None), trials)
    dropped_out = make_participants({"p": "natural"}, total_s=None, finished=False)
    assert check_participants(dropped_out, trials)["total_s"].isna().all()


def test_a_bound_that_is_no_share_is_refused(tmp_path: Path, make_trials, make_participants) -> None:
    trials, participants = make_trials("p", "natural", [True]), make_participants({"p": "natural"})
    write_responses(Responses(trials, participants, study=Study(equivalence_bound=5)), tmp_path)
    with pytest.raises(ResponsesError, match="equivalence_bound is 5; it is a share between 0 and 1"):
        read_responses(tmp_path)


def test_the_dictionary_says_unit_range_and_values() -> None:
    words = data_dictionary(TRIALS)
    assert words["rt_s"]["unit"] == "s" and words["rt_s"]["minimum"] == 0
    assert words["confidence"] == {
        "type": "integer",
        "description": "|button|, equal on both sides: 1 least, 3 most confident",
        "minimum": 1,
        "maximum": 3,
    }
    assert words["kind"]["values"] == ["instruction", "practice", "catch", "main"]
    assert data_dictionary(PARTICIPANTS)["total_s"]["may_be_empty"] is True
