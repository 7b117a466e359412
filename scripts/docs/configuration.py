"""The configuration reference, from the models: every key with its type, default, range, hash and meaning.

python scripts/docs/configuration.py prints it as Markdown; `docs/conf.py` puts it into docs/reference/configuration.md.
"""

import copy
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from search.config import SearchConfig, hashed
from search.config_reader import load_config

QUICKSTART = Path(__file__).parents[2] / "configs" / "quickstart.yaml"
NAMED = "NAME"  # stands for the keys of a mapping whose names are the user's
PLURAL = {"integer": "whole numbers", "number": "numbers", "string": "texts", "boolean": "true or false"}
SINGULAR = {"integer": "whole number", "number": "number", "string": "text", "boolean": "true or false"}
BOUNDS = (("minimum", "at least"), ("exclusiveMinimum", "above"), ("maximum", "at most"), ("exclusiveMaximum", "below"))


@dataclass(frozen=True)
class Key:
    """One key: its dotted path, and its JSON schema without references."""

    path: tuple[str, ...]
    schema: dict[str, Any]

    @property
    def name(self) -> str:
        """As `--set` takes it."""
        return ".".join(self.path)

    @property
    def meaning(self) -> str:
        """Its description as one line; empty where the model gives none."""
        return " ".join(self.schema.get("description", "").split())

    @property
    def values(self) -> str:
        """Type and range in words."""
        return _values(self.schema, SINGULAR)

    @property
    def default(self) -> str:
        """As YAML would have it."""
        if "default" not in self.schema:
            return "must be given" if self.schema.get("type") != "object" else "empty"
        value = self.schema["default"]
        if value is None:
            return "unset"
        if value in ([], {}, ""):
            return "empty"
        return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def sections() -> Iterator[tuple[str, str, list[Key]]]:
    """(dotted name, description, keys) of each section, in the order of the models."""
    schema = SearchConfig.model_json_schema()
    yield from _sections((), schema, schema["$defs"])


def part_hashed(path: tuple[str, ...]) -> str | None:
    """`space` or `training`, whichever hash another value of this key changes; None where neither does.

    It is tried: the quickstart's configuration with another value in place of its own.
    """
    before = load_config(QUICKSTART).document()
    if NAMED in path:
        _set(before, path, "one")
    after = copy.deepcopy(before)
    _set(after, path, "another")
    old, new = hashed(before), hashed(after)
    return next((part for part in old if old[part] != new[part]), None)


def markdown() -> str:
    """The whole reference: a section each, a definition list of its keys."""
    lines = []
    for name, description, keys in sections():
        lines += [f"## {name}", "", _linked(description), ""]
        for key in keys:
            part = part_hashed(key.path)
            belongs = f"hash `{part}`" if part else "no hash"
            lines += [f"({key.name})=", f"`{key.name}`", f": *{key.values}* · default {key.default} · {belongs}", ""]
            lines += [f"  {_linked(key.meaning)}", ""]
    return "\n".join(lines)


def _sections(path: tuple[str, ...], schema: dict[str, Any], known: dict[str, Any]) -> Iterator[Any]:
    keys, below = [], []
    for name, given in schema["properties"].items():
        own = known[given["$ref"].rpartition("/")[2]] if "$ref" in given else given
        named = given.get("additionalProperties", {})
        if "properties" in own:
            below.append(((*path, name), own))
            continue
        keys.append(Key((*path, name), own))
        if isinstance(named, dict) and "$ref" in named:
            below.append(((*path, name, NAMED), known[named["$ref"].rpartition("/")[2]]))
    if keys:
        description = " ".join(schema.get("description", "").split("\n\n")) if path else "At the top of the file."
        yield ".".join(path) or "space", description, keys
    for place, section in below:
        yield from _sections(place, section, known)


def _values(schema: dict[str, Any], words: dict[str, str]) -> str:
    if "enum" in schema:
        return " or ".join(f"`{value}`" for value in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_values(one, words) for one in schema["anyOf"] if one.get("type") != "null"))
    kind = schema.get("type")
    if kind == "array":
        return f"list of {_values(schema['items'], PLURAL)}"
    if kind == "object":
        given = schema["additionalProperties"]
        simple = given.get("type") or "anyOf" in given
        return f"mapping of names to {_values(given, PLURAL)}" if simple else "mapping, see below"
    if schema.get("format") == "path":
        return "path"
    bounds = [f"{word} {schema[bound]}" for bound, word in BOUNDS if bound in schema]
    return " ".join([words[str(kind)], *([" and ".join(bounds)] if bounds else [])])


def _set(document: dict[str, Any], path: tuple[str, ...], value: str) -> None:
    """Put a value at a key that is not its own; below a mapping of names, under the name `NAME`."""
    *parents, last = path
    node = document
    for parent in parents:
        node = node.setdefault(parent, {})
    present = node.get(last)
    node[last] = {value: value} if isinstance(present, dict) else value


def _linked(text: str) -> str:
    return re.sub(r"docs/(\w+)\.md", r"[\1](../\1.md)", text)


if __name__ == "__main__":
    print(markdown())
