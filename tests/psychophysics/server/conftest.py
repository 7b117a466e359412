"""A drawn study on a real server in this process, on a real socket; a participant's side of HTTP."""

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from pymongo import MongoClient

from psychophysics.server.app import make_app
from psychophysics.server.keys import read_secrets
from psychophysics.server.limits import Limits
from psychophysics.server.running import RunningStudy
from psychophysics.server.serve import uvicorn_config
from psychophysics.server.store.opening import open_answers
from psychophysics.session_plan import Place, PlannedTrial, session_plan
from psychophysics.study_folder import StudyFolder
from search.mongod import embedded_server

VIEWPORT = {"width": 1440, "height": 900}


@dataclass
class Person:
    """A participant who knows the plan, and so can answer as the test wants."""

    client: httpx.Client
    study: RunningStudy
    session: dict[str, Any]
    seq: int = 0
    clock: float = 1_700_000_000_000.0
    sent: list[dict[str, Any]] = field(default_factory=list)

    @property
    def id(self) -> str:
        return str(self.session["token"]).partition(".")[0]

    @cached_property
    def place(self) -> Place:
        found = self.study.store.participant(self.id)
        assert found is not None
        return found.place

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.session['token']}"}

    @cached_property
    def trials(self) -> dict[str, PlannedTrial]:
        plan = session_plan(self.study.frozen, self.study.manifest, self.place)
        return {trial.id: trial for block in (*plan.blocks, plan.main) for trial in block}

    def event(self, kind: str, **content: Any) -> dict[str, Any]:
        """The next event, not sent yet; a second later than the one before."""
        self.clock += 1000
        return {"seq": self.seq, "kind": kind, "at_ms": self.clock, "content": content}

    def post(self, *events: dict[str, Any]) -> httpx.Response:
        return self.client.post("/api/session/events", json={"events": events}, headers=self.headers)

    def send(self, kind: str, **content: Any) -> dict[str, Any]:
        """Send an event, which the server takes."""
        return self.take(self.event(kind, **content))

    def take(self, *events: dict[str, Any]) -> dict[str, Any]:
        """Send events, which the server takes."""
        response = self.post(*events)
        assert response.status_code == 200, response.text
        self.seq += len(events)
        self.sent += events
        return dict(response.json())

    def instructions(self, seconds: float = 60.0) -> dict[str, Any]:
        self.send("instructions_shown")
        self.clock += seconds * 1000
        return self.send("instructions_done")

    def answer(self, trial: str, right: bool = True, confidence: int = 2) -> dict[str, Any]:
        """Show a trial and answer it."""
        shown = self.event("trial_shown", trial=trial)
        self.clock += 20_000
        left = (self.trials[trial].target_side == "left") == right
        answer = self.event("answer", trial=trial, button=-confidence if left else confidence, rt_ms=1234.5)
        return self.take(shown, {**answer, "seq": self.seq + 1})

    def finish(self, *, catch: bool = True) -> dict[str, Any]:
        """All that is left, right answers throughout, but wrong ones to catch trials where `catch` is false."""
        view = {"state": self.client.get("/api/session", headers=self.headers).json()["state"]}
        if view["state"]["stage"] == "instructions":
            view = self.instructions()
        while view["state"]["trial"]:
            trial = view["state"]["trial"]["id"]
            view = self.answer(trial, catch or self.trials[trial].kind != "catch")
        return self.send("questions", answers={"strategy": "I looked.", "comments": ""})


@dataclass
class Served:
    """A running server: its study, its address, and people who come to it."""

    study: RunningStudy
    url: str
    client: httpx.Client

    def ask(self, recruiter: str | None = None, **changes: Any) -> httpx.Response:
        """Ask for a session."""
        prolific = {"prolific_pid": recruiter, "study_id": "s", "session_id": "x"} if recruiter else None
        body = {"consent_version": "1", "recruiter": prolific, "viewport": VIEWPORT, **changes}
        return self.client.post("/api/sessions", json=body)

    def join(self, recruiter: str | None = None) -> Person:
        response = self.ask(recruiter)
        assert response.status_code in (200, 201), response.text
        person = Person(self.client, self.study, response.json(), response.json()["next_seq"])
        assert person.place  # known also when it has withdrawn
        return person


Serve = Callable[..., Served]


@pytest.fixture(scope="session")
def mongod(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URI of a real `mongod`."""
    given = os.environ.get("HMS_TEST_MONGOD")
    with embedded_server(tmp_path_factory.mktemp("mongod"), Path(given) if given else None) as uri:
        yield uri


@pytest.fixture
def mongo_uri(mongod: str) -> Iterator[str]:
    """That of a server without data."""
    yield mongod
    with MongoClient[dict[str, Any]](mongod) as client:
        client.drop_database("hms")


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """A function that serves a drawn study, on a port of its own, with the answers in the test's folder.

    A second time it is another server on the same answers, as after a restart.
    """
    ends: list[Callable[[], None]] = []
    home = StudyFolder(tmp_path / "answers")
    home.root.mkdir()

    def start(
        drawn: Any, *, page: Path | None = None, store: str | None = None, limits: Limits | None = None, **changes: Any
    ) -> Served:
        frozen, manifest, folder = drawn
        secrets = read_secrets(home.secrets)
        answers = open_answers(home, frozen, store)
        study = RunningStudy(folder, frozen, manifest, answers, secrets, **changes)
        listener = socket.create_server(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn_config(make_app(study, page, limits)))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        while not server.started:
            time.sleep(0.005)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        client = httpx.Client(base_url=url, limits=httpx.Limits(max_connections=64), timeout=30)

        def end() -> None:
            client.close()
            server.should_exit = True
            thread.join()
            listener.close()
            answers.close()

        ends.append(end)
        return Served(study, url, client)

    yield start
    for end in ends:
        end()


@pytest.fixture
def served(serve: Serve, drawn_once: Any) -> Served:
    """The drawn study, served."""
    return serve(drawn_once)


@pytest.fixture(params=["sqlite", "mongo"])
def on_each_store(
    request: pytest.FixtureRequest, serve: Serve, drawn_once: Any, tmp_path: Path
) -> Callable[[], Served]:
    """A function that serves the study on SQLite or MongoDB."""
    if request.param == "sqlite":
        return lambda: serve(drawn_once)
    uri = tmp_path / "uri"
    uri.write_text(request.getfixturevalue("mongo_uri"))
    uri.chmod(0o600)
    return lambda: serve(drawn_once, store=str(uri))
