import itertools
from collections import Counter

import numpy as np
import pytest

from metrics.errors import MetricError
from metrics.gazoobian.objects import ObjectSet, ObjectView
from metrics.matching import MatchingResult, draw_trials
from metrics.matching_intervals import accuracy_intervals, compare_networks, intervals_of, trial_objects

# Three objects with four, three and two trials.
OBJECTS = np.array(["a", "b", "c", "a", "b", "a", "c", "b", "a"])
KINDS = np.array(["hue", "hue", "hue", "light", "light", "light", "light", "light", "hue"])
FIRST = np.array([1, 1, 0, 1, 0, 1, 0, 1, 1], dtype=bool)
SECOND = np.array([0, 1, 0, 0, 1, 1, 0, 0, 1], dtype=bool)


def every_resample(values: np.ndarray, kind: str | None) -> list[float]:
    """The mean in each of the 27 equally likely draws of three objects from three, written out as loops."""
    means = []
    for drawn in itertools.product("abc", repeat=3):
        found = [
            value
            for name in drawn
            for value, own, its in zip(values.tolist(), OBJECTS, KINDS, strict=True)
            if own == name and kind in (None, its)
        ]
        means.append(sum(found) / len(found))
    return means


@pytest.mark.parametrize("kind", [None, "hue", "light"])
@pytest.mark.parametrize("level", [0.5, 0.8, 0.95])
def test_intervals_are_those_of_all_possible_resamples(kind: str | None, level: float) -> None:
    found = accuracy_intervals(FIRST, OBJECTS, KINDS, resamples=100_000, level=level)[kind or "overall"]
    means = every_resample(FIRST.astype(float), kind)
    for end, share in ((found.low, (1 - level) / 2), (found.high, (1 + level) / 2)):
        below = sum(mean < end - 1e-9 for mean in means) / 27
        at_most = sum(mean <= end + 1e-9 for mean in means) / 27
        assert below - 0.006 < share < at_most + 0.006  # 0.006: four standard errors of 100,000 resamples
        assert min(abs(mean - end) for mean in means) < 1e-12
    chosen = FIRST if kind is None else FIRST[kind == KINDS]
    assert found.value == pytest.approx(chosen.mean(), abs=1e-15)
    assert (found.trials, found.objects) == (len(chosen), 3)


@pytest.mark.parametrize("kind", [None, "hue", "light"])
def test_the_comparison_is_that_of_all_possible_resamples(kind: str | None) -> None:
    found = compare_networks(FIRST, SECOND, OBJECTS, KINDS, resamples=100_000)[kind or "overall"]
    means = every_resample(FIRST.astype(float) - SECOND.astype(float), kind)
    tails = [sum(mean <= 1e-12 for mean in means) / 27, sum(mean >= -1e-12 for mean in means) / 27]
    assert found.p == pytest.approx(min(1.0, 2 * min(tails)), abs=0.012)
    counted = Counter(round(mean, 9) for mean in means)
    assert round(found.low, 9) in counted and round(found.high, 9) in counted
    chosen = slice(None) if kind is None else kind == KINDS
    assert found.value == pytest.approx(FIRST[chosen].mean() - SECOND[chosen].mean(), abs=1e-15)


def test_a_seed_fixes_the_interval_and_order_of_trials_does_not_matter() -> None:
    order = np.random.default_rng(0).permutation(9)
    first = accuracy_intervals(FIRST, OBJECTS, KINDS, resamples=500, seed=3)
    again = accuracy_intervals(FIRST[order], OBJECTS[order], KINDS[order], resamples=500, seed=3)
    other = accuracy_intervals(FIRST, OBJECTS, KINDS, resamples=500, seed=4, level=0.6)
    assert list(first) == ["overall", "hue", "light"]
    assert first == again and first != other


def test_networks_swapped_and_alike() -> None:
    one = compare_networks(FIRST, SECOND, OBJECTS, KINDS, resamples=999)
    two = compare_networks(SECOND, FIRST, OBJECTS, KINDS, resamples=999)
    for kind, there in one.items():
        back = two[kind]
        assert (there.value, there.low, there.high, there.p) == pytest.approx(
            (-back.value, -back.high, -back.low, back.p)
        )
    same = compare_networks(FIRST, FIRST, OBJECTS, KINDS, resamples=99)["overall"]
    assert (same.value, same.low, same.high, same.p) == (0.0, 0.0, 0.0, 1.0)
    best = compare_networks(np.ones(9, bool), np.zeros(9, bool), OBJECTS, KINDS, resamples=99)["overall"]
    assert (best.value, best.p) == (1.0, 0.02)


def test_objects_and_not_trials_are_resampled() -> None:
    """Where all trials of an object go alike, intervals over objects hold the truth, those over trials do not."""
    rng = np.random.default_rng(0)
    objects, kinds = np.repeat(np.arange(20).astype(str), 10), np.full(200, "any")
    by_object = by_trial = 0
    for _ in range(200):
        correct = np.repeat(rng.random(20) < 0.5, 10)
        interval = accuracy_intervals(correct, objects, kinds, resamples=400)["overall"]
        naive = accuracy_intervals(correct, np.arange(200).astype(str), kinds, resamples=400)["overall"]
        by_object += interval.low <= 0.5 <= interval.high
        by_trial += naive.low <= 0.5 <= naive.high
    assert by_object / 200 > 0.88
    assert by_trial / 200 < 0.6


def test_a_kind_that_few_objects_have_is_left_out_of_resamples_without_it() -> None:
    found = accuracy_intervals(FIRST, OBJECTS, np.array(["rare", *["any"] * 8]), resamples=200)
    assert (found["rare"].value, found["rare"].low, found["rare"].objects) == (1.0, 1.0, 1)


def test_of_a_result() -> None:
    rows = tuple(ObjectView(f"cup{k}", "", view, "any", f"{k}{view}") for k in range(6) for view in ("left", "right"))
    objects = ObjectSet(np.zeros((12, 4, 5, 3), np.uint8), rows, "")
    trials = draw_trials(objects, n_trials=30, gallery=6, seed=0)
    names = trial_objects(objects, trials)
    assert [str(name) for name in names] == [rows[probe].object for probe in trials.probe]
    correct = names == "cup0"
    found = intervals_of(MatchingResult(5 / 30, "ok", {}, correct), objects, trials, resamples=100)
    assert found["any"] == found["overall"] and found["overall"].value == pytest.approx(correct.mean())
    assert str(found["overall"]).startswith("0.167 [0.")
    assert intervals_of(MatchingResult(None, "diverged", {}, None), objects, trials) == {}


def test_mistakes_are_named() -> None:
    with pytest.raises(MetricError, match=r"shape \(8,\) and type bool.*\(9,\)"):
        accuracy_intervals(FIRST[1:], OBJECTS, KINDS)
    with pytest.raises(MetricError, match="type float64"):
        compare_networks(FIRST, SECOND.astype(float), OBJECTS, KINDS)  # type: ignore[arg-type]
    with pytest.raises(MetricError, match=r"\(9,\), kinds \(8,\)"):
        accuracy_intervals(FIRST, OBJECTS, KINDS[1:])
    with pytest.raises(MetricError, match="level of an interval is 95"):
        accuracy_intervals(FIRST, OBJECTS, KINDS, level=95)
    with pytest.raises(MetricError, match="0 resamples"):
        accuracy_intervals(FIRST, OBJECTS, KINDS, resamples=0)
