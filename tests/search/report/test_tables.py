import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from search.errors import UsageError
from search.report.tables import read_tables

WriteTables = Callable[..., Path]


def test_loads_from_the_tables_or_the_folder_above(write_tables: WriteTables) -> None:
    folder = write_tables(trials=6)
    for place in (folder, folder.parent):
        tables = read_tables(place)
        assert tables.record.name == "invented"
        assert list(tables.trials["tid"]) == list(range(6))
        assert "param.learning_rate" in tables.parameters


def test_parquet_and_csv_load_alike(write_tables: WriteTables) -> None:
    folder = write_tables(trials=12, parquet=True, diverged=1, failed=1, unfinished=2)
    with_parquet = read_tables(folder)
    for name in ("trials", "epochs"):
        (folder / f"{name}.parquet").unlink()
    without = read_tables(folder)
    read = ["tid", "state", "finish", "reason", "hms", "hms_status", "mse", "accuracy", "seconds", "error", "unmoved"]
    pd.testing.assert_frame_equal(with_parquet.trials[read], without.trials[read], check_dtype=False)
    read = ["tid", "epoch", "hms", "mse", "mse_previous_frame", "accuracy"]
    pd.testing.assert_frame_equal(with_parquet.epochs[read], without.epochs[read], check_dtype=False)


def test_text_is_never_nan_and_infinity_is_no_number(write_tables: WriteTables) -> None:
    folder = write_tables(trials=4, failed=1)
    trials = pd.read_csv(folder / "trials.csv")
    trials.loc[0, "mse"] = np.inf
    trials.to_csv(folder / "trials.csv", index=False)
    loaded = read_tables(folder).trials
    assert np.isnan(loaded.loc[0, "mse"])
    assert loaded.loc[0, "error"] == ""
    assert loaded["unmoved"].dtype == bool


def test_a_folder_without_a_search_names_the_command(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"search\.json is missing.*hms export"):
        read_tables(tmp_path)


def test_a_missing_table_or_column_is_named(write_tables: WriteTables) -> None:
    folder = write_tables(trials=4)
    trials = pd.read_csv(folder / "trials.csv")
    trials.drop(columns=["hms_status", "seconds"]).to_csv(folder / "trials.csv", index=False)
    with pytest.raises(UsageError, match="lacks the columns hms_status, seconds"):
        read_tables(folder)
    (folder / "trials.csv").unlink()
    with pytest.raises(UsageError, match=r"neither trials\.parquet nor trials\.csv"):
        read_tables(folder)


@pytest.mark.parametrize("text", ["{", "[]", "{}"])
def test_a_broken_record_is_refused(write_tables: WriteTables, text: str) -> None:
    folder = write_tables(trials=2)
    (folder / "search.json").write_text(text)
    with pytest.raises(UsageError, match="hms export"):
        read_tables(folder)


def test_unknown_keys_and_nulls_of_the_record_are_ignored(write_tables: WriteTables) -> None:
    folder = write_tables(trials=2)
    raw = json.loads((folder / "search.json").read_text()) | {"later": 1, "noise_ceiling": None}
    (folder / "search.json").write_text(json.dumps(raw))
    assert read_tables(folder).record.noise_ceiling == {}


@pytest.mark.parametrize(
    ("changes", "chance"),
    [({}, 1 / 50), ({"config": {"metrics": {"matching": {"gallery": 20}}}}, 1 / 20), ({"config": {}}, 1 / 50)],
)
def test_chance_is_one_of_the_gallery(write_tables: WriteTables, changes: dict[str, object], chance: float) -> None:
    assert read_tables(write_tables(trials=2, record=changes)).record.chance_accuracy == chance
