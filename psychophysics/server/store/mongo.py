"""Answers in MongoDB: collections `study_*` of the database `hms`, beside the trials of searches; one for all studies.

study_studies        study sha256 keys turn       one document a study; each `join` writes it, so that they take turns
study_participants   study id place...         unique (study, id) and (study, withdrawal)
study_events         study participant seq...  unique; `content` is JSON text
study_recruiters     _id = study/hash          nothing else; no ObjectId, which would tell the time
"""

import json
import secrets
from collections.abc import Sequence
from typing import Any, Self

import pymongo
from pymongo.client_session import ClientSession
from pymongo.errors import BulkWriteError, DuplicateKeyError

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
from search.store.connection import Connection, speaks_mongo

DUPLICATE = 11000
_HIDDEN = {"_id": 0, "study": 0}


class MongoStore(Connection):
    """See `AnswerStore`."""

    _study = ""

    @classmethod
    def open(cls, uri: str, study: str, study_sha256: str, *, database: str = "hms") -> Self:
        """Connect to the answers of a study.

        Args:
            uri: of MongoDB, a replica set.
            study: its name.
            study_sha256: hash of the frozen study.
            database: that holds the collections.

        Raises:
            StimuliError: the answers are of another frozen study of this name.
            UsageError, StoreError: as `Connection.connect`.
        """
        store = cls.connect(uri, database=database)
        store._study = study
        try:
            store._belong_to(study_sha256)
        except BaseException:
            store.close()
            raise
        return store

    def __str__(self) -> str:
        return f"MongoDB at {self._hosts}, database {self._database.name}, study {self._study}"

    @speaks_mongo
    def knows(self, fingerprint: str) -> bool:
        """See `AnswerStore`."""
        this = {"study": self._study}
        self._studies.update_one(this | {"keys": None}, {"$set": {"keys": fingerprint}})
        return bool(self._studies.find_one(this)["keys"] == fingerprint)

    @speaks_mongo
    def join(self, newcomer: Newcomer, choose: Choose, now: float) -> Participant:
        """See `AnswerStore`."""

        def body(session: ClientSession) -> Participant:
            # Of two that write the same document, one is repeated: it then sees the other's participant.
            self._studies.update_one({"study": self._study}, {"$inc": {"turn": 1}}, session=session)
            if newcomer.recruiter is not None:
                try:
                    self._recruiters.insert_one({"_id": f"{self._study}/{newcomer.recruiter}"}, session=session)
                except DuplicateKeyError:
                    raise AlreadyTookPart("you took part already") from None
            found = self._participants.find({"study": self._study}, _HIDDEN, session=session).sort("id", 1)
            people = [_participant(document) for document in found]
            if any(who.id == newcomer.id for who in people):
                raise AlreadyTookPart("you took part already")
            place = choose(people)
            if place is None:
                raise NoPlaceFree("all places of the study are taken")
            joined = Participant(newcomer.id, place, newcomer.consent_version, now, now, viewport=newcomer.viewport)
            document = _document(joined) | {"study": self._study, "withdrawal": newcomer.withdrawal}
            self._participants.insert_one(document, session=session)
            return joined

        return self._transaction(body)

    @speaks_mongo
    def participant(self, identifier: str) -> Participant | None:
        """See `AnswerStore`."""
        found = self._participants.find_one({"study": self._study, "id": identifier}, _HIDDEN)
        return _participant(found) if found else None

    @speaks_mongo
    def participants(self) -> list[Participant]:
        """See `AnswerStore`."""
        return [_participant(found) for found in self._participants.find({"study": self._study}, _HIDDEN).sort("id", 1)]

    @speaks_mongo
    def events(self, participant: str | None = None) -> list[Event]:
        """See `AnswerStore`."""
        which = {"study": self._study} | ({} if participant is None else {"participant": participant})
        found = self._events.find(which, _HIDDEN).sort([("participant", 1), ("seq", 1)])
        return [Event(**{**document, "content": json.loads(document["content"])}) for document in found]

    @speaks_mongo
    def append(self, participant: str, events: Sequence[Event], now: float, *, ended: bool = False) -> None:
        """See `AnswerStore`."""
        who = {"study": self._study, "id": participant, "withdrawn": False}
        documents = [{**vars(event), "study": self._study, "content": json.dumps(event.content)} for event in events]

        def body(session: ClientSession) -> None:
            seen = self._participants.update_one(who, {"$set": {"last_seen_at": now}}, session=session)
            if seen.matched_count != 1:
                raise EventRefused(f"there is no participant {participant}")
            if ended:
                self._participants.update_one(who | {"ended_at": None}, {"$set": {"ended_at": now}}, session=session)
            try:
                self._events.insert_many([dict(document) for document in documents], session=session)
            except BulkWriteError as error:
                if any(fault["code"] == DUPLICATE for fault in error.details["writeErrors"]):
                    raise EventRefused(f"an event from {events[0].seq} on is stored already") from None
                raise

        self._transaction(body)

    @speaks_mongo
    def seen(self, participant: str, now: float) -> None:
        """See `AnswerStore`."""
        who = {"study": self._study, "id": participant, "withdrawn": False}
        self._participants.update_one(who, {"$set": {"last_seen_at": now}})

    @speaks_mongo
    def withdraw(self, withdrawal: str) -> bool:
        """See `AnswerStore`."""

        def body(session: ClientSession) -> bool:
            who = {"study": self._study, "withdrawal": withdrawal}
            found = self._participants.find_one_and_delete(who, session=session)
            if found is None:
                return False
            whose = {"study": self._study, "participant": found["id"]}
            self._events.delete_many(whose, session=session)
            gone = Participant(secrets.token_hex(16), _place(found), "", None, None, withdrawn=True)
            self._participants.insert_one(_document(gone) | {"study": self._study}, session=session)
            return True

        return self._transaction(body)

    @property
    def _database(self) -> Any:
        return self._jobs.database

    @property
    def _studies(self) -> Any:
        return self._database["study_studies"]

    @property
    def _participants(self) -> Any:
        return self._database["study_participants"]

    @property
    def _events(self) -> Any:
        return self._database["study_events"]

    @property
    def _recruiters(self) -> Any:
        return self._database["study_recruiters"]

    def _make_indexes(self) -> None:
        with self._translated():
            self._studies.create_index("study", unique=True)
            self._participants.create_index([("study", 1), ("id", 1)], unique=True)
            coded = {"withdrawal": {"$exists": True}}
            keys = [("study", 1), ("withdrawal", 1)]
            self._participants.create_index(keys, unique=True, partialFilterExpression=coded)
            self._events.create_index([("study", 1), ("participant", 1), ("seq", 1)], unique=True)
            if "study_recruiters" not in self._database.list_collection_names():
                self._database.create_collection("study_recruiters", check_exists=False)

    def _belong_to(self, study_sha256: str) -> None:
        with self._translated():
            stored = self._studies.find_one_and_update(
                {"study": self._study},
                {"$setOnInsert": {"sha256": study_sha256, "turn": 0}},
                upsert=True,
                return_document=pymongo.ReturnDocument.AFTER,
            )["sha256"]
        if stored != study_sha256:
            raise StimuliError(
                f"{self} holds answers to the frozen study {stored[:12]}, but this one is {study_sha256[:12]}. "
                "Next: restore the frozen study they belong to, or give this one another study.name"
            )


def _participant(document: dict[str, Any]) -> Participant:
    known = {
        name: value for name, value in document.items() if name not in ("condition", "image_set", "slot", "withdrawal")
    }
    viewport = None if known["viewport"] is None else (known["viewport"][0], known["viewport"][1])
    return Participant(**{**known, "place": _place(document), "viewport": viewport})


def _document(participant: Participant) -> dict[str, Any]:
    values = dict(vars(participant))
    return values | values.pop("place")._asdict()


def _place(document: dict[str, Any]) -> Place:
    return Place(document["condition"], document["image_set"], document["slot"])
