"""The server, or its MongoDB, is killed with SIGKILL while people take part: nothing acknowledged is lost or double."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import suppress

import httpx
import numpy as np
import pytest

from psychophysics.server.store.opening import open_answers
from psychophysics.simulated_participants import Behaviour, SimulatedParticipant
from psychophysics.simulated_strategies import preference
from search.mongod import EmbeddedServer
from search.mongod.process import free_port

PEOPLE, KILLS = 8, 2


@pytest.fixture
def mongo(tmp_path):
    """A MongoDB of the test's own, and the file that names it."""
    server = EmbeddedServer(tmp_path / "mongod")
    server.join()
    file = tmp_path / "uri"
    file.write_text(server.uri)
    file.chmod(0o600)
    yield server, str(file)
    server.leave()


class Rehearsal:
    """`hms study serve` as a process, on a port that stays; participants who take part by their own clocks."""

    def __init__(self, results, drawn, store):
        self.frozen, manifest, folder = drawn
        self.folder, self.store, self.port = folder.rehearsed(True), store, free_port()
        self.environment = {**os.environ, "HMS_RESULTS": str(results)}
        behaviour = Behaviour(preference("perfect", manifest), pace=0.6, repeat=0.2)
        url, generators = f"http://127.0.0.1:{self.port}", map(np.random.default_rng, range(PEOPLE))
        self.people = [SimulatedParticipant(url, behaviour, rng) for rng in generators]
        self.threads = [threading.Thread(target=person.take_part) for person in self.people]

    def start(self):
        command = [sys.executable, "-m", "search", "study", "serve", "drawn", "--rehearsal", "--port", str(self.port)]
        store = ["--store", self.store] if self.store else []
        self.process = subprocess.Popen([*command, *store], env=self.environment, stdout=subprocess.DEVNULL)

    def wait(self):
        for _ in range(600):
            with suppress(httpx.HTTPError):
                if httpx.get(f"http://127.0.0.1:{self.port}/health").is_success:
                    return
            time.sleep(0.05)
        pytest.fail("the server does not answer")

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        self.process.wait()

    def run(self, kill):
        """People take part; `kill` is called in the middle, several times."""
        self.start()
        try:
            for thread in self.threads:
                thread.start()
            for _ in range(KILLS):
                self.wait()
                time.sleep(2)
                assert any(thread.is_alive() for thread in self.threads)
                kill()
            for thread in self.threads:
                thread.join(120)
        finally:
            self.end()

    def check(self):
        """All came to their end, and what is stored is what was acknowledged."""
        assert [person.visit.status for person in self.people] == ["done"] * PEOPLE
        answers = open_answers(self.folder, self.frozen, self.store)
        stored, participants = answers.events(), answers.participants()
        answers.close()
        for person in self.people:
            own = [event for event in stored if event.participant == person.visit.token.partition(".")[0]]
            told = [(event["seq"], event["kind"], event["content"]) for event in person.visit.events]
            assert [(event.seq, event.kind, event.content) for event in own] == told
        assert set(Counter(who.place for who in participants).values()) == {1} and len(participants) == PEOPLE


@pytest.mark.chaos
@pytest.mark.parametrize("store", ["sqlite", "mongo"])
def test_nothing_is_lost_when_the_server_is_killed(drawn_study, tmp_path, request, store):
    rehearsal = Rehearsal(tmp_path, drawn_study, request.getfixturevalue("mongo")[1] if store == "mongo" else None)

    def kill():
        rehearsal.end(signal.SIGKILL)
        rehearsal.start()

    rehearsal.run(kill)
    rehearsal.check()


@pytest.mark.chaos
def test_nothing_is_lost_when_mongodb_is_killed(drawn_study, tmp_path, mongo):
    server, uri = mongo
    rehearsal = Rehearsal(tmp_path, drawn_study, uri)

    def kill():
        os.kill(server.pid, signal.SIGKILL)
        time.sleep(2)
        server.ensure_running()

    rehearsal.run(kill)
    rehearsal.check()
