"""The page is bundled by the real npm and esbuild; what keeps it from being built is told with the next command."""

import shutil
from pathlib import Path

import pytest

from psychophysics.errors import PageError
from psychophysics.page_build import LICENCES, SOURCES, build_page, built_page, page_sources


@pytest.fixture
def own_data(tmp_path, monkeypatch):
    monkeypatch.setenv("HMS_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def sources(tmp_path) -> Path:
    """A copy of the sources, to be changed."""
    return shutil.copytree(SOURCES, tmp_path / "sources")


def programs(folder: Path, **scripts: str) -> str:
    """A search path with these shell scripts only."""
    folder.mkdir()
    for name, script in scripts.items():
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
    return str(folder)


def test_a_page_that_is_not_built_is_an_error_with_the_command(own_data):
    with pytest.raises(PageError, match=r"not built yet .*Next: hms study build-page"):
        built_page()


def test_missing_programs_are_named(own_data, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", programs(tmp_path / "nothing"))
    with pytest.raises(PageError, match=r"Node\.js is missing.*apt-get install nodejs npm"):
        build_page()
    monkeypatch.setenv("PATH", programs(tmp_path / "node", node="echo v20.1.0"))
    with pytest.raises(PageError, match="npm is missing"):
        build_page()


def test_an_old_node_is_refused(own_data, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", programs(tmp_path / "old", node="echo v12.22.9", npm="true"))
    with pytest.raises(PageError, match=r"version v12\.22\.9, but the page needs Node\.js 18 or newer"):
        build_page()


def test_the_package_data_hold_every_source():
    """A plain `pip install` copies what the patterns of pyproject.toml match."""
    import tomllib

    patterns = tomllib.loads((SOURCES.parents[1] / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]
    packed = {path for pattern in patterns["psychophysics"] for path in SOURCES.parent.glob(pattern) if path.is_file()}
    assert {SOURCES / path for path in page_sources()} <= packed


@pytest.mark.browser
def test_the_page_is_built_once_with_the_licences_of_what_is_in_it(own_data):
    page = build_page()
    assert page == built_page() and page.parent == own_data / "study-page"
    assert {path.name for path in page.iterdir()} == {"index.html", "assets", LICENCES}
    licences = (page / LICENCES).read_text()
    assert "jspsych 8." in licences and "Permission is hereby granted" in licences and "esbuild" not in licences
    script = page / "assets" / "main.js"
    made = script.stat().st_mtime_ns
    assert build_page() == page and script.stat().st_mtime_ns == made
    assert build_page(again=True) == page and script.stat().st_mtime_ns > made
    assert [path.name for path in page.parent.iterdir() if path.name.startswith(".building")] == []


@pytest.mark.browser
def test_an_error_in_the_sources_is_shown_as_esbuild_says_it(own_data, sources):
    (sources / "src" / "broken.js").write_text("export const = 1;")
    (sources / "src" / "main.js").write_text('import "./broken.js";')
    with pytest.raises(PageError, match=r"(?s)esbuild could not bundle the page.*src/broken\.js:1:13"):
        build_page(sources=sources)


@pytest.mark.browser
def test_without_the_registry_the_message_tells_how_to_reach_one(own_data, sources, monkeypatch, tmp_path):
    monkeypatch.setenv("npm_config_registry", "http://127.0.0.1:9")
    monkeypatch.setenv("npm_config_fetch_retries", "0")
    monkeypatch.setenv("npm_config_cache", str(tmp_path / "cache"))
    with pytest.raises(PageError, match=r"(?s)could not install.*ECONNREFUSED.*hms study build-page"):
        build_page(sources=sources)
