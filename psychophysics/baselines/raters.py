"""Baselines made of people's judgements: the primary object, and an expert."""

from collections.abc import Sequence

import pandas as pd

from psychophysics.errors import ResponsesError
from psychophysics.responses import QUERY

RATINGS = ["rater", *QUERY, "correct", "confidence"]
UNSURE = 1


def primary_object(ratings: pd.DataFrame, raters: int = 3) -> pd.DataFrame:
    """The table `BASELINES` of the strategy "the patch that hides less of the primary object", judged by raters.

    `ratings`: columns `RATINGS`, one row a rater and query pair; correct: the rater finds the primary object less
    hidden in the image with the higher activation; confidence 1..3. Confidence 1 counts as its expectation, 0.5.
    The value of a pair is the mean over its raters. ResponsesError unless every pair has `raters` of them.
    """
    absent = [name for name in RATINGS if name not in ratings]
    if absent:
        raise ResponsesError(f"ratings: column `{absent[0]}` is missing; they have {', '.join(RATINGS)}.")
    sizes = ratings.groupby(QUERY)["rater"].nunique()
    if (sizes != raters).any():
        pair = ", ".join(map(str, sizes[sizes != raters].index[0]))
        raise ResponsesError(f"ratings: {int(sizes[sizes != raters].iloc[0])} raters of {pair}; {raters} are needed.")
    value = ratings["correct"].astype(float).where(ratings["confidence"] > UNSURE, 0.5)
    table = ratings[QUERY].assign(correct=value).groupby(QUERY, sort=False)["correct"].mean().reset_index()
    return table.assign(baseline="object")[["baseline", *QUERY, "correct"]]


def expert(trials: pd.DataFrame, participants: Sequence[str]) -> pd.DataFrame:
    """The table `BASELINES` of experts' own answers: the mean correctness of a pair over `participants`."""
    main = trials[(trials["kind"] == "main") & trials["participant"].isin(participants)]
    if main.empty:
        raise ResponsesError(f"No main trials of {', '.join(participants)}: an expert answers the same pages.")
    table = main.astype({"correct": float}).groupby(QUERY, sort=False)["correct"].mean().reset_index()
    return table.assign(baseline="expert")[["baseline", *QUERY, "correct"]]
