import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psychophysics.errors import StimuliError
from psychophysics.stimuli.ranking import form_sets


def test_as_published_each_reference_comes_from_its_own_bin_of_twenty():
    rng = np.random.default_rng(0)
    activations = rng.permutation(1000).astype(np.float32)
    sets = form_sets(activations, np.arange(1000), sets=20, references=9, rng=np.random.default_rng(1))
    used = [image for chosen in sets for image in (chosen.query, *chosen.references)]
    assert len(sets) == 20 and len(set(used)) == 200
    for chosen in sets:
        ranks = [999 - int(activations[image]) for image in (chosen.query, *chosen.references)]
        assert [rank // 20 for rank in ranks] == list(range(10))


def test_the_seed_decides_who_meets_whom_and_nothing_else():
    activations = np.random.default_rng(0).normal(size=400).astype(np.float32)
    first, again, other = (
        form_sets(activations, np.arange(400), sets=10, references=9, rng=np.random.default_rng(seed))
        for seed in (3, 3, 4)
    )
    assert first == again and first != other
    assert {c.query for c in first} == {c.query for c in other}


def test_references_are_given_out_at_random():
    # Of 3! = 6 ways to give three references to three queries each should come up about as often.
    activations = np.arange(6, dtype=np.float32)[::-1].copy()
    counts: dict[tuple[int, ...], int] = {}
    rng = np.random.default_rng(0)
    for _ in range(1200):
        sets = form_sets(activations, np.arange(6), sets=3, references=1, rng=rng)
        way = tuple(c.references[0] for c in sorted(sets, key=lambda c: c.query))
        counts[way] = counts.get(way, 0) + 1
    assert len(counts) == 6
    assert sum((n - 200) ** 2 / 200 for n in counts.values()) < 20.5  # chi-square, 5 degrees of freedom, p = 0.001


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.integers(4, 12), st.integers(1, 8), st.integers(1, 4), st.integers(1, 5))
def test_crops_of_a_photograph_are_never_query_and_reference(seed, photos, crops, sets, references):
    rng = np.random.default_rng(seed)
    photo_of = np.repeat(np.arange(photos), crops)
    # A unit that likes whole photographs: all crops of one stand together in the ranking.
    activations = (10 * rng.permutation(photos)[photo_of] + rng.random(len(photo_of))).astype(np.float32)
    enough = photos * min(crops, sets) >= sets * (references + 1)
    if not enough:
        with pytest.raises(StimuliError, match="the pool has"):
            form_sets(activations, photo_of, sets=sets, references=references, rng=rng)
        return
    formed = form_sets(activations, photo_of, sets=sets, references=references, rng=rng)
    used = [image for chosen in formed for image in (chosen.query, *chosen.references)]
    assert len(set(used)) == len(used) == sets * (references + 1)
    for chosen in formed:
        assert photo_of[chosen.query] not in photo_of[list(chosen.references)]


def test_a_pool_that_is_too_small_is_refused_with_the_numbers():
    with pytest.raises(StimuliError) as caught:
        form_sets(
            np.zeros(60, np.float32), np.repeat(np.arange(5), 12), sets=3, references=9, rng=np.random.default_rng(0)
        )
    assert "60 images of 5 photographs, of which 15 can be used (at most 3 of one photograph)" in str(caught.value)
    assert "need 30" in str(caught.value)
