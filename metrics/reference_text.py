"""RDMs as text: a square table with labels on both sides, or a list of pairs; and files of labels."""

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from metrics.errors import StimuliError
from metrics.rdm import FloatArray
from metrics.reference_arrays import RawRdms

PAIR_COLUMNS = ("stimulus1", "stimulus2", "dissimilarity")
_OPTIONAL = ("subject", "session")


def read_labels(path: Path) -> tuple[str, ...]:
    """One label a line, UTF-8, blank lines at the end ignored; StimuliError when the file is missing or empty."""
    labels = tuple(line.strip() for line in _text(path).rstrip().splitlines())
    if not labels:
        raise StimuliError(f"{path}: holds no labels; write one a line, in the order of the rows.")
    return labels


def read_csv(path: Path) -> RawRdms:
    """A square table (labels in the header and in the first column; half of it may be blank), or pairs.

    Pairs have the columns stimulus1, stimulus2, dissimilarity and, if there are several RDMs, subject and session.
    The separator is the comma, semicolon or tab that the header has most of. StimuliError with row and column.
    """
    lines = [line for line in _text(path).splitlines() if line.strip()]
    if len(lines) < 2:
        raise StimuliError(f"{path}: {len(lines)} lines; expected a header with labels, and rows.")
    separator = max((",", ";", "\t"), key=lines[0].count)
    header, *rows = ([cell.strip() for cell in row] for row in csv.reader(lines, delimiter=separator))
    columns = [cell.lower() for cell in header]
    if set(PAIR_COLUMNS) <= set(columns):
        return _from_pairs(path, columns, rows)
    return _from_square(path, header, rows)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise StimuliError(f"{path}: no such file. Check the path.") from None
    except OSError as error:
        raise StimuliError(f"{path}: cannot be read: {error.strerror}. Check the path.") from None
    except UnicodeDecodeError as error:
        raise StimuliError(f"{path}: is no UTF-8 text (byte {error.start}). Save it as UTF-8.") from None


def _number(text: str, path: Path, where: str) -> float:
    try:
        return float(text)
    except ValueError:
        hint = " Write decimals with a point." if "," in text else ""
        raise StimuliError(f"{path}: {text!r} ({where}) is no number.{hint}") from None


def _from_square(path: Path, header: Sequence[str], rows: Sequence[Sequence[str]]) -> RawRdms:
    labels = header[1:]
    ragged = next((number for number, row in enumerate(rows, start=2) if len(row) != len(header)), None)
    if ragged is not None or len(rows) != len(labels):
        detail = f"row {ragged} has {len(rows[ragged - 2])} cells, the header {len(header)}" if ragged else "no square"
        raise StimuliError(
            f"{path}: {len(rows)} rows for {len(labels)} labels in the header ({detail}). Expected labels in the "
            f"header and in the first column, or the columns {', '.join(PAIR_COLUMNS)}."
        )
    names = [row[0] for row in rows]
    if sorted(names) != sorted(labels):
        missing, additional = [x for x in labels if x not in names], [x for x in names if x not in labels]
        raise StimuliError(
            f"{path}: header and first column name different stimuli: only the header has {missing[:3]}, only the "
            f"column {additional[:3]}. Both must hold the same labels."
        )
    values = np.array(
        [
            [_number(cell, path, f"row {row[0]!r}, column {label!r}") if cell else np.nan for label, cell in cells]
            for row in rows
            for cells in [list(zip(labels, row[1:], strict=True))]
        ]
    )
    if len(set(names)) == len(names):
        # Columns in the order of the rows, whatever order the header had.
        values = values[:, [labels.index(name) for name in names]]
    values = np.where(np.isnan(values), values.T, values)
    blank = np.isnan(np.diagonal(values))
    values[blank, blank] = 0.0
    return RawRdms(values[None], tuple(names))


def _from_pairs(path: Path, columns: list[str], rows: Sequence[Sequence[str]]) -> RawRdms:
    ragged = next((number for number, row in enumerate(rows, start=2) if len(row) != len(columns)), None)
    if ragged is not None:
        raise StimuliError(
            f"{path}: row {ragged} has {len(rows[ragged - 2])} cells, the header {len(columns)}. Quote cells that "
            "hold the separator."
        )
    unknown = [column for column in columns if column not in PAIR_COLUMNS + _OPTIONAL]
    if unknown:
        raise StimuliError(f"{path}: unknown columns {unknown[:3]}; known: {', '.join(PAIR_COLUMNS + _OPTIONAL)}.")
    place = {column: columns.index(column) for column in columns}
    records = [{column: row[index] for column, index in place.items()} for row in rows]
    ends = [(record["stimulus1"], record["stimulus2"]) for record in records]
    labels = tuple(dict.fromkeys(label for pair in ends for label in pair))
    index = {label: number for number, label in enumerate(labels)}
    rdms: dict[tuple[str, str], FloatArray] = {}
    for line, (record, (first, second)) in enumerate(zip(records, ends, strict=True), start=2):
        value = _number(record["dissimilarity"], path, f"row {line}")
        rdm = rdms.setdefault(
            (record.get("subject", ""), record.get("session", "")),
            np.where(np.eye(len(labels), dtype=bool), 0.0, np.nan),
        )
        i, j = index[first], index[second]
        if i != j and not np.isnan(rdm[i, j]) and rdm[i, j] != value:
            raise StimuliError(
                f"{path}: {first!r}, {second!r} is given twice, as {rdm[i, j]:g} and {value:g} (row {line}). "
                "Several RDMs need a column subject, and session where a person has several."
            )
        rdm[i, j] = rdm[j, i] = value
    _check_complete(path, rdms, labels)
    named = "subject" in place
    return RawRdms(np.stack(list(rdms.values())), labels, tuple(who for who, _ in rdms) if named else None)


def _check_complete(path: Path, rdms: dict[tuple[str, str], FloatArray], labels: tuple[str, ...]) -> None:
    for (subject, session), rdm in rdms.items():
        absent = np.argwhere(np.triu(np.isnan(rdm)))
        if len(absent):
            i, j = absent[0]
            whose = " ".join(part for part in (subject, session) if part)
            raise StimuliError(
                f"{path}{f', {whose}' if whose else ''}: {len(absent)} pairs are missing or not numbers, the first "
                f"is {labels[i]!r}, {labels[j]!r}. Give all pairs, each once."
            )
