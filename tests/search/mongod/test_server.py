import json
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pymongo import MongoClient
from pymongo.errors import OperationFailure

from search.errors import ServerMissing, StoreFull, StoreRefused, StoreUnreachable, UsageError
from search.mongod import EmbeddedServer, embedded_server, find_mongod
from search.mongod.folder import ServerFolder
from search.mongod.process import free_port
from search.process_identity import ProcessIdentity
from search.store import Store, new_job_document, waiting

GIVEN = Path(os.environ["HMS_TEST_MONGOD"]) if "HMS_TEST_MONGOD" in os.environ else None
USER = """
import sys
from pathlib import Path
from search.mongod import EmbeddedServer
server = EmbeddedServer(Path(sys.argv[1]))
server.join()
print(server.pid, flush=True)
input()
server.leave()
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[EmbeddedServer]:
    server = EmbeddedServer(tmp_path, GIVEN)
    server.join()
    yield server
    server.leave()


def user(results: Path) -> subprocess.Popen[str]:
    """Another process that joins, prints the server's pid, and leaves when its input ends."""
    command = [sys.executable, "-c", USER, str(results)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def joined_pid(process: subprocess.Popen[str]) -> int:
    assert process.stdout is not None
    return int(process.stdout.readline())


def count(uri: str) -> int:
    with MongoClient[dict[str, Any]](uri, serverSelectionTimeoutMS=10_000) as client:
        return client["hms"]["kept"].count_documents({})


def add(uri: str) -> None:
    with MongoClient[dict[str, Any]](uri) as client:
        client["hms"]["kept"].insert_one({})


def test_the_last_of_two_users_stops_it_and_data_stay(tmp_path: Path) -> None:
    folder = ServerFolder(tmp_path)
    with embedded_server(tmp_path, GIVEN) as uri:
        assert folder.uri.read_text().strip() == uri
        assert stat.S_IMODE(folder.uri.stat().st_mode) == 0o600
        add(uri)
        state = json.loads(folder.state.read_text())
        assert os.getsid(state["pid"]) == state["pid"], "Ctrl-C must not reach it"
        with user(tmp_path) as other:
            assert joined_pid(other) == state["pid"]
            other.communicate("\n")
        with embedded_server(tmp_path, GIVEN) as again:
            assert again == uri
        assert count(uri) == 1, "the others left, and it still runs"
        identity = ProcessIdentity.of(state["pid"])
    assert identity is not None and not identity.alive() and not folder.uri.exists()
    with embedded_server(tmp_path, GIVEN) as uri:
        assert count(uri) == 1


def test_a_server_outlives_the_user_that_started_it(tmp_path: Path) -> None:
    with user(tmp_path) as first:
        pid = joined_pid(first)
        server = EmbeddedServer(tmp_path, GIVEN)
        server.join()
        first.communicate("\n")
    assert server.pid == pid and count(server.uri) == 0
    server.leave()
    server.leave()
    assert ProcessIdentity.of(pid) is None


def test_nobody_enters_without_the_password(server: EmbeddedServer) -> None:
    anonymous = "mongodb://" + server.uri.partition("@")[2]
    with MongoClient[dict[str, Any]](anonymous) as client, pytest.raises(OperationFailure, match="auth"):
        client["hms"]["kept"].insert_one({})
    password = server.uri.split(":")[2].split("@")[0]
    command = Path(f"/proc/{server.pid}/cmdline").read_bytes().decode()
    assert password not in command and "--bind_ip\x00127.0.0.1" in command
    assert password not in server.log.read_text()


def test_ten_users_start_one_server(tmp_path: Path) -> None:
    servers = [EmbeddedServer(tmp_path, GIVEN) for _ in range(10)]
    threads = [threading.Thread(target=server.join) for server in servers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    pids = {server.pid for server in servers}
    for server in servers:
        server.leave()
    assert len(pids) == 1 and ProcessIdentity.of(pids.pop()) is None


@pytest.mark.chaos
def test_killed_users_do_not_count(tmp_path: Path) -> None:
    with user(tmp_path) as other:
        pid = joined_pid(other)
        other.kill()
        other.wait()
    assert ProcessIdentity.of(pid) is not None, "the server lives on, for whoever comes next"
    with embedded_server(tmp_path, GIVEN):
        assert json.loads(ServerFolder(tmp_path).state.read_text())["pid"] == pid
    assert ProcessIdentity.of(pid) is None


def test_a_killed_server_comes_back_on_its_port(server: EmbeddedServer) -> None:
    uri, pid = server.uri, server.pid
    assert server.ensure_running() is False
    with MongoClient[dict[str, Any]](uri) as client:
        client["hms"]["kept"].insert_one({})
        os.kill(pid, signal.SIGKILL)
        assert server.ensure_running() is True
        assert server.uri == uri and server.pid != pid
        assert client["hms"]["kept"].count_documents({}) == 1, "a connected client goes on"


def test_a_port_that_another_mongod_took_meanwhile(server: EmbeddedServer, tmp_path: Path) -> None:
    add(server.uri)
    old = server.uri
    port = old.partition("@")[2].partition("/")[0].partition(":")[2]
    os.kill(server.pid, signal.SIGKILL)
    (tmp_path / "other").mkdir()
    options = ["--dbpath", str(tmp_path / "other"), "--port", port, "--bind_ip", "127.0.0.1", "--nounixsocket"]
    while ProcessIdentity.of(server.pid) is not None:
        time.sleep(0.02)
    with subprocess.Popen([str(find_mongod(GIVEN)), *options], stdout=subprocess.DEVNULL) as other:
        with MongoClient[dict[str, Any]]("127.0.0.1", int(port)) as client:
            assert client.admin.command("ping")["ok"] == 1
            assert server.ensure_running() is True
            assert server.uri != old and count(server.uri) == 1, "another port needs a forced reconfiguration"
            assert client.list_database_names() == ["admin", "config", "local"], "the other one was left alone"
        other.terminate()


@pytest.mark.chaos
def test_a_server_that_does_not_answer_is_named_instead_of_waited_for(server: EmbeddedServer, tmp_path: Path) -> None:
    state = ServerFolder(tmp_path)
    fields = json.loads(state.state.read_text())
    state.state.write_text(json.dumps({**fields, "port": free_port()}))
    with pytest.raises(StoreUnreachable, match=rf"pid {server.pid}"):
        EmbeddedServer(tmp_path, GIVEN).join()
    state.state.write_text(json.dumps(fields))


@pytest.mark.chaos
def test_an_orphan_of_an_interrupted_start_is_replaced(tmp_path: Path) -> None:
    first = EmbeddedServer(tmp_path, GIVEN)
    first.join()
    add(first.uri)
    folder = ServerFolder(tmp_path)
    fields = json.loads(folder.state.read_text())
    # As if the start had been killed after mongod ran, before its pid was written down.
    folder.state.write_text(json.dumps({**fields, "pid": 0, "started": 0.0}))
    second = EmbeddedServer(tmp_path, GIVEN)
    second.join()
    assert second.pid != first.pid and count(second.uri) == 1
    assert ProcessIdentity.of(first.pid) is None
    first.leave()
    second.leave()


@pytest.mark.chaos
def test_a_start_killed_before_the_user_was_created_is_completed(tmp_path: Path) -> None:
    folder = ServerFolder(tmp_path)
    folder.prepare()
    state = folder.read_state()
    folder.data.mkdir()
    port = free_port()
    options = ["--dbpath", str(folder.data), "--port", str(port), "--bind_ip", "127.0.0.1", "--nounixsocket"]
    options += ["--replSet", state.replica_set, "--keyFile", str(folder.key)]
    with subprocess.Popen([str(find_mongod(GIVEN)), *options], stdout=subprocess.DEVNULL) as half:
        with MongoClient[dict[str, Any]]("127.0.0.1", port, directConnection=True) as client:
            members = [{"_id": 0, "host": f"127.0.0.1:{port}"}]
            client.admin.command("replSetInitiate", {"_id": state.replica_set, "members": members})
        half.kill()
    with embedded_server(tmp_path, GIVEN) as uri:
        assert f":{port}/" not in uri
        add(uri)
        assert count(uri) == 1


def test_a_program_that_is_no_mongod_is_reported_with_its_log(tmp_path: Path) -> None:
    program = tmp_path / "mongod"
    program.write_text("#!/bin/sh\nexit 7\n")
    program.chmod(0o755)
    with pytest.raises(StoreRefused, match=r"(?s)exit code 7.*mongod\.log.*hms doctor"):
        EmbeddedServer(tmp_path, program).join()
    with pytest.raises(ServerMissing, match="the option"):
        EmbeddedServer(tmp_path, tmp_path / "absent").join()


def test_a_network_file_system_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = f"/dev/vda / ext4 rw 0 0\nfiler:/x {tmp_path} nfs4 rw 0 0\n"
    real = Path.read_text
    monkeypatch.setattr(
        Path, "read_text", lambda self, *a, **k: mounts if str(self) == "/proc/mounts" else real(self, *a, **k)
    )
    with pytest.raises(UsageError, match=r"network file system \(nfs4\).*HMS_RESULTS.*--mongo URI"):
        EmbeddedServer(tmp_path, GIVEN).join()


@pytest.mark.chaos
def test_no_acknowledged_write_is_lost_over_kills_under_load(server: EmbeddedServer) -> None:
    with Store.connect(server.uri, database="chaos", timeout_seconds=2) as store:
        acknowledged: list[int] = []
        stop = threading.Event()

        def write() -> None:
            tid = 0
            while not stop.is_set():
                document = new_job_document("s", tid, params={}, seed=tid)
                waiting(lambda document=document: store.insert([document]), first=0.05)  # type: ignore[misc]
                acknowledged.append(tid)
                tid += 1

        thread = threading.Thread(target=write)
        thread.start()
        for _ in range(3):
            time.sleep(1.0)
            os.kill(server.pid, signal.SIGKILL)
            time.sleep(0.5)
            assert server.ensure_running()
        time.sleep(1.0)
        stop.set()
        thread.join()
        assert len(acknowledged) > 200
        assert [job["tid"] for job in store.jobs("s")] == acknowledged


@pytest.mark.chaos
def test_a_stopped_worker_wakes_up_fenced_off(server: EmbeddedServer, tmp_path: Path) -> None:
    script = tmp_path / "worker.py"
    script.write_text(
        "import sys, time\n"
        "from search.store import Store, waiting\n"
        "from search.errors import LeaseLost\n"
        "store = Store.connect(sys.stdin.readline().strip(), database='stop', lease_seconds=2)\n"
        "job = store.reserve('s', 'stopped')\n"
        "print('reserved', flush=True)\n"
        "epoch = 0\n"
        "try:\n"
        "    while True:\n"
        "        epoch += 1\n"
        # Stopped in the middle of a write, it wakes up past the write's deadline, and repeats it as a worker does.
        "        waiting(lambda: store.record(job, epoch, {'by': 'stopped'}))\n"
        "        time.sleep(0.05)\n"
        "except LeaseLost:\n"
        "    print('lost', flush=True)\n"
    )
    with Store.connect(server.uri, database="stop", lease_seconds=2) as store:
        store.insert([new_job_document("s", 0, params={}, seed=0)])
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        with subprocess.Popen([sys.executable, str(script)], text=True, **pipes) as worker:  # type: ignore[call-overload]
            worker.stdin.write(server.uri + "\n")
            worker.stdin.flush()
            assert worker.stdout.readline() == "reserved\n"
            time.sleep(0.5)
            worker.send_signal(signal.SIGSTOP)
            while store.reap("s") != [0]:
                time.sleep(0.2)
            job = store.reserve("s", "second")
            assert job is not None
            store.begin_attempt(job, 0)
            store.record(job, 1, {"by": "second"})
            worker.send_signal(signal.SIGCONT)
            assert worker.stdout.readline() == "lost\n"
        store.finish(job, {"status": "ok", "loss": 0.0})
        assert [row["by"] for row in store.epochs("s")] == ["second"]


@pytest.mark.chaos
def test_an_outage_longer_than_server_selection_is_waited_out(server: EmbeddedServer) -> None:
    with Store.connect(server.uri, database="outage", lease_seconds=2, timeout_seconds=1) as store:
        store.insert([new_job_document("s", 0, params={}, seed=0)])
        job = store.reserve("s", "w")
        assert job is not None
        os.kill(server.pid, signal.SIGKILL)
        threading.Timer(5.0, server.ensure_running).start()
        waits: list[float] = []
        waiting(lambda: store.record(job, 5, {"hms": 0.1}), on_wait=lambda error, lost: waits.append(lost))
        assert len(waits) >= 2 and waits[-1] > 2
        assert [row["epoch"] for row in store.epochs("s")] == [5]
        assert store.reap("s") == [], "after an outage the workers first get the chance to renew"


@pytest.mark.chaos
def test_a_full_disk_is_named_and_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=330m", "tmpfs", str(disk)], capture_output=True, text=True
    )
    if mounted.returncode:
        pytest.skip(f"a small disk cannot be made here: {mounted.stderr.strip()}")
    try:
        server = EmbeddedServer(disk, GIVEN)
        server.join()
        inserted = 0
        with Store.connect(server.uri, timeout_seconds=3) as store:
            with pytest.raises((StoreFull, StoreUnreachable)):
                while True:
                    params = {"noise": os.urandom(200_000).hex()}
                    inserted += store.insert([new_job_document("s", inserted, params=params, seed=0)])
            with pytest.raises(StoreFull, match=r"disk of .* is full"):
                server.ensure_running()
            subprocess.run(["mount", "-o", "remount,size=600m", str(disk)], check=True)
            assert server.ensure_running()
            assert len(store.jobs("s")) >= inserted > 10
        server.leave()
        assert ProcessIdentity.of(server.pid) is None
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


@pytest.mark.chaos
def test_a_hanging_server_is_unreachable_not_endless(server: EmbeddedServer) -> None:
    with Store.connect(server.uri, database="hang", timeout_seconds=2) as store:
        store.insert([new_job_document("s", 0, params={}, seed=0)])
        job = store.reserve("s", "w")
        assert job is not None
        os.kill(server.pid, signal.SIGSTOP)
        try:
            began = time.monotonic()
            with pytest.raises(StoreUnreachable):
                store.record(job, 5, {"hms": 0.1})
            assert time.monotonic() - began < 20
        finally:
            os.kill(server.pid, signal.SIGCONT)
        # What the server took in while it hung holds the trial's locks: it must not be waited for.
        began = time.monotonic()
        waiting(lambda: store.record(job, 5, {"hms": 0.1}), give_up=60)
        assert time.monotonic() - began < 10
        assert [row["epoch"] for row in store.epochs("s")] == [5]
