"""Over real HTTP: nothing is lost or doubled by reloads, repetitions, double clicks, two tabs, restarts, full disks."""

import os
import shutil
import subprocess
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from psychophysics.server.limits import Limits, RateLimit
from psychophysics.session_plan import Place, places


@pytest.fixture(params=["sqlite", "mongo"])
def on_each_store(request, serve, drawn_once, tmp_path):
    """A function that serves the study on SQLite or MongoDB."""
    if request.param == "sqlite":
        return lambda: serve(drawn_once)
    uri = tmp_path / "uri"
    uri.write_text(request.getfixturevalue("mongo_uri"))
    uri.chmod(0o600)
    return lambda: serve(drawn_once, store=str(uri))


def with_references(served):
    return next(person for person in (served.join() for _ in range(5)) if person.session["has_references"])


def stored(served, person):
    return [(event.seq, event.kind, event.content) for event in served.study.store.events(person.id)]


def test_a_whole_session_on_each_store(on_each_store):
    served = on_each_store()
    person = served.join("worker")
    assert person.finish()["state"]["stage"] == "done"
    assert stored(served, person) == [(e["seq"], e["kind"], e["content"]) for e in person.sent]
    assert served.ask("worker").json()["reason"] == "took_part"


def test_a_reload_goes_on_where_the_session_was(served):
    person = with_references(served)
    person.instructions()
    before = person.answer("practice-1-0")
    again = served.client.get("/api/session", headers=person.headers).json()
    assert again["token"] == person.session["token"]
    assert again["withdrawal_code"] == person.session["withdrawal_code"]
    assert again["state"] == before["state"] and again["next_seq"] == before["next_seq"] == 4
    trial = again["state"]["trial"]
    assert again["images"][: len(trial["references"])] == trial["references"]
    assert len(again["images"]) < len(person.session["images"])


def test_a_server_that_starts_again_knows_everything(on_each_store):
    first = on_each_store()
    person = first.join("worker")
    person.instructions()
    kept = first.client.get("/api/session", headers=person.headers).json()
    second = on_each_store()
    person.client, person.study = second.client, second.study
    assert second.client.get("/api/session", headers=person.headers).json() == kept
    assert person.finish()["state"]["stage"] == "done"
    assert stored(first, person) == [(e["seq"], e["kind"], e["content"]) for e in person.sent]
    # The first server's memory is old; it finds the events of the other.
    late = first.client.post("/api/session/events", json={"events": person.sent[-1:]}, headers=person.headers)
    assert late.status_code in (200, 409)
    view = first.client.post("/api/session/events", json={"events": person.sent}, headers=person.headers)
    assert view.status_code == 200 and view.json()["state"]["stage"] == "done"
    assert len(stored(second, person)) == len(person.sent)


def test_prolific_participants_go_on_in_another_browser_and_take_part_once(served):
    person = served.join("worker")
    person.instructions()
    again = served.ask("worker")
    assert again.status_code == 200 and again.json()["token"] == person.session["token"]
    assert again.json()["next_seq"] == 2 and len(served.study.store.participants()) == 1
    person.finish()
    refused = served.ask("worker")
    assert refused.status_code == 409 and "took part already" in refused.json()["error"]
    assert served.ask("other").status_code == 201


def test_an_event_that_comes_again_is_stored_once_and_answered_the_same(served):
    person = with_references(served)
    person.instructions()
    shown = person.event("trial_shown", trial="practice-1-0")
    answer = {**person.event("answer", trial="practice-1-0", button=3, rt_ms=900.5), "seq": 3}
    first = person.post(shown, answer).json()
    assert first["feedback"] is not None and first["next_seq"] == 4
    for events in ((answer,), (shown, answer), (*person.sent, shown, answer)):
        again = person.post(*events)
        assert again.status_code == 200 and again.json() == first
    assert [seq for seq, _, _ in stored(served, person)] == [0, 1, 2, 3]


def test_events_of_somebody_erased_by_another_server_are_refused(served):
    """Stored or new: what this server still has in memory is not believed."""
    person = served.join()
    person.instructions()
    secrets, stored_already = served.study.secrets, person.sent[-1]
    assert served.study.store.withdraw(secrets.withdrawal_hash(person.session["withdrawal_code"]))
    assert person.post(stored_already).status_code == 401
    assert person.post(person.event("visibility", visible=True)).status_code == 401
    assert served.study.store.events() == []


def test_a_double_click_a_gap_and_an_answer_out_of_turn_change_nothing(served):
    person = with_references(served)
    state = person.instructions()["state"]
    answer = person.event("answer", trial="practice-1-0", button=3, rt_ms=900.0)
    after = person.post(answer).json()
    for event, told in (
        ({**answer, "seq": 3}, "the current trial is practice-1-1, not practice-1-0"),
        ({**answer, "seq": 2, "at_ms": answer["at_ms"] + 80}, "another event is stored as number 2"),
        ({**answer, "seq": 5}, "event 3 is missing before 5"),
        ({**answer, "seq": 3, "kind": "questions", "content": {"answers": {}}}, "does not fit the stage practice"),
        ({**answer, "seq": 3, "content": {**answer["content"], "trial": "main-0"}}, "not main-0"),
    ):
        refused = person.post(event)
        assert refused.status_code == 409 and told in refused.json()["error"]
        assert (refused.json()["next_seq"], refused.json()["state"]) == (3, after["state"])
    assert after["state"]["position"] == state["position"] + 1 and len(stored(served, person)) == 3


def test_what_came_before_a_refused_event_is_stored(served):
    person = with_references(served)
    person.instructions()
    good = person.event("visibility", visible=False)
    bad = {**person.event("answer", trial="main-5", button=1, rt_ms=1.0), "seq": 3}
    refused = person.post(good, bad)
    assert refused.status_code == 409 and refused.json()["next_seq"] == 3
    assert stored(served, person)[-1] == (2, "visibility", {"visible": False})


def test_of_two_tabs_that_answer_at_once_one_is_taken(on_each_store):
    served = on_each_store()
    person = served.join()
    person.instructions()
    clicked = 0
    while trial := served.client.get("/api/session", headers=person.headers).json()["state"]["trial"]:
        seq = served.client.get("/api/session", headers=person.headers).json()["next_seq"]
        person.seq = seq
        answers = [person.event("answer", trial=trial["id"], button=button, rt_ms=800.0) for button in (-1, 2)]
        with ThreadPoolExecutor(2) as tabs:
            statuses = sorted(response.status_code for response in tabs.map(person.post, answers))
        assert statuses == [200, 409]
        clicked += 1
        if clicked == 4:
            break
    kinds = Counter(kind for _, kind, _ in stored(served, person))
    assert kinds["answer"] == clicked
    assert [seq for seq, _, _ in stored(served, person)] == list(range(2 + clicked))


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


@dataclass
class Clock:
    seconds: float = 1_700_000_000.0

    def __call__(self):
        return self.seconds


@pytest.fixture
def clock():
    return Clock()


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


def test_on_a_full_disk_the_page_keeps_the_event_until_there_is_room(serve, drawn_once, tmp_path, capfd):
    disk = tmp_path / "answers"
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(disk)]
    mounted = subprocess.run(command, capture_output=True, text=True)
    if mounted.returncode:
        pytest.skip(f"no small file system can be mounted here: {mounted.stderr.strip()}")
    try:
        served = serve(drawn_once)
        person = served.join()
        filler = (disk / "filler").open("wb", buffering=0)
        for size in (65536, 4096, 1):
            while free(disk) >= size:
                filler.write(bytes(size))
        filler.close()
        answers, refused = [], None
        for _ in range(100):
            answers.append(person.event("visibility", visible=True))
            response = person.post(answers[-1])
            if response.status_code != 200:
                refused = response
                break
            person.seq += 1
        assert refused is not None and refused.status_code == 507
        assert refused.json() == {"error": "the server's disk is full"}
        assert "cannot grow. Make room" in capfd.readouterr().err
        assert served.client.get("/api/session", headers=person.headers).status_code in (200, 507)
        (disk / "filler").unlink()
        assert person.post(answers[-1]).status_code == 200
        assert len(stored(served, person)) == len(answers)
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


def free(disk):
    found = os.statvfs(disk)
    return found.f_bavail * found.f_frsize


def test_a_picture_that_is_missing_or_changed_while_the_study_runs_is_named(serve, make_drawn_study, tmp_path, capfd):
    drawn = make_drawn_study(tmp_path)
    served = serve(drawn)
    url = served.join().session["example"]["base"]
    file = next(f for f in drawn[1].files() if f.endswith(".png") and served.study.images.url(f) == url)
    path = drawn[2].root / file
    shutil.copy(path, tmp_path / "copy.png")
    path.write_bytes(path.read_bytes() + b"x")
    answer = served.client.get(url)
    assert answer.status_code == 503 and answer.json() == {"error": "an image is missing on the server"}
    assert f"{file} was changed while the study ran" in capfd.readouterr().err
    path.unlink()
    assert served.client.get(url).status_code == 503 and f"{file} cannot be read" in capfd.readouterr().err
    shutil.copy(tmp_path / "copy.png", path)
    assert served.client.get(url).status_code == 200


def test_too_many_requests_are_told_when_to_come_again(served):
    statuses = [served.client.post("/api/withdraw", json={"code": "x"}) for _ in range(11)]
    assert [answer.status_code for answer in statuses] == [404] * 10 + [429]
    assert 1 <= int(statuses[-1].headers["retry-after"]) <= 5 and "try again in" in statuses[-1].json()["error"]
    assert served.ask().status_code == 201  # other requests have limits of their own


def test_behind_a_proxy_on_this_machine_each_address_has_a_limit_of_its_own(serve, drawn_once):
    served = serve(drawn_once, limits=Limits(withdrawing=RateLimit(1, 0.001)))

    def ask(address):
        headers = {"X-Forwarded-For": address}
        return served.client.post("/api/withdraw", json={"code": "x"}, headers=headers).status_code

    assert [ask("192.0.2.1"), ask("192.0.2.1"), ask("192.0.2.2"), ask("2001:db8::1")] == [404, 429, 404, 404]


def test_each_participant_and_each_joining_address_has_a_limit(serve, drawn_once):
    served = serve(drawn_once, limits=Limits(joining=RateLimit(2, 0.001), sending=RateLimit(3, 0.001)))
    ann, ben = served.join(), served.join()
    assert served.ask().status_code == 429
    answers = [ann.post(ann.event("visibility", visible=True)) for _ in range(4)]
    assert [answer.status_code for answer in answers] == [200, 409, 409, 429]
    assert served.client.get("/api/session", headers=ann.headers).status_code == 429
    assert ben.send("instructions_shown")["next_seq"] == 1
