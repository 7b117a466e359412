"""A whole search at once: its documents read out for a backup, put in from one, or removed."""

import contextlib
import itertools
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from search.errors import FileDamaged, HmsError, UsageError
from search.store.connection import speaks_mongo
from search.store.contract import BUCKET, Document
from search.store.fencing import from_now, literal, past
from search.store.files import within
from search.store.searches import Searches

SNAPSHOT = ("jobs", "metrics", "searches")
CHUNKS, FILES = f"{BUCKET}.chunks", f"{BUCKET}.files"
LEFTOVERS = ("jobs", "metrics", FILES, CHUNKS, "workers")
ARCHIVED = ("jobs", "metrics", CHUNKS, FILES, "searches")
"""What a backup holds, in the order in which it is put in: a search exists once its own document does."""
HOLD_SECONDS = 60.0
"""How long a name stays taken by an installation that gives no sign of life."""
BATCH = {CHUNKS: 16}
DEFAULT_BATCH = 1000


class Archive(Searches):
    """Read, install and remove all documents of a search, each as (collection, document without its ObjectId)."""

    def documents(self, name: str) -> Iterator[tuple[str, Document]]:
        """Trials, epochs and the search as of one moment, however much is written meanwhile; then its files."""
        with self._translated(), self._client.start_session(snapshot=True) as session:
            for collection in SNAPSHOT:
                found = self._collection(collection).find(_of(name, collection), {"_id": False}, session=session)
                yield from ((collection, document) for document in found)
        for collection, hidden in ((CHUNKS, {"_id": False}), (FILES, None)):
            with self._translated():
                found = self._collection(collection).find(_of(name, collection), hidden)
                yield from ((collection, document) for document in found)

    @speaks_mongo
    def document_counts(self, name: str) -> dict[str, int]:
        """How many documents of a search each collection holds, those of no collection left out."""
        counts = {c: self._collection(c).count_documents(_of(name, c)) for c in (*ARCHIVED, "workers")}
        return {collection: count for collection, count in counts.items() if count}

    @speaks_mongo
    def install(
        self, name: str, documents: Iterable[tuple[str, Document]], *, expected: Mapping[str, int] | None = None
    ) -> dict[str, int]:
        """Put in a search that is not there, its own document last; how many documents of each collection.

        The name is taken first and held meanwhile, so that nobody makes a search of it. What an installation that was
        cut short left of this name goes first.

        Raises:
            UsageError: there is a search of this name, or it is being put in by somebody else.
            FileDamaged: the store does not hold `expected` documents of each collection; nothing of it stays.
        """
        token = uuid.uuid4().hex
        self._claim(name, token)
        try:
            self._clear(name, LEFTOVERS)
            return self._put_in(name, token, documents, expected)
        except BaseException:
            with contextlib.suppress(HmsError):  # a store that is away; the name is free again when the hold ends
                self._give_up(name, token)
            raise

    def _put_in(
        self,
        name: str,
        token: str,
        documents: Iterable[tuple[str, Document]],
        expected: Mapping[str, int] | None,
    ) -> dict[str, int]:
        counts: Counter[str] = Counter()
        own: Document = {}
        for collection, group in itertools.groupby(documents, key=lambda entry: entry[0]):
            if collection == "searches":
                own = {key: value for _, document in group for key, value in document.items()}
                continue
            while batch := [d for _, d in itertools.islice(group, BATCH.get(collection, DEFAULT_BATCH))]:
                self._hold(name, token)
                counts[collection] += len(self._collection(collection).insert_many(batch).inserted_ids)
        # While the name is held: afterwards drivers and workers may add to it.
        there = {c: count for c, count in self.document_counts(name).items() if c in ARCHIVED}
        if expected is not None and there != dict(expected):
            raise FileDamaged(f"the store does not hold what was put in for `{name}`; it was removed again: repeat it")
        if not self._searches.replace_one({"exp_key": name, "restoring.token": token}, own).matched_count:
            raise UsageError(_lost(name))
        return {**counts, "searches": 1}

    def _claim(self, name: str, token: str) -> None:
        mark = {"token": token, "until": from_now(HOLD_SECONDS)}
        if self._insert_once(name, {"exp_key": literal(name), "driver": None, "restoring": mark}):
            return
        left = {"exp_key": name, "restoring": {"$exists": True}, **past("restoring.until")}
        if self._searches.update_one(left, [{"$set": {"restoring": mark}}]).matched_count == 0:
            self.search(name)  # raises when it is being put in
            raise UsageError(f"the store at {self._hosts} has a search `{name}` already: it stays as it is")

    def _hold(self, name: str, token: str) -> None:
        held = [{"$set": {"restoring.until": from_now(HOLD_SECONDS)}}]
        if self._searches.update_one({"exp_key": name, "restoring.token": token}, held).matched_count == 0:
            raise UsageError(_lost(name))

    @speaks_mongo
    def _give_up(self, name: str, token: str) -> None:
        self._hold(name, token)
        self._clear(name, LEFTOVERS)
        self._searches.delete_one({"exp_key": name, "restoring.token": token})

    @speaks_mongo
    def remove_search(self, name: str) -> dict[str, int]:
        """Remove everything of one search, its own document last, so that a removal cut short can be repeated."""
        return self._clear(name, (*LEFTOVERS, "searches"))

    def _clear(self, name: str, collections: Iterable[str]) -> dict[str, int]:
        removed = {c: self._collection(c).delete_many(_of(name, c)).deleted_count for c in collections}
        return {collection: count for collection, count in removed.items() if count}

    def _collection(self, name: str) -> Any:
        return self._jobs.database[name]


def _lost(name: str) -> str:
    return f"`{name}` was taken or removed by somebody else meanwhile: look at it (hms status) before you repeat this"


def _of(name: str, collection: str) -> Document:
    if collection == FILES:
        return {"_id": within(name)}
    return {"files_id": within(name)} if collection == CHUNKS else {"exp_key": name}
