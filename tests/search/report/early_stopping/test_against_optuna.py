"""Median pruning and ASHA against Optuna's own pruners, one network after the other."""

import numpy as np
import optuna
import pytest
from optuna.pruners import BasePruner, MedianPruner, SuccessiveHalvingPruner
from optuna.trial import TrialState

from search.report.early_stopping.histories import Histories, histories
from search.report.early_stopping.pruning import asha, median_pruning


def runs_of(written, seed: int, metric: str) -> Histories:
    """Random walks of random length, rounded so that values are equal now and then."""
    rng, networks = np.random.default_rng(seed), []
    for _ in range(40):
        epochs = range(0, 5 * int(rng.integers(3, 26)), 5)
        values = np.cumsum(rng.normal(0.02, 0.1, len(epochs))) + rng.normal(0, 0.1)
        networks.append({metric: dict(zip(epochs, np.round(values, 2).tolist(), strict=True))})
    return histories(written(networks))


def stops(runs: Histories, metric: str, pruner: BasePruner) -> list[int]:
    """Where Optuna prunes each network, or its end; it is not asked at a network's own last epoch."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(direction="maximize" if runs.signs[metric] > 0 else "minimize", pruner=pruner)
    found = []
    for i, last in enumerate(runs.trained):
        trial, end = study.ask(), int(last)
        for j in np.flatnonzero(runs.evaluated[i] & (runs.epochs > 0)):
            epoch = int(runs.epochs[j])
            trial.report(float(runs.values[metric][i, j]), epoch)
            # At the last epoch the question only lets ASHA note the value at its rung.
            if trial.should_prune() and epoch < last:
                end = epoch
                break
        pruned = end < last
        value = None if pruned else float(runs.final[metric][i])
        study.tell(trial, value, state=TrialState.PRUNED if pruned else TrialState.COMPLETE)
        found.append(end)
    return found


@pytest.mark.parametrize("metric", ["hms", "mse"])
@pytest.mark.parametrize(("startup", "warmup"), [(5, 0), (2, 30)])
def test_median_pruning(written, metric: str, startup: int, warmup: int) -> None:
    for seed in range(2):
        runs = runs_of(written, seed, metric)
        outcome = median_pruning(runs, metric, "", startup=startup, warmup=warmup)
        assert outcome.stop.tolist() == stops(runs, metric, MedianPruner(startup, warmup))
        assert outcome.discarded.sum() > 3


@pytest.mark.parametrize("metric", ["hms", "mse"])
@pytest.mark.parametrize("factor", [2, 3, 4])
def test_asha(written, metric: str, factor: int) -> None:
    for seed in range(2):
        runs = runs_of(written, seed, metric)
        outcome = asha(runs, metric, "", first_rung=5, factor=factor)
        pruner = SuccessiveHalvingPruner(min_resource=5, reduction_factor=factor)
        assert outcome.stop.tolist() == stops(runs, metric, pruner)
        assert outcome.discarded.sum() > 3
