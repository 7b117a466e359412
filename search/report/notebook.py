"""What a notebook loads: the tables and RDMs of a search as data frames, by the path of its folder."""

from pathlib import Path
from typing import Literal

import pandas as pd

from search.errors import UsageError
from search.report.artifacts import read_brain, read_rdm
from search.report.tables import read_tables


def load(path: Path | str, table: Literal["trials", "epochs"] = "trials") -> pd.DataFrame:
    """One row a trial, or, with `table="epochs"`, one row an evaluated epoch of a trial.

    `path`: `results/NAME` after `hms run`, `hms report` or `hms export`, or any folder of exported tables. Of a trial:
    `tid`, `state`, `finish`, its hyperparameters as `param.NAME`, and its metrics at the last evaluation, NaN where
    undefined (`hms_status` and so on say why).

    Raises `UsageError` naming what is missing and the command that writes it.
    """
    tables = read_tables(path)
    if table not in ("trials", "epochs"):
        raise UsageError(f"table is {table!r}: expected 'trials' or 'epochs'")
    return tables.trials if table == "trials" else tables.epochs


def load_rdm(path: Path | str, tid: int | None = None) -> pd.DataFrame:
    """The RDM of a trial's last network, or the human one: dissimilarities (1 - Pearson) from 0 to 2, labels both ways.

    Raises `UsageError` where there is none: a trial that is not finished, or whose network has no HMS.
    """
    tables = read_tables(path)
    brain = read_brain(tables)
    if brain is None:
        raise UsageError(f"{tables.directory} holds no brain.npz. Write it again: `hms export {tables.record.name}`")
    rdm = brain.rdm if tid is None else read_rdm(tables, tid, brain.labels)
    if rdm is None:
        have = sorted(int(folder.name) for folder in (tables.directory / "trials").glob("[0-9]*"))
        known = f"RDMs are there of trials {', '.join(map(str, have))}" if have else "no trial has one"
        raise UsageError(f"{tables.directory} holds no RDM of trial {tid}: {known}.")
    return pd.DataFrame(rdm, index=brain.labels, columns=brain.labels)
