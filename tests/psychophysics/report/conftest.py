"""Folders of responses of small simulated studies."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from psychophysics.responses import QUERY, Responses, Study, check_participants, check_trials, write_responses
from psychophysics.simulated_responses import Effects, simulate_trials

WriteStudy = Callable[..., Path]
DEMO = Study("demo")


@pytest.fixture
def write_study(tmp_path: Path, make_participants: Callable[..., pd.DataFrame]) -> WriteStudy:
    """A function: writes a study of two conditions with all that a folder may hold; one fails the catch trials."""

    def write(networks: int = 1, study: Study = DEMO, change: Callable[..., Any] | None = None) -> Path:
        rng = np.random.default_rng(4)
        trials = simulate_trials(Effects({"natural": 1.0, "none": 0.3}), rng, participants=12, units=9, sets=3)
        trials["network"] = "net" + (trials["unit"].astype(int) % networks).astype(str)
        catch = trials.groupby("participant", sort=False).head(3).assign(kind="catch")
        catch["correct"] = catch["participant"] != "none-011"
        other = catch["target_side"].map({"left": "right", "right": "left"})
        catch["response_side"] = catch["target_side"].where(catch["correct"], other)
        trials = pd.concat([trials, catch], ignore_index=True)
        people = make_participants(dict(trials.groupby("participant", sort=False)["condition"].first()))
        queries = trials[QUERY].drop_duplicates().reset_index(drop=True)
        baselines = queries.assign(baseline="variance", correct=(rng.random(len(queries)) < 0.6).astype(float))
        names = sorted(set(trials["network"]))
        known = pd.DataFrame({"network": names, "hms": np.linspace(0.05, 0.2, len(names)), "mse": 0.01})
        base = rng.normal(2, 0.3, len(queries))
        values = {"activation_base": base, "activation_min": base - 1, "activation_max": base + rng.random(len(base))}
        queries = queries.assign(**values)
        if change is not None:
            change(trials, people)
        trials = check_trials(trials)
        tables = Responses(trials, check_participants(people, trials), queries, baselines, known, study=study)
        write_responses(tables, tmp_path / "responses")
        return tmp_path / "responses"

    return write
