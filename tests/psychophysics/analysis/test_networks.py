"""Networks as the sample: means, the exact p, and when the question cannot be answered."""

import numpy as np
import pandas as pd
import pytest

from psychophysics.analysis.networks import by_network, understanding_and_hms


def _study(make_trials, accuracies: list[int], hms: list[float]):
    trials = pd.concat(
        [
            make_trials(f"p{i}", "natural", [True] * k + [False] * (10 - k), network=f"net{i}")
            for i, k in enumerate(accuracies)
        ]
    )
    networks = pd.DataFrame({"network": [f"net{i}" for i in range(len(hms))], "hms": hms, "mse": 0.01})
    return by_network(trials, networks)


def test_six_networks_in_order_have_the_smallest_p_that_six_can_have(make_trials) -> None:
    table = _study(make_trials, [5, 6, 7, 8, 9, 10], [0.0, 0.05, 0.1, 0.12, 0.15, 0.2])
    assert table["accuracy"].tolist() == pytest.approx([0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
    found = understanding_and_hms(table)
    assert found.rho == pytest.approx(1) and found.p == pytest.approx(2 / 720)
    assert found.answer == "Over 6 networks more brain-like networks are easier to understand."
    assert understanding_and_hms(table, 0.002).answer == "Over 6 networks no relation is shown."


def test_fewer_than_six_with_hms_cannot_answer(make_trials) -> None:
    found = understanding_and_hms(_study(make_trials, [5, 6, 7, 8, 9, 10], [0.0, 0.05, 0.1, 0.12, 0.15, np.nan]))
    assert found.n == 5 and np.isnan(found.rho)
    assert found.answer.startswith("5 networks with a defined HMS: the question cannot be answered")


def test_no_relation_is_said_to_be_none(make_trials) -> None:
    found = understanding_and_hms(_study(make_trials, [7, 6, 8, 6, 9, 7], [0.0, 0.05, 0.1, 0.12, 0.15, 0.2]))
    assert found.p > 0.05 and found.answer == "Over 6 networks no relation is shown."
    alike = understanding_and_hms(_study(make_trials, [7] * 6, [0.0, 0.05, 0.1, 0.12, 0.15, 0.2]))
    assert "undefined" in alike.answer


def test_only_conditions_with_references_say_how_well_a_network_is_understood(make_trials) -> None:
    hms = [0.0, 0.05, 0.1, 0.12, 0.15, 0.2]
    natural, none = ([4, 5, 6, 7, 8, 9], [9, 1, 1, 1, 1, 1])
    trials = pd.concat(
        [
            make_trials(f"{condition}{i}", condition, [True] * k + [False] * (10 - k), network=f"net{i}")
            for condition, counts in (("natural", natural), ("none", none))
            for i, k in enumerate(counts)
        ]
    )
    networks = pd.DataFrame({"network": [f"net{i}" for i in range(6)], "hms": hms, "mse": 0.01})
    table = by_network(trials, networks)
    assert len(table) == 12 and understanding_and_hms(table).rho == pytest.approx(1)
    alone = understanding_and_hms(table[table["condition"] == "none"])
    assert alone.rho == pytest.approx(-7.5 / np.sqrt(17.5 * 7.5))
