import os
import subprocess
import sys
from dataclasses import replace

from search.process_identity import ProcessIdentity


def test_a_process_is_alive_until_it_ends_even_as_a_zombie() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        identity = ProcessIdentity.of(child.pid)
        assert identity is not None and identity.alive() and not identity.known_dead()
        assert child.stdin is not None
        child.stdin.close()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        # Not waited for yet: a zombie still has its pid.
        assert not identity.alive() and identity.known_dead() and ProcessIdentity.of(child.pid) is None


def test_a_reused_pid_is_another_process() -> None:
    me = ProcessIdentity.current()
    assert me.pid == os.getpid() and me.alive()
    earlier = replace(me, started=me.started - 1)
    assert not earlier.alive() and earlier.known_dead()


def test_processes_elsewhere_are_never_known_dead() -> None:
    me = ProcessIdentity.current()
    assert not replace(me, realm="another boot", started=0).known_dead()
    assert not replace(me, host="another host", started=0).known_dead()


def test_identity_survives_a_document_with_more_keys() -> None:
    me = ProcessIdentity.current()
    assert ProcessIdentity.from_dict({**me.to_dict(), "device": "cuda:0"}) == me
    assert ProcessIdentity.from_dict({"host": "h", "pid": 1}) is None
    assert ProcessIdentity.from_dict("w1") is None
