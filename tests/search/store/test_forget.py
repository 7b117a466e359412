"""Everything of one search goes and nothing else: two names in one database, one the beginning of the other."""

import pytest

from search.errors import DriverRunning, UnknownSearch, UsageError
from search.forget import belongings, forget
from search.paths import RunFolder
from search.process_identity import ProcessIdentity

OWNER = {"host": "elsewhere", "realm": "r", "pid": 7, "started": 1.0, "slot": 0, "device": "cpu"}


def yes(question):
    return True


def everything(store, name, results):
    paths = sorted(RunFolder.of(results, name).root.rglob("*"))
    files = {str(path): path.read_bytes() for path in paths if path.is_file()}
    return list(store.documents(name)), store.workers(name), files


@pytest.fixture
def populate(fill):
    """A search with a trial, an epoch, a file in the store, a worker that went silent, and a folder."""

    def make(store, name, results):
        store.create_or_resume(
            name, config={"search": {"name": name}}, hashes={"space": "a", "training": "b"}, provenance={}
        )
        fill(store, 2, name)
        job = store.reserve(name, OWNER)
        store.record(job, 0, {"hms": 0.1})
        path = RunFolder.of(results, name).trial(0) / "checkpoint-1.pt"
        path.parent.mkdir(parents=True)
        path.write_bytes(b"weights of " + name.encode())
        store.put_file(job, path)
        store.requeue(job, "preempted", {"epoch": 0, "file": path.name, "sha256": "0"})
        store.lease_seconds = -10
        store.greet(name, OWNER)
        store.lease_seconds = 180

    return make


NAMES = ["toy", "toy-2", "toy.a", "toy0", "to", "toy2"]


def test_nothing_else_goes(store, populate, tmp_path):
    for name in NAMES:
        populate(store, name, tmp_path)
    before = {name: everything(store, name, tmp_path) for name in NAMES}
    found = belongings(store, "toy", tmp_path)
    assert found.documents == {
        **{"jobs": 2, "metrics": 1, "searches": 1, "workers": 1},
        **{"trial_files.files": 1, "trial_files.chunks": 1},
    }
    assert found.files == 1 and str(tmp_path / "toy") in str(found)
    assert forget(store, found, yes)
    assert everything(store, "toy", tmp_path) == ([], [], {}) and not (tmp_path / "toy").exists()
    assert {name: everything(store, name, tmp_path) for name in NAMES[1:]} == {n: before[n] for n in NAMES[1:]}
    with pytest.raises(UnknownSearch):
        belongings(store, "toy", tmp_path)


def test_whoever_says_no_keeps_it_and_may_go_on(store, populate, tmp_path):
    populate(store, "toy", tmp_path)
    before = everything(store, "toy", tmp_path)
    asked = []
    assert not forget(store, belongings(store, "toy", tmp_path), lambda question: bool(asked.append(question)))
    assert "Remove all of it" in asked[0] and "2 in jobs" in asked[0]
    assert everything(store, "toy", tmp_path) == before
    store.acquire_driver("toy", OWNER, 30)


def test_refused_while_a_driver_or_worker_lives_unless_forced(store, populate, tmp_path):
    populate(store, "toy", tmp_path)
    found = belongings(store, "toy", tmp_path)
    lock = store.acquire_driver("toy", OWNER, 30)
    with pytest.raises(DriverRunning, match="elsewhere"):
        forget(store, found, yes)
    store.release_driver("toy", lock)
    job = store.reserve("toy", OWNER)
    with pytest.raises(UsageError, match=r"1 workers of `toy` are alive .elsewhere pid 7.*--force"):
        forget(store, found, yes)
    store.requeue(job, "preempted")
    store.greet("toy", {**ProcessIdentity.current().to_dict(), "slot": 3, "device": "cpu"})
    with pytest.raises(UsageError, match="slot 3"):
        forget(store, found, yes)
    assert (tmp_path / "toy").exists() and store.counts("toy")["NEW"] == 2
    assert forget(store, found, yes, force=True)
    assert store.names() == []


def test_no_driver_begins_while_a_person_is_asked(store, populate, tmp_path):
    populate(store, "toy", tmp_path)

    def tries(question):
        with pytest.raises(DriverRunning):
            store.acquire_driver("toy", OWNER, 30)
        return True

    assert forget(store, belongings(store, "toy", tmp_path), tries)


def test_a_folder_that_is_a_link_is_left_alone(store, populate, tmp_path):
    populate(store, "toy", tmp_path / "elsewhere")
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "toy").symlink_to(tmp_path / "elsewhere" / "toy")
    with pytest.raises(UsageError, match="by hand"):
        belongings(store, "toy", tmp_path / "results")
    assert store.names() == ["toy"]
