"""Every published number of the laboratory's earlier study, recomputed from its trials."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from psychophysics.analysis.comparisons import compare, design_of, mann_whitney
from psychophysics.analysis.summaries import (
    by_condition,
    by_stimulus,
    confidence_shares,
    main_trials,
    participant_means,
)
from psychophysics.errors import DesignError, ResponsesError
from psychophysics.laboratory import read_laboratory

DATA = Path(os.environ.get("HMS_TEST_DATA", "")) / "psychophysics"
needs_data = pytest.mark.skipif(
    "HMS_TEST_DATA" not in os.environ,
    reason="HMS_TEST_DATA is not set: the laboratory's trials may not be copied here",
)
NAMES = {"natural": "natural", "optimized": "synthetic", "none_pre": "none_pre", "none_post": "none_post"}


@pytest.fixture(scope="module")
def trials():
    return read_laboratory(DATA / "borowski2021_exp1_trials.csv")


@pytest.fixture(scope="module")
def expected():
    return json.loads((DATA / "expected.json").read_text())


def _ours(trials) -> dict[str, object]:
    """The same tree of numbers as expected.json, by our analysis."""
    accuracy = by_condition(trials).set_index("condition")
    time = by_condition(trials, "rt_s").set_index("condition")
    shares = confidence_shares(trials).set_index(["condition", "confidence"])["share"]
    layers = by_stimulus(trials, ["layer"]).set_index(["condition", "layer"])["accuracy"]
    means = participant_means(trials)
    natural, synthetic = (means.loc[means["condition"] == name, "mean"] for name in ("natural", "synthetic"))
    unpaired, paired = mann_whitney(natural, synthetic), compare(means, "natural", "synthetic")
    return {
        "exp1_main": {
            name: {
                "n_trials": accuracy.loc[ours, "trials"],
                "n_subjects": accuracy.loc[ours, "participants"],
                "acc": accuracy.loc[ours, "pooled"],
                "sem2_ddof0": accuracy.loc[ours, "sem2_ddof0"],
                "rt_mean": time.loc[ours, "pooled"],
                "rt_sem2_ddof0": time.loc[ours, "sem2_ddof0"],
                "conf": {str(level): shares[ours, level] for level in (1, 2, 3)},
            }
            for name, ours in NAMES.items()
        },
        "exp1_natural_vs_synthetic": {
            "mwu_U": unpaired.statistic,
            "mwu_p": unpaired.p,
            "wilcoxon_W": paired.statistic,
            "wilcoxon_p": paired.p,
        },
        "exp1_by_layer_natural": layers["natural"].to_dict(),
        "exp1_by_layer_synthetic": layers["synthetic"].to_dict(),
    }


def _leaves(tree, path=""):
    if isinstance(tree, dict):
        return {k: v for name, part in tree.items() for k, v in _leaves(part, f"{path}/{name}").items()}
    return {path: float(tree)}


def _half_unit(text: str) -> float:
    """Half of the last decimal that a number of expected.json was rounded to, or 1e-12 of a number in full."""
    decimals = len(text.partition(".")[2])
    return 0.5 * 10.0**-decimals if decimals <= 6 else 1e-12


@needs_data
def test_every_published_number(trials, expected, record_property) -> None:
    ours, published = _leaves(_ours(trials)), _leaves(expected)
    assert set(ours) == set(published) and len(published) == 58
    deviations = {path: abs(ours[path] - value) for path, value in published.items()}
    beyond = {path: d for path, d in deviations.items() if d > 1.0001 * _half_unit(repr(published[path]))}
    assert not beyond, beyond
    full = max(d for path, d in deviations.items() if _half_unit(repr(published[path])) < 1e-9)
    text = f"{len(published)} numbers of the laboratory's study: {max(deviations.values()):.1e} (rounded there)"
    record_property("largest_oracle_deviation", f"{text}; of those given in full: {full:.1e}")


@needs_data
def test_the_design_is_read_and_decides_the_test(trials) -> None:
    means = participant_means(trials)
    assert design_of(means) == "within"
    assert compare(means, "natural", "synthetic").name == "Wilcoxon W"
    with pytest.raises(DesignError, match="10 participants took both natural and synthetic"):
        compare(means, "natural", "synthetic", test="unpaired")


@needs_data
def test_what_the_file_holds_beside_main_trials(trials) -> None:
    assert trials["kind"].value_counts().to_dict() == {"main": 1350, "repeated": 180, "catch": 180, "practice": 150}
    assert len(trials) == 1860 and (trials["rt_s"] < 0).sum() == 1
    assert np.array_equal(trials["correct"], trials["target_side"] == trials["response_side"])
    assert len(main_trials(trials)) == 1350


def test_another_file_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "trials.csv"
    other.write_text("subject_id,trial_nr\n1,2\n")
    with pytest.raises(ResponsesError, match="column `instr_type` is missing"):
        read_laboratory(other)
    with pytest.raises(ResponsesError, match=r"absent\.csv is not the table"):
        read_laboratory(tmp_path / "absent.csv")
