"""`hms study serve` as a process, and what stops it before it serves."""

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from psychophysics.errors import StimuliError
from psychophysics.server.serve import ServeOptions, serve_study
from psychophysics.server.store.opening import open_answers
from psychophysics.study_folder import StudyFolder
from search.errors import UsageError


def start(results, *words, **variables):
    environment = {**os.environ, "HMS_RESULTS": str(results), "HMS_DATA": str(results / "data"), **variables}
    command = [sys.executable, "-m", "search", "study", "serve", "drawn", *words]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def read_until(process, pattern):
    """Lines of its output until one matches; the match."""
    seen = []
    for line in process.stdout:
        seen.append(line)
        if found := re.search(pattern, line):
            return found
    pytest.fail("".join(seen))


def test_a_served_study_ends_by_ctrl_c_with_all_answers_stored(drawn_study, tmp_path):
    with start(tmp_path, "--port", "0") as process:
        url = read_until(process, r"participants: (http://127\.0\.0\.1:\d+)/\n")[1]
        admin = read_until(process, r"admin: +(.*)/admin#token=(\S{40,})\n")
        read_until(process, "the page of participants is not built yet .* hms study build-page")
        read_until(process, "Ctrl-C ends this")
        body = {"consent_version": "1", "recruiter": None, "viewport": {"width": 1440, "height": 900}}
        session = httpx.post(f"{url}/api/sessions", json=body).json()
        headers = {"Authorization": f"Bearer {session['token']}"}
        event = {"seq": 0, "kind": "instructions_shown", "at_ms": 1.0, "content": {}}
        # A page keeps its connection open; the server ends all the same.
        with httpx.Client(base_url=url) as page:
            assert page.post("/api/session/events", json={"events": [event]}, headers=headers).status_code == 200
            process.send_signal(signal.SIGINT)
            told = process.stdout.read()
    assert process.returncode == 130 and "Traceback" not in told
    assert told.strip().endswith("every answer that was received is stored. Go on with: hms study serve drawn --port 0")
    assert admin[1] == url
    answers = open_answers(drawn_study[2], drawn_study[0])
    assert [stored.kind for stored in answers.events()] == ["instructions_shown"]
    answers.close()


def test_without_its_packages_the_command_names_the_extra(drawn_study, tmp_path):
    (tmp_path / "uvicorn.py").write_text("raise ModuleNotFoundError('no uvicorn', name='uvicorn')")
    with start(tmp_path, PYTHONPATH=os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])) as process:
        told = process.stdout.read()
    assert process.returncode == 2
    assert told == "hms: uvicorn is not installed. Next: pip install 'hms-search[study]'\n"


def stopped_by(folder, **options):
    with pytest.raises((UsageError, StimuliError)) as stopped:
        serve_study(folder, ServeOptions(**options), lambda line: None)
    return str(stopped.value)


def test_a_port_in_use_and_wrong_addresses_are_named(drawn_study):
    folder = drawn_study[2]
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        told = stopped_by(folder, port=port)
    assert told.startswith(f"port {port} of 127.0.0.1 is taken by another program; take another: --port {port + 1}, ")
    assert "192.0.2.1 is no address of this machine" in stopped_by(folder, host="192.0.2.1")
    assert "--host is 'no.such.host'" in stopped_by(folder, host="no.such.host")
    assert "it begins with https://" in stopped_by(folder, port=0, public_url="study.lab.org")
    assert "--store is neither" in stopped_by(folder, port=0, store="nowhere")


def test_a_study_that_is_not_frozen_or_was_changed_is_not_served(drawn_study, tmp_path):
    _, manifest, folder = drawn_study
    assert "frozen.json is missing. Next: hms study freeze CONFIG" in stopped_by(StudyFolder(tmp_path / "none"))
    picture = folder.root / next(file for file in manifest.files() if file.endswith(".png"))
    content = picture.read_bytes()
    picture.write_bytes(content + b"x")
    assert f"1 changed: {folder.relative(picture)}" in stopped_by(folder)
    picture.unlink()
    assert f"1 missing: {folder.relative(picture)}" in stopped_by(folder)
    picture.write_bytes(content)
    folder.manifest.write_text(folder.manifest.read_text() + " ")
    assert "manifest.json was changed after the study was frozen" in stopped_by(folder)
    assert not folder.answers.exists()


def test_secrets_that_are_not_those_of_the_answers_are_refused(drawn_study):
    folder = drawn_study[2]
    told_by(folder, port=0)
    first = folder.secrets.read_text()
    folder.secrets.unlink()
    assert "secrets.json is not the file with which this study began" in stopped_by(folder, port=0)
    folder.secrets.write_text(first)
    assert told_by(folder, port=0)


def test_a_study_stays_in_its_kind_of_store(drawn_study, mongo_uri, tmp_path):
    folder, uri = drawn_study[2], tmp_path / "uri"
    uri.write_text(mongo_uri)
    uri.chmod(0o600)
    assert "MongoDB at 127.0.0.1:" in told_by(folder, port=0, store=str(uri))[0]
    told = stopped_by(folder, port=0)
    assert told.startswith("the answers of this study lie in MongoDB, not in SQLite. Next: the same command with --st")
    assert not folder.answers.exists()
    folder.store.unlink()
    told_by(folder, port=0)
    assert "lie in SQLite, not in MongoDB. Next: the same command without" in stopped_by(folder, port=0, store=str(uri))


def told_by(folder, **options):
    """What `serve_study` says before it serves."""
    lines: list[str] = []

    def say(line):
        lines.append(line)
        if line.startswith("Ctrl-C"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        serve_study(folder, ServeOptions(**options), say)
    return lines


def test_the_addresses_are_those_that_participants_open(make_drawn_study, tmp_path):
    folder = make_drawn_study(tmp_path, recruitment={"kind": "prolific", "completion_code": "C1"})[2]
    first, people, withdrawal, admin, *_ = told_by(folder, port=0, public_url="https://study.lab.org/")
    assert re.match(r"`drawn`, frozen as [0-9a-f]{12}, 10 places, 0 filled; answers: .*/answers\.sqlite$", first)
    assert people == (
        "participants: https://study.lab.org/"
        "?PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"
    )
    assert withdrawal == "withdrawal:   https://study.lab.org/withdraw"
    assert re.fullmatch(r"admin:        https://study\.lab\.org/admin#token=\S{40,}", admin)
    assert Path(folder.secrets).stat().st_mode & 0o777 == 0o600
