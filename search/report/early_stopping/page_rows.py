"""The numbers of early stopping as text: rows of the page's tables and the sentences above them."""

from typing import Any

import pandas as pd

from metrics.metric import Metric
from search.report.captions import PAPER_TITLE
from search.report.early_stopping.replay import EarlyStopping
from search.report.early_stopping.scores import CONTROL, RULE
from search.report.sample import ILLUSTRATIVE_BELOW
from search.report.tables import SearchTables
from search.report.wording import NOTHING, interval, number, share


def context(tables: SearchTables, early: EarlyStopping) -> dict[str, Any]:
    """What the section of the page needs."""
    guide = tables.metrics.get(early.guide)
    return {
        "possible": early.possible,
        "paper_title": PAPER_TITLE,
        "usable": usable(early),
        "notices": notices(early),
        "guide": guide.short if guide else early.guide,
        "settings": settings_text(early),
        "rules": [] if guide is None else rule_rows(early, guide),
        "holds": hold_rows(tables, early),
        "sensitivity": sensitivity_rows(early),
        "every": early.usable.every,
        "timed": early.usable.timed,
    }


def usable(early: EarlyStopping) -> str:
    """How many runs a replay can use, and what becomes of the others."""
    if not early.networks:
        return "No network has finished yet: there is nothing to replay."
    if not early.cut:
        return f"All {early.networks} finished networks were trained to their own end and can be replayed."
    return (
        f"{early.usable.n} of {early.networks} finished networks were trained to their own end. The search's own rule "
        f"ended the other {early.cut} early: what they would have become is not known, so a replay is not possible "
        "for those."
    )


def notices(early: EarlyStopping) -> list[str]:
    """What a reader must know before the numbers."""
    found = []
    if early.cut and early.possible:
        found.append(f"The {early.cut} networks that the search's own rule ended are missing here: a truncated sample.")
    elif early.cut:
        found.append(
            f"The {early.usable.n} networks that it let train on are what the rule left over, no sample of the space: "
            "nothing is replayed on them either. A search with --set stopping.rule=none makes a replay possible."
        )
    if early.possible and early.usable.n < ILLUSTRATIVE_BELOW:
        found.append(f"Illustrative: {early.usable.n} networks are fewer than {ILLUSTRATIVE_BELOW}.")
    missing = early.usable.n - early.usable.timed
    if early.possible and early.usable.timed and missing > 0:
        who = "1 network has" if missing == 1 else f"{missing} networks have"
        found.append(f"{who} no measured time: the median seconds an epoch of the others stand for it.")
    return found


def settings_text(early: EarlyStopping) -> str:
    """The stability rule in words."""
    settings, every = early.settings, early.usable.every
    start = f", not before epoch {settings.min_epochs}" if settings.min_epochs else ""
    return (
        f"SD (ddof {settings.ddof}) over {settings.window} epochs, {settings.window // every + 1} evaluations, at most "
        f"{settings.tolerance:g}{start}"
    )


def rule_rows(early: EarlyStopping, guide: Metric) -> list[dict[str, Any]]:
    """The rules judged by the guide metric, each with its two controls: one epoch, at random."""
    table = early.rules[early.rules["target"] == early.guide]
    timed, controls = early.usable.timed > 0, table[table["kind"] == CONTROL].groupby("control_of")
    rows = []
    for row in table[table["kind"] == RULE].to_dict("records"):
        beside = controls.get_group(row["label"]).to_dict("records") if row["label"] in controls.groups else []
        found = [_control(control, guide, timed) for control in beside] or [{"regret": NOTHING, "what": ""}] * 2
        rows.append(_rule(row, guide, timed) | {"controls": found})
    return rows


def _control(row: dict[Any, Any], guide: Metric, timed: bool) -> dict[str, str]:
    saved = _percent(row["time_share" if timed else "epochs_share"])
    what = f"{row['ended_early']} of {row['n']}" if row["rule"] == "random" else row["label"].split(" at ")[-1]
    return {"regret": number(row["regret_final"], guide.digits), "what": f"{what}, {saved}"}


def _rule(row: dict[Any, Any], guide: Metric, timed: bool) -> dict[str, Any]:
    name = "time_share" if timed else "epochs_share"
    regret = [number(row[key], guide.digits) for key in ("regret_final", "regret_final_low", "regret_final_high")]
    return {
        "label": row["label"],
        "ended": row["ended_early"],
        "discarded": row["discarded"],
        "too_short": row["too_short"],
        "saved": _percent(row[name]),
        "saved_ci": _shares(row[f"{name}_low"], row[f"{name}_high"]),
        "epochs": f"{row['epochs_saved']:,.0f}",
        "hours": number(row["hours_saved"], 2),
        "kept": _chance(row["best_kept"]),
        "chosen": NOTHING if row["chosen_tid"] is None or pd.isna(row["chosen_tid"]) else f"{row['chosen_tid']:.0f}",
        "best": _chance(row["best_chosen"]),
        "regret": regret[0],
        "regret_ci": f"[{regret[1]}, {regret[2]}]" if regret[1] != NOTHING else "",
        "at_stop": number(row["regret_at_stop"], guide.digits),
        "rho": number(row["rho"], 2),
        "rho_ci": interval(row["rho_low"], row["rho_high"]),
        "rho_n": row["rho_n"],
    }


def _chance(value: Any) -> str:
    """`yes`, `no`, or a probability."""
    if pd.isna(value):
        return NOTHING
    return {1.0: "yes", 0.0: "no"}.get(float(value), f"in {share(value)}")


def _shares(low: Any, high: Any) -> str:
    return "" if pd.isna(low) else f"[{share(low)}, {share(high)}]"


def hold_rows(tables: SearchTables, early: EarlyStopping) -> list[dict[str, Any]]:
    """One row a metric: when it is stable, and whether it stays so."""
    return [_hold(row, tables.metrics[row["metric"]]) for row in early.holds.to_dict("records")]


def _hold(row: dict[Any, Any], metric: Metric) -> dict[str, Any]:
    published = NOTHING
    if pd.notna(row["paper_epoch_mean"]):
        sd = f" ({row['paper_epoch_sd']:g})" if pd.notna(row["paper_epoch_sd"]) else ""
        published = f"{row['paper_epoch_mean']:g}{sd}"
    mean, sd = number(row["epoch_mean"], 1), number(row["epoch_sd"], 1)
    return {
        "metric": metric.short,
        "n": row["n"],
        "too_short": row["too_short"],
        "stable": row["stable"],
        "never": row["never_stable"],
        "epoch": mean if sd == NOTHING else f"{mean} ({sd})",
        "paper": published,
        "testable": row["testable"],
        "again": row["unstable_again"],
        "share": _percent(row["unstable_share"]),
        "ci": _shares(row["unstable_low"], row["unstable_high"]),
        "median": number(row["difference_median"], metric.digits),
        "q90": number(row["difference_q90"], metric.digits),
        "most": number(row["difference_max"], metric.digits),
        "beyond": row["beyond_tolerance"],
        "differences": row["difference_n"],
    }


def sensitivity_rows(early: EarlyStopping) -> list[dict[str, Any]]:
    """The guide metric with the search's own first epoch: every window, tolerance and ddof."""
    table = early.sensitivity
    table = table[(table["metric"] == early.guide) & (table["min_epochs"] == early.settings.min_epochs)]
    timed = early.usable.timed > 0
    return [
        {
            "points": row["points"],
            "window": row["window"],
            "tolerance": f"{row['tolerance']:g}",
            "ddof": row["ddof"],
            "stable": f"{row['stable']} of {row['n']}",
            "epoch": number(row["epoch_mean"], 1),
            "saved": _percent(row["time_share" if timed else "epochs_share"]),
            "again": f"{row['unstable_again']} of {row['testable']}",
            "regret": number(row["regret_final"], 4),
            "best": _chance(row["best_chosen"]),
            "rho": number(row["rho"], 2),
            "configured": row["configured"],
        }
        for row in table.to_dict("records")
    ]


def _percent(value: Any) -> str:
    return share(value) if pd.notna(value) else NOTHING
