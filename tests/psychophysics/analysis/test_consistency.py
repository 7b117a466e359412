"""Error consistency against the definition, pair by pair, and its edges."""

import numpy as np
import pandas as pd
import pytest

from psychophysics.analysis.consistency import between_people, kappas, sequences, with_baselines
from psychophysics.responses import QUERY


def _kappa(a, b) -> float:
    a, b = np.array(a, float), np.array(b, float)
    expected = a.mean() * b.mean() + (1 - a.mean()) * (1 - b.mean())
    return float(((a == b).mean() - expected) / (1 - expected))


def test_kappa_is_the_definition_over_common_queries() -> None:
    first = np.array([1, 1, 0, 0, np.nan, 1])
    second = np.array([[1, 0, 0, 0, 1, np.nan], [0, 0, 1, 1, 0, 0]])
    found = kappas(first[None], second)[0]
    assert found[0] == pytest.approx(_kappa([1, 1, 0, 0], [1, 0, 0, 0]))
    assert found[1] == pytest.approx(_kappa([1, 1, 0, 0, 1], [0, 0, 1, 1, 0]))
    assert kappas(np.array([[1.0, 0, 1, 0]]), np.array([[1.0, 0, 1, 0]]))[0, 0] == pytest.approx(1)


def test_it_is_undefined_where_chance_agreement_is_complete_or_nothing_is_shared() -> None:
    perfect, some = np.ones(4), np.array([1.0, 0, 1, 1])
    assert np.isnan(kappas(perfect[None], perfect[None])[0, 0])
    assert kappas(perfect[None], some[None])[0, 0] == pytest.approx(0)
    assert np.isnan(kappas(np.array([[1.0, np.nan]]), np.array([[np.nan, 1.0]]))[0, 0])


ANSWERS = {
    "a": ("natural", [1, 1, 0, 1, 0, 1]),
    "b": ("natural", [1, 0, 0, 1, 0, 1]),
    "c": ("natural", [1, 1, 1, 1, 1, 1]),
    "d": ("natural", [1, 1, 1, 1, 1, 1]),
    "e": ("none", [0, 1, 0, 1, 1, 1]),
    "f": ("none", [1, 1, 0, 0, 0, 1]),
}


@pytest.fixture
def trials(make_trials) -> pd.DataFrame:
    return pd.concat([make_trials(who, where, [bool(x) for x in what]) for who, (where, what) in ANSWERS.items()])


def test_means_over_pairs_within_and_between(trials) -> None:
    table = between_people(sequences(trials), ["natural", "none"]).set_index(["first", "second"])
    answers = {who: what for who, (_, what) in ANSWERS.items()}
    within = [_kappa(answers[x], answers[y]) for x, y in ("ab", "ac", "ad", "bc", "bd")]  # c with d: undefined
    across = [_kappa(answers[x], answers[y]) for x in "abcd" for y in "ef"]
    row = table.loc[("natural", "natural")]
    assert row["kappa"] == pytest.approx(np.mean(within))
    assert (row["pairs"], row["undefined"]) == (5, 1)
    assert table.loc[("natural", "none"), "kappa"] == pytest.approx(np.mean(across))
    assert table.loc[("none", "none"), "kappa"] == pytest.approx(_kappa(answers["e"], answers["f"]))
    assert row["low"] <= row["kappa"] <= row["high"]


def test_another_image_set_is_no_pair_and_nobody_pairs_with_himself(make_trials) -> None:
    parts = [
        make_trials("a", "natural", [True, False, True]),
        make_trials("a", "none", [True, False, True], attempt=1),
        make_trials("b", "natural", [True, False, False], image_set=1),
    ]
    table = between_people(sequences(pd.concat(parts)), ["natural", "none"])
    assert table["kappa"].isna().all() and (table["pairs"] == 0).all() and (table["undefined"] == 0).all()


def test_the_interval_covers_the_truth_of_simulated_people() -> None:
    """Two kinds of people who err on the same half of the trials: kappa of the population is known."""
    rng = np.random.default_rng(0)
    hits = 0
    for seed in range(20):
        easy = np.arange(200) % 2 == 0
        p = np.where(easy, 0.9, 0.5)
        correct = rng.random((30, 200)) < p
        frame = pd.DataFrame(
            {
                "participant": np.repeat(np.arange(30).astype(str), 200),
                "condition": "natural",
                "network": "n",
                "layer": "l",
                "unit": np.tile(np.arange(200).astype(str), 30),
                "image_set": 0,
                "kind": "main",
                "correct": correct.ravel(),
            }
        )
        row = between_people(sequences(frame), ["natural"], resamples=200, seed=seed).iloc[0]
        observed, mean = np.mean(p**2 + (1 - p) ** 2), p.mean()
        expected = mean**2 + (1 - mean) ** 2
        hits += row["low"] <= (observed - expected) / (1 - expected) <= row["high"]
    assert hits >= 16  # people are resampled, the 200 queries stay


def test_baselines_are_compared_like_people(trials) -> None:
    queries = trials[trials["participant"] == "a"][QUERY].reset_index(drop=True)
    parts = [
        queries.assign(baseline="like a", correct=np.array(ANSWERS["a"][1], float)),
        queries.assign(baseline="undecided", correct=0.5),
        queries.assign(baseline="right", correct=1.0),
    ]
    table = with_baselines(sequences(trials), pd.concat(parts), ["natural", "none"]).set_index(["first", "second"])
    answers = {who: what for who, (_, what) in ANSWERS.items()}
    expected = [_kappa(answers["a"], answers[x]) for x in "abcd"]
    assert table.loc[("natural", "like a"), "kappa"] == pytest.approx(np.mean(expected))
    assert table.loc[("none", "undecided"), "kappa"] == pytest.approx(0)
    right = table.loc[("natural", "right")]
    assert right["kappa"] == pytest.approx(0) and (right["pairs"], right["undefined"]) == (2, 2)
