"""A whole search at once: its documents read out for a backup, put in from one, or removed."""

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from pymongo.errors import DuplicateKeyError

from search.errors import UsageError
from search.store.connection import Connection, speaks_mongo
from search.store.contract import BUCKET, Document
from search.store.files import within

SNAPSHOT = ("jobs", "metrics", "searches")
CHUNKS, FILES = f"{BUCKET}.chunks", f"{BUCKET}.files"
ARCHIVED = ("jobs", "metrics", CHUNKS, FILES, "searches")
"""What a backup holds, in the order in which it is put in: a search exists once its own document does."""
BATCH = {CHUNKS: 16}
DEFAULT_BATCH = 1000


class Archive(Connection):
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
    def install(self, name: str, documents: Iterable[tuple[str, Document]]) -> dict[str, int]:
        """Put in a search that is not there, its own document last; how many documents of each collection.

        What an installation or a removal that was cut short left of this name goes first.

        Raises:
            UsageError: there is a search of this name.
        """
        if self._searches.find_one({"exp_key": name}, {"_id": True}) is not None:
            raise UsageError(f"the store at {self._hosts} has a search `{name}` already: it stays as it is")
        self._remove_all(name)
        counts: Counter[str] = Counter()
        searches = []
        for collection, group in itertools.groupby(documents, key=lambda entry: entry[0]):
            if collection == "searches":
                searches += [document for _, document in group]
                continue
            while batch := [d for _, d in itertools.islice(group, BATCH.get(collection, DEFAULT_BATCH))]:
                counts[collection] += len(self._collection(collection).insert_many(batch).inserted_ids)
        try:
            counts["searches"] += len(self._searches.insert_many(searches).inserted_ids)
        except DuplicateKeyError:
            raise UsageError(f"somebody made a search `{name}` meanwhile: look at it before you go on") from None
        return dict(counts)

    @speaks_mongo
    def remove_search(self, name: str) -> dict[str, int]:
        """Remove everything of one search, its own document last, so that a removal cut short can be repeated."""
        return self._remove_all(name)

    def _remove_all(self, name: str) -> dict[str, int]:
        order = ("jobs", "metrics", FILES, CHUNKS, "workers", "searches")
        removed = {c: self._collection(c).delete_many(_of(name, c)).deleted_count for c in order}
        return {collection: count for collection, count in removed.items() if count}

    def _collection(self, name: str) -> Any:
        return self._jobs.database[name]


def _of(name: str, collection: str) -> Document:
    if collection == FILES:
        return {"_id": within(name)}
    return {"files_id": within(name)} if collection == CHUNKS else {"exp_key": name}
