"""Over real HTTP: reloads, repetitions, double clicks, two tabs and restarts neither lose nor double an event."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor


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
