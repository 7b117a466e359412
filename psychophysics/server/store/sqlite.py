"""Answers in one SQLite file, which `cp` must not copy while a server runs: `sqlite3 answers.sqlite ".backup FILE"`."""

import json
import secrets
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from psychophysics.errors import StimuliError
from psychophysics.server.store.contract import (
    AlreadyTookPart,
    Choose,
    Event,
    EventRefused,
    Newcomer,
    NoPlaceFree,
    Participant,
)
from psychophysics.session_plan import Place
from search.errors import StoreError, StoreFull
from search.mongod.folder import network_filesystem

BUSY_SECONDS = 10.0
SCHEMA = """
CREATE TABLE IF NOT EXISTS study (one INTEGER PRIMARY KEY CHECK (one = 1), sha256 TEXT NOT NULL, keys TEXT);
CREATE TABLE IF NOT EXISTS participants (
    id TEXT PRIMARY KEY, condition TEXT NOT NULL, image_set INTEGER NOT NULL, slot INTEGER NOT NULL,
    consent_version TEXT NOT NULL, consented_at REAL, last_seen_at REAL, ended_at REAL,
    withdrawn INTEGER NOT NULL DEFAULT 0, width INTEGER, height INTEGER, withdrawal TEXT UNIQUE
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS events (
    participant TEXT NOT NULL REFERENCES participants (id), seq INTEGER NOT NULL, kind TEXT NOT NULL,
    at_ms REAL NOT NULL, received_at REAL NOT NULL, content TEXT NOT NULL, PRIMARY KEY (participant, seq)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS recruiters (hash TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TRIGGER IF NOT EXISTS events_stay BEFORE UPDATE ON events
    BEGIN SELECT RAISE(ABORT, 'events are never changed'); END;
"""
COLUMNS = (
    "id, condition, image_set, slot, consent_version, consented_at, last_seen_at, ended_at, withdrawn, width, height"
)


class SqliteStore:
    """See `AnswerStore`. One connection, used by one thread at a time; other processes may have the file open too."""

    def __init__(self, path: Path, study_sha256: str) -> None:
        """Open or make the file.

        Args:
            path: of the file.
            study_sha256: hash of the frozen study.

        Raises:
            StimuliError: the answers are of another frozen study.
            StoreError: it is no SQLite database, cannot be opened, or lies on a network file system.
        """
        self._path = path
        self._lock = threading.RLock()
        _refuse_network(path)
        with self._translated():
            self._connection = sqlite3.connect(
                path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            path.chmod(0o600)
            # FULL: an acknowledged event survives a power cut. What is erased is overwritten.
            for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "secure_delete=ON"):
                self._connection.execute(f"PRAGMA {pragma}")
            self._connection.executescript(SCHEMA)
        with self._transaction():
            self._connection.execute("INSERT OR IGNORE INTO study VALUES (1, ?, NULL)", (study_sha256,))
            (stored,) = self._connection.execute("SELECT sha256 FROM study").fetchone()
        if stored != study_sha256:
            self.close()
            raise StimuliError(
                f"{path} holds answers to the frozen study {stored[:12]}, but this one is {study_sha256[:12]}. "
                "Next: restore the frozen study they belong to, or move the file away"
            )

    def __str__(self) -> str:
        return str(self._path)

    def knows(self, fingerprint: str) -> bool:
        """See `AnswerStore`."""
        with self._transaction():
            self._connection.execute("UPDATE study SET keys = coalesce(keys, ?)", (fingerprint,))
            (stored,) = self._connection.execute("SELECT keys FROM study").fetchone()
        return bool(stored == fingerprint)

    def join(self, newcomer: Newcomer, choose: Choose, now: float) -> Participant:
        """See `AnswerStore`."""
        with self._transaction():
            known = "SELECT 1 FROM recruiters WHERE hash = ? UNION SELECT 1 FROM participants WHERE id = ?"
            if self._connection.execute(known, (newcomer.recruiter, newcomer.id)).fetchone():
                raise AlreadyTookPart("you took part already")
            if newcomer.recruiter is not None:
                self._connection.execute("INSERT INTO recruiters VALUES (?)", (newcomer.recruiter,))
            place = choose(self.participants())
            if place is None:
                raise NoPlaceFree("all places of the study are taken")
            values = (newcomer.id, *place, newcomer.consent_version, now, now, None, 0, *newcomer.viewport)
            marks = ", ".join("?" for _ in (*values, newcomer.withdrawal))
            self._connection.execute(
                f"INSERT INTO participants ({COLUMNS}, withdrawal) VALUES ({marks})", (*values, newcomer.withdrawal)
            )
        return Participant(newcomer.id, place, newcomer.consent_version, now, now, viewport=newcomer.viewport)

    def participant(self, identifier: str) -> Participant | None:
        """See `AnswerStore`."""
        found = self._rows(f"SELECT {COLUMNS} FROM participants WHERE id = ?", (identifier,))
        return _participant(found[0]) if found else None

    def participants(self) -> list[Participant]:
        """See `AnswerStore`."""
        return [_participant(row) for row in self._rows(f"SELECT {COLUMNS} FROM participants ORDER BY id")]

    def events(self, participant: str | None = None) -> list[Event]:
        """See `AnswerStore`."""
        where, values = ("", ()) if participant is None else ("WHERE participant = ?", (participant,))
        rows = self._rows(
            f"SELECT participant, seq, kind, at_ms, received_at, content FROM events {where} ORDER BY participant, seq",
            values,
        )
        return [Event(who, seq, kind, at, received, json.loads(text)) for who, seq, kind, at, received, text in rows]

    def append(self, participant: str, events: Sequence[Event], now: float, *, ended: bool = False) -> None:
        """See `AnswerStore`."""
        with self._transaction():
            changed = self._connection.execute(
                "UPDATE participants SET last_seen_at = ?, ended_at = CASE WHEN ? THEN coalesce(ended_at, ?) "
                "ELSE ended_at END WHERE id = ? AND NOT withdrawn",
                (now, ended, now, participant),
            )
            if changed.rowcount != 1:
                raise EventRefused(f"there is no participant {participant}")
            rows = [
                (participant, event.seq, event.kind, event.at_ms, event.received_at, json.dumps(event.content))
                for event in events
            ]
            try:
                self._connection.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)", rows)
            except sqlite3.IntegrityError:
                raise EventRefused(f"an event from {events[0].seq} on is stored already") from None

    def seen(self, participant: str, now: float) -> None:
        """See `AnswerStore`."""
        with self._transaction():
            self._connection.execute(
                "UPDATE participants SET last_seen_at = ? WHERE id = ? AND NOT withdrawn", (now, participant)
            )

    def withdraw(self, withdrawal: str) -> bool:
        """See `AnswerStore`."""
        with self._lock:
            with self._transaction():
                found = self._connection.execute(
                    "SELECT id, condition, image_set, slot FROM participants WHERE withdrawal = ?", (withdrawal,)
                ).fetchone()
                if found is None:
                    return False
                self._connection.execute("DELETE FROM events WHERE participant = ?", found[:1])
                self._connection.execute("DELETE FROM participants WHERE id = ?", found[:1])
                self._connection.execute(
                    "INSERT INTO participants (id, condition, image_set, slot, consent_version, withdrawn) "
                    "VALUES (?, ?, ?, ?, '', 1)",
                    (secrets.token_hex(16), *found[1:]),
                )
            with self._translated():  # the log of writes would still hold what was erased
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return True

    def close(self) -> None:
        """See `AnswerStore`."""
        with self._lock:
            self._connection.close()

    def _rows(self, query: str, values: tuple[str, ...] = ()) -> list[tuple[Any, ...]]:
        with self._lock, self._translated():
            return self._connection.execute(query, values).fetchall()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Nothing else writes in between, in this process or another."""
        with self._lock, self._translated():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
                raise StoreFull(
                    f"the disk is full: {self._path} cannot grow. Make room, nothing else is needed"
                ) from None
            raise StoreError(
                f"the answers in {self._path} cannot be used: {error}. Check the file with: "
                f'sqlite3 {self._path} "PRAGMA integrity_check"'
            ) from None


def _participant(row: tuple[Any, ...]) -> Participant:
    identifier, condition, image_set, slot, version, consented, seen, ended, withdrawn, width, height = row
    place = Place(condition, image_set, slot)
    viewport = None if width is None else (width, height)
    return Participant(identifier, place, version, consented, seen, ended, bool(withdrawn), viewport)


def _refuse_network(path: Path) -> None:
    mounts = Path("/proc/mounts")
    kind = network_filesystem(path.parent, mounts.read_text(encoding="utf-8")) if mounts.exists() else None
    if kind:
        raise StoreError(
            f"{path} lies on a network file system ({kind}), where SQLite can lose answers. Put the results on a local "
            "disk: export HMS_RESULTS=/local/folder; or use a server: --store mongodb://HOST"
        )
