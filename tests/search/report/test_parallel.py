from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from search.report import analyse, read_tables
from search.report.figures import importance as shares
from search.report.figures import parallel
from search.report.figures.style import print_settings
from search.report.sample import networks

WriteTables = Callable[..., Path]


def test_every_axis_varies_and_lines_cross_it_at_their_value(write_tables: WriteTables) -> None:
    sample = networks(read_tables(write_tables(trials=30, constant=("batch_size",))))
    drawn = parallel.prepare(sample)
    assert drawn is not None
    axes = {axis.title: axis for axis in drawn.axes}
    assert list(axes) == ["planned epochs", "train sequences", "learning rate", "filter size A1", "filter size R1",
                          "loss", "HMS", "MSE", "Accuracy"]  # fmt: skip
    np.testing.assert_allclose(10.0 ** axes["learning rate"].places, sample.frame["param.learning_rate"].astype(float))
    assert axes["learning rate"].texts == ["1e−5", "0.0001", "0.001", "0.01"]
    np.testing.assert_array_equal(axes["train sequences"].places, sample.frame["param.train_sequences"])
    assert (axes["loss"].texts, axes["loss"].ticks) == (["L0", "Lall"], [0.0, 1.0])
    np.testing.assert_array_equal(axes["loss"].places, sample.frame["param.loss"] == "Lall")
    np.testing.assert_array_equal(drawn.colour, sample.frame["hms"])
    dimensions = parallel.interactive(drawn)["data"][0]["dimensions"]
    assert [len(dimension["values"]) for dimension in dimensions] == [30] * 9
    with print_settings():
        ax = parallel.printed(drawn).axes[0]
    paths = [path.vertices for lines in ax.collections for path in lines.get_paths()]
    assert len(paths) == 30 and all(path[:, 0].tolist() == list(range(9)) for path in paths)
    # From the worst to the best: the last axis but two is the HMS, which is the colour.
    expected = np.sort((drawn.colour - drawn.colour.min()) / np.ptp(drawn.colour))
    np.testing.assert_allclose([path[6, 1] for path in paths], expected)
    assert [len(lines.get_paths()) for lines in ax.collections] == [20, 10]


@pytest.mark.parametrize("options", [{"trials": 0, "artifacts": 0}, {"trials": 1}, {"trials": 4, "diverged": 4}])
def test_nothing_to_draw_is_none(write_tables: WriteTables, options: dict) -> None:
    assert parallel.prepare(networks(read_tables(write_tables(**options)))) is None


def test_marks_of_importance_stand_at_their_shares(write_tables: WriteTables) -> None:
    analysis = analyse(read_tables(write_tables(trials=30)))
    table = analysis.importance
    drawn = shares.prepare(table, analysis.tables.metrics)
    assert drawn is not None
    largest = table.groupby("hyperparameter")["share"].max().sort_values(ascending=False)
    assert drawn.order == list(largest.index) and drawn.order[0] == "param.learning_rate"
    traces = shares.interactive(drawn)["data"]
    assert [trace["name"] for trace in traces] == ["HMS", "MSE", "Accuracy"]
    with print_settings():
        ax = shares.printed(drawn).axes[0]
    assert next(text.get_text() for text in ax.get_yticklabels()) == "learning rate"
    plotted = ax.containers[0].lines[0].get_xydata()
    rows = table[table["metric"] == "hms"].set_index("hyperparameter")["share"]
    for name, (x, y) in zip(rows.index, plotted, strict=True):
        assert x == pytest.approx(rows[name]) and round(y) == drawn.order.index(name)
    assert shares.prepare(pd.DataFrame({"share": [np.nan]}), analysis.tables.metrics) is None
