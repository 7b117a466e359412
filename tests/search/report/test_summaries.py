import numpy as np
import pandas as pd
import pytest

from search.report.sample import Sample
from search.report.summaries import group_sizes, table_1


def sample_of(hms: list[float]) -> Sample:
    frame = pd.DataFrame({"tid": range(len(hms)), "hms": hms})
    frame["mse"], frame["accuracy"] = 1 - frame["hms"], frame["hms"] / 2
    return Sample(frame, "network", ("hms", "mse", "accuracy"), (), "", False)


def cell(table: pd.DataFrame, group: str, metric: str) -> pd.Series:
    return table[(table["group"] == group) & (table["metric"] == metric)].iloc[0]


def test_means_and_deviations_by_hand() -> None:
    hms = [i / 100 for i in range(30)]
    table = table_1(sample_of(hms))
    for group, members in (("all", hms), ("top", hms[20:]), ("bottom", hms[:10])):
        row = cell(table, group, "hms")
        assert row["n"] == len(members)
        assert row["mean"] == pytest.approx(np.mean(members))
        assert row["sd"] == pytest.approx(np.std(members, ddof=1))
        assert cell(table, group, "mse")["mean"] == pytest.approx(1 - np.mean(members))


def test_ties_are_taken_in_order_of_tid() -> None:
    table = table_1(sample_of([0.1] * 10 + [0.2] * 15))
    assert cell(table, "top", "hms")["mean"] == pytest.approx(0.2)
    assert cell(table, "bottom", "hms")["mean"] == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("n", "expected"),
    [(95, (10, "10")), (20, (10, "10")), (19, (9, "9 of 19")), (3, (1, "1 of 3")), (1, (0, "0 of 1"))],
)
def test_small_groups_are_called_what_they_are(n: int, expected: tuple[int, str]) -> None:
    assert group_sizes(n) == expected


def test_one_network_has_no_deviation_and_no_groups() -> None:
    table = table_1(sample_of([0.12]))
    assert set(table["group"]) == {"all"}
    assert cell(table, "all", "hms")["mean"] == pytest.approx(0.12)
    assert np.isnan(cell(table, "all", "hms")["sd"])


def test_no_network_gives_empty_cells() -> None:
    table = table_1(sample_of([]))
    assert set(table["n"]) == {0}
    assert table["mean"].isna().all()


def test_the_papers_accuracy_stands_converted() -> None:
    table = table_1(sample_of([i / 100 for i in range(30)]))
    assert cell(table, "all", "accuracy")["paper_mean"] == pytest.approx(0.1715, abs=1e-4)
    assert "converted from 0.367" in cell(table, "all", "accuracy")["paper_note"]
    assert np.isnan(cell(table, "bottom", "accuracy")["paper_mean"])
    assert cell(table, "top", "hms")["paper_mean"] == 0.178


def test_its_own_protocol_is_not_converted_and_an_adaptive_sample_not_compared() -> None:
    sample = sample_of([i / 100 for i in range(30)])
    own = table_1(sample, legacy=True)
    assert cell(own, "all", "accuracy")[["paper_mean", "paper_sd", "paper_note"]].tolist() == [0.367, 0.134, ""]
    assert cell(own, "bottom", "accuracy")["paper_mean"] == 0.13
    adaptive = table_1(sample, compare=False)
    assert adaptive["paper_mean"].isna().all() and set(adaptive["paper_note"]) == {"no comparison: not a random sample"}
