"""HMS of the best network by layer and time step, as the rows of the page's table."""

import math

from search.report.analysis import Analysis

ALL = "all layers"


def part_steps(analysis: Analysis) -> list[int]:
    """The time steps, ascending."""
    return sorted({int(step) for step in analysis.best.parts["step"].dropna()})


def part_rows(analysis: Analysis) -> dict[str, list[float]]:
    """Layer, and last all layers -> HMS at each step and, last, of all steps; NaN where undefined."""
    best, steps = analysis.best, part_steps(analysis)
    if best.parts.empty or best.rdm_tid is None:
        return {}
    known = {
        (row["layer"], None if row["step"] is None else int(row["step"])): float(row["hms"])
        for row in best.parts.astype({"step": object}).where(best.parts.notna(), None).to_dict("records")
        if row["hms"] is not None
    }
    whole = analysis.tables.trials.set_index("tid")["hms"].get(best.rdm_tid, math.nan)
    known["", None] = float(whole)
    layers = [*dict.fromkeys(layer for layer in best.parts["layer"] if layer), ""]
    return {layer or ALL: [known.get((layer, step), math.nan) for step in (*steps, None)] for layer in layers}
