import json
import math
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from metrics.errors import MetricError
from metrics.gazoobian.objects import ObjectSet, ObjectView
from metrics.gazoobian.views import kind_of, view_names
from metrics.matching import (
    MatchingTrials,
    StreamedMatching,
    TooFewObjects,
    draw_trials,
    matching_accuracy,
    pixel_accuracy,
    write_trials,
)


def object_set(families: int, members: int, views: tuple[str, ...] = view_names(12), seed: int = 0) -> ObjectSet:
    """A set of tiny random images; names as the generator gives them."""
    rng = np.random.default_rng(seed)
    rows = tuple(
        ObjectView(f"f{f}-{m}", f"f{f}", view, kind_of(view) or "any", f"{f}/{m}/{view}")
        for f in range(families)
        for m in range(members)
        for view in views
    )
    return ObjectSet(rng.integers(0, 256, (len(rows), 4, 5, 3), dtype=np.uint8), rows, "digest")


def features_with_signal(objects: ObjectSet, noise: float, steps: int = 3, width: int = 12) -> np.ndarray:
    rng = np.random.default_rng(5)
    identity = {row.object: rng.normal(size=width) for row in objects.rows}
    clean = np.array([identity[row.object] for row in objects.rows])
    return (clean + noise * rng.normal(size=(steps, *clean.shape))).astype(np.float32)


def loop_accuracy(features: np.ndarray, trials: MatchingTrials) -> list[bool]:
    """The task written out: one trial, one gallery image, one time step after another."""
    answers = []
    for probe, gallery, target in zip(trials.probe, trials.gallery, trials.target, strict=True):
        means = []
        for image in gallery:
            cosines = []
            for step in features.astype(float).tolist():
                a, b = step[probe], step[image]
                dot = sum(x * y for x, y in zip(a, b, strict=True))
                cosines.append(dot / math.sqrt(sum(x * x for x in a)) / math.sqrt(sum(x * x for x in b)))
            means.append(sum(cosines) / len(cosines))
        best = [place for place, mean in enumerate(means) if mean >= max(means) - 1e-12]
        answers.append(best == [target])
    return answers


@pytest.mark.parametrize("noise", [0.3, 1.0, 3.0])
def test_accuracy_equals_the_task_written_out_as_loops(noise: float) -> None:
    objects = object_set(3, 9)
    trials = draw_trials(objects, n_trials=80, gallery=20, seed=3)
    features = features_with_signal(objects, noise)
    before = features.copy()
    result = matching_accuracy(features, trials)
    expected = loop_accuracy(features, trials)
    assert result.status == "ok"
    assert result.correct is not None and result.correct.tolist() == expected
    assert result.accuracy == pytest.approx(np.mean(expected), abs=1e-15)
    for kind, value in result.by_kind.items():
        chosen = [right for right, k in zip(expected, trials.kind, strict=True) if k == kind]
        assert value == pytest.approx(np.mean(chosen), abs=1e-15)
    assert np.array_equal(features, before)
    if noise == 1.0:
        assert 0.05 < np.mean(expected) < 0.999  # the comparison above is of a mixture of right and wrong answers


@pytest.mark.parametrize("at_once", [1, 7, 1000])
def test_streaming_gives_the_same_however_many_images_come_at_once(at_once: int) -> None:
    objects = object_set(3, 9, view_names(6))
    trials = draw_trials(objects, n_trials=40, gallery=20, seed=3)
    features = np.tile(features_with_signal(objects, 1.5), 500)  # wider than one chunk of columns
    streamed = StreamedMatching(trials)
    for start in range(0, len(streamed.images), at_once):
        streamed.update(features[:, streamed.images[start : start + at_once]])
    result = streamed.result()
    assert result.correct is not None and result.correct.tolist() == loop_accuracy(features[:, :, :12], trials)
    assert result.accuracy == matching_accuracy(features, trials).accuracy
    assert matching_accuracy(features.astype(np.float16), trials).status == "ok"


def test_only_images_of_trials_are_asked_for_probes_first_and_only_they_are_kept() -> None:
    objects = object_set(3, 9)
    trials = draw_trials(objects, n_trials=9, gallery=5, seed=3, same_family=2)
    streamed = StreamedMatching(trials)
    probes = np.unique(trials.probe)
    assert streamed.images[: len(probes)].tolist() == probes.tolist()
    assert sorted(streamed.images) == sorted({*trials.probe.tolist(), *trials.gallery.ravel().tolist()})
    assert len(streamed.images) < len(objects.rows)
    features = features_with_signal(objects, 1.0)[:, streamed.images]
    tracemalloc.start()
    wide = np.tile(features[:, :1], 20_000)  # one image: 3 steps x 240,000 features, 2.9 MB
    for _ in streamed.images:
        streamed.update(wide)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < (len(probes) + 4) * wide.nbytes


def test_images_that_are_missing_or_too_many_or_of_another_network_are_refused() -> None:
    objects = object_set(2, 9, view_names(6))
    trials = draw_trials(objects, n_trials=80, gallery=10, seed=0, same_family=4)
    features = features_with_signal(objects, 1.0)
    streamed = StreamedMatching(trials)
    streamed.update(features[:, streamed.images[:-1]])
    with pytest.raises(MetricError, match=f"{len(streamed.images) - 1} of {len(streamed.images)} images"):
        streamed.result()
    with pytest.raises(MetricError, match="1 are left"):
        streamed.update(features[:, :2])
    with pytest.raises(MetricError, match=r"\(3, 1, 5\)"):
        streamed.update(features[:, :1, :5])
    with pytest.raises(MetricError, match=r"\(108, 12\)"):
        streamed.update(features[0])


def test_every_trial_keeps_the_rules() -> None:
    objects = object_set(12, 9)
    trials = draw_trials(objects, seed=7)
    rows = objects.rows
    assert trials.gallery.shape == (500, 50) and trials.same_family == 7 and trials.chance == 0.02
    kinds, counts = np.unique(trials.kind, return_counts=True)
    assert dict(zip(kinds, counts, strict=True)) == {"rotation": 125, "light": 125, "hue": 125, "mixed": 125}
    for probe, gallery, place, kind in zip(trials.probe, trials.gallery, trials.target, trials.kind, strict=True):
        own, target = rows[probe], rows[gallery[place]]
        assert own.kind == ("mixed" if kind == "mixed" else "canonical")
        assert target.object == own.object and gallery[place] != probe
        names = [rows[image].object for image in gallery]
        assert len(set(names)) == 50
        assert {rows[image].kind for image in gallery} == {kind}
        assert sum(rows[image].family == own.family for image in gallery) == 8
    targets_by_object = np.unique([rows[image].object for image in trials.probe], return_counts=True)[1]
    assert len(targets_by_object) == 108 and targets_by_object.max() - targets_by_object.min() <= 4
    assert np.bincount(trials.target, minlength=50).max() < 30  # the target's place in the gallery is spread


def test_a_seed_fixes_the_trials() -> None:
    objects = object_set(12, 9)
    first, again, other = (draw_trials(objects, n_trials=40, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(first.gallery, again.gallery) and np.array_equal(first.probe, again.probe)
    assert not np.array_equal(first.gallery, other.gallery)
    assert first.probe[:6].tolist() == [936, 1128, 996, 137, 156, 600]  # the same in every version of Python and NumPy


def test_fifty_objects_fill_a_gallery_of_fifty() -> None:
    last = {"f0": 8, "f1": 8}  # two families of nine, four of eight
    rows = [row for row in object_set(6, 9).rows if int(row.object[3]) <= last.get(row.family, 7)]
    objects = ObjectSet(np.zeros((len(rows), 4, 5, 3), np.uint8), tuple(rows), "")
    assert objects.object_count == 50
    trials = draw_trials(objects, n_trials=100, seed=0)
    assert all(len({rows[image].object for image in gallery}) == 50 for gallery in trials.gallery)


def test_ties_are_wrong_answers() -> None:
    objects = object_set(2, 9)
    trials = draw_trials(objects, n_trials=8, gallery=10, seed=0, same_family=4)
    features = features_with_signal(objects, 0.0, steps=1)
    assert matching_accuracy(features, trials).accuracy == 1.0
    tied = features.copy()
    stranger = next(place for place in range(10) if place != trials.target[0])
    tied[0, trials.gallery[0, stranger]] = 3.0 * tied[0, trials.gallery[0, trials.target[0]]]
    result = matching_accuracy(tied, trials)
    assert result.correct is not None and not result.correct[0]


@pytest.mark.parametrize(
    ("spoil", "status"),
    [
        (lambda f: f * 0.0, "undefined_zero"),
        (lambda f: np.where(np.arange(f.shape[1])[:, None] == 0, 0.0, f), "undefined_zero"),
        (lambda f: np.ones_like(f), "undefined_constant"),
        (lambda f: np.broadcast_to(f[:, :1], f.shape), "undefined_constant"),
        (lambda f: np.abs(f[:, :, :1]) * f[:, :1], "undefined_constant"),
        (lambda f: np.where(f == f.max(), np.nan, f), "diverged"),
        (lambda f: np.where(f == f.max(), np.inf, f), "diverged"),
    ],
    ids=["zero", "one image zero", "constant", "same for all images", "one direction", "nan", "inf"],
)
def test_features_that_cannot_tell_images_apart_get_a_status_not_a_number(spoil, status: str) -> None:
    objects = object_set(2, 9, view_names(6))
    trials = draw_trials(objects, n_trials=80, gallery=10, seed=0, same_family=4)
    result = matching_accuracy(spoil(features_with_signal(objects, 0.5)).astype(np.float32), trials)
    assert (result.status, result.accuracy, result.by_kind, result.correct) == (status, None, {}, None)


def test_input_independent_features_with_rounding_noise_are_constant() -> None:
    objects = object_set(2, 9)
    trials = draw_trials(objects, n_trials=80, gallery=10, seed=0, same_family=4)
    row = np.random.default_rng(0).normal(size=(2, 1, 300)).astype(np.float32)
    noise = np.random.default_rng(1).integers(-1, 2, (2, len(objects.rows), 300)) * np.spacing(row)
    assert matching_accuracy((row + noise).astype(np.float32), trials).status == "undefined_constant"


def test_large_features_do_not_overflow() -> None:
    objects = object_set(2, 9)
    trials = draw_trials(objects, n_trials=40, gallery=10, seed=0, same_family=4)
    features = features_with_signal(objects, 1.0)
    assert (
        matching_accuracy(features * np.float32(1e30), trials).accuracy == matching_accuracy(features, trials).accuracy
    )


def test_random_features_score_at_chance() -> None:
    objects = object_set(12, 9)
    trials = draw_trials(objects, n_trials=1000, seed=0)
    random = np.random.default_rng(0).normal(size=(1, len(objects.rows), 8)).astype(np.float32)
    accuracy = matching_accuracy(random, trials).accuracy
    assert accuracy is not None and 0.005 < accuracy < 0.045


def test_own_images_without_families_match_any_two_views() -> None:
    rows = tuple(ObjectView(f"cup{k}", "", view, "any", f"{k}{view}") for k in range(6) for view in ("left", "right"))
    objects = ObjectSet(np.zeros((12, 4, 5, 3), np.uint8), rows, "")
    trials = draw_trials(objects, n_trials=30, gallery=6, seed=0)
    assert trials.same_family is None and set(trials.kind) == {"any"}
    for probe, gallery, place in zip(trials.probe, trials.gallery, trials.target, strict=True):
        assert {rows[probe].view, rows[gallery[place]].view} == {"left", "right"}
        assert rows[probe].object == rows[gallery[place]].object


def test_probe_and_target_never_show_the_same_pixels() -> None:
    rows = [
        ObjectView(f"o{k}", "", view, "any", f"{k}{'same' if view in 'ab' else view}")
        for k in range(4)
        for view in "abc"
    ]
    trials = draw_trials(ObjectSet(np.zeros((12, 4, 5, 3), np.uint8), tuple(rows), ""), n_trials=60, gallery=4, seed=0)
    for probe, gallery, place in zip(trials.probe, trials.gallery, trials.target, strict=True):
        assert rows[probe].sha256 != rows[gallery[place]].sha256
    twins = tuple(ObjectView(f"o{k}", "", view, "any", str(k)) for k in range(4) for view in "ab")
    with pytest.raises(TooFewObjects, match="None of 4 objects has two different images"):
        draw_trials(ObjectSet(np.zeros((8, 4, 5, 3), np.uint8), twins, ""), n_trials=1, gallery=2, seed=0)


def test_too_few_objects_names_the_numbers_and_the_command() -> None:
    with pytest.raises(TooFewObjects, match=r"gallery of 50 needs 49 other.*has 27 such objects.*hms data gazoobian"):
        draw_trials(object_set(3, 9), seed=0)
    with pytest.raises(
        TooFewObjects, match=r"7 of them from the target's family; the set's families have 5 to 5 objects"
    ):
        draw_trials(object_set(12, 5), seed=0)
    with pytest.raises(MetricError, match="gallery 1"):
        draw_trials(object_set(3, 9), gallery=1, seed=0)


def test_features_of_another_set_are_refused() -> None:
    objects = object_set(2, 9, view_names(6))
    trials = draw_trials(objects, n_trials=80, gallery=10, seed=0, same_family=4)
    features = features_with_signal(objects, 1.0)
    with pytest.raises(MetricError, match=r"shape \(20, 12\).*at least 10"):
        matching_accuracy(features[:, :20], trials)
    with pytest.raises(MetricError, match="No features"):
        matching_accuracy(features[:0], trials)
    with pytest.raises(MetricError, match="one feature"):
        matching_accuracy(features[:, :, :0], trials)


def test_pixels_find_objects_that_look_alike_in_all_views() -> None:
    objects = object_set(2, 9)
    names = sorted({row.object for row in objects.rows})
    looks = {name: np.random.default_rng(k).integers(0, 256, (4, 5, 3)) for k, name in enumerate(names)}
    images = np.array([looks[row.object] for row in objects.rows], dtype=np.uint8)
    images[:, 0, 0, 0] = np.arange(len(images)) % 256  # views differ in one value
    trials = draw_trials(objects, n_trials=40, gallery=10, seed=0, same_family=4)
    assert pixel_accuracy(ObjectSet(images, objects.rows, ""), trials).accuracy == 1.0
    blank = ObjectSet(np.full_like(images, 128), objects.rows, "")
    assert pixel_accuracy(blank, trials).accuracy is None


def test_written_trials_can_be_read_by_anyone(tmp_path: Path) -> None:
    trials = draw_trials(object_set(2, 9), n_trials=8, gallery=10, seed=0, same_family=4)
    write_trials(tmp_path / "trials.json", trials)
    record = json.loads((tmp_path / "trials.json").read_text())
    assert record["mode"] == "clean" and record["same_family"] == 4 and record["digest"] == "digest"
    assert record["gallery"] == trials.gallery.tolist() and record["kind"] == trials.kind.tolist()
    assert [file.name for file in tmp_path.iterdir()] == ["trials.json"]
