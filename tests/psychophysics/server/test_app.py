"""The server's addresses over real HTTP: the flow of a session, what it never tells, what it refuses."""

import json
import re

EXPECTED_HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cache-control": "no-store",
}


def test_a_study_says_what_is_agreed_to(served):
    assert served.client.get("/api/study").json() == {
        "name": "drawn",
        "title": "Which image?",
        "consent": {
            "version": "1",
            "title": "Consent",
            "paragraphs": ["You will see images.", "You may stop."],
            "contact": "a@lab.org",
        },
        "recruitment": {"kind": "local"},
        "minimum": {"width": 940, "height": 600},
        "rehearsal": False,
    }
    assert served.client.get("/health").json() == {"ok": True}


def test_a_whole_session_from_consent_to_the_code(serve, make_drawn_study, tmp_path):
    recruitment = {"kind": "prolific", "completion_code": "C0DE"}
    served = serve(make_drawn_study(tmp_path, recruitment=recruitment, design={"conditions": ["natural"]}))
    person = served.join("worker-1")
    session = person.session
    assert session["has_references"] and session["counts"] == {"practice": 2, "main": 6}
    assert session["state"] == {
        "stage": "instructions", "attempt": 0, "position": 0, "of": 0, "trial": None, "completion": None,
        "practice_failed": False,
    }  # fmt: skip
    view = person.instructions()
    state = view["state"]
    assert (state["stage"], state["attempt"], state["position"], state["of"]) == ("practice", 1, 0, 2)
    assert view["feedback"] is None and view["next_seq"] == 2
    view = person.answer("practice-1-0", right=True)
    assert view["feedback"] == {"correct": True, "target_side": person.trials["practice-1-0"].target_side}
    view = person.answer("practice-1-1", right=False)
    assert view["feedback"] == {"correct": False, "target_side": person.trials["practice-1-1"].target_side}
    assert (view["state"]["stage"], view["state"]["attempt"]) == ("practice", 2)
    person.answer("practice-2-0")
    assert person.answer("practice-2-1")["state"]["trial"]["id"] == "main-0"
    for position in range(6):
        view = person.answer(f"main-{position}")
        assert view["feedback"] is None
    assert view["state"]["stage"] == "questions" and view["state"]["completion"] is None
    state = person.send("questions", answers={"strategy": "s", "comments": "c"})["state"]
    assert state["stage"] == "done" and not state["practice_failed"]
    assert state["completion"] == {"code": "C0DE", "url": "https://app.prolific.com/submissions/complete?cc=C0DE"}
    stored = served.study.store.events(person.id)
    assert [(e.seq, e.kind, e.at_ms, e.content) for e in stored] == [tuple(e.values()) for e in person.sent]


def test_practice_that_fails_for_good_ends_with_thanks(served):
    people = [served.join() for _ in range(5)]
    person = next(person for person in people if person.session["has_references"])
    person.instructions()
    for attempt in (1, 2, 3):
        for position in (0, 1):
            view = person.answer(f"practice-{attempt}-{position}", right=position == 0)
    assert view["state"]["stage"] == "done" and view["state"]["practice_failed"]
    assert served.study.store.participant(person.id).ended_at is not None


def test_without_references_there_is_no_practice(served):
    person = next(p for p in (served.join() for _ in range(5)) if not p.session["has_references"])
    assert person.session["counts"] == {"practice": 0, "main": 6} and person.session["example"]["references"] == []
    assert person.instructions()["state"]["stage"] == "main"


def test_the_browser_is_told_no_answers_but_those_of_example_and_practice(served):
    people = [served.join() for _ in range(5)]
    person = next(person for person in people if person.session["has_references"])
    answers = [person.session, person.instructions()]
    answers += [person.answer("practice-1-0"), person.answer("practice-1-1")]
    answers += [person.answer(f"main-{position}") for position in range(6)]
    for index, answer in enumerate(answers):
        told = set(
            re.findall(r"target_side|correct|kind|query|maximum|minimum|conv|condition|slot", json.dumps(answer))
        )
        assert told == ({"target_side"} if index == 0 else {"target_side", "correct"} if index in (2, 3) else set())
    shown = answers[-2]["state"]["trial"]
    urls = [*shown["references"], shown["base"], shown["left"], shown["right"]]
    assert all(re.fullmatch(r"/images/[0-9a-f]{24}\.png", url) for url in urls) and len(set(urls)) == len(urls)


def test_pictures_come_unchanged_and_stay_in_the_browser(served):
    person = served.join()
    trial = next(iter(person.trials.values()))
    urls = {served.study.images.url(file): file for file in (trial.base, trial.left, *trial.references)}
    for url, file in urls.items():
        response = served.client.get(url)
        assert response.content == (served.study.folder.root / file).read_bytes()
        assert response.headers["cache-control"] == "private, max-age=31536000, immutable"
        assert response.headers["content-type"] == "image/png"
    assert set(person.session["images"]) >= {served.study.images.url(file) for file in (trial.base, trial.right)}
    for name in ("0" * 24, "..%2fmanifest", "../frozen", "manifest"):
        assert served.client.get(f"/images/{name}.png").status_code == 404


def test_every_answer_carries_the_headers(served):
    for path in ("/", "/api/study", "/health", "/nowhere", "/api/session", "/images/x.png"):
        headers = served.client.get(path).headers
        assert {name: headers.get(name) for name in EXPECTED_HEADERS} == EXPECTED_HEADERS, path
        policy = headers["content-security-policy"]
        assert "default-src 'self'" in policy and "frame-ancestors 'none'" in policy and "unsafe-eval" not in policy
        assert "server" not in headers


def test_without_the_built_page_the_address_names_the_command(served, serve, drawn_once, tmp_path):
    response = served.client.get("/")
    assert response.status_code == 503 and "hms study build-page" in response.text
    (tmp_path / "page" / "assets").mkdir(parents=True)
    (tmp_path / "page" / "index.html").write_text("<p>the page</p>")
    (tmp_path / "page" / "assets" / "main.js").write_text("1")
    client = serve(drawn_once, page=tmp_path / "page").client
    assert client.get("/").text == "<p>the page</p>" and client.get("/?PROLIFIC_PID=1").status_code == 200
    script = client.get("/assets/main.js")
    assert script.text == "1" and "javascript" in script.headers["content-type"]
    assert client.get("/assets/../index.html").status_code == 404


def test_a_request_for_a_session_is_checked(served):
    for change, status, told in (
        ({"consent_version": "0"}, 409, "the text of consent is version 1, not 0"),
        ({"consent_version": 1}, 422, "consent_version: Input should be a valid string"),
        ({"recruiter": {"prolific_pid": ""}}, 422, "recruiter.prolific_pid"),
        ({"viewport": {"width": 0, "height": 1}}, 422, "viewport.width"),
        ({"condition": "none"}, 422, "condition: Extra inputs are not permitted"),
    ):
        response = served.ask(**change)
        assert response.status_code == status and told in response.json()["error"], change
    assert served.study.store.participants() == []


def test_an_event_is_checked(served):
    person = served.join()
    for change in (
        {"seq": -1}, {"seq": "0"}, {"seq": True}, {"at_ms": "now"}, {"at_ms": -1}, {"kind": "other"}, {"extra": 1},
        {"content": {"trial": "x"}}, {"kind": "answer", "content": {"trial": "main-0", "button": 0, "rt_ms": 1}},
        {"kind": "answer", "content": {"trial": "main-0", "button": 4, "rt_ms": 1}},
        {"kind": "answer", "content": {"trial": "main-0", "button": True, "rt_ms": 1}},
        {"kind": "answer", "content": {"trial": "main-0", "button": 1, "rt_ms": -1}},
        {"kind": "questions", "content": {"answers": {"strategy": "x" * 5001}}},
        {"kind": "questions", "content": {"answers": {"=cmd()": "x"}}},
    ):  # fmt: skip
        response = person.post({**person.event("instructions_shown"), **change})
        assert response.status_code == 422 and response.json()["error"], change
    assert served.study.store.events() == []


def test_bodies_that_are_none_are_refused(served):
    person = served.join()
    for body in (b"", b"{", b'{"events": [{"seq": 0, "kind": "visibility", "at_ms": NaN, "content": {}}]}', b"\xff"):
        headers = {**person.headers, "Content-Type": "application/json"}
        response = served.client.post("/api/session/events", content=body, headers=headers)
        assert response.status_code in (400, 422) and "error" in response.json()
    large = [{"seq": 0, "kind": "visibility", "at_ms": 1, "content": {"visible": True}, "x": "y" * 300_000}]
    assert person.post(*large).status_code == 413
    chunks = (b" " * 100_000 for _ in range(4))
    response = served.client.post("/api/session/events", content=chunks, headers=person.headers)
    assert response.status_code == 413 and response.json() == {"error": "the request is too long"}
    assert person.post().status_code == 422


def test_a_session_is_opened_by_its_own_token_alone(served):
    ann, ben = served.join(), served.join()
    identifier, _, signature = ann.session["token"].partition(".")
    tokens = ["x", identifier, f"{identifier}.", f"{identifier}.{'A' * len(signature)}", f"{ben.id}.{signature}"]
    for token in (*tokens, f"{'0' * 32}.{signature}", served.study.secrets.admin_token):
        for answer in (
            served.client.get("/api/session", headers={"Authorization": f"Bearer {token}"}),
            served.client.post("/api/session/events", json={"events": [ann.event("instructions_shown")]},
                               headers={"Authorization": f"Bearer {token}"}),
        ):  # fmt: skip
            assert answer.status_code == 401 and answer.json()["error"]
    assert served.client.get("/api/session").status_code == 401
    assert served.study.store.events() == []


def test_withdrawal_erases_and_ends_the_session(served):
    ann, ben = served.join("worker"), served.join()
    ann.instructions()
    ben.instructions()
    code = ann.session["withdrawal_code"]
    assert re.fullmatch(r"([0-9A-HJKMNP-TV-Z]{4}-){3}[0-9A-HJKMNP-TV-Z]{4}", code)
    assert served.client.post("/api/withdraw", json={"code": "AAAA-AAAA-AAAA-AAAA"}).status_code == 404
    response = served.client.post("/api/withdraw", json={"code": f" {code.lower().replace('-', ' ')} "})
    assert (response.status_code, response.json()) == (200, {"erased": True})
    assert {event.participant for event in served.study.store.events()} == {ben.id}
    assert served.client.get("/api/session", headers=ann.headers).status_code == 401
    assert ann.post(ann.event("trial_shown", trial="practice-1-0")).status_code == 401
    assert served.client.post("/api/withdraw", json={"code": code}).status_code == 404
    again = served.ask("worker")
    assert again.status_code == 409 and again.json()["reason"] == "took_part"
