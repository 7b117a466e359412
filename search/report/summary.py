"""The first screen: four key numbers, what ran, and the best networks."""

from typing import Any

from search.report.analysis import Analysis
from search.report.artifacts import best_networks
from search.report.figures.matrix import label
from search.report.palette import FINISH_SYMBOLS
from search.report.record import SearchRecord
from search.report.tables import SearchTables
from search.report.wording import NOTHING, duration, flat, moment, number, share, significant

BEST_LISTED = 5
_STABLE = ("window", "tolerance", "ddof", "min_epochs")
SHOWN = {False: _STABLE, True: (*_STABLE, "threshold", "threshold_sd", "threshold_after")}


def cards(analysis: Analysis) -> list[dict[str, str]]:
    """Key numbers: name, value, note."""
    account, done = analysis.account, analysis.tables.finished
    planned = f"of {account.planned_trials} planned" if account.planned_trials else "no number planned"
    best = analysis.ranking[0] if analysis.ranking else None
    untrained = account.epochs_untrained
    part = f"{share(untrained / account.epochs_planned)} of planned epochs" if account.epochs_planned else ""
    hours = account.device_seconds
    return [
        {"name": "Networks finished", "value": str(account.done), "note": planned},
        {"name": "Best HMS", "value": number(done["hms"].max()), "note": f"trial {best}" if best is not None else ""},
        *(_best_beside(analysis, column) for column in analysis.compared.beside if column in analysis.tables.metrics),
        {"name": "Epochs left untrained", "value": f"{untrained:,}", "note": part},
        {"name": "Device time", "value": duration(hours), "note": f"wall time {duration(account.wall_seconds)}"},
    ]


def _best_beside(analysis: Analysis, column: str) -> dict[str, str]:
    best = best_networks(analysis.tables, column, 1)
    value = analysis.tables.finished[column].max()
    name = analysis.tables.metrics[column].short
    return {"name": f"Best {name}", "value": number(value), "note": f"trial {best[0]}" if best else ""}


def facts(analysis: Analysis) -> list[tuple[str, str]]:
    """What ran, on what, for how long; only what the export knows."""
    record, account = analysis.tables.record, analysis.account
    stopping = {
        key: value
        for key, value in record.stopping.items()
        if value is not None and key in SHOWN[record.stopping_rule == "threshold"]
    }
    if record.stopping.get("metric", "hms") != "hms":
        stopping = {"metric": analysis.stopping_metric} | stopping
    guide = (record.config.get("search") or {}).get("guide")
    rows = [
        ("Imported from", str(record.imported.get("from", ""))),
        ("Data", _data(record)),
        ("Compared with", "" if record.imported else analysis.compared.words + analysis.compared.beside_words),
        (
            "Sampling",
            (record.algorithm or NOTHING) + (f", guided by {guide}" if guide and record.algorithm != "rand" else ""),
        ),
        ("Budget", _budget(account.planned_trials, record.replicates)),
        ("Stopping rule", (record.stopping_rule or NOTHING) + (f" ({flat(stopping)})" if stopping else "")),
        ("States", ", ".join(f"{count} {state}" for state, count in account.states.items()) or NOTHING),
        ("Finish", _finishes(account.finishes)),
        ("Epochs", f"{account.epochs_trained:,} trained of {account.epochs_planned:,} planned by finished trials"),
        ("Wall time", duration(account.wall_seconds)),
        ("Device hours", number(account.device_seconds / 3600, 2)),
        ("Devices", "; ".join(f"{count} × {name}" for name, count in account.devices.items()) or NOTHING),
        ("Started", moment(record.created)),
        ("Exported", moment(record.exported)),
        ("About the data", "; ".join(record.data.get("warnings") or [])),
    ]
    return [(name, value) for name, value in rows if value and value != NOTHING]


def _budget(planned: int | None, replicates: int) -> str:
    trials = f"{planned} trials" if planned else "no number of trials planned"
    return trials if replicates <= 1 else f"{trials}, {replicates} seeds of each sampled point"


def _data(record: SearchRecord) -> str:
    size = record.data.get("size")
    parts = [record.data_name, f"{flat(list(size)[:2])} pixels" if size else ""]
    parts += [f"{frames:,} {split} frames" for split, frames in record.data_frames.items()]
    parts += [f"held out: {record.data['held_out']}"] if record.data.get("held_out") else []
    parts += [f"resize: {record.data['resize']}"] if record.data.get("resize") else []
    return ", ".join(part for part in parts if part)


def _finishes(finishes: dict[str, int]) -> str:
    return ", ".join(f"{count} {FINISH_SYMBOLS[name][2].removeprefix('stopped: ')}" for name, count in finishes.items())


def best_table(analysis: Analysis) -> list[dict[str, Any]]:
    """The best by HMS, and the best by each other metric where that is another network."""
    tables = analysis.tables
    chosen = {tid: f"{rank}" for rank, tid in enumerate(best_networks(tables, "hms", BEST_LISTED), 1)}
    for metric in (metric for metric in tables.metrics.values() if metric.name != "hms"):
        for tid in best_networks(tables, metric.name, 1, ascending=not metric.higher_is_better):
            name = f"best {metric.short}"
            chosen[tid] = f"{chosen[tid]}, {name}" if tid in chosen else name
    rows = tables.trials.set_index("tid")
    return [{"place": place, "tid": tid} | _network(rows.loc[tid], tables) for tid, place in chosen.items()]


def _network(row: Any, tables: SearchTables) -> dict[str, Any]:
    varied = ", ".join(f"{label(name)} {significant(row[name])}" for name in tables.parameters)
    return {
        "metrics": [number(row[name], metric.digits) for name, metric in tables.metrics.items()],
        "epochs": f"{number(row['epochs_trained'], 0)} / {number(row['epochs_planned'], 0)}",
        "finish": row["finish"],
        "parameters": varied,
    }
