"""Tables of a small simulated study with all that may be published, and with what may not."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from psychophysics.responses import QUERY, Responses, Study, check_participants, check_trials
from psychophysics.simulated_responses import Effects, simulate_trials


@pytest.fixture
def responses(make_participants: Callable[..., pd.DataFrame]) -> Responses:
    """Six people a condition; none-005 withdrew, natural-000 was too quick; a column more than is documented."""
    trials = simulate_trials(
        Effects({"natural": 1.0, "none": 0.3}), np.random.default_rng(2), participants=6, units=5, sets=2
    )
    people = make_participants(dict(trials.groupby("participant", sort=False)["condition"].first()))
    people.loc[people["participant"] == "natural-000", "total_s"] = 10.0
    people.loc[people["participant"] == "none-005", "withdrawn"] = True
    people["prolific_pid"] = "5f1c2d3e4a5b6c7d8e9f0a1b"
    trials = check_trials(trials[trials["participant"] != "none-005"])
    queries = trials[QUERY].drop_duplicates().reset_index(drop=True)
    activations = {"activation_base": 2.0, "activation_min": 1.0, "activation_max": 2.5}
    return Responses(
        trials,
        check_participants(people, trials),
        queries.assign(**activations),
        queries.assign(baseline="variance", correct=0.5),
        networks=pd.DataFrame({"network": ["simulated"], "hms": [0.12], "mse": [np.nan]}),
        comments=pd.DataFrame(
            [{"participant": "natural-001", "question": "strategy", "text": "I, Ann Smith, looked at edges"}]
        ),
        study=Study("demo-study 2", "ab" * 32, 0.05, 7, {"total_seconds": [90, 900]}),
    )
