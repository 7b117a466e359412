"""The mixed model against R's lme4, whose numbers scripts/studies/mixed_model_reference.py stored."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from psychophysics.analysis.condition_model import fit_conditions

FOLDER = Path(__file__).parent / "reference_models"
LME4 = json.loads((FOLDER / "lme4.json").read_text())


@pytest.mark.parametrize("name", list(LME4))
def test_the_fit_is_lme4s(name: str, record_property) -> None:
    stored = pd.read_csv(FOLDER / f"{name}.csv", dtype={"unit": str})
    trials = pd.DataFrame({"kind": "main", "network": "net", "layer": "layer"}, index=stored.index)
    trials = trials.assign(**{column: stored[column] for column in stored})
    model, theirs = fit_conditions(trials, "none"), LME4[name]
    p = len(model.names)
    error = np.sqrt(np.diag(np.reshape(theirs["covariance"], (p, p))))
    deviations = {
        "estimate": np.abs(model.estimate - theirs["estimate"]).max(),
        "standard error": np.abs(np.sqrt(np.diag(model.covariance)) / error - 1).max(),
        "SD of participants": abs(model.random["participant"].sd - theirs["participant"])[0],
        "SDs of units": np.abs(model.random["unit"].sd - theirs["unit"]).max(),
        "correlations of units": np.abs(model.random["unit"].correlation.ravel() - theirs["unit_correlation"]).max(),
        "SD of image sets": abs(model.random["unit:image_set"].sd - theirs["unit_set"])[0],
    }
    if theirs["network"]:
        deviations["SD of networks"] = abs(model.random["network"].sd - theirs["network"])[0]
    assert bool(theirs["network"]) == ("network" in model.random)
    worst = max(deviations, key=lambda what: deviations[what])
    record_property("largest_oracle_deviation", f"mixed model, {name}, lme4: {deviations[worst]:.1e} ({worst})")
    assert deviations[worst] < 1e-4, deviations
    assert model.log_likelihood == pytest.approx(theirs["log_likelihood"], abs=1e-6)
    assert model.n == len(trials) and model.singular == theirs["singular"]
