"""YAML -> `SearchConfig`: the file, `--set a.b=c`, `--name`, and errors that name the nearest valid key.

`read_yaml` and `explain` serve the configuration of a psychophysics study too.
"""

import json
import re
from pathlib import Path
from typing import Any, get_args, get_origin

import yaml
from pydantic import BaseModel, ValidationError

from search.config import SearchConfig
from search.config_section import nearest
from search.errors import ConfigError


def load_config(path: Path, overrides: list[str] | None = None, name: str | None = None) -> SearchConfig:
    """Read a YAML file, apply `a.b=c` overrides and `--name`, validate.

    Raises:
        ConfigError: the file is missing, not YAML, or does not describe a search.
    """
    document = read_yaml(path, "search, space, ...")
    for override in overrides or []:
        _apply_override(document, override)
    if name is not None:
        _apply_override(document, f"search.name={json.dumps(name)}")
    return parse_config(document, source=str(path))


def parse_config(document: dict[str, Any], source: str) -> SearchConfig:
    """Validate a configuration that was read from `source` (named in errors)."""
    try:
        return SearchConfig.model_validate(document)
    except ValidationError as error:
        lines = "\n".join(f"  {explain(item, SearchConfig)}" for item in error.errors())
        raise ConfigError(
            f"{source} does not describe a search:\n{lines}\nMend the file or pass --set key=value."
        ) from None


def read_yaml(path: Path, sections: str) -> dict[str, Any]:
    """The mapping in a YAML file; `sections` names some of its keys in the error about a file that holds none.

    Raises:
        ConfigError: the file is missing, unreadable, not YAML, gives a key twice, or holds no mapping.
    """
    try:
        document = yaml.load(path.read_text(encoding="utf-8"), Loader=_UniqueKeyLoader)
    except FileNotFoundError:
        nearby = sorted(str(p) for p in Path("configs").glob("*.yaml"))
        raise ConfigError(f"{path} does not exist. Try: {', '.join(nearby) or 'a YAML file'}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from None
    except yaml.YAMLError as error:
        raise ConfigError(f"{path} is not valid YAML: {error}") from None
    if not isinstance(document, dict):
        raise ConfigError(f"{path} holds {type(document).__name__}, not a mapping with the sections {sections}")
    return document


class _UniqueKeyLoader(yaml.SafeLoader):
    """Refuses a key that is given twice, which YAML's own loader would silently overwrite; reads 1e-3 as a number."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        twice = {str(key) for key in keys if keys.count(key) > 1}
        if twice:
            raise yaml.constructor.ConstructorError(None, None, f"key given twice: {', '.join(twice)}", node.start_mark)
        return super().construct_mapping(node, deep)


_UniqueKeyLoader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"^[-+]?[0-9]+(?:\.[0-9]*)?[eE][-+]?[0-9]+$"), list("-+0123456789")
)


def _apply_override(document: dict[str, Any], override: str) -> None:
    key, equals, text = override.partition("=")
    if not equals or not key.strip():
        raise ConfigError(f"--set {override}: expected key=value, e.g. --set search.max_trials=20")
    *parents, last = key.strip().split(".")
    node = document
    for parent in parents:
        child = node.setdefault(parent, {})
        if not isinstance(child, dict):
            raise ConfigError(f"--set {override}: {parent} holds the value {child!r}, not a section")
        node = child
    try:
        node[last] = yaml.load(text, Loader=_UniqueKeyLoader)
    except yaml.YAMLError as error:
        raise ConfigError(f"--set {override}: the value is not valid YAML: {error}") from None


def explain(item: Any, model: type[BaseModel]) -> str:
    """One error of a validation of `model` in words: where, what, the value; for an unknown key the nearest name."""
    where = ".".join(str(part) for part in item["loc"])
    if item["type"] == "extra_forbidden":
        return f"{where}: unknown key{nearest(str(item['loc'][-1]), _fields_at(item['loc'][:-1], model))}"
    message = item["msg"].removeprefix("Value error, ")
    value = item.get("input")
    shown = f" (got {value!r})" if not isinstance(value, dict) and item["type"] != "value_error" else ""
    return f"{where}: {message}{shown}" if where else message


def _fields_at(location: tuple[Any, ...], model: Any) -> list[str]:
    for part in location:
        if part == "space":  # below it stand a distribution's own fields
            return ["kind", "values", "low", "high", "step"]
        # Below a mapping stands what its values are, below a list its items.
        model = model.model_fields[part].annotation if hasattr(model, "model_fields") else _values_of(model)
        if type(None) in get_args(model):  # a section that may be left out
            model = get_args(model)[0]
    return list(model.model_fields)


def _values_of(container: Any) -> Any:
    arguments = get_args(container)
    return arguments[0] if get_origin(container) is tuple else arguments[1]
