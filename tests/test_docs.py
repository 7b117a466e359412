"""The site builds without a warning and works offline from its files: nothing is fetched, every link is whole."""

import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

DOCS = Path(__file__).parents[1] / "docs"
FETCHED = {"img": "src", "script": "src", "iframe": "src", "source": "src", "link": "href"}


class Page(HTMLParser):
    """Ids, links, and what a browser would fetch by itself."""

    def __init__(self, path):
        super().__init__()
        self.ids, self.links, self.fetched = set(), [], []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.ids |= {given[key] for key in ("id", "name") if given.get(key)}
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        if tag in FETCHED and given.get(FETCHED[tag]) and given.get("rel") not in ("index", "search", "next", "prev"):
            self.fetched.append(given[FETCHED[tag]])


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("furo", reason="the site needs pip install 'hms-search[docs]'")
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", str(DOCS), str(out)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return out


@pytest.fixture(scope="module")
def pages(site):
    return {path: Page(path) for path in site.rglob("*.html")}


def test_every_page_of_docs_is_in_the_site(site):
    sources = [path.relative_to(DOCS) for suffix in ("*.md", "*.ipynb") for path in DOCS.rglob(suffix)]
    assert len(sources) >= 10
    assert [str(source) for source in sources if not (site / source).with_suffix(".html").exists()] == []


def test_nothing_is_fetched_from_elsewhere(site, pages):
    outside = [(path.name, url) for path, page in pages.items() for url in page.fetched if urlsplit(url).scheme]
    assert [found for found in outside if not found[1].startswith("data:")] == []
    sheets = {sheet.name: sheet.read_text(encoding="utf-8") for sheet in site.rglob("*.css")}
    assert [name for name, text in sheets.items() if "url(http" in text or "@import" in text] == []


def test_every_link_and_anchor_of_the_site_exists(pages):
    missing = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or link in ("#", ""):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            known = pages.get(target)
            if not target.exists() or (parts.fragment and known and unquote(parts.fragment) not in known.ids):
                missing.append(f"{path.name}: {link}")
    assert missing == []


@pytest.mark.browser
def test_the_search_field_works_from_files_without_a_network(site, browser):
    context = browser.new_context(offline=True)
    page = context.new_page()
    page.goto((site / "index.html").as_uri())
    page.fill("input[name=q]", "tolerance")
    page.press("input[name=q]", "Enter")
    page.wait_for_selector("ul.search li a", timeout=20_000)
    found = page.locator("ul.search li a").all_inner_texts()
    context.close()
    assert any("Configuration" in text for text in found)
