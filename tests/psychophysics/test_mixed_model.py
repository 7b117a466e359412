"""The logistic mixed model: gradient, value against a plain Laplace approximation, known limits, recovery."""

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, special
from statsmodels.api import GLM, families

from psychophysics.analysis.condition_model import condition_table, fit_conditions, formula, typical_accuracy
from psychophysics.errors import NotEstimable
from psychophysics.mixed_model import RandomTerm, _Laplace, fit
from psychophysics.simulated_responses import Effects, simulate_trials

TRUTH = Effects({"none": 0.45, "natural": 0.8}, condition_by_unit=0.3)
EFFECTS = np.array([0.45, 0.35])


def _terms(n_people: int = 12, n_units: int = 5, seed: int = 0):
    rng = np.random.default_rng(seed)
    people, units = (a.ravel() for a in np.meshgrid(np.arange(n_people), np.arange(n_units), indexing="ij"))
    design = np.column_stack([np.ones(people.size), people % 2])
    terms = [
        RandomTerm("person", people.astype(object), np.ones((people.size, 1))),
        RandomTerm("unit", units.astype(object), design, ("intercept", "slope")),
    ]
    return (rng.random(people.size) < 0.6).astype(float), design, terms


def _plain(y, X, terms, parameters) -> float:
    """Laplace's approximation with nothing but a dense matrix and a general optimiser."""
    L, place, blocks = [], X.shape[1], []
    for term in terms:
        k = term.design.shape[1]
        one = np.zeros((k, k))
        one[np.tril_indices(k)] = parameters[place : place + k * (k + 1) // 2]
        place += k * (k + 1) // 2
        L.append(one)
        levels = np.unique(term.groups)
        block = np.zeros((len(y), len(levels) * k))
        for i, group in enumerate(term.groups):
            at = int(np.searchsorted(levels, group)) * k
            block[i, at : at + k] = term.design[i] @ one
        blocks.append(block)
    M = np.concatenate(blocks, axis=1)

    def negative(u):
        eta = X @ parameters[: X.shape[1]] + M @ u
        return np.logaddexp(0, eta).sum() - y @ eta + u @ u / 2

    mode = optimize.minimize(negative, np.zeros(M.shape[1]), method="BFGS", options={"gtol": 1e-9}).x
    p = special.expit(X @ parameters[: X.shape[1]] + M @ mode)
    return negative(mode) + np.linalg.slogdet(M.T @ (M * (p * (1 - p))[:, None]) + np.eye(M.shape[1]))[1] / 2


def test_value_and_gradient_are_those_of_a_plain_laplace_approximation() -> None:
    y, X, terms = _terms()
    laplace = _Laplace(y, X, terms)
    parameters = np.array([0.3, -0.2, 0.7, 0.5, 0.2, 0.4])
    value, gradient = laplace(parameters)
    assert value == pytest.approx(_plain(y, X, terms, parameters), abs=1e-7)
    steps = 1e-5 * np.eye(len(parameters))
    numeric = [(laplace(parameters + s)[0] - laplace(parameters - s)[0]) / 2e-5 for s in steps]
    np.testing.assert_allclose(gradient, numeric, atol=1e-6)


def test_without_random_effects_it_is_logistic_regression() -> None:
    rng = np.random.default_rng(3)
    X = np.column_stack([np.ones(4000), np.arange(4000) % 2])
    y = rng.random(4000) < special.expit(X @ [0.2, 0.5])
    plain = GLM(y.astype(float), X, family=families.Binomial()).fit()
    found = fit(
        y, X, ("intercept", "effect"), [RandomTerm("all", (np.arange(4000) % 40).astype(object), np.ones((4000, 1)))]
    )
    np.testing.assert_allclose(found.estimate, plain.params, atol=0.01)
    np.testing.assert_allclose(np.sqrt(np.diag(found.covariance)), plain.bse, rtol=0.05)
    assert found.random["all"].sd[0] < 0.15


@pytest.mark.parametrize("sign", [True, False])
def test_what_has_no_finite_estimate_is_named(sign: bool) -> None:
    trials = simulate_trials(TRUTH, np.random.default_rng(0), participants=4, units=4, sets=2)
    trials.loc[trials["condition"] == "none", "correct"] = sign
    with pytest.raises(NotEstimable, match=f"condition none are {'correct' if sign else 'wrong'}"):
        fit_conditions(trials, "natural")
    y, X, terms = _terms()
    with pytest.raises(NotEstimable, match="All 60 answers are correct"):
        fit(np.ones_like(y), X, ("a", "b"), terms)
    with pytest.raises(NotEstimable, match="not independent"):
        fit(y, X[:, [0, 0]], ("a", "b"), terms)


def test_tables_do_not_depend_on_the_reference() -> None:
    trials = simulate_trials(TRUTH, np.random.default_rng(1), participants=20, units=8, sets=2)
    one, other = fit_conditions(trials, "none"), fit_conditions(trials, "natural")
    first, second = condition_table(one, "none").iloc[0], condition_table(other, "natural").iloc[0]
    assert (first["first"], second["first"]) == ("none", "natural")
    assert first["log_odds"] == pytest.approx(-second["log_odds"], abs=1e-4)
    assert first["p"] == pytest.approx(second["p"], abs=1e-3)
    assert first["odds_ratio"] == pytest.approx(1 / second["odds_ratio"], rel=1e-3)
    shares = [typical_accuracy(m, r).set_index("condition")["accuracy"] for m, r in ((one, "none"), (other, "natural"))]
    pd.testing.assert_series_equal(shares[0].sort_index(), shares[1].sort_index(), atol=1e-4)


def test_networks_are_a_random_effect_when_there_are_several() -> None:
    trials = simulate_trials(TRUTH, np.random.default_rng(2), participants=20, units=8, sets=2)
    assert "network" not in formula(trials)
    trials["network"] = "net " + (trials["unit"].astype(int) // 2).astype(str)
    assert formula(trials).endswith("+ (1 | network)")
    model = fit_conditions(trials, "none")
    assert model.random["network"].levels == 4 and model.random["unit"].levels == 8


def _covered(seeds: range, **size: int) -> tuple[np.ndarray, np.ndarray]:
    """For each seed: whether the 95 % intervals hold the true effects; and the estimates."""
    hits, estimates = [], []
    for seed in seeds:
        model = fit_conditions(simulate_trials(TRUTH, np.random.default_rng(seed), **size), "none")
        found = [model.contrast(w) for w in np.eye(2)]
        hits.append([one.low <= true <= one.high for one, true in zip(found, EFFECTS, strict=True)])
        estimates.append(model.estimate)
    return np.array(hits), np.array(estimates)


def test_a_few_studies_are_recovered() -> None:
    hits, estimates = _covered(range(4), participants=30)
    assert hits.sum() >= 6  # of 8 intervals of 95 %, but for 6 in 1,000
    np.testing.assert_allclose(estimates.mean(axis=0), EFFECTS, atol=4 * 0.2 / np.sqrt(4))


@pytest.mark.long
def test_intervals_over_200_studies_cover_as_they_promise(record_property) -> None:
    hits, estimates = _covered(range(200))
    assert ((hits.mean(axis=0) >= 0.92) & (hits.mean(axis=0) <= 0.98)).all()
    standard = estimates.std(axis=0) / np.sqrt(len(estimates))
    assert (np.abs(estimates.mean(axis=0) - EFFECTS) < 3 * standard).all()
    text = " and ".join(f"{share:.1%}" for share in hits.mean(axis=0))
    record_property("largest_oracle_deviation", f"mixed model, 200 studies: 95 % intervals cover {text}")
