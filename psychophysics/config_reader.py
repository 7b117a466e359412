"""YAML -> `StudyConfig`, with errors that name the nearest valid key."""

from pathlib import Path
from typing import Any

from pydantic import ValidationError

from psychophysics.config import StudyConfig
from search.config_reader import explain, read_yaml
from search.errors import ConfigError


def load_study(path: Path) -> StudyConfig:
    """Read a study from a YAML file.

    Raises:
        ConfigError: the file is missing, not YAML, or does not describe a study.
    """
    return parse_study(read_yaml(path, "study, networks, images, ..."), source=str(path))


def parse_study(document: dict[str, Any], source: str) -> StudyConfig:
    """Validate a study that was read from `source` (named in errors)."""
    try:
        return StudyConfig.model_validate(document)
    except ValidationError as error:
        lines = "\n".join(f"  {explain(item, StudyConfig)}" for item in error.errors())
        raise ConfigError(f"{source} does not describe a study:\n{lines}\nMend the file.") from None
