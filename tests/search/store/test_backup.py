"""A backup is whole or nothing, keeps every type, and comes back without changing what is there."""

import gzip
import shlex
import time
from datetime import UTC, datetime

import pytest
from typer.testing import CliRunner

from search.backup import restore, verify, write_backup
from search.cli import app
from search.errors import FileDamaged, UnknownSearch, UsageError
from search.forget import belongings, forget
from search.process_identity import ProcessIdentity
from search.store import StoredFile, archive
from search.store.json_lines import from_line, to_line

OWNER = {"host": "elsewhere", "realm": "r", "pid": 7, "started": 1.0, "slot": 0}


def quiet(what, done, total):
    assert done <= total


@pytest.fixture
def populate(fill, tmp_path):
    """A search with a trial that is DONE, one that runs from a checkpoint in the store, and one that waits."""

    def make(store, name="toy"):
        config = {"search": {"name": name, "max_trials": 3}, "space": {"$weird": 2**40, "é": [1.5, None, True]}}
        store.create_or_resume(name, config=config, hashes={"space": "a", "training": "b"}, provenance={"host": "x"})
        store.update_search(name, command=f"hms run 'my file.yaml' --name {name} --set a={name}", finished=False)
        store.acquire_driver(name, OWNER, 30)
        fill(store, 3, name)
        done, running = store.reserve(name, OWNER), store.reserve(name, OWNER)
        for epoch in range(3):
            store.record(done, epoch, {"hms": epoch / 3, "status": "ok"})
        store.finish(done, {"status": "ok", "loss": 0.25})
        path = tmp_path / "checkpoint-1.pt"
        path.write_bytes(bytes(range(256)) * 5000)
        stored = store.put_file(running, path)
        store.set_checkpoint(running, {"epoch": 0, "file": path.name, "sha256": stored.sha256})
        return stored

    return make


def whole(store, name):
    """Everything of a search, without what changes by being restored."""
    found = []
    for collection, document in store.documents(name):
        kept = {key: value for key, value in document.items() if key not in ("exp_key", "config", "command", "driver")}
        found.append((collection, kept))
    return found


def test_there_and_back_under_another_name(store, populate, tmp_path):
    stored = populate(store)
    populate(store, "toy2")
    written = write_backup(store, ["toy"], tmp_path / "b.jsonl.gz", quiet)
    counts = {"jobs": 3, "metrics": 3, "searches": 1, "trial_files.files": 1, "trial_files.chunks": 2}
    assert written.searches == {"toy": counts} and verify(written.path) == written
    assert restore(store, written.path, "neu", quiet).searches == {"neu": counts}

    search = store.search("neu")
    assert search["config"] == {**store.search("toy")["config"], "search": {"name": "neu", "max_trials": 3}}
    assert shlex.split(search["command"]) == ["hms", "run", "my file.yaml", "--name", "neu", "--set", "a=toy"]
    assert (search["driver"], search["created"]) == (None, store.search("toy")["created"])
    done, running, waiting = store.jobs("neu")
    assert {**done, "exp_key": "toy"} == store.job("toy", 0) and {**waiting, "exp_key": "toy"} == store.job("toy", 2)
    assert store.epochs("neu") == store.epochs("toy")

    assert (running["state"], running["token"], running["lease_until"], running["attempt"]) == (0, None, None, 1)
    assert running["history"][-1]["how"] == "restored" and running["history"][-1]["ended"] == written.made
    assert running["checkpoint"] == store.job("toy", 1)["checkpoint"]
    assert store.reserve("neu", OWNER).checkpoint["file"] == "checkpoint-1.pt"
    store.fetch_file("neu", StoredFile(1, stored.token, stored.file, stored.bytes, stored.sha256), tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == (tmp_path / "checkpoint-1.pt").read_bytes()
    assert store.files("neu")[0] == store.files("toy")[0]


def test_all_searches_at_once_into_an_empty_store(store, populate, tmp_path, mongo_uri, database):
    from search.store import Store

    for name in ("toy", "toy2"):
        populate(store, name)
    written = write_backup(store, store.names(), tmp_path / "all.jsonl.gz", quiet)
    with Store.connect(mongo_uri, database=f"{database}-other") as other:
        try:
            restore(other, written.path, None, quiet)
            assert other.names() == ["toy", "toy2"]
            for name in other.names():
                ours, theirs = dict(enumerate(whole(store, name))), dict(enumerate(whole(other, name)))
                running = [i for i in ours if ours[i] != theirs[i]]
                assert [ours[i][1]["tid"] for i in running] == [1]
        finally:
            other._client.drop_database(f"{database}-other")


def test_what_is_there_is_never_changed(store, populate, tmp_path):
    populate(store)
    populate(store, "toy2")
    written = write_backup(store, ["toy", "toy2"], tmp_path / "b.gz", quiet)
    store.remove_search("toy")
    before = list(store.documents("toy2"))
    with pytest.raises(UsageError, match=r"has a search `toy2` already.*hms forget toy2"):
        restore(store, written.path, None, quiet)
    assert store.names() == ["toy2"] and list(store.documents("toy2")) == before
    with pytest.raises(UsageError, match="backup of one search"):
        restore(store, written.path, "neu", quiet)
    with pytest.raises(UsageError, match=r"--name is '\.\./x'"):
        restore(store, write_backup(store, ["toy2"], tmp_path / "c.gz", quiet).path, "../x", quiet)


def test_leftovers_of_an_interrupted_restore_do_not_mix_in(store, populate, tmp_path, fill):
    populate(store)
    written = write_backup(store, ["toy"], tmp_path / "b.gz", quiet)
    expected = [entry for entry in whole(store, "toy") if entry[1].get("tid") != 1]
    store.remove_search("toy")
    fill(store, 7, "toy")  # no document of a search stands beside them
    restore(store, written.path, None, quiet)
    assert [entry for entry in whole(store, "toy") if entry[1].get("tid") != 1] == expected


def test_a_restore_and_whoever_wants_the_name_keep_apart(store, populate, tmp_path, monkeypatch):
    populate(store)
    written = write_backup(store, ["toy"], tmp_path / "b.gz", quiet)
    expected = whole(store, "toy")
    store.remove_search("toy")
    read, refused = archive.Archive._hold, []

    def meanwhile(self, name, token):
        monkeypatch.setattr(archive.Archive, "_hold", read)  # once: between the claim and the first trial
        assert store.names() == []
        for attempt in (
            lambda: store.create_or_resume("toy", config={}, hashes={}, provenance={}),
            lambda: restore(store, written.path, None, quiet),
            lambda: store.search("toy"),
        ):
            with pytest.raises(UsageError, match="`toy` is being put in"):
                attempt()
            refused.append(True)
        return read(self, name, token)

    monkeypatch.setattr(archive.Archive, "_hold", meanwhile)
    restore(store, written.path, None, quiet)
    assert len(refused) == 3
    assert [e for e in whole(store, "toy") if e[1].get("tid") != 1] == [e for e in expected if e[1].get("tid") != 1]


def test_a_search_made_just_before_a_restore_stays(store, populate, tmp_path):
    populate(store)
    written = write_backup(store, ["toy"], tmp_path / "b.gz", quiet)
    store.remove_search("toy")
    store.create("toy", config={"mine": 1}, hashes={}, provenance={})
    with pytest.raises(UsageError, match="has a search `toy` already"):
        store.install("toy", [("jobs", {"exp_key": "toy", "tid": 0}), ("searches", {"exp_key": "toy"})])
    assert store.search("toy")["config"] == {"mine": 1} and store.jobs("toy") == []
    assert written.path.exists()


def test_a_restore_that_was_killed_is_repeated_or_forgotten(store, populate, tmp_path, monkeypatch):
    populate(store)
    written = write_backup(store, ["toy"], tmp_path / "b.gz", quiet)
    store.remove_search("toy")
    monkeypatch.setattr(archive, "HOLD_SECONDS", 0.0)
    store._claim("toy", "of a process that was killed")
    time.sleep(0.01)
    restore(store, written.path, None, quiet)
    assert store.names() == ["toy"] and len(store.jobs("toy")) == 3
    store.remove_search("toy")
    store._claim("toy", "another")
    assert forget(store, belongings(store, "toy", tmp_path / "results"), lambda question: True)
    assert store.create("toy", config={}, hashes={}, provenance={})


def test_a_worker_that_greets_right_after_a_restore_costs_nothing(store, populate, tmp_path, monkeypatch):
    populate(store)
    written = write_backup(store, ["toy"], tmp_path / "b.gz", quiet)
    store.remove_search("toy")
    install = archive.Archive.install

    def then_greeted(self, name, documents, **options):
        counts = install(self, name, documents, **options)
        self.greet(name, {**ProcessIdentity.current().to_dict(), "slot": 0})
        return counts

    monkeypatch.setattr(archive.Archive, "install", then_greeted)
    restore(store, written.path, None, quiet)
    assert store.names() == ["toy"] and len(store.jobs("toy")) == 3


def test_what_is_not_whole_in_the_store_does_not_stay(store):
    with pytest.raises(FileDamaged, match="does not hold what was put in for `neu`"):
        store.install("neu", [("searches", {"exp_key": "neu"})], expected={"jobs": 2, "searches": 1})
    assert store.document_counts("neu") == {}


def test_a_restore_that_fails_leaves_the_name_free(store):
    def torn():
        yield "jobs", {"exp_key": "neu", "tid": 0}
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.install("neu", torn())
    assert store.document_counts("neu") == {} and store.create("neu", config={}, hashes={}, provenance={})


@pytest.mark.parametrize("content", [b"my notes\n", b"", gzip.compress(b'{"a": 1}\n', mtime=0)])
def test_a_file_of_somebody_else_is_not_replaced(store, populate, tmp_path, content):
    populate(store)
    file = tmp_path / "notes.jsonl.gz"
    file.write_bytes(content)
    with pytest.raises(UsageError, match="is no backup: it stays as it is"):
        write_backup(store, ["toy"], file, quiet)
    assert file.read_bytes() == content


@pytest.mark.parametrize("words", [["toy"], ["toy", "paper"], ["toy", "toy.json"], ["--all", "everything.gz"]])
def test_a_file_of_another_ending_is_refused_before_anything_is_read(tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HMS_MONGO", "mongodb://127.0.0.1:9/?serverSelectionTimeoutMS=100")
    refused = CliRunner().invoke(app, ["backup", *words])
    assert isinstance(refused.exception, UsageError)
    assert "FILE.jsonl.gz" in str(refused.exception) or words == ["toy"]
    assert list(tmp_path.iterdir()) == []


def test_a_backup_shows_one_moment(store, populate, tmp_path, fill):
    populate(store)

    def interfere(documents):
        for number, entry in enumerate(documents):
            if number == 1:
                fill(store, 9, "toy")
                job = store.reserve("toy", OWNER)
                store.record(job, 77, {"hms": 0.5})
            yield entry

    seen = list(interfere(store.documents("toy")))
    assert sum(collection == "jobs" for collection, _ in seen) == 3
    assert 77 not in [document.get("epoch") for _, document in seen]
    assert 77 in [document.get("epoch") for _, document in store.documents("toy")]


def test_a_failed_backup_leaves_the_one_before(store, populate, tmp_path):
    populate(store)
    target = tmp_path / "b.gz"
    write_backup(store, ["toy"], target, quiet)
    before = target.read_bytes()
    with pytest.raises(UnknownSearch):
        write_backup(store, ["toy", "nothing"], target, quiet)

    class Interrupted(Exception):
        pass

    def stop(what, done, total):
        raise Interrupted

    with pytest.raises(Interrupted):
        write_backup(store, ["toy"], target, stop)
    assert target.read_bytes() == before and list(tmp_path.glob("*.gz")) == [target]
    assert not list(tmp_path.glob(".*"))


def lines_of(path):
    return gzip.decompress(path.read_bytes()).splitlines(keepends=True)


LOSS = b'"loss": {"$numberDouble": "0.25"}'
DAMAGE = {
    "cut short": lambda lines: lines[:-1],
    "a line missing": lambda lines: [*lines[:2], *lines[3:]],
    "a value changed": lambda lines: [line.replace(LOSS, b'"loss": 1') for line in lines],
    "lines after the end": lambda lines: [*lines, lines[1]],
    "no header": lambda lines: lines[1:],
    "no JSON": lambda lines: [lines[0], b"{\n", *lines[1:]],
    "nothing": lambda lines: [],
    "another collection": lambda lines: [lines[0], lines[1].replace(b'"jobs"', b'"system.users"'), *lines[2:]],
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
def test_a_damaged_backup_is_refused_before_anything_is_written(store, populate, tmp_path, damage):
    populate(store)
    path = write_backup(store, ["toy"], tmp_path / "b.gz", quiet).path
    store.remove_search("toy")
    changed = damage(lines_of(path))
    assert changed != lines_of(path)
    path.write_bytes(gzip.compress(b"".join(changed)))
    with pytest.raises(UsageError, match="is no whole backup"):
        restore(store, path, None, quiet)
    assert store.document_counts("toy") == {}


def test_a_file_that_is_torn_or_no_archive_is_refused(store, populate, tmp_path):
    populate(store)
    path = write_backup(store, ["toy"], tmp_path / "b.gz", quiet).path
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(UsageError, match="is no whole backup"):
        verify(path)
    path.write_bytes(b"not gzip")
    with pytest.raises(UsageError, match="is no whole backup"):
        verify(path)


def test_every_type_survives_a_line():
    moment = datetime(2030, 1, 2, 3, 4, 5, 678000, tzinfo=UTC)
    value = {"int": 1, "long": 2**62, "float": 0.1, "whole": 1.0, "none": None, "true": True, "text": "$x é\n"}
    value |= {"list": [[]], "time": moment, "bytes": b"\0\xff", "$dotted": {"a.b": {}}}
    back = from_line(to_line(value))
    assert back == value
    assert [type(back[key]) for key in ("int", "float", "whole", "true")] == [int, float, float, bool]
    assert to_line(value).count(b"\n") == 1
