import subprocess
import sys
import time

import pytest

from search.errors import DriverRunning, UnknownSearch
from search.process_identity import ProcessIdentity
from search.store import Store

OWNER = {"host": "gpu7", "pid": 4711}


@pytest.fixture(autouse=True)
def search(store: Store) -> None:
    store.create_or_resume("s", config={}, hashes={"space": "", "training": ""}, provenance={})


def test_a_second_driver_is_refused_by_host_and_pid(store: Store) -> None:
    token = store.acquire_driver("s", OWNER, 60)
    with pytest.raises(DriverRunning, match=r"host gpu7, pid 4711 .*hms worker --name s"):
        store.acquire_driver("s", {"host": "other", "pid": 1}, 60)
    assert store.renew_driver("s", token, 60)
    store.release_driver("s", token)
    assert store.renew_driver("s", token, 60) is False
    store.acquire_driver("s", {"host": "other", "pid": 1}, 60)


def test_an_expired_lock_is_free_and_its_holder_notices(store: Store) -> None:
    old = store.acquire_driver("s", OWNER, 0.05)
    time.sleep(0.1)
    new = store.acquire_driver("s", {"host": "other", "pid": 1}, 60)
    assert store.renew_driver("s", old, 60) is False
    store.release_driver("s", old)
    assert store.renew_driver("s", new, 60), "the old holder released nothing"


def test_the_lock_of_a_dead_local_process_is_free_at_once(store: Store) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        identity = ProcessIdentity.of(child.pid)
        assert identity is not None
        store.acquire_driver("s", identity.to_dict(), 600)
        with pytest.raises(DriverRunning, match=f"pid {child.pid}"):
            store.acquire_driver("s", OWNER, 60)
        child.communicate(b"\n")
    assert store.acquire_driver("s", OWNER, 60)


def test_an_unknown_search_has_no_lock(store: Store) -> None:
    with pytest.raises(UnknownSearch, match="it holds: s"):
        store.acquire_driver("x", OWNER, 60)
