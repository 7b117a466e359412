import random

import pytest

from metrics.gazoobian.grammar import ANGLES, LENGTHS, PLANS, TUBE_LENGTHS, draw_family, draw_individual, seed_of


def test_python_still_gives_the_promised_stream() -> None:
    assert seed_of("family", 0, 1, 0) == 5685908909363894325
    assert random.Random(5685908909363894325).random() == pytest.approx(0.5728410612666364, abs=1e-15)


def test_seeds_fix_families_and_individuals() -> None:
    family = draw_family(0, 1)
    assert draw_family(0, 1) == family != draw_family(1, 1)
    assert draw_family(0, 1, attempt=1) != family
    assert draw_individual(family, 5) == draw_individual(family, 5) != draw_individual(family, 6)


def test_twelve_families_cover_plans_and_numbers_of_tubes() -> None:
    families = [draw_family(0, number) for number in range(12)]
    assert {family.plan for family in families} == set(PLANS)
    assert {family.tube_count for family in families} == {2, 3, 4, 5}
    assert all(family.crest or family.pair for family in families)
    more = [draw_family(seed, number) for seed in range(5) for number in range(12)]
    assert {family.base for family in more} == {"", "puck", "dome", "ring"}
    assert {family.tips for family in more} == {True, False} == {family.crest for family in more}
    assert {family.ring_count for family in more} == {2, 3, 4} and {family.square for family in more} == {True, False}
    for family in more:
        assert all(low <= family.genes[name] <= high for name, (low, high) in {**LENGTHS, **ANGLES}.items())
        assert len(family.colours) == 3


def test_individuals_vary_by_up_to_22_per_cent() -> None:
    family = draw_family(0, 3)
    members = [draw_individual(family, seed) for seed in range(200)]
    for name in LENGTHS:
        ratios = [member.genes[name] / family.genes[name] for member in members]
        assert 0.78 <= min(ratios) < 0.80 and 1.20 < max(ratios) <= 1.22
    for name in ANGLES:
        assert 0.20 < max(abs(member.genes[name] - family.genes[name]) for member in members) <= 0.22
    for name in TUBE_LENGTHS:
        ratios = [tube[name] / family.tube[name] for member in members for tube in member.tubes]
        assert min(ratios) >= 0.78 and max(ratios) <= 1.22
    first, second = members[0].tubes[:2]
    assert first["length"] != second["length"]
