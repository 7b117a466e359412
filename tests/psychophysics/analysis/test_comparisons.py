"""The test follows the design; Holm and equivalence against hand-computed numbers."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from psychophysics.analysis.comparisons import compare, design_of, equivalence, pairwise, wilcoxon
from psychophysics.analysis.summaries import participant_means
from psychophysics.errors import DesignError


def _people(make_trials, shares: dict[str, list[int]], *, same: bool = False) -> pd.DataFrame:
    """Ten trials a participant, so many of them correct; the same participants in all conditions or other ones."""
    trials = pd.concat(
        [
            make_trials(f"{'' if same else condition}{i}", condition, [True] * k + [False] * (10 - k), attempt=c)
            for c, (condition, counts) in enumerate(shares.items())
            for i, k in enumerate(counts)
        ]
    )
    return participant_means(trials)


NATURAL, NONE = [9, 8, 8, 7, 9, 10, 6], [6, 7, 5, 5, 6, 8, 6]


def test_other_participants_are_compared_unpaired(make_trials) -> None:
    means = _people(make_trials, {"natural": NATURAL, "none": NONE})
    assert design_of(means) == "between"
    found = compare(means, "natural", "none")
    expected = stats.mannwhitneyu(np.array(NATURAL) / 10, np.array(NONE) / 10, method="asymptotic")
    assert (found.name, found.statistic) == ("Mann-Whitney U", expected.statistic)
    assert found.p == pytest.approx(expected.pvalue, rel=1e-12)


def test_the_same_participants_are_compared_in_pairs_and_never_unpaired(make_trials) -> None:
    means = _people(make_trials, {"natural": NATURAL, "none": NONE}, same=True)
    assert design_of(means) == "within"
    found = compare(means, "natural", "none")
    # Differences 3, 1, 3, 2, 3, 2, 0: all in one direction; the 0 is dropped.
    assert (found.name, found.statistic) == ("Wilcoxon W", 0.0)
    assert found.p == pytest.approx(stats.wilcoxon([3, 1, 3, 2, 3, 2]).pvalue)
    with pytest.raises(DesignError, match="7 participants took both natural and none"):
        compare(means, "natural", "none", test="unpaired")


def test_participants_in_some_conditions_only_fit_neither_test(make_trials) -> None:
    means = _people(make_trials, {"natural": NATURAL, "none": NONE[:5]}, same=True)
    assert design_of(means) == "mixed"
    with pytest.raises(DesignError, match="5 of 7 participants took both"):
        compare(means, "natural", "none")
    table = pairwise(means, ["natural", "none"])
    assert np.isnan(table.loc[0, "p"]) and "see the mixed model" in table.loc[0, "reason"]
    assert table.loc[0, "difference"] == pytest.approx(np.mean(NATURAL) / 10 - np.mean(NONE[:5]) / 10)


def test_equal_pairs_are_no_difference() -> None:
    assert wilcoxon([0.5, 0.6, 0.7], [0.5, 0.6, 0.7]).p == 1.0
    assert wilcoxon([0.1 + 0.2, 0.6], [0.3, 0.5]).statistic == 0.0  # 0.1 + 0.2 is 0.3 here


def test_holm_corrects_over_the_ten_pairs(make_trials) -> None:
    shares = {
        "synthetic": [7, 8, 6, 7, 8, 9],
        "natural": [9, 8, 8, 7, 9, 10],
        "mixed": [8, 8, 9, 7, 9, 9],
        "blurred": [6, 7, 7, 8, 6, 7],
        "none": [5, 5, 6, 4, 6, 5],
    }
    table = pairwise(_people(make_trials, shares), list(shares))
    assert len(table) == 10 and (table["family"] == 10).all()
    p = table["p"].to_numpy()
    order = np.argsort(p, kind="stable")
    by_hand = np.empty(10)
    by_hand[order] = np.minimum(1, np.maximum.accumulate(p[order] * (10 - np.arange(10))))
    np.testing.assert_allclose(table["p_holm"], by_hand, rtol=1e-12)
    assert table["p_equivalence"].isna().all()


def test_equivalence_is_two_one_sided_tests(make_trials) -> None:
    one, other = [7, 8, 7, 6, 7, 8, 7, 7], [7, 7, 8, 7, 6, 7, 7, 8]
    between = _people(make_trials, {"natural": one, "none": other})
    a, b = np.array(one) / 10, np.array(other) / 10
    lower = stats.ttest_ind(a + 0.1, b, equal_var=False, alternative="greater").pvalue
    upper = stats.ttest_ind(a - 0.1, b, equal_var=False, alternative="less").pvalue
    assert equivalence(between, "natural", "none", 0.1) == pytest.approx(max(lower, upper), rel=1e-10)
    within = _people(make_trials, {"natural": one, "none": other}, same=True)
    lower = stats.ttest_rel(a + 0.1, b, alternative="greater").pvalue
    upper = stats.ttest_rel(a - 0.1, b, alternative="less").pvalue
    assert equivalence(within, "natural", "none", 0.1) == pytest.approx(max(lower, upper), rel=1e-10)
    assert equivalence(between, "natural", "none", 0.1) < 0.05 < equivalence(between, "natural", "none", 0.02)


def test_an_unknown_condition_is_named(make_trials) -> None:
    means = _people(make_trials, {"natural": NATURAL, "none": NONE})
    with pytest.raises(DesignError, match="No main trials of condition mixed; there are natural, none"):
        compare(means, "mixed", "none")
