"""Simulated participants of a running study, through its HTTP interface alone: to rehearse it, to test it, to load it.

They take part as a browser does: each event once and in order, again when no answer came, pictures by their addresses.
"""

import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from psychophysics.errors import StudyError
from psychophysics.simulated_strategies import Preference

TRIES = 12
INSTRUCTION_S, TRIAL_S = 80.0, 6.0  # simulated times, which pass the usual exclusion rules
Json = dict[str, Any]


@dataclass
class Visit:
    """What came of one participant.

    status: `done`, or why there was no session (`no place`, `took part already`). events: all that the server has
    acknowledged, as sent. seconds: how long the server took for each of them, s. repeated: how many were sent again.
    """

    status: str = ""
    token: str = ""
    withdrawal_code: str = ""
    practice_failed: bool = False
    events: list[Json] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    repeated: int = 0


@dataclass(frozen=True)
class Behaviour:
    """How a simulated participant takes part.

    prefer: decides trials. careless: share of trials decided by chance instead. pace: seconds of real time before each
    event, drawn from an exponential distribution of this mean; 0: none. repeat: share of events that are sent twice, as
    by a double click. preload: whether all pictures of the session are fetched first, as a page does.
    """

    prefer: Preference
    pace: float = 0.0
    repeat: float = 0.0
    preload: bool = False


class SimulatedParticipant:
    """One participant of the study at `url`; all that is random comes from `rng`."""

    def __init__(self, url: str, behaviour: Behaviour, rng: np.random.Generator) -> None:
        self.server, self.behaviour, self.rng = Server(url), behaviour, rng
        self.visit = Visit()
        self.clock_ms = time.time() * 1000

    def take_part(self) -> Visit:
        """From consent to the last page. StudyError for an answer that no page would get."""
        study = self.server.expect("GET", "/api/study", 200)
        number = self.rng.bytes(12).hex()
        prolific = {"prolific_pid": f"simulated-{number}", "study_id": "simulated", "session_id": number}
        joining = {
            "consent_version": study["consent"]["version"],
            "request": number,
            "recruiter": prolific if study["recruitment"]["kind"] == "prolific" else None,
            "viewport": {"width": 1280, "height": 800},
        }
        status, session = self.server.ask("POST", "/api/sessions", joining)
        if status in (409, 410):
            self.visit.status = "took part already" if status == 409 else "no place"
            return self.visit
        if status not in (200, 201):
            raise StudyError(f"POST /api/sessions answered {status}: {session}")
        self.visit.token, self.visit.withdrawal_code = session["token"], session["withdrawal_code"]
        if self.behaviour.preload:
            for address in session["images"]:
                self.server.picture(address)
        state = session["state"]
        while state["stage"] != "done":
            state = self._step(state)
        self.visit.status, self.visit.practice_failed = "done", state["practice_failed"]
        return self.visit

    def _step(self, state: Json) -> Json:
        stage = state["stage"]
        if stage == "instructions":
            self._send("instructions_shown", {}, 0)
            return self._send("instructions_done", {}, INSTRUCTION_S)
        if stage == "questions":
            answers = {"strategy": "simulated", "comments": ""}
            return self._send("questions", {"answers": answers}, TRIAL_S)
        trial = state["trial"]
        self._send("trial_shown", {"trial": trial["id"]}, 1)
        rt_ms = float(np.round(1000 * TRIAL_S * self.rng.lognormal(0, 0.3), 1))
        answer = {"trial": trial["id"], "button": self._button(trial), "rt_ms": rt_ms}
        return self._send("answer", answer, rt_ms / 1000)

    def _button(self, trial: Json) -> int:
        preference = self.behaviour.prefer(trial, self.server.picture) or self.rng.choice([-1.0, 1.0])
        return int(np.sign(preference)) * int(self.rng.integers(1, 4))

    def _send(self, kind: str, content: Json, later_s: float) -> Json:
        """Send the next event, `later_s` of the participant's own time after the one before; the state that follows."""
        self.clock_ms += 1000 * later_s
        if self.behaviour.pace:
            time.sleep(self.rng.exponential(self.behaviour.pace))
        event = {"seq": len(self.visit.events), "kind": kind, "at_ms": round(self.clock_ms, 1), "content": content}
        body = {"events": [event]}
        begun = time.perf_counter()
        answer = self.server.expect("POST", "/api/session/events", 200, body, self.visit.token)
        self.visit.seconds.append(time.perf_counter() - begun)
        self.visit.events.append(event)
        if self.rng.random() < self.behaviour.repeat:
            self.visit.repeated += 1
            self.server.expect("POST", "/api/session/events", 200, body, self.visit.token)
        state: Json = answer["state"]
        return state


class Server:
    """One kept connection; a request without an answer, or one too many, is sent again after a while."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise StudyError(f"{url} is no address of a study: give it as `hms study serve` prints it, http://...")
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._connection = kind(parts.hostname, parts.port, timeout=60)
        self._pictures: dict[str, bytes] = {}

    def expect(self, method: str, path: str, status: int, body: Json | None = None, token: str = "") -> Json:
        """The JSON answer; StudyError where it has another status."""
        found, answer = self.ask(method, path, body, token)
        if found != status:
            raise StudyError(f"{method} {path} answered {found} instead of {status}: {answer}")
        return answer

    def ask(self, method: str, path: str, body: Json | None = None, token: str = "") -> tuple[int, Json]:
        """Status and JSON answer."""
        status, content = self._request(method, path, body, token)
        try:
            return status, json.loads(content)
        except ValueError:
            return status, {"error": content[:200].decode(errors="replace")}

    def picture(self, path: str) -> bytes:
        """A picture, fetched once."""
        if path not in self._pictures:
            status, content = self._request("GET", path, None, "")
            if status != 200:
                raise StudyError(f"GET {path} answered {status}; a picture of the study should be there")
            self._pictures[path] = content
        return self._pictures[path]

    def _request(self, method: str, path: str, body: Json | None, token: str) -> tuple[int, bytes]:
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
        sent = None if body is None else json.dumps(body)
        wait = 0.1
        for _ in range(TRIES):
            try:
                self._connection.request(method, path, sent, headers)
                response = self._connection.getresponse()
                content = response.read()
            except (HTTPException, OSError) as error:
                self._connection.close()
                reason = str(error)
            else:
                if response.status not in (429, 503):
                    return response.status, content
                reason = f"status {response.status}"
                wait = float(response.headers.get("Retry-After", wait))
            time.sleep(wait)
            wait = min(2 * wait, 5.0)
        raise StudyError(f"{method} {path}: no answer after {TRIES} tries ({reason}). Is `hms study serve` running?")


def refuse_real(url: str, study: str) -> None:
    """Raise StudyError unless the server at `url` holds a rehearsal of the study of this name."""
    found = Server(url).expect("GET", "/api/study", 200)
    if found["name"] != study:
        raise StudyError(f"{url} serves the study `{found['name']}`, not `{study}`")
    if not found["rehearsal"]:
        raise StudyError(
            f"{url} collects the answers of people; simulated participants take part in a rehearsal only. "
            f"Next: hms study serve {study} --rehearsal --port 8001"
        )


def simulate(
    url: str,
    behaviour: Behaviour,
    participants: int,
    *,
    seed: int = 0,
    at_once: int = 50,
    done: Callable[[Visit], None] = lambda visit: None,
) -> list[Visit]:
    """So many participants, at most `at_once` at the same time, each in a thread; `done` is called after each.

    Raises:
        StudyError: the first of any participant; nobody begins after it.
    """

    def one(rng: np.random.Generator) -> Visit:
        return SimulatedParticipant(url, behaviour, rng).take_part()

    visits = []
    with ThreadPoolExecutor(at_once) as pool:
        running = [pool.submit(one, rng) for rng in np.random.default_rng(seed).spawn(participants)]
        try:
            for future in as_completed(running):
                visits.append(future.result())
                done(visits[-1])
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return visits
