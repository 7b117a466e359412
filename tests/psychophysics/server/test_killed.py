"""The server is killed with SIGKILL and started again while people take part: nothing acknowledged is lost."""

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
from search.mongod.process import free_port


def wait_for(port):
    for _ in range(600):
        with suppress(httpx.HTTPError):
            if httpx.get(f"http://127.0.0.1:{port}/health").is_success:
                return
        time.sleep(0.05)
    pytest.fail("the server does not answer")


@pytest.mark.chaos
@pytest.mark.parametrize("store", ["sqlite", "mongo"])
def test_nothing_acknowledged_is_lost_or_double_when_the_server_is_killed(drawn_study, tmp_path, request, store):
    frozen, manifest, folder = drawn_study
    folder, port = folder.rehearsed(True), free_port()
    command = [sys.executable, "-m", "search", "study", "serve", "drawn", "--rehearsal", "--port", str(port)]
    uri = None
    if store == "mongo":
        uri = str(tmp_path / "uri")
        (tmp_path / "uri").write_text(request.getfixturevalue("mongo_uri"))
        (tmp_path / "uri").chmod(0o600)
        command += ["--store", uri]
    environment = {**os.environ, "HMS_RESULTS": str(tmp_path)}
    servers = []

    def start():
        servers.append(subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL))

    behaviour = Behaviour(preference("perfect", manifest), pace=0.4, repeat=0.2)
    people = [SimulatedParticipant(f"http://127.0.0.1:{port}", behaviour, np.random.default_rng(n)) for n in range(8)]
    start()
    threads = [threading.Thread(target=person.take_part) for person in people]
    try:
        for thread in threads:
            thread.start()
        for _ in range(3):
            wait_for(port)
            time.sleep(2)
            assert all(thread.is_alive() for thread in threads)  # they are in the middle
            servers[-1].send_signal(signal.SIGKILL)
            servers[-1].wait()
            start()
        for thread in threads:
            thread.join(120)
    finally:
        servers[-1].send_signal(signal.SIGTERM)
        servers[-1].wait()
    assert [person.visit.status for person in people] == ["done"] * 8
    answers = open_answers(folder, frozen, uri)
    stored = answers.events()
    for person in people:
        own = [event for event in stored if event.participant == person.visit.token.partition(".")[0]]
        told = [(event["seq"], event["kind"], event["content"]) for event in person.visit.events]
        assert [(event.seq, event.kind, event.content) for event in own] == told
    assert Counter(who.place for who in answers.participants()).most_common(1)[0][1] == 1
    answers.close()
