"""Over real HTTP: who joins gets a place of their own, and vacated places are filled again."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from psychophysics.session_plan import Place, places


@dataclass
class Clock:
    seconds: float = 1_700_000_000.0

    def __call__(self):
        return self.seconds


@pytest.fixture
def clock():
    return Clock()


def test_many_who_come_at_once_get_each_place_once(on_each_store):
    served = on_each_store()
    every = places(served.study.config)
    with ThreadPoolExecutor(16) as crowd:
        answers = list(crowd.map(lambda number: served.ask(f"worker-{number}"), range(len(every) + 6)))
    assert Counter(answer.status_code for answer in answers) == {201: len(every), 410: 6}
    assert sorted(who.place for who in served.study.store.participants()) == sorted(every)
    assert len({answer.json()["token"] for answer in answers if answer.status_code == 201}) == len(every)


def test_one_recruiter_id_that_comes_twice_at_once_has_one_session(on_each_store):
    served = on_each_store()
    with ThreadPoolExecutor(4) as crowd:
        answers = list(crowd.map(lambda _: served.ask("worker"), range(4)))
    assert sorted(answer.status_code for answer in answers) == [200, 200, 200, 201]
    assert len({answer.json()["token"] for answer in answers}) == 1 and len(served.study.store.participants()) == 1


def test_a_request_that_comes_again_after_a_lost_answer_is_no_second_participant(served):
    asked = {"request": "7d7f8d2e-0c55-4b3f-b7d7"}
    first = served.ask(**asked)
    with ThreadPoolExecutor(4) as crowd:
        again = list(crowd.map(lambda _: served.ask(**asked), range(4)))
    assert first.status_code == 201 and [answer.status_code for answer in again] == [200] * 4
    assert all(answer.json() == first.json() for answer in again) and len(served.study.store.participants()) == 1
    assert served.ask(request="another-request-of-a-page").status_code == 201


def test_a_study_on_prolific_takes_nobody_without_an_id(serve, make_drawn_study, tmp_path):
    served = serve(make_drawn_study(tmp_path, recruitment={"kind": "prolific", "completion_code": "C1"}))
    refused = served.ask()
    assert refused.status_code == 422 and "Prolific id is missing" in refused.json()["error"]
    assert served.ask("worker").status_code == 201


def fill(served):
    people = [served.join() for _ in places(served.study.config)]
    assert served.ask().status_code == 410
    return people


def test_places_of_drop_outs_withdrawn_and_excluded_people_are_filled_again(clock, serve, make_drawn_study, tmp_path):
    design = {"ranked_sets": 2, "sets": 1, "conditions": ["natural", "none"], "participants_per_cell": 2}
    served = serve(make_drawn_study(tmp_path, design=design, recruitment={"refills": 1}), clock=clock)
    accepted, excluded, withdrawn, dropped = fill(served)
    accepted.finish()
    excluded.finish(catch=False)
    refill = served.join()
    assert refill.place == excluded.place
    served.client.post("/api/withdraw", json={"code": withdrawn.session["withdrawal_code"]})
    assert served.join().place == withdrawn.place
    refill.finish(catch=False)  # refills are used up
    assert served.ask().status_code == 410
    clock.seconds += 3601
    vacated = {served.join().place for _ in range(2)}
    assert vacated == {dropped.place, withdrawn.place} and served.ask().status_code == 410
    # Who comes back late goes on all the same.
    assert dropped.finish()["state"]["stage"] == "done"
    assert {accepted.place, excluded.place}.isdisjoint(vacated)


def test_a_sign_of_life_keeps_the_place(clock, serve, make_drawn_study, tmp_path):
    design = {"sets": 1, "conditions": ["none"], "participants_per_cell": 1}
    served = serve(make_drawn_study(tmp_path, design=design), reservation=60.0, clock=clock)
    person = served.join()
    for beat in ("instructions_shown", "instructions_done"):
        clock.seconds += 40
        assert served.ask().status_code == 410
        person.send(beat)
    clock.seconds += 40
    served.client.get("/api/session", headers=person.headers)
    clock.seconds += 60
    assert served.ask().status_code == 410 and person.place == Place("none", 0, 0)
    clock.seconds += 0.1
    assert served.ask().status_code == 201
