"""Who gets which place, without a server."""

from collections import Counter
from dataclasses import replace

import pytest

from psychophysics.server.assignment import choose_place, standing
from psychophysics.server.store.contract import Participant
from psychophysics.session_plan import Place, places

RESERVATION = 3600.0


@pytest.fixture(scope="module")
def config(make_drawn_study, tmp_path_factory):
    design = {"ranked_sets": 3, "sets": 3, "participants_per_cell": 2}
    frozen, _, _ = make_drawn_study(tmp_path_factory.mktemp("none"), draw=False, design=design)
    return frozen.study_config


def person(place, number=0, **changes):
    return replace(Participant(f"p{number}", place, "1", 0.0, 0.0, 50.0), **changes)


def choose(config, people, accepted=lambda who: True, now=100.0):
    return choose_place(config, people, accepted, now, RESERVATION)


def fill(config, count):
    people = []
    for number in range(count):
        people.append(person(choose(config, people), number))
    return people


def test_cells_and_conditions_are_filled_evenly_at_every_moment(config):
    people = fill(config, 30)
    assert sorted(who.place for who in people) == sorted(places(config)) and choose(config, people) is None
    for count in range(1, 31):
        cells = Counter(who.place[:2] for who in people[:count])
        conditions = Counter(who.condition for who in people[:count])
        assert max(cells.values()) - (min(cells.values()) if len(cells) == 15 else 0) <= 1
        assert max(conditions.values()) - (min(conditions.values()) if len(conditions) == 5 else 0) <= 1


def test_the_seed_alone_decides_between_equals(config):
    order = [who.place for who in fill(config, 30)]
    assert order == [who.place for who in fill(config, 30)]
    other = config.model_copy(update={"study": config.study.model_copy(update={"seed": 12})})
    assert order != [who.place for who in fill(other, 30)]
    assert [place[:2] for place in order[:15]] != [place[:2] for place in order[15:]]


def test_what_a_participant_means_for_the_place():
    place = Place("none", 0, 0)

    def told(accepted=True, now=100.0, **changes):
        return standing(person(place, **changes), lambda who: accepted, now, RESERVATION)

    assert told() == "accepted" and told(accepted=False) == "excluded"
    assert told(ended_at=None) == "live" and told(ended_at=None, now=RESERVATION) == "live"
    assert told(ended_at=None, now=RESERVATION + 0.1) == "left"
    gone = {"withdrawn": True, "ended_at": None, "consented_at": None, "last_seen_at": None}
    assert told(**gone) == "withdrawn"


def test_a_place_is_free_again_after_a_drop_out_and_a_withdrawal(config):
    people = fill(config, 30)
    vacated = people[7].place
    live = replace(people[7], ended_at=None, last_seen_at=0.0)
    others = people[:7] + people[8:]
    assert choose(config, [*others, live], now=RESERVATION) is None
    assert choose(config, [*others, live], now=RESERVATION + 1) == vacated
    gone = replace(people[7], withdrawn=True, ended_at=None, last_seen_at=None, consented_at=None)
    assert choose(config, [*others, gone]) == vacated
    back = person(vacated, 99)
    assert choose(config, [*others, live, back], now=RESERVATION + 1) is None


def test_a_place_is_refilled_after_an_exclusion_at_most_as_often_as_allowed(config):
    people = fill(config, 30)
    vacated, bad = people[7].place, {people[7].id}

    def accepted(who):
        return who.id not in bad

    for refill in range(config.recruitment.refills):
        assert choose(config, people, accepted) == vacated
        people.append(person(vacated, 100 + refill))
        assert choose(config, people, accepted) is None
        bad.add(people[-1].id)
    assert config.recruitment.refills == 3 and choose(config, people, accepted) is None


def test_the_least_filled_cell_comes_first(config):
    people = fill(config, 30)
    emptied = people[3].place[:2]
    rest = [who for who in people if who.place[:2] != emptied][1:]
    assert choose(config, rest) == Place(*emptied, 0)
