"""The laboratory's earlier study as tidy trials: Borowski, Zimmermann et al. (ICLR 2021), first experiment.

Every participant took every condition: the paired test is the one to report. Its answers are public as one CSV file;
what differs from a study of ours is kept and named: four conditions, repeated trials, one reaction time below 0.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from psychophysics.columns import Column, Columns
from psychophysics.errors import ResponsesError
from psychophysics.responses import KINDS, TRIALS, check_trials

CONDITIONS = {"natural": "natural", "optimized": "synthetic", "none_pre": "none_pre", "none_post": "none_post"}
SOURCE_COLUMNS = (
    "subject_id", "trial_nr", "instr_type", "trial_type", "catch_trial", "batch", "layer", "kernel_size", "channel",
    "response", "correct_response", "correct", "conf_rating", "RT",
)  # fmt: skip

LABORATORY_TRIALS: Columns = {
    **TRIALS,
    "condition": replace(TRIALS["condition"], choices=tuple(CONDITIONS.values())),
    "kind": replace(TRIALS["kind"], choices=(*KINDS, "repeated")),
    "rt_s": Column("number", "from the trial's rendering to the answer; one is below 0", unit="s"),
}


def read_laboratory(path: Path) -> pd.DataFrame:
    """Trials with the columns `LABORATORY_TRIALS`; raises ResponsesError for another file.

    Condition `optimized` is called `synthetic`, answers a and b are left and right, `batch` is the image set, a unit is
    `kernel_size/channel` of its layer. The sign of the confidence only repeats the answer.
    """
    try:
        source = pd.read_csv(path)
    except (OSError, pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise ResponsesError(f"{path} is not the table of the laboratory's trials: {error}") from error
    absent = [name for name in SOURCE_COLUMNS if name not in source]
    if absent:
        raise ResponsesError(f"{path}: column `{absent[0]}` is missing; is it the table of the laboratory's trials?")
    unit = source["kernel_size"].astype(str) + "/" + source["channel"].astype(str)
    query = source["layer"] + "/" + unit + "/" + source["batch"].astype(str)
    catch = source["catch_trial"].astype(bool) & (source["trial_type"] == "main")
    sides = {"a": "left", "b": "right"}
    trials = pd.DataFrame(
        {
            "participant": source["subject_id"].astype(str),
            "condition": source["instr_type"].map(CONDITIONS),
            "network": "inception-v1",
            "layer": source["layer"],
            "unit": unit,
            "image_set": source["batch"],
            "kind": np.where(catch, "catch", source["trial_type"]),
            "attempt": (source["trial_type"] == "practice").astype(int),
            "position": source["trial_nr"],
            "query_max": query + "/max",
            "query_min": query + "/min",
            "target_side": source["correct_response"].map(sides),
            "response_side": source["response"].map(sides),
            "confidence": source["conf_rating"].abs(),
            "correct": source["correct"].astype(bool),
            "rt_s": source["RT"],
        }
    )
    return check_trials(trials, LABORATORY_TRIALS)
