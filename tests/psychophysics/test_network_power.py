"""Power over networks: the test against scipy's and the report's, its size under the null, whole studies in tables."""

import itertools
import json

import numpy as np
import pandas as pd
import pytest
from scipy import special, stats
from typer.testing import CliRunner

from psychophysics.analysis.networks import by_network, understanding_and_hms
from psychophysics.errors import StudyError
from psychophysics.network_power import NetworkDesign, simulate_network_power, simulated_accuracy, spearman_tests
from psychophysics.power import marginal_intercept
from search.cli import app
from search.errors import UsageError

SIX = np.array([0.0, 0.02, 0.05, 0.11, 0.12, 0.2])
PLAIN = NetworkDesign(sd_participant=0, sd_unit=0, sd_unit_by_set=0)


@pytest.mark.parametrize("n", [6, 8, 12])
def test_rho_and_p_are_those_of_the_report(n: int) -> None:
    rng = np.random.default_rng(n)
    x = np.sort(rng.random(n))
    x[1] = x[0]
    rows = np.concatenate([rng.random((20, n)), rng.integers(0, 4, (20, n)) / 4])  # the second half has ties
    rho, p = spearman_tests(x, rows)
    for row, r, found in zip(rows, rho, p, strict=True):
        assert r == pytest.approx(stats.spearmanr(x, row).statistic)
        table = pd.DataFrame({"network": [str(i) for i in range(n)], "condition": "natural", "hms": x, "accuracy": row})
        assert found == pytest.approx(understanding_and_hms(table).p)
    constant = spearman_tests(x, np.full((1, n), 0.6))
    assert np.isnan(constant[0][0]) and np.isnan(constant[1][0])


def test_without_a_relation_the_size_is_the_exact_level_of_the_permutation_test() -> None:
    rhos = [abs(stats.spearmanr(range(6), order).statistic) for order in itertools.permutations(range(6))]
    p = np.array([np.mean(np.array(rhos) >= rho - 1e-9) for rho in rhos])
    level = float((p < 0.05).mean())
    design = NetworkDesign(units=2, participants=200)  # enough answers that ties are rare
    found = simulate_network_power(SIX, 0.62, 0, design, simulations=10_000, seed=1)
    assert 0.03 < level < 0.05 and found.power == pytest.approx(level, abs=0.008)
    assert found.low < found.power < found.high


def test_without_noise_every_study_finds_it_and_a_falling_accuracy_too() -> None:
    for slope in (0.7, -0.7):
        found = simulate_network_power(np.arange(6.0), 0.5 - slope / 2, slope, PLAIN)
        assert found.power > 0.999 and found.rho == np.sign(slope)
    # A correlation of the wrong sign is no success: hardly any slope, and only half of the false alarms count.
    assert simulate_network_power(SIX, 0.62, 1e-6, PLAIN).power < 0.03


def test_accuracies_are_marginal_and_rise_with_hms() -> None:
    design = NetworkDesign(sd_network=0.3, participants=20)
    expected = [0.55, 0.6, 0.8]
    intercepts = np.array([marginal_intercept(share, design.sd_total) for share in expected])
    found = simulated_accuracy(intercepts, design, 4000, np.random.default_rng(0))
    assert found.shape == (4000, 3)
    np.testing.assert_allclose(found.mean(axis=0), expected, atol=4 * found.std() / np.sqrt(4000))


@pytest.mark.long
def test_whole_studies_through_the_tables_of_the_report_agree() -> None:
    """Answers drawn one network after the other as tidy trials, then `by_network` and the report's own question."""
    rng, networks, units, people = np.random.default_rng(5), 6, 3, 20
    design = NetworkDesign(units=units, participants=people, sets=4, sd_network=0.1)
    known = pd.DataFrame({"network": [f"net{i}" for i in range(6)], "hms": SIX, "mse": 0.01})
    expected = 0.5 + 0.35 * SIX / SIX.max()
    hits, studies = 0, 1000
    for _ in range(studies):
        person, rows = rng.normal(0, 0.35, people), []
        for i in range(networks):
            deviation = marginal_intercept(expected[i], design.sd_total) + rng.normal(0, 0.1)
            unit, by_set = rng.normal(0, 0.6, units), rng.normal(0, 0.6, (units, 4))
            for j in range(people):
                p = special.expit(deviation + unit + by_set[:, j % 4] + person[j])
                rows += [(f"p{j}", f"net{i}", str(k), "main", "natural", rng.random() < p[k]) for k in range(units)]
        trials = pd.DataFrame(rows, columns=["participant", "network", "unit", "kind", "condition", "correct"])
        question = understanding_and_hms(by_network(trials, known))
        hits += question.p < 0.05 and question.rho > 0
    found = simulate_network_power(SIX, 0.5, 0.35, design, simulations=20_000)
    assert 0.3 < found.power < 0.9
    assert hits / studies == pytest.approx(found.power, abs=3 * np.sqrt(found.power * (1 - found.power) / studies))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hms": SIX[:5]}, "5 networks: the question cannot be answered with fewer than 6"),
        ({"hms": np.full(6, 0.1)}, "give numbers that differ"),
        ({"slope": 0.5}, r"baseline \+ slope is 1.1; it is a share between 0 and 1"),
        ({"design": NetworkDesign(units=0)}, "units, participants and sets are at least 1"),
        ({"simulations": 100}, "100 simulations; at least 5,000"),
    ],
)
def test_wrong_values_are_named(change: dict[str, object], message: str) -> None:
    with pytest.raises(StudyError, match=message):
        simulate_network_power(**({"hms": SIX, "baseline": 0.6, "slope": 0.1} | change))


def test_the_command_prints_a_table_and_json() -> None:
    options = ["study", "power", "--networks", "6", "--networks", "8", "--slope", "0.2", "--participants", "20"]
    options += ["--simulations", "5000"]
    shown = CliRunner().invoke(app, options, env={"COLUMNS": "140"})
    assert shown.exit_code == 0 and "60.0% -> 80.0%" in shown.output
    printed = json.loads(CliRunner().invoke(app, [*options, "--json"]).output)
    assert printed["design"]["units"] == 6
    first, second = printed["power"]
    assert (first["networks"], second["networks"], first["participants"]) == (6, 8, 20)
    assert f"{first['power']:.3f}" in shown.output and first["power"] < second["power"]
    for wrong in (["--networks", "6", "--accuracy", "0.7"], ["--slope", "0.1"]):
        result = CliRunner().invoke(app, ["study", "power", *wrong])
        assert isinstance(result.exception, UsageError) and "--networks" in str(result.exception)
