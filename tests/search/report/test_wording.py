import math
from typing import Any

import pytest

from search.report import wording


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(1.24, "1.2 s"), (48, "48 s"), (450, "7.5 min"), (11_520, "3.2 h"), (4.1 * 86400, "4.1 d"), (None, "–")],
)
def test_durations_in_the_unit_that_suits(seconds: float | None, text: str) -> None:
    assert wording.duration(seconds) == text


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (wording.number(-0.6464), "−0.646"),
        (wording.number(math.nan), "–"),
        (wording.significant(0.00001), "1e−5"),
        (wording.significant(True), "true"),
        (wording.significant("Lall"), "Lall"),
        (wording.mean_sd(0.106, 0.055), "0.106 (0.055)"),
        (wording.mean_sd(0.106, math.nan), "0.106"),
        (wording.p_value(0.0002), "< 0.001"),
        (wording.p_value(0.0354), "0.035"),
        (wording.interval(-0.851, -0.574), "[−0.85, −0.57]"),
        (wording.interval(math.nan, 1.0), ""),
        (wording.share(0.004), "< 1 %"),
        (wording.share(0.0), "0 %"),
        (wording.share(0.734), "73 %"),
        (wording.moment("2024-01-01T12:00:00.25+00:00"), "2024-01-01 12:00:00 UTC"),
        (wording.moment("yesterday"), "yesterday"),
        (wording.moment(None), "–"),
    ],
)
def test_numbers_as_people_write_them(found: str, text: str) -> None:
    assert found == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"ours": 60, "paper": 100}, "60 (paper 100)"),
        ({"min_epochs": 0, "tolerance": 0.01}, "min epochs 0, tolerance 0.01"),
        ([64, 80], "64 × 80"),
        (None, "–"),
    ],
)
def test_configuration_values_on_one_line(value: Any, text: str) -> None:
    assert wording.flat(value) == text
