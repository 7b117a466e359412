"""A page for each trial beside the report: curves, parameters, how it ran, the end of its log, predicted frames.

Pages are small: curves are SVG, style and pictures are files beside them, and none has a script. What did not change is
not written again. In a large search only some trials have one.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
import pandas as pd
from markupsafe import Markup
from numpy.typing import NDArray

from search.atomic import replacing
from search.printable import printable
from search.report import wording
from search.report.artifacts import best_networks, log_tail, predictions_file, read_predictions
from search.report.figures import frames
from search.report.figures.matrix import label
from search.report.figures.trial_curves import LOSSES, Panel, panels
from search.report.palette import FINISH_SYMBOLS
from search.report.tables import SearchTables
from search.report.templates import environment, style
from search.report.wording import NOTHING, duration, moment, number, significant

FOLDER = "trials"
FAILED = ("diverged", "collapsed")
MOST_PAGES = 500
SHARE_OF_FAILED = 0.2
FRAMES_OF_BEST = 100
"""So many of the best by HMS have their predicted frames shown: a picture takes a tenth of a second."""
LOG_LINES = 60


@dataclass(frozen=True)
class _Site:
    """What all pages of a report have in common."""

    tables: SearchTables
    template: jinja2.Template
    panels: list[Panel]
    columns: list[tuple[str, str, int | None]]
    evaluations: dict[str, list[Any]]
    rows: dict[int, range]
    ranks: dict[int, int]
    with_frames: frozenset[int]


def paged_trials(tables: SearchTables, most: int = MOST_PAGES) -> list[int]:
    """Tids of the trials that get a page, in order: all, or `most` of them: some that failed and the best by HMS."""
    tids = [int(tid) for tid in tables.trials["tid"]]
    if len(tids) <= most:
        return tids
    failed = tables.trials[(tables.trials["state"] == "ERROR") | tables.trials["finish"].isin(FAILED)]
    chosen = dict.fromkeys(int(tid) for tid in failed["tid"].head(int(most * SHARE_OF_FAILED)))
    chosen |= dict.fromkeys([*best_networks(tables, "hms", len(tids)), *tids])
    return sorted(list(chosen)[:most])


def write_trial_pages(tables: SearchTables, tids: list[int], out: Path) -> None:
    """Write `out`/trials/NNNNNN.html for these trials, and what they share."""
    folder, site = out / FOLDER, _site(tables)
    _write(folder / "style.css", style())
    rows = {int(row["tid"]): row for row in tables.trials.to_dict("records")}
    for previous, tid, following in zip([None, *tids], tids, [*tids[1:], None], strict=False):
        links = {"previous": previous, "following": following}
        _write(folder / name(tid), site.template.render(_context(site, rows[tid], folder) | links))


def _site(tables: SearchTables) -> _Site:
    ranked = best_networks(tables, "hms", len(tables.trials))
    columns = _columns(tables)
    drawn = panels(tables)
    starts = np.searchsorted(tables.epochs["tid"], tables.trials["tid"], side="left")
    ends = np.searchsorted(tables.epochs["tid"], tables.trials["tid"], side="right")
    # Lists, since picking rows from a table for each trial takes longer than all the rest.
    needed = dict.fromkeys([*(key for _, key, _ in columns), *(panel.name for panel in drawn)])
    return _Site(
        tables=tables,
        template=environment().get_template("trial.html.j2"),
        panels=drawn,
        columns=columns,
        evaluations={key: tables.epochs[key].astype(float).tolist() for key in needed},
        rows={int(tid): range(*span) for tid, *span in zip(tables.trials["tid"], starts, ends, strict=True)},
        ranks={tid: rank for rank, tid in enumerate(ranked, 1)},
        with_frames=frozenset(ranked[:FRAMES_OF_BEST]),
    )


def name(tid: int) -> str:
    """The file of a trial's page."""
    return f"{tid:06d}.html"


def _context(site: _Site, row: dict[Any, Any], folder: Path) -> dict[str, Any]:
    tables, tid = site.tables, int(row["tid"])
    rows = site.rows[tid]

    def values(key: str) -> NDArray[np.float64]:
        return np.array(site.evaluations[key][rows.start : rows.stop], dtype=np.float64)

    drawn = [(panel.title, panel.draw(values("epoch"), values(panel.name), tid)) for panel in site.panels]
    return {
        "record": tables.record,
        "tid": tid,
        "name": name,
        "state": row["finish"] or row["state"],
        "cards": _cards(site, row),
        "curves": [(title, svg) for title, svg in drawn if svg],
        "parameters": [(label(key), significant(row[key])) for key in tables.parameters],
        "facts": [(key, value) for key, value in _facts(row) if value and value != NOTHING],
        "error": printable(row["error"].strip()),
        "header": [title for title, *_ in site.columns],
        "evaluations": Markup("\n").join(_evaluation(site, row) for row in rows),
        "log": printable("\n".join(log_tail(tables, tid, LOG_LINES))),
        "log_lines": LOG_LINES,
        "rerun": tables.record.rerun_trial(tid),
        "strips": list(_pictures(site, tid, folder)),
        "wording": wording,
    }


def _cards(site: _Site, row: dict[Any, Any]) -> list[dict[str, str]]:
    tables = site.tables
    rank = site.ranks.get(int(row["tid"]))
    place = f"place {rank} of {len(site.ranks)} by HMS" if rank else ""
    found = []
    for key, metric in tables.metrics.items():
        why = row[f"{key}_status"].removeprefix("undefined_").replace("_", " ")
        note = place if key == "hms" else metric.direction
        value = number(row[key], metric.digits)
        found.append({"name": metric.short, "value": value, "note": note if value != NOTHING else why})
    planned = f"of {number(row['epochs_planned'], 0)} planned"
    return [*found, {"name": "Epochs trained", "value": number(row["epochs_trained"], 0), "note": planned}]


def _facts(row: dict[Any, Any]) -> list[tuple[str, str]]:
    """How it ran; columns that an export lacks are left out."""
    known = {key: value for key, value in row.items() if pd.notna(value)}
    finish = FINISH_SYMBOLS[row["finish"]][2] if row["finish"] in FINISH_SYMBOLS else row["finish"]
    return [
        ("State", row["state"]),
        ("Finish", finish),
        ("Reason", row["reason"]),
        ("Flag", "unmoved: it never left the HMS of the untrained state" if row["unmoved"] else ""),
        ("Stable from epoch", number(known.get("stable_epoch"), 0)),
        ("Best validation at epoch", number(known.get("best_epoch"), 0)),
        ("Parameters of the network", f"{known['n_parameters']:,.0f}" if "n_parameters" in known else ""),
        ("Sampled point", number(known.get("point"), 0)),
        ("Replicate", number(known.get("replicate"), 0)),
        ("Attempts", number(known.get("attempts"), 0)),
        ("Pre-emptions", number(known.get("preemptions"), 0)),
        ("Worker", str(known.get("owner", ""))),
        ("Device", " ".join(part for part in (row["device"], row["precision"]) if part)),
        ("CPU threads", number(known.get("threads"), 0)),
        ("Started", moment(str(known.get("book_time", "")))),
        ("Ended", moment(str(known.get("end_time", "")))),
        ("Time", duration(row["seconds"])),
    ]


def _columns(tables: SearchTables) -> list[tuple[str, str, int | None]]:
    """Title, column and digits (None: four significant ones) of the table of evaluations."""
    columns: list[tuple[str, str, int | None]] = [("Epoch", "epoch", 0)]
    columns += [(metric.short, key, metric.digits) for key, metric in tables.metrics.items()]
    columns += [(title, key, None) for key, title in LOSSES.items()]
    columns += [("SD of the window", "window_sd", 4), ("Attempt", "attempt", 0)]
    return [column for column in columns if column[1] in tables.epochs]


def _evaluation(site: _Site, row: int) -> Markup:
    """A row of the table of evaluations; numbers need no escaping."""
    cells = ((site.evaluations[key][row], digits) for _, key, digits in site.columns)
    texts = (significant(value, 4) if digits is None else number(value, digits) for value, digits in cells)
    return Markup("<tr>" + "".join(f'<td class="n">{text}</td>' for text in texts) + "</tr>")


def _pictures(site: _Site, tid: int, folder: Path) -> Iterator[dict[str, Any]]:
    """The first strip of predicted frames, written beside the page when it is not there or older than its numbers."""
    source = predictions_file(site.tables, tid)
    if tid not in site.with_frames or not source.exists():
        return
    strips = frames.prepare(read_predictions(site.tables, tid))
    for strip in strips[:1]:
        picture = folder / f"{tid:06d}.png"
        if not picture.exists() or picture.stat().st_mtime < source.stat().st_mtime:
            with replacing(picture) as temporary:
                temporary.write_bytes(frames.png(strip))
        height, width = strip.image.shape[:2]
        yield {"file": picture.name, "clip": strip.clip, "mse": strip.mse, "previous": strip.mse_previous_frame} | {
            "width": width, "height": height, "steps": strip.steps
        }  # fmt: skip


def _write(path: Path, text: str) -> None:
    try:
        if path.read_text(encoding="utf-8") == text:
            return
    except (OSError, UnicodeDecodeError):
        pass  # not there, or not whole
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
