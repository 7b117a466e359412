"""The documentation site: `sphinx-build -W --keep-going docs build/docs`. Three pages are made from the code."""

import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "scripts" / "docs")]

project = "HMS Search"
version = release = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
copyright = "the HMS Search authors"

extensions = ["myst_nb"]
exclude_patterns = ["_build"]
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3
nb_execution_mode = "off"  # notebooks show the outputs that they are committed with; a test runs them

smartquotes = False  # they would turn the -- of options into dashes

html_theme = "furo"
html_title = "HMS Search"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False

MARK = "<!-- made from the code when the site is built -->"


def _generated(_app: Any, page: str, source: list[str]) -> None:
    if MARK not in source[0]:
        return
    import commands
    import configuration
    import study_configuration

    made = {
        "reference/configuration": configuration.markdown,
        "reference/study_configuration": study_configuration.markdown,
        "reference/commands": commands.markdown,
    }
    source[0] = source[0].replace(MARK, made[page]())


def setup(app: Any) -> None:
    """Sphinx calls this."""
    app.connect("source-read", _generated)
