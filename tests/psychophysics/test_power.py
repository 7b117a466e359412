"""Power: marginal accuracies, the vectorised test against scipy's, and the published design."""

import json

import numpy as np
import pytest
from scipy import integrate, special, stats
from typer.testing import CliRunner

from psychophysics.errors import StudyError
from psychophysics.power import PowerDesign, mann_whitney_p, marginal_intercept, simulate_power
from search.cli import app

# Power of the spec's own 600 simulations, by accuracy against 0.60 and participants a condition.
PUBLISHED = {(0.67, 50): 0.73, (0.64, 50): 0.31, (0.67, 100): 0.96, (0.64, 100): 0.55}


@pytest.mark.parametrize("accuracy", [0.5, 0.6, 0.67, 0.05, 0.995])
@pytest.mark.parametrize("sd", [0.0, 0.9, 2.0])
def test_the_mean_over_random_effects_is_the_accuracy(accuracy: float, sd: float) -> None:
    intercept = marginal_intercept(accuracy, sd)
    if sd == 0:
        assert intercept == pytest.approx(special.logit(accuracy))
        return
    mean, _ = integrate.quad(lambda x: special.expit(intercept + x) * stats.norm.pdf(x, 0, sd), -12 * sd, 12 * sd)
    assert mean == pytest.approx(accuracy, abs=1e-7)


def test_p_equals_scipys_with_ties() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.integers(0, 19, (50, 12)), rng.integers(4, 19, (50, 9))
    first[0], second[0] = 3, 3
    ours = mann_whitney_p(first, second, 18)
    theirs = [stats.mannwhitneyu(a, b, method="asymptotic").pvalue for a, b in zip(first[1:], second[1:], strict=True)]
    np.testing.assert_allclose(ours[1:], theirs, rtol=1e-10)
    assert ours[0] == 1


@pytest.mark.parametrize(("case", "published"), list(PUBLISHED.items()))
def test_the_papers_design(case: tuple[float, int], published: float) -> None:
    accuracy, n = case
    found = simulate_power(0.6, accuracy, n)
    spread = np.sqrt(published * (1 - published) * (1 / 600 + 1 / found.simulations))
    assert abs(found.power - published) < 2.6 * spread  # 99 % of the difference of two simulations
    assert found.low < found.power < found.high and found.high - found.low < 0.03


def test_equal_accuracies_are_found_different_as_often_as_alpha_or_less() -> None:
    found = simulate_power(0.62, 0.62, 50)
    assert 0.02 < found.power < 0.06  # shared units and sets make the test a little conservative
    alike = PowerDesign(sd_participant=0, sd_unit=0, sd_unit_by_set=0)
    assert simulate_power(0.62, 0.62, 50, alike).power == pytest.approx(0.05, abs=0.01)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"baseline": 1.0}, "baseline is 1; it is a share between 0 and 1"),
        ({"accuracy": 67}, "accuracy is 67; it is a share"),
        ({"participants": 1}, "1 participants a condition"),
        ({"simulations": 600}, "600 simulations; at least 5,000"),
        ({"design": PowerDesign(sd_unit=-1)}, "SDs at least 0"),
    ],
)
def test_wrong_values_are_named(change: dict[str, object], message: str) -> None:
    with pytest.raises(StudyError, match=message):
        simulate_power(**({"baseline": 0.6, "accuracy": 0.67, "participants": 50} | change))


def test_the_command_prints_a_table_and_json() -> None:
    options = ["study", "power", "--participants", "20", "--accuracy", "0.7", "--simulations", "5000"]
    shown = CliRunner().invoke(app, options, env={"COLUMNS": "120"})
    assert shown.exit_code == 0 and "60.0% -> 70.0%" in shown.output
    printed = json.loads(CliRunner().invoke(app, [*options, "--json"]).output)
    assert printed["design"]["trials"] == 18
    (row,) = printed["power"]
    assert f"{row['power']:.3f}" in shown.output and row["simulations"] == 5000 and row["participants"] == 20
