"""The sources are real ones on this machine: folders, an HTTP server, pip with a folder of packages as its index."""

import functools
import http.server
import io
import socket
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import metrics
from metrics.errors import StimuliError
from metrics.stimuli92_sources import FILES, fetch, from_folder, from_package, from_web, missing_files


def no_report(what: str, done: int, total: int) -> None:
    pass


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No web (a proxy that refuses) and, for pip, no index but an empty folder, which is returned."""
    index = tmp_path / "index"
    index.mkdir()
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))
    return index


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    return folder


@pytest.fixture
def serve(human92: Path) -> Iterator[str]:
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(human92))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


def write_package(index: Path, files: dict[str, bytes]) -> None:
    setup = b'from setuptools import setup\nsetup(name="rsatoolbox", version="0.0.4")\n'
    info = b"Metadata-Version: 2.1\nName: rsatoolbox\nVersion: 0.0.4\n"
    content = {"setup.py": setup, "PKG-INFO": info, "demos/92imageData/other.mat": b"x"}
    content |= {f"demos/92imageData/{name}": data for name, data in files.items()}
    with tarfile.open(index / "rsatoolbox-0.0.4.tar.gz", "w:gz") as tar:
        for name, data in content.items():
            member = tarfile.TarInfo(f"rsatoolbox-0.0.4/{name}")
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))


def test_nothing_is_done_when_both_files_are_there(human92: Path, offline: Path) -> None:
    calls: list[str] = []
    fetch(human92, None, lambda what, done, total: calls.append(what))
    assert calls == []


def test_a_clone_of_the_repository_is_a_folder_source(human92: Path, tmp_path: Path, root: Path) -> None:
    inside = tmp_path / "clone" / "demos" / "92imageData"
    inside.mkdir(parents=True)
    for name in FILES:
        (inside / name).symlink_to(human92 / name)
    from_folder(root, tmp_path / "clone", no_report)
    assert missing_files(root) == []
    assert not any((root / name).is_symlink() for name in FILES)


def test_a_file_of_wrong_checksum_in_the_root_is_replaced(human92: Path, root: Path) -> None:
    name = next(iter(FILES))
    (root / name).write_bytes(b"torn")
    assert missing_files(root) == list(FILES)
    from_folder(root, human92, no_report)
    assert missing_files(root) == []


def test_a_wrong_checksum_in_the_source_leaves_nothing_behind(human92: Path, tmp_path: Path, root: Path) -> None:
    for name in FILES:
        (tmp_path / name).write_bytes((human92 / name).read_bytes() + b"!")
    with pytest.raises(StimuliError, match=r"has sha256 .*, expected"):
        from_folder(root, tmp_path, no_report)
    assert list(root.iterdir()) == []


def test_web_download(serve: str, root: Path, human92: Path) -> None:
    calls: list[tuple[str, int, int]] = []
    from_web(root, serve, lambda *call: calls.append(call))
    assert missing_files(root) == []
    sizes = {name: (human92 / name).stat().st_size for name in FILES}
    assert {what: total for what, _, total in calls} == sizes


def test_web_without_the_file_and_web_without_a_server(serve: str, root: Path) -> None:
    with pytest.raises(OSError, match="404"):
        from_web(root, serve + "absent/", no_report)
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        with pytest.raises(OSError, match="refused"):
            from_web(root, f"http://127.0.0.1:{unused.getsockname()[1]}/", no_report)


def test_a_silent_web_server_is_given_up_in_time(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metrics.stimuli92_sources._CONNECT_TIMEOUT_S", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        started = time.monotonic()
        with pytest.raises((StimuliError, OSError), match=r"no answer within|timed out"):
            from_web(root, f"http://127.0.0.1:{silent.getsockname()[1]}/", no_report)
        assert time.monotonic() - started < 5
    assert list(root.iterdir()) == []


def test_pip_download_falls_back_to_no_build_isolation(human92: Path, offline: Path, root: Path) -> None:
    write_package(offline, {name: (human92 / name).read_bytes() for name in FILES})
    calls: list[str] = []
    from_package(root, lambda what, done, total: calls.append(what))
    assert missing_files(root) == []
    assert sorted(path.name for path in root.iterdir()) == sorted(FILES), "temporary files are left"
    assert calls[0] == "rsatoolbox 0.0.4, 95 MB, from the package index"


def test_a_package_without_the_files_is_named(human92: Path, offline: Path, root: Path) -> None:
    first, second = FILES
    write_package(offline, {first: (human92 / first).read_bytes()})
    with pytest.raises(StimuliError, match=f"rsatoolbox-0.0.4.tar.gz holds no demos/92imageData/{second}"):
        from_package(root, no_report)
    assert [path.name for path in root.iterdir()] == [first]


def test_no_pip_names_ensurepip(root: Path) -> None:
    project = Path(metrics.__file__).parents[1]
    code = (
        f"import sys; sys.path.insert(0, {str(project)!r})\n"
        "from pathlib import Path\n"
        "from metrics.stimuli92_sources import from_package\n"
        f"from_package(Path({str(root)!r}), print)\n"
    )
    # -S hides site-packages, and with them pip.
    result = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=False)
    assert "StimuliError: this Python has no pip. Install it with: " in result.stderr
    assert result.stderr.rstrip().endswith(" -m ensurepip")


def test_sources_are_tried_in_order_until_both_files_are_there(human92: Path, offline: Path, root: Path) -> None:
    first, second = FILES
    (offline / first).write_bytes((human92 / first).read_bytes())
    write_package(offline, {name: (human92 / name).read_bytes() for name in FILES})
    calls: list[str] = []
    fetch(root, offline, lambda what, done, total: calls.append(what))
    assert missing_files(root) == []
    order = list(dict.fromkeys(calls))
    assert order == [first, "rsatoolbox 0.0.4, 95 MB, from the package index", second]


def test_when_all_fail_one_message_says_what_to_do(offline: Path, root: Path, tmp_path: Path) -> None:
    started = time.monotonic()
    with pytest.raises(StimuliError) as raised:
        fetch(root, tmp_path / "nowhere")
    message = str(raised.value)
    for name, digest in FILES.items():
        assert f"{name}  sha256 {digest}" in message
    assert f"into {root}\n" in message
    assert message.endswith("run again: hms data stimuli92")
    reasons = message.splitlines()[1:4]
    assert "nowhere: no such folder" in reasons[0]
    assert "the web: " in reasons[1] and "refused" in reasons[1]
    assert "No matching distribution found for rsatoolbox==0.0.4" in reasons[2]
    assert list(root.iterdir()) == []
    assert time.monotonic() - started < 60


def test_a_root_that_cannot_be_made_is_a_clear_error(offline: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StimuliError, match="Not a directory"):
        fetch(tmp_path / "file" / "root", None)
