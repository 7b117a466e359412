"""What every store of answers promises, on each of them."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from psychophysics.errors import StimuliError
from psychophysics.server.store.contract import AlreadyTookPart, Event, EventRefused, NoPlaceFree, Participant
from psychophysics.session_plan import Place

PLACE = Place("mixed", 1, 2)


def at(place):
    return lambda participants: place


def event(seq, participant="ann", **content):
    return Event(participant, seq, "answer", 1_700_000_000_123.25 + seq, 50.5, {"trial": "main-03", **content})


def test_who_joins_is_stored_with_place_consent_and_times(store, open_store, newcomer):
    joined = store.join(newcomer("ann"), at(PLACE), 100.5)
    assert joined == Participant("ann", PLACE, "2", 100.5, 100.5, viewport=(1440, 900))
    assert store.participant("ann") == joined and store.participant("ben") is None
    store.join(newcomer("abe"), at(Place("none", 0, 0)), 101.0)
    assert [who.id for who in open_store().participants()] == ["abe", "ann"]
    assert store.participant("abe").place == Place("none", 0, 0)


def test_the_place_is_chosen_among_the_participants_so_far(store, newcomer):
    store.join(newcomer("ann"), at(PLACE), 1.0)
    shown = []

    def choose(participants):
        shown.extend(participants)
        return None

    with pytest.raises(NoPlaceFree):
        store.join(newcomer("ben", "hash"), choose, 2.0)
    assert [who.id for who in shown] == ["ann"] and store.participant("ben") is None
    store.join(newcomer("ben", "hash"), at(Place("none", 0, 0)), 3.0)  # who found no place may come again


def test_a_recruiter_id_joins_once(store, open_store, newcomer):
    store.join(newcomer("ann", "hash"), at(PLACE), 1.0)
    for again in (store, open_store()):
        with pytest.raises(AlreadyTookPart):
            again.join(newcomer("ben", "hash"), at(Place("none", 0, 0)), 2.0)
    store.join(newcomer("cat", "other"), at(Place("none", 0, 0)), 3.0)
    assert [who.id for who in store.participants()] == ["ann", "cat"]


def test_a_pseudonym_joins_once_and_a_refused_one_leaves_no_recruiter_id(store, newcomer):
    store.join(newcomer("ann"), at(PLACE), 1.0)
    with pytest.raises(AlreadyTookPart):
        store.join(newcomer("ann", "hash"), at(Place("none", 0, 0)), 2.0)
    assert store.join(newcomer("ben", "hash"), at(Place("none", 0, 0)), 3.0).id == "ben"
    assert len(store.participants()) == 2


def test_the_secrets_of_a_study_are_known_again(store, open_store):
    assert store.knows("first") and not store.knows("second")
    assert open_store().knows("first") and not open_store().knows("second")


def test_events_come_back_in_order_and_unchanged(store, open_store, newcomer):
    store.join(newcomer("ann"), at(PLACE), 1.0)
    store.join(newcomer("ben"), at(Place("none", 0, 0)), 1.0)
    text = {"comments": "größer ⟨b⟩ \u2028 $set \x00 end", "$odd.key": [1.5, None, True, {"": "x"}]}
    events = [event(0), event(1, **text), *(event(seq) for seq in range(2, 12))]
    store.append("ann", events[:2], 10.0)
    store.append("ben", [event(0, "ben")], 11.0)
    store.append("ann", events[2:], 12.0, ended=True)
    assert open_store().events("ann") == events
    assert store.events() == [*events, event(0, "ben")]
    ann, ben = store.participants()
    assert (ann.last_seen_at, ann.ended_at) == (12.0, 12.0) and (ben.last_seen_at, ben.ended_at) == (11.0, None)


def test_a_sequence_number_is_taken_once_and_a_refused_call_leaves_nothing(store, newcomer):
    store.join(newcomer("ann"), at(PLACE), 1.0)
    store.append("ann", [event(0), event(1)], 2.0)
    with pytest.raises(EventRefused):
        store.append("ann", [event(2), event(1, other=1)], 3.0, ended=True)
    assert store.events() == [event(0), event(1)]
    assert store.participant("ann").last_seen_at == 2.0 and store.participant("ann").ended_at is None
    with pytest.raises(EventRefused):
        store.append("nobody", [event(0, "nobody")], 3.0)
    assert store.events("nobody") == []


def test_the_first_end_stays_and_a_sign_of_life_is_noted(store, newcomer):
    store.join(newcomer("ann"), at(PLACE), 1.0)
    store.append("ann", [event(0)], 2.0, ended=True)
    store.append("ann", [event(1)], 3.0, ended=True)
    store.seen("ann", 9.0)
    store.seen("nobody", 9.0)
    assert (store.participant("ann").ended_at, store.participant("ann").last_seen_at) == (2.0, 9.0)


def test_withdrawal_erases_all_but_the_place_and_keeps_the_recruiter_id_out(store, open_store, newcomer):
    store.join(newcomer("ann", "hash"), at(PLACE), 1.0)
    store.join(newcomer("ben"), at(Place("none", 0, 0)), 1.0)
    store.append("ann", [event(0)], 2.0)
    store.append("ben", [event(0, "ben")], 2.0)
    assert not store.withdraw("code of nobody")
    assert store.withdraw("code of ann") and not store.withdraw("code of ann")
    assert store.events() == [event(0, "ben")] and store.participant("ann") is None
    (gone,) = [who for who in open_store().participants() if who.id != "ben"]
    assert gone == Participant(gone.id, PLACE, "", None, None, withdrawn=True) and gone.id != "ann"
    with pytest.raises(AlreadyTookPart):
        store.join(newcomer("ann", "hash"), at(PLACE), 3.0)
    with pytest.raises(EventRefused):
        store.append("ann", [event(1)], 3.0)
    with pytest.raises(EventRefused):
        store.append(gone.id, [event(0, gone.id)], 3.0)


def test_of_many_who_join_at_once_each_sees_those_before(open_store, newcomer):
    """Two connections, as of two servers: places are given once, and one recruiter id joins once."""
    stores, places, barrier = [open_store(), open_store()], [Place("none", 0, slot) for slot in range(5)], Barrier(8)

    def first_free(participants):
        taken = {who.place for who in participants}
        return next((place for place in places if place not in taken), None)

    def join(number):
        barrier.wait()
        try:
            recruiter = "same" if number < 2 else None
            return stores[number % 2].join(newcomer(f"p{number}", recruiter), first_free, 1.0).place
        except (AlreadyTookPart, NoPlaceFree) as error:
            return type(error)

    with ThreadPoolExecutor(8) as pool:
        given = list(pool.map(join, range(8)))
    assert sorted(place for place in given if isinstance(place, Place)) == places
    assert AlreadyTookPart in given or given[:2].count(NoPlaceFree) == 2
    assert sorted(who.place for who in stores[0].participants()) == places


def test_of_two_who_send_the_same_event_at_once_one_is_stored(open_store, newcomer):
    stores, barrier = [open_store(), open_store()], Barrier(2)
    stores[0].join(newcomer("ann"), at(PLACE), 1.0)

    def send(number):
        refused = 0
        for seq in range(8):
            barrier.wait()
            try:
                stores[number].append("ann", [event(seq, tab=number)], 2.0)
            except EventRefused:
                refused += 1
        return refused

    with ThreadPoolExecutor(2) as pool:
        assert sum(pool.map(send, range(2))) == 8
    assert [stored.seq for stored in stores[0].events()] == list(range(8))


def test_a_store_belongs_to_one_frozen_study(store, open_store):
    open_store("a" * 64)
    with pytest.raises(StimuliError, match=r"answers to the frozen study aaaaaaaaaaaa, but this one is bbbbbbbbbbbb"):
        open_store("b" * 64)
