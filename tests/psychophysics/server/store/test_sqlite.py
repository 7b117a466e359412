"""What is special about answers in one file."""

import sqlite3

import pytest

from psychophysics.server.store.contract import Event, Newcomer
from psychophysics.server.store.sqlite import SqliteStore
from psychophysics.session_plan import Place
from search.errors import StoreError, StoreFull


@pytest.fixture
def path(tmp_path):
    return tmp_path / "answers.sqlite"


@pytest.fixture
def store(path):
    with_ann = SqliteStore(path, "a" * 64)
    with_ann.join(Newcomer("ann", "1", (1000, 800), "code", "recruiter-hash"), lambda people: Place("none", 0, 0), 1.0)
    yield with_ann
    with_ann.close()


def said(text, seq=0):
    return Event("ann", seq, "questions", 1.0, 1.0, {"answers": {"comments": text}})


def test_only_the_owner_can_read_the_file(store, path):
    assert path.stat().st_mode & 0o777 == 0o600


def test_erased_answers_are_in_none_of_the_files(store, path):
    store.append("ann", [said("the secret of a participant")], 2.0)
    files = [path, path.with_name("answers.sqlite-wal")]
    assert any(b"secret of a participant" in file.read_bytes() for file in files)
    store.withdraw("code")
    for file in path.parent.iterdir():
        content = file.read_bytes()
        assert b"secret of a participant" not in content and b"ann" not in content, file


def test_events_cannot_be_changed_and_recruiters_hold_a_hash_alone(store, path):
    store.append("ann", [said("text")], 2.0)
    with sqlite3.connect(path) as other:
        with pytest.raises(sqlite3.IntegrityError, match="events are never changed"):
            other.execute("UPDATE events SET content = '{}'")
        assert [row[1] for row in other.execute("PRAGMA table_info(recruiters)")] == ["hash"]
        assert other.execute("SELECT * FROM recruiters").fetchall() == [("recruiter-hash",)]
    other.close()


def test_on_a_full_disk_nothing_is_stored_by_halves_and_room_is_enough_to_go_on(store):
    # SQLite answers the same to its own limit as to a disk without room.
    (pages,) = store._rows("PRAGMA page_count")[0]
    store._rows(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(StoreFull, match=r"the disk is full: .*answers\.sqlite cannot grow"):
        store.append("ann", [said("x", 0), said("y" * 20_000, 1)], 2.0, ended=True)
    assert store.events() == [] and store.participant("ann").ended_at is None
    store._rows("PRAGMA max_page_count = 1000000")
    store.append("ann", [said("x", 0), said("y" * 20_000, 1)], 3.0)
    assert len(store.events()) == 2


def test_a_file_that_is_no_database_is_named(path):
    path.write_text("this is no database, but long enough to be one" * 100)
    with pytest.raises(StoreError, match=r"answers\.sqlite cannot be used: file is not a database\. Check the file"):
        SqliteStore(path, "a" * 64)


def test_a_file_that_cannot_be_opened_is_named(tmp_path):
    (tmp_path / "answers.sqlite").mkdir()
    with pytest.raises(StoreError, match=r"answers\.sqlite cannot be used: unable to open database file"):
        SqliteStore(tmp_path / "answers.sqlite", "a" * 64)
