"""The built page on a real `hms study serve`, and visitors who take part in real Chromium.

Visitors see what a person sees: they find out from the page which screen is shown, and decide from its pictures.
"""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from playwright.sync_api import Browser, Page

from psychophysics.page_build import build_page
from psychophysics.server.store.contract import Event, Participant
from psychophysics.server.store.opening import open_answers
from psychophysics.session_plan import SessionPlan, session_plan
from psychophysics.simulated_strategies import Fetch, Preference, preference
from psychophysics.stimuli.freeze import Frozen
from psychophysics.stimuli.manifest import Manifest
from psychophysics.study_folder import StudyFolder

SMALLEST = {"width": 940, "height": 600}
SCREEN = """() => {
  if (document.querySelector("#withdrawal-code")) return "done";
  if (document.querySelector("textarea")) return "questions";
  if (document.querySelector(".continue:enabled")) return "continue";
  if (document.querySelector("[data-button]:enabled")) return "trial";
}"""
PICTURES = """() => Object.fromEntries([["base", ".base img"], ["left", "[data-side=left] img"], ["right",
  "[data-side=right] img"]].map(([name, place]) => [name, document.querySelector(place).getAttribute("src")]))"""


@dataclass
class StudyServer:
    """`hms study serve` as a process on a port that it keeps when it is started again."""

    frozen: Frozen
    manifest: Manifest
    folder: StudyFolder
    port: int
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        results = self.folder.root.parents[1]
        command = [sys.executable, "-m", "search", "study", "serve", str(self.folder.root), "--port", str(self.port)]
        with (results / "server.log").open("ab") as log:
            environment = {**os.environ, "HMS_RESULTS": str(results)}
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
        for _ in range(600):
            with closing(socket.socket()) as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            assert self.process.poll() is None, (results / "server.log").read_text()
            time.sleep(0.05)
        raise AssertionError("no server after 30 s")

    def kill(self) -> None:
        """End it at once, as a crash does."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stored(self) -> tuple[list[Participant], list[Event]]:
        """All participants and events in the store, which the server has open."""
        with closing(open_answers(self.folder, self.frozen)) as store:
            return store.participants(), store.events()

    def person(self, identifier: str) -> Participant:
        return next(who for who in self.stored()[0] if who.id == identifier)

    def plan(self, identifier: str) -> SessionPlan:
        return session_plan(self.frozen, self.manifest, self.person(identifier).place)

    def events(self, identifier: str) -> list[Event]:
        return [event for event in self.stored()[1] if event.participant == identifier]


StartServer = Callable[..., StudyServer]


@pytest.fixture(scope="session")
def page_built() -> Path:
    """The page, built by npm and esbuild."""
    return build_page()


@pytest.fixture(scope="module")
def start_server(make_drawn_study, tmp_path_factory, page_built) -> Iterator[StartServer]:
    """A function: a server of a drawn study whose keys are changed as given. All end with the module."""
    servers: list[StudyServer] = []

    def start(**changes: Any) -> StudyServer:
        study = make_drawn_study(tmp_path_factory.mktemp("served"), **changes)
        with closing(socket.create_server(("127.0.0.1", 0))) as free:
            port = free.getsockname()[1]
        servers.append(StudyServer(*study, port))
        servers[-1].start()
        return servers[-1]

    yield start
    for server in servers:
        server.kill()


@dataclass
class Visitor:
    """A participant in a browser.

    `prefer`: decides trials. `clock`: whether the visitor's clock can be turned forward, by `think`. `buttons`: those
    that were pressed, in order.
    """

    page: Page
    server: StudyServer
    prefer: Preference
    clock: bool = False
    buttons: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(7)
        self.http = httpx.Client(base_url=self.server.url)

    @property
    def id(self) -> str:
        """The pseudonym, which stands before the dot of the session's token."""
        token = "JSON.parse(localStorage.getItem('hms-study/drawn/session')).token"
        return str(self.page.evaluate(token)).partition(".")[0]

    def think(self, seconds: float) -> None:
        """Let time pass on the visitor's clock."""
        if self.clock:
            self.page.clock.fast_forward(round(1000 * seconds))

    def screen(self) -> str:
        """What is shown, once the page waits for the visitor: continue, trial, questions, done."""
        self.think(0.3)  # a button that goes on wakes up after 0.25 s
        return str(self.page.wait_for_function(SCREEN).json_value())

    def join(self, query: str = "") -> None:
        """Open the page and agree."""
        if self.clock:
            self.page.clock.install()
        self.page.goto(f"{self.server.url}/{query}")
        self.page.get_by_role("button", name="I agree").click()

    def instructions(self, seconds: float = 0.0) -> None:
        """Read all pages, for so long in all."""
        self.page.get_by_text("Page 1 of 4").wait_for()
        self.think(seconds)
        for number in range(1, 5):
            self.page.get_by_text(f"Page {number} of 4").wait_for()
            self.go_on()

    def go_on(self) -> None:
        """Press what goes on."""
        assert self.screen() == "continue"
        self.page.locator(".continue").click()

    def to_trial(self) -> None:
        """Press what goes on until a trial is shown."""
        while self.screen() == "continue":
            self.page.locator(".continue").click()
        assert self.screen() == "trial"

    def decide(self, wrong: bool = False) -> int:
        """The button for the trial on the screen."""
        pictures = self.page.evaluate(PICTURES)
        side = np.sign(self.prefer(pictures, self.fetch) or self.rng.choice([-1.0, 1.0]))
        return int(-side if wrong else side) * int(self.rng.integers(1, 4))

    def answer(self, *, seconds: float = 0.0, wrong: bool = False) -> None:
        """Answer the trial on the screen, after so long."""
        button = self.decide(wrong)
        self.think(seconds)
        self.press(button)

    def press(self, button: int) -> None:
        """Click on one of the six buttons."""
        self.page.locator(f"[data-button='{button}']").click()
        self.buttons.append(button)

    def finish(self, *, seconds: float = 0.0) -> None:
        """All that is left, up to the last page."""
        while (screen := self.screen()) != "done":
            if screen == "continue":
                self.page.locator(".continue").click()
            elif screen == "trial":
                self.answer(seconds=seconds)
            else:
                self.page.get_by_label("How did you decide").fill("I looked.")
                self.page.get_by_role("button", name="Finish").click()
                self.page.locator("#withdrawal-code").wait_for()

    def fetch(self, address: str) -> bytes:
        return self.http.get(address).raise_for_status().content


Visit = Callable[..., Visitor]


@pytest.fixture
def visit(browser: Browser) -> Iterator[Visit]:
    """A function: a visitor of a server, by default a perfect one, in a browser profile of its own.

    Errors in the page's scripts fail the test.
    """
    errors: list[str] = []
    contexts = []

    def come(server: StudyServer, prefer: Preference | None = None, *, clock: bool = False, **context: Any) -> Visitor:
        contexts.append(browser.new_context(**{"viewport": SMALLEST, **context}))
        page = contexts[-1].new_page()
        page.set_default_timeout(20_000)
        page.on("pageerror", lambda error: errors.append(str(error)))
        return Visitor(page, server, prefer or preference("perfect", server.manifest), clock=clock)

    yield come
    for context in contexts:
        context.close()
    assert errors == []


@pytest.fixture(scope="module")
def server(start_server):
    """A study in which nobody is excluded."""
    anything = {
        "catch_correct": 0, "rarer_side": 0, "instruction_seconds": 0, "instruction_seconds_none": 0,
        "total_seconds": [0, 9000], "total_seconds_none": [0, 9000],
    }  # fmt: skip
    design = {"conditions": ["blurred", "none"], "ranked_sets": 2, "sets": 2, "participants_per_cell": 9}
    return start_server(design=design, exclusions=anything, recruitment={"completion_code": "C0DE"})


@pytest.fixture
def begun(server, visit):
    """A function: a visitor at the first trial."""

    def begin(**context):
        visitor = visit(server, **context)
        visitor.join()
        visitor.instructions()
        visitor.to_trial()
        return visitor

    return begin


@pytest.fixture(scope="session")
def in_main() -> Callable[..., Preference]:
    """A function: decides main trials by `main` and catch trials by `catch`, practice rightly.

    A catch trial is known by its picture: the page tells it from a main trial in no way.
    """

    def decide(server: StudyServer, *, main: Preference | None = None, catch: Preference | None = None) -> Preference:
        perfect = preference("perfect", server.manifest)
        curated = server.frozen.curated
        hashes = {role: {server.manifest.set(i).pair.base.sha256 for i in ids} for role, ids in curated.items()}

        def prefer(trial: Mapping[str, Any], fetch: Fetch) -> float:
            base = sha256(fetch(trial["base"])).hexdigest()
            if base in hashes["catch"]:
                return (catch or perfect)(trial, fetch)
            practice = base in hashes["very_easy"] | hashes["easy"]
            return (perfect if practice else main or perfect)(trial, fetch)

        return prefer

    return decide


@pytest.fixture(scope="session")
def check_stored() -> Callable[[Visitor], None]:
    """A function: all that a visitor did is in the store, once and in order, and belongs to the planned trials."""

    def check(visitor: Visitor) -> None:
        events = visitor.server.events(visitor.id)
        assert [event.seq for event in events] == list(range(len(events)))
        answers = [event for event in events if event.kind == "answer"]
        assert [event.content["button"] for event in answers] == visitor.buttons
        trials = [event.content["trial"] for event in answers]
        assert len(set(trials)) == len(trials)
        plan = visitor.server.plan(visitor.id)
        main = [trial.id for trial in plan.main]
        practice = [trial.id for block in plan.blocks for trial in block]
        done = [trial for trial in trials if trial.startswith("practice")]
        assert trials == practice[: len(done)] + main[: len(trials) - len(done)]
        shown = [event.content["trial"] for event in events if event.kind == "trial_shown"]
        assert list(dict.fromkeys(shown)) == trials or list(dict.fromkeys(shown))[:-1] == trials
        times = [event.at_ms for event in events]
        assert times == sorted(times)

    return check
