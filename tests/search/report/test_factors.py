import numpy as np
import pandas as pd

from search.report.factors import Factor, factors

FRAME = pd.DataFrame(
    {
        "param.rate": [0.1, 0.01, 0.1, 0.001],
        "param.flag": [True, False, True, False],
        "param.loss": ["Lall", "L0", "Lall", "L0"],
        "param.kind": ["b", "a", "c", "a"],
        "param.one": ["x"] * 4,
        "param.some": [1.0, None, 3.0, None],
        "epochs_trained": [5.0, 10.0, 5.0, 20.0],
    }
)


def found(frame: pd.DataFrame = FRAME) -> dict[str, Factor]:
    return {factor.name: factor for factor in factors(frame)}


def test_numbers_and_flags_are_columns_as_they_are() -> None:
    assert list(found()["param.rate"].columns["param.rate"]) == [0.1, 0.01, 0.1, 0.001]
    assert list(found()["param.flag"].columns["param.flag"]) == [1, 0, 1, 0]
    assert list(found()["epochs_trained"].columns["epochs_trained"]) == [5, 10, 5, 20]


def test_two_categories_are_0_and_1_and_said_to_be() -> None:
    loss = found()["param.loss"]
    assert list(loss.columns["param.loss"]) == [1, 0, 1, 0]
    assert (loss.coding, loss.why_not) == ("L0 = 0, Lall = 1", "")


def test_more_categories_have_no_order_but_an_indicator_each() -> None:
    kind = found()["param.kind"]
    assert {name: list(column) for name, column in kind.columns.items()} == {
        "param.kind=b": [1, 0, 0, 0],
        "param.kind=c": [0, 0, 1, 0],
    }
    assert kind.why_not == "categories without an order: a, b, c"


def test_one_category_is_constant() -> None:
    one = found()["param.one"]
    assert np.ptp(one.columns["param.one"]) == 0 and one.why_not == ""


def test_missing_values_are_counted() -> None:
    assert found()["param.some"] == Factor("param.some", why_not="not given for 2 of 4")
    assert {factor.why_not for factor in factors(FRAME.head(0))} == {"no networks"}
