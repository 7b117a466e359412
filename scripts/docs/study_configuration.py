"""The reference of a study's configuration, from the models: every section with its keys, types, ranges and defaults.

python scripts/docs/study_configuration.py prints it as Markdown; `docs/conf.py` puts it into
docs/reference/study_configuration.md.
"""

from collections.abc import Iterator
from typing import Any

from configuration import Key

from psychophysics.config import StudyConfig


def markdown() -> str:
    """The whole reference: a section each, its meaning, a table of its keys."""
    lines = []
    for name, description, keys in sections():
        lines += [f"## {name}", "", *(f"{paragraph}\n" for paragraph in description.split("\n\n"))]
        lines += ["| key | value | default |", "|---|---|---|"]
        lines += [f"| `{key.path[-1]}` | {key.values.replace('|', chr(92) + '|')} | {key.default} |" for key in keys]
        lines.append("")
    return "\n".join(lines)


def sections() -> Iterator[tuple[str, str, list[Key]]]:
    """(dotted name, description, keys) of each section, in the order of the models; `[]` marks lists of sections."""
    schema = StudyConfig.model_json_schema()
    yield from _sections("", schema, schema["$defs"])


def _sections(path: str, schema: dict[str, Any], known: dict[str, Any]) -> Iterator[tuple[str, str, list[Key]]]:
    keys, below = [], []
    for name, given in schema["properties"].items():
        section, mark = _section(given)
        if section is not None:
            below.append((f"{path}.{name}{mark}".lstrip("."), known[section]))
        else:
            keys.append(Key((path, name), _plain(given)))
    if keys:
        yield path, schema["description"], keys
    for place, one in below:
        yield from _sections(place, one, known)


def _section(given: dict[str, Any]) -> tuple[str | None, str]:
    """The name of the section that a key holds, None for a plain key; and `[]` where it holds a list of them."""
    items = given.get("items", {})
    optional = next((one for one in given.get("anyOf", []) if "$ref" in one), {})
    reference = given.get("$ref") or optional.get("$ref") or items.get("$ref")
    return (reference.rpartition("/")[2] if reference else None), "[]" if "$ref" in items else ""


def _plain(given: dict[str, Any]) -> dict[str, Any]:
    """A pair is described as a list of its first."""
    return given | {"items": given["prefixItems"][0]} if "prefixItems" in given else given


if __name__ == "__main__":
    print(markdown())
