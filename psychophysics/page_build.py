"""`hms study build-page`: the page that participants see, bundled by npm and esbuild from `psychophysics/page/`.

The page lies in `HMS_DATA/study-page/HASH/`, where HASH is that of its sources: it is built once, and anew after a
change. Packages come from the npm registry, in the versions of `package-lock.json`; none of their scripts is run.
"""

import hashlib
import json
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from filelock import FileLock

from psychophysics.errors import PageError
from search.paths import data_root

SOURCES = Path(__file__).parent / "page"
COMMAND = "hms study build-page"
LICENCES = "LICENCES.txt"
OLDEST_NODE = 18
MINUTES = 10
_LINES = 12  # of what a program says; its first ones name the cause


def built_page() -> Path:
    """The folder with `index.html` and `assets/`.

    Raises:
        PageError: it was not built on this machine, or from other sources; the message names the command.
    """
    page = _folder(SOURCES)
    if not (page / "index.html").is_file():
        raise PageError(f"the page of participants is not built yet ({page} is missing). Next: {COMMAND}")
    return page


def build_page(*, again: bool = False, sources: Path = SOURCES) -> Path:
    """Build the page unless these sources are built already; its folder.

    Args:
        again: build it even so.
        sources: package.json, package-lock.json, index.html, src/.

    Raises:
        PageError: Node.js or npm is missing or too old, npm cannot install the packages, or esbuild finds an error in
            the sources; the message holds what they said.
    """
    page = _folder(sources)
    page.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(page.parent / ".lock"):
        if again or not (page / "index.html").is_file():
            with tempfile.TemporaryDirectory(dir=page.parent, prefix=".building-") as work:
                _replace(page, _build(sources, Path(work)))
    return page


def page_sources(sources: Path = SOURCES) -> list[Path]:
    """All files that the page is made of, relative to `sources`."""
    every = [sources / name for name in ("index.html", "package.json", "package-lock.json")]
    every += [path for path in (sources / "src").rglob("*") if path.is_file()]
    return sorted(path.relative_to(sources) for path in every)


def _folder(sources: Path) -> Path:
    digest = hashlib.sha256()
    for file in page_sources(sources):
        digest.update(f"{file.as_posix()}\0".encode() + hashlib.sha256((sources / file).read_bytes()).digest())
    return data_root() / "study-page" / digest.hexdigest()[:16]


def _build(sources: Path, work: Path) -> Path:
    npm = _npm()
    for file in page_sources(sources):
        (work / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(sources / file, work / file)
    _run(
        [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"], work,
        "npm could not install the packages of package-lock.json. It needs the npm registry, or a mirror "
        "(`npm config set registry URL`); behind a proxy set HTTPS_PROXY",
    )  # fmt: skip
    _run([npm, "run", "--silent", "build"], work, "esbuild could not bundle the page")
    made = work / "dist"
    shutil.copyfile(work / "index.html", made / "index.html")
    (made / LICENCES).write_text(_licences(work, made / "bundled.json"), encoding="utf-8")
    (made / "bundled.json").unlink()
    return made


def _npm() -> str:
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        raise PageError(
            f"{'Node.js' if node is None else 'npm'} is missing: it bundles the page of participants. Next: "
            f"apt-get install nodejs npm (or install Node.js {OLDEST_NODE} or newer from its site), then {COMMAND}"
        )
    said = subprocess.run([node, "--version"], capture_output=True, text=True).stdout.strip()
    found = re.match(r"v(\d+)", said)
    if found is None or int(found[1]) < OLDEST_NODE:
        raise PageError(
            f"{node} is version {said or 'unknown'}, but the page needs Node.js {OLDEST_NODE} or newer. "
            f"Next: install a newer one, then {COMMAND}"
        )
    return npm


def _run(command: list[str], folder: Path, failure: str) -> None:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=MINUTES * 60)
    except subprocess.TimeoutExpired:
        raise PageError(f"{failure}: no end after {MINUTES} minutes. Next: {COMMAND}") from None
    if done.returncode:
        said = "\n".join(f"  {line}" for line in (done.stderr or done.stdout).strip().splitlines()[:_LINES])
        raise PageError(f"{failure}. It said:\n{said}\nNext: mend this, then {COMMAND}")


def _licences(work: Path, metafile: Path) -> str:
    """Name, version, licence and its text of every package of which a part is in the bundle."""
    inputs = json.loads(metafile.read_text(encoding="utf-8"))["inputs"]
    matches = (re.match(r"node_modules/((?:@[^/]+/)?[^/]+)/", name) for name in inputs)
    parts = []
    for name in sorted({match[1] for match in matches if match}):
        folder = work / "node_modules" / name
        package = json.loads((folder / "package.json").read_text(encoding="utf-8"))
        author = package.get("author", "")
        by = author["name"] if isinstance(author, dict) else author
        texts = [path.read_text(encoding="utf-8").strip() for path in sorted(folder.iterdir()) if _is_licence(path)]
        texts = texts or [
            f"By {by or 'its authors'}. The package says so in its package.json, and holds no further text."
        ]
        parts.append(
            "\n\n".join([f"{name} {package['version']} ({package.get('license', 'licence not given')})", *texts])
        )
    return ("\n\n" + "-" * 80 + "\n\n").join(parts) + "\n"


def _is_licence(path: Path) -> bool:
    return path.is_file() and path.name.lower().startswith(("license", "licence"))


def _replace(page: Path, made: Path) -> None:
    if page.is_dir():
        page.rename(made.parent / "before")
    made.rename(page)
