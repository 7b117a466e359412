"""The replay against `search.stopping.decide`, run epoch by epoch as a trial runs it."""

import numpy as np
import pytest

from search.metric_sections import StoppingSection
from search.report.early_stopping.histories import histories
from search.report.early_stopping.rules import stability, threshold
from search.report.early_stopping.stability import evaluations, window_sds
from search.stopping import decide, window_sd

VALUES = np.round(np.arange(-0.04, 0.05, 0.01), 2)  # coarse, so that many windows have an SD of exactly the tolerance


def random_networks(seed: int, metric: str, count: int = 60) -> list[dict]:
    """Flat, drifting and broken curves of random length, with gaps, off-grid ends, and undefined values."""
    rng = np.random.default_rng(seed)
    networks = []
    for _ in range(count):
        last = int(rng.integers(5, 120))
        spread = rng.choice([1, 3, len(VALUES)])
        values = rng.choice(VALUES[:spread], size=200) + rng.choice([0.0, 0.1, 12.3])
        curve = {e: float(values[e]) for e in sorted({*range(0, last + 1, 5), last})}
        for epoch in list(curve):
            draw = rng.random()
            if 0 < epoch < last and draw < 0.04:
                del curve[epoch]
            elif draw < 0.08:
                curve[epoch] = None
        if rng.random() < 0.2:
            start = int(rng.integers(0, last))
            curve |= {e: None for e in curve if e > start}
        if rng.random() < 0.1 and last > 10:
            curve = {e: v for e, v in curve.items() if e <= last // 2} | {max(5, last // 2): "diverged"}
        networks.append({metric: dict(sorted(curve.items()))})
    return networks


def ended(history, settings: StoppingSection, planned: int, sign: int) -> int:
    """The epoch at which `decide` ends the run, seeing one evaluation after the other."""
    for seen in range(1, len(history) + 1):
        decision = decide(history[:seen], settings, every=5, epochs_planned=planned, sign=sign)
        if decision.finish is not None:
            return history[seen - 1].epoch
    return history[-1].epoch


@pytest.mark.parametrize("metric", ["hms", "mse"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"tolerance": 0.0},
        {"ddof": 1, "tolerance": 0.01},
        {"window": 20, "tolerance": 0.02},
        {"window": 5, "tolerance": 0.005},
        {"min_epochs": 47, "tolerance": 0.03},
        {"collapsed_after": 2},
        {"rule": "threshold", "threshold": 0.02},
        {"rule": "threshold", "threshold": 0.1, "ddof": 1, "tolerance": 0.03},
    ],
)
def test_the_replay_ends_networks_where_decide_does(written, metric: str, options: dict) -> None:
    settings = StoppingSection(metric=metric, **options)
    for seed in range(3):
        runs = histories(written(random_networks(seed, metric)))
        if settings.rule == "threshold":
            outcome = threshold(runs, metric, settings, settings.threshold, "")
        else:
            outcome = stability(runs, metric, settings, "")
        expected = [
            ended(evaluations(runs, metric, i), settings, int(runs.planned[i]), runs.signs[metric])
            for i in range(runs.n)
        ]
        assert outcome.stop.tolist() == expected
        assert (outcome.stop < runs.trained).sum() > 3


@pytest.mark.parametrize("ddof", [0, 1])
def test_window_sds_equal_those_of_the_rule(written, ddof: int) -> None:
    runs = histories(written(random_networks(9, "hms")))
    sds = window_sds(runs, "hms", 25, ddof)
    for i in range(runs.n):
        history = evaluations(runs, "hms", i)
        expected = [window_sd(history, int(epoch), window=25, every=5, ddof=ddof) for epoch in runs.epochs]
        np.testing.assert_allclose(sds[i], [np.nan if sd is None else sd for sd in expected], atol=1e-12)
    assert np.isfinite(sds).sum() > 100
