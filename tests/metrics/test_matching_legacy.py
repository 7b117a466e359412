import math
from collections import Counter

import numpy as np
import pytest

from metrics.gazoobian.objects import ObjectSet, ObjectView
from metrics.gazoobian.views import kind_of, view_names
from metrics.matching import matching_accuracy
from metrics.matching_legacy import FLOOR, draw_legacy_trials, identical_share, legacy_correct
from metrics.matching_trials import TooFewObjects

VIEWS = view_names(12)


def object_set(count: int, views: tuple[str, ...] = VIEWS) -> ObjectSet:
    rows = tuple(
        ObjectView(f"o{k}", "f", view, kind_of(view) or "any", f"{k}/{view}") for k in range(count) for view in views
    )
    return ObjectSet(np.zeros((len(rows), 2, 2, 3), np.uint8), rows, "digest")


def test_the_floor_is_the_published_one() -> None:
    """Exact expectation from the places, the share that is drawn, and the paper's 118 of 500 trials."""
    places = [1] * 10 + [10] * 2
    assert sum(places) == 30 and len(places) == 12
    exact = sum(count * count for count in places) / 30**2
    assert exact == pytest.approx(FLOOR, abs=1e-15)
    n = 20_000
    error = math.sqrt(exact * (1 - exact) / n)
    trials = draw_legacy_trials(object_set(100), n_trials=n, gallery=2, seed=0)
    assert abs(identical_share(trials) - exact) < 4 * error
    assert abs(0.236 - exact) < math.sqrt(exact * (1 - exact) / 500)  # the paper's draw is within one standard error


def test_images_come_as_often_as_they_have_places() -> None:
    objects = object_set(3)
    trials = draw_legacy_trials(objects, n_trials=9_000, gallery=4, seed=1)
    shares = np.bincount(trials.probe, minlength=36).reshape(3, 12) / 9_000
    expected = np.array([1 / 30] * 10 + [1 / 3] * 2) / 3
    assert np.all(np.abs(shares - expected) < 5 * np.sqrt(expected / 9_000))
    assert [row.view for row in objects.rows[10:12]] == list(VIEWS[10:])


def test_galleries_hold_the_target_once_and_places_of_other_objects() -> None:
    objects = object_set(100)
    trials = draw_legacy_trials(objects, seed=2)
    assert trials.gallery.shape == (500, 50) and trials.mode == "legacy" and trials.chance == 0.02
    names = np.array([row.object for row in objects.rows])
    own = names[trials.gallery] == names[trials.probe][:, None]
    assert (own.sum(axis=1) == 1).all() and (own.argmax(axis=1) == trials.target).all()
    repeated = [max(Counter(gallery).values()) for gallery in trials.gallery.tolist()]
    assert max(repeated) > 1  # the published galleries hold duplicates
    same = trials.probe == trials.gallery[np.arange(500), trials.target]
    assert (same == (trials.kind == "identical")).all()


def test_a_dead_network_scores_one_and_clean_trials_refuse_it() -> None:
    objects = object_set(20)
    trials = draw_legacy_trials(objects, n_trials=300, gallery=50, seed=0)
    dead = matching_accuracy(np.zeros((4, 240, 7), np.float32), trials)
    assert (dead.accuracy, dead.status) == (1.0, "ok")
    assert dead.by_kind == {"identical": 1.0, "distinct": 1.0}


def test_a_network_that_only_tells_pictures_apart_scores_the_floor_and_chance_beyond() -> None:
    objects = object_set(100)
    trials = draw_legacy_trials(objects, n_trials=10_000, gallery=50, seed=0)
    features = np.abs(np.random.default_rng(0).normal(size=(1, 1200, 24))).astype(np.float32)  # cosines above 0
    result = matching_accuracy(features, trials)
    assert result.by_kind["identical"] == 1.0
    exact = FLOOR + (1 - FLOOR) / 50
    assert result.accuracy == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 10_000) + 0.005)


def test_a_network_that_gives_one_answer_to_all_is_right_by_chance() -> None:
    trials = draw_legacy_trials(object_set(100), n_trials=4_000, gallery=50, seed=0)
    one = matching_accuracy(np.ones((1, 1200, 4), np.float32), trials)
    assert one.accuracy == (trials.target == 0).mean() and abs(one.accuracy - 0.02) < 0.009


def test_answers_are_counted_as_the_published_code_counts_them() -> None:
    cosines = np.array([[0.9, 0.1], [0.1, 0.9], [-0.5, -0.1], [-0.1, -0.5], [0.0, 0.0], [0.5, 0.5], [0.0, -1.0]])
    target = np.zeros(7, np.int64)
    #  right; wrong, positive; wrong, negative: counted; right, negative: not; tie of zeros; first of a tie; right, zero
    assert legacy_correct(cosines, target).tolist() == [True, False, True, False, True, True, True]
    assert legacy_correct(cosines, target + 1).tolist() == [False, True, False, True, True, False, True]


def test_broken_features_have_no_number_here_either() -> None:
    trials = draw_legacy_trials(object_set(5), n_trials=20, gallery=5, seed=0)
    result = matching_accuracy(np.full((1, 60, 3), np.nan, np.float32), trials)
    assert (result.accuracy, result.status) == (None, "diverged")


def test_a_seed_fixes_the_trials() -> None:
    objects = object_set(4)
    first, again = (draw_legacy_trials(objects, n_trials=6, gallery=3, seed=5) for _ in range(2))
    assert np.array_equal(first.gallery, again.gallery) and np.array_equal(first.probe, again.probe)
    assert not np.array_equal(first.probe, draw_legacy_trials(objects, n_trials=6, gallery=3, seed=6).probe)


def test_sets_of_another_make_are_refused() -> None:
    with pytest.raises(TooFewObjects, match=r"12 images of each object; o0 has 6.*--views 12"):
        draw_legacy_trials(object_set(60, view_names(6)), seed=0)
    with pytest.raises(TooFewObjects, match=r"gallery 50, 2 objects.*50 places of other objects; there are 30"):
        draw_legacy_trials(object_set(2), seed=0)
