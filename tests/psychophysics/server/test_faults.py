"""Over real HTTP: a full disk, pictures that change, senders that ask too often."""

import os
import shutil
import subprocess

import pytest

from psychophysics.server.limits import Limits, RateLimit


def stored(served, person):
    return served.study.store.events(person.id)


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
