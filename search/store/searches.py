"""The searches of a database: created or resumed by name, refused when they changed."""

from typing import Any

from search.errors import SearchChanged, UnknownSearch, UsageError
from search.store.connection import Connection, speaks_mongo
from search.store.contract import Document
from search.store.documents import storable
from search.store.fencing import literal

RESUMES_KEPT = 50
DIFF_LINES = 40
PROTECTED = frozenset({"_id", "exp_key", "config", "hashes", "driver", "created", "resumed"})


class Searches(Connection):
    """Create, resume, read and annotate searches."""

    @speaks_mongo
    def create_or_resume(
        self,
        name: str,
        *,
        config: Document,
        hashes: Document,
        provenance: Document,
        force_space: bool = False,
    ) -> tuple[Document, bool]:
        """The search of this name, and whether it was created now.

        `hashes` has `space` and `training`. A stored search with the same hashes goes on with the new `config` (more
        trials, say). Otherwise raises `SearchChanged` with the difference; `force_space` accepts a changed space, never
        changed training: numbers of two trainings must not share a search.
        """
        fresh = _fresh(name, config, hashes, provenance)
        created = self._insert_once(name, literal(fresh))
        stored = self.search(name)
        if created:
            return stored, True
        changed = [key for key in ("space", "training") if stored["hashes"][key] != fresh["hashes"][key]]
        refused = [key for key in changed if not (key == "space" and force_space)]
        if refused:
            raise SearchChanged(_refusal(name, refused, stored["config"], fresh["config"]))
        self._resume(name, stored, fresh, space_changed="space" in changed)
        return self.search(name), False

    @speaks_mongo
    def create(self, name: str, *, config: Document, hashes: Document, provenance: Document) -> bool:
        """Create a search of this name; False when there is one, which stays as it is."""
        return self._insert_once(name, literal(_fresh(name, config, hashes, provenance)))

    @speaks_mongo
    def search(self, name: str, *, unfinished: bool = False) -> Document:
        """The stored search; raises `UnknownSearch`, which lists the names there are.

        One that is being put in from a backup is refused, or with `unfinished` given as far as it is known.
        """
        stored = self._searches.find_one({"exp_key": name}, {"_id": False})
        if stored is None:
            raise UnknownSearch(self._unknown(name))
        if "restoring" in stored and not unfinished:
            raise UsageError(
                f"`{name}` is being put in by `hms restore` or `hms import-hyperopt`. Where that was cut short, repeat "
                f"it in a minute, or remove what there is: hms forget {name}"
            )
        return stored

    @speaks_mongo
    def names(self) -> list[str]:
        """All searches of the database, sorted."""
        return sorted(self._searches.distinct("exp_key", {"restoring": {"$exists": False}}))

    @speaks_mongo
    def update_search(self, name: str, **fields: Any) -> None:
        """Set fields of a search other than its configuration, hashes and driver lock."""
        refused = PROTECTED & fields.keys()
        if refused:
            raise UsageError(f"update_search cannot change {', '.join(sorted(refused))}")
        plain = storable(fields, name=f"search {name}")
        update = [{"$set": {key: literal(value) for key, value in plain.items()}}]
        if self._searches.update_one({"exp_key": name}, update).matched_count == 0:
            raise UnknownSearch(self._unknown(name))

    def _insert_once(self, name: str, fresh: Document) -> bool:
        # One atomic upsert of an expression, with the server's time; on an existing search it changes nothing.
        new = {"$mergeObjects": [fresh, {"created": "$$NOW"}]}
        keep = {"$cond": [{"$eq": [{"$type": "$created"}, "missing"]}, new, "$$ROOT"]}
        result = self._searches.update_one({"exp_key": name}, [{"$replaceWith": keep}], upsert=True)
        return result.upserted_id is not None

    def _resume(self, name: str, stored: Document, fresh: Document, *, space_changed: bool) -> None:
        entry: Document = {"time": "$$NOW", "provenance": literal(fresh["provenance"])}
        if space_changed:
            entry |= {"replaced": {"config": literal(stored["config"]), "hashes": literal(stored["hashes"])}}
        update = {
            "config": literal(fresh["config"]),
            "hashes": literal(fresh["hashes"]),
            "resumed": {"$slice": [{"$concatArrays": ["$resumed", [entry]]}, -RESUMES_KEPT]},
        }
        self._searches.update_one({"exp_key": name}, [{"$set": update}])

    def _unknown(self, name: str) -> str:
        names = self.names()
        known = f"it holds: {', '.join(names)}" if names else "it holds none yet; start one: hms run CONFIG"
        return f"the store at {self._hosts} holds no search named {name!r}; {known}"


def _fresh(name: str, config: Document, hashes: Document, provenance: Document) -> Document:
    document = {"exp_key": name, "config": config, "hashes": hashes, "provenance": provenance}
    return storable({**document, "resumed": [], "driver": None}, name=f"search {name}")


def config_difference(stored: Any, given: Any) -> list[str]:
    """Readable lines `key: stored -> given` for every value that differs, keys joined by dots."""
    old, new = _flat(stored), _flat(given)
    lines = []
    for key in sorted(old.keys() | new.keys()):
        before, after = old.get(key, "(absent)"), new.get(key, "(absent)")
        if before != after:
            lines.append(f"{key}: {before} -> {after}")
    return lines


def _flat(value: Any, prefix: str = "") -> dict[str, str]:
    if not isinstance(value, dict) or not value:
        return {prefix.rstrip("."): repr(value)}
    return {key: text for name, item in value.items() for key, text in _flat(item, f"{prefix}{name}.").items()}


def _refusal(name: str, refused: list[str], stored: Document, given: Document) -> str:
    lines = config_difference(stored, given)
    shown = "\n".join(f"  {line}" for line in lines[:DIFF_LINES])
    more = f"\n  ... and {len(lines) - DIFF_LINES} more" if len(lines) > DIFF_LINES else ""
    advice = "Take another name: --name NEW"
    if refused == ["space"]:
        advice += "; or go on with the new space in the same search: --force-space"
    return (
        f"the search {name!r} was made with another {' and '.join(refused)} configuration (stored -> given):\n"
        f"{shown}{more}\n{advice}"
    )
