"""The experimenter's page and the withdrawal page over HTTP: what they count, who may see it."""

import numpy as np
import pytest

from psychophysics.simulated_participants import Behaviour, SimulatedParticipant
from psychophysics.simulated_strategies import preference

CONDITIONS = ["natural", "synthetic", "mixed", "blurred", "none"]


def summary(served, token=None):
    headers = {"Authorization": f"Bearer {token or served.study.secrets.admin_token}"}
    return served.client.get("/api/admin/summary", headers=headers)


def test_the_summary_is_for_the_admin_token_alone(served):
    person = served.join()
    for token in ("", "wrong", str(person.session["token"]), served.study.secrets.key):
        assert summary(served, token or "x").status_code == 401
    assert served.client.get("/api/admin/summary").status_code == 401
    assert summary(served).status_code == 200


def test_an_empty_study_has_a_summary(served):
    found = summary(served).json()
    assert found["people"] == {
        "joined": 0, "finished": 0, "withdrawn": 0, "live": 0, "left": 0, "accepted": 0, "excluded": 0,
    }  # fmt: skip
    assert found["places"] == 10 and found["conditions"] == CONDITIONS
    assert all(rule["passed"] is None for rule in found["rules"]) and found["answers"]["count"] == 0


def test_everybody_is_counted_where_they_are(served):
    """One accepted, one excluded by the catch trials, one failed in practice, one in the main trials, one withdrawn."""
    people = {person.place.condition: person for person in (served.join() for _ in range(5))}
    people["natural"].finish()
    people["mixed"].finish(catch=False)
    failed = people["blurred"]
    failed.instructions()
    for attempt in (1, 2, 3):
        for position in (0, 1):
            failed.answer(f"practice-{attempt}-{position}", right=position == 0)
    middle = people["none"]
    middle.instructions()
    middle.answer("main-0", confidence=3)
    middle.answer("main-1", confidence=3)
    gone = people["synthetic"]
    gone.instructions()
    assert served.client.post("/api/withdraw", json={"code": gone.session["withdrawal_code"]}).status_code == 200

    found = summary(served).json()
    assert found["people"] == {
        "joined": 5, "finished": 3, "withdrawn": 1, "live": 1, "left": 0, "accepted": 1, "excluded": 2,
    }  # fmt: skip
    cells = {(c, s): cell for c, row in zip(CONDITIONS, found["cells"], strict=True) for s, cell in enumerate(row)}
    filled = {place: cell for place, cell in cells.items() if any(cell.values())}
    natural, none = people["natural"].place, middle.place
    assert filled == {natural[:2]: {"accepted": 1, "live": 0}, none[:2]: {"accepted": 0, "live": 1}}
    assert [(stage["reached"], stage["here"], stage["ended"]) for stage in found["stages"]] == [
        (4, 0, 0), (4, 0, 1), (3, 1, 0), (2, 0, 0), (2, 0, 0),
    ]  # fmt: skip
    rules = {rule["name"]: (rule["broken"], rule["passed"]) for rule in found["rules"]}
    assert rules["catch"] == rules["practice"] == (1, pytest.approx(2 / 3)) and rules["side"] == (0, 1.0)
    assert {(row["rule"], row["condition"]) for row in found["excluded"]} == {
        ("catch", "mixed"),
        ("practice", "blurred"),
    }
    (live,) = found["live"]
    assert (live["condition"], live["stage"]) == ("none", "Main trials, 3 of 6") and live["seen_s"] < 60

    main = [t for name in ("natural", "mixed") for t in people[name].trials.values() if t.kind == "main"]
    main += [trial for trial in list(middle.trials.values())[:2] if trial.kind == "main"]
    answers = found["answers"]
    assert answers["count"] == len(main) and answers["times"]["median_s"] == 1.2345
    assert answers["times"]["counts"][2] == len(main) == sum(answers["times"]["counts"])
    assert sum(answers["buttons"]) == len(main) and answers["buttons"][1] + answers["buttons"][4] == 8
    assert answers["target_left"] == sum(trial.target_side == "left" for trial in main) / len(main)
    assert answers["left_shares"] == [0, 0, 0, 0, 0, 2, 0, 0, 0, 0]  # right answers, of which half are left


def test_who_is_not_seen_any_more_has_left(serve, drawn_once):
    served = serve(drawn_once, reservation=0.0)
    served.join().instructions()
    found = summary(served).json()
    assert (found["people"]["left"], found["people"]["live"], found["live"]) == (1, 0, [])
    assert sum(stage["ended"] for stage in found["stages"]) == 1


def test_news_of_somebody_are_in_the_next_summary(served):
    person = served.join()
    stages = [summary(served).json()["live"][0]["stage"]]
    person.instructions()
    stages.append(summary(served).json()["live"][0]["stage"])
    first = person.session["counts"]["practice"] and "Practice 1, 1 of 2"
    assert stages == ["Agreed, instructions", first or "Main trials, 1 of 6"]


def test_no_accuracy_and_no_whole_pseudonym_leave(served):
    _, manifest = served.study.frozen, served.study.manifest
    SimulatedParticipant(served.url, Behaviour(preference("perfect", manifest)), np.random.default_rng(1)).take_part()
    served.join()
    text = summary(served).text
    assert "correct" not in text.replace("catch trials correct", "") and "accuracy" not in text
    assert not any(who.id in text for who in served.study.store.participants())


@pytest.mark.parametrize("page", ["/admin", "/withdraw"])
def test_pages_load_nothing_from_elsewhere(served, page):
    answer = served.client.get(page)
    assert answer.status_code == 200 and answer.headers["content-type"].startswith("text/html")
    assert "http" not in answer.text.replace("http-equiv", "")
    assert "script-src" not in answer.headers["content-security-policy"]
    assert "default-src 'self'" in answer.headers["content-security-policy"]


def test_scripts_and_styles_are_served_and_nothing_beside_them(served):
    kinds = {"style.css": "text/css", "admin.js": "text/javascript", "plotly.js": "text/javascript"}
    for file, kind in kinds.items():
        answer = served.client.get(f"/web/{file}")
        assert answer.status_code == 200 and answer.headers["content-type"].startswith(kind)
    assert "--hms:#0072B2" in served.client.get("/web/style.css").text
    for file in ("../app.py", "..%2fapp.py", "%2e%2e/app.py", "admin.html", "none.js", "..%2f..%2fresponses.py"):
        assert served.client.get(f"/web/{file}").status_code == 404
