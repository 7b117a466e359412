"""Where the store's URI may come from, and that a password in it never gets where others can read it."""

from pathlib import Path
from typing import Any

import pytest

from search.errors import UsageError
from search.mongod.folder import ServerFolder, ServerState
from search.place import Place, Server

SECRET = "mongodb://ann:pa55word@mongo1/hms?replicaSet=rs0"
X509 = "mongodb://mongo1/?tls=true&tlsCertificateKeyFile=/c.pem&authMechanism=MONGODB-X509"


@pytest.fixture(autouse=True)
def unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HMS_MONGO", raising=False)


def uri_file(folder: Path, text: str, mode: int = 0o600) -> str:
    path = folder / "uri"
    path.write_text(text)
    path.chmod(mode)
    return str(path)


def test_the_option_comes_before_the_environment_and_that_before_the_embedded_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert Place.given(None).uri is None
    monkeypatch.setenv("HMS_MONGO", SECRET)
    assert Place.given(None).uri == SECRET
    assert Place.given("mongodb://other").uri == "mongodb://other"
    assert Place.given(uri_file(tmp_path, "mongodb://third\n")).uri == "mongodb://third"
    monkeypatch.setenv("HMS_MONGO", uri_file(tmp_path, f"{SECRET}\n", 0o400))
    assert Place.given(None).uri == SECRET


@pytest.mark.parametrize(
    "uri",
    [
        SECRET,
        "mongodb+srv://ann:pa55word@cluster0.example.net/hms",
        "mongodb://ann:not?encoded-pa55word@mongo1/",
        f"{X509}&tlsCertificateKeyFilePassword=pa55word",
        "mongodb://mongo1/?authMechanism=MONGODB-AWS&authMechanismProperties=AWS_SESSION_TOKEN:pa55word",
    ],
)
def test_a_password_on_the_command_line_is_refused_unquoted(uri: str) -> None:
    with pytest.raises(UsageError, match=r"ps.*export HMS_MONGO=.*--mongo FILE") as caught:
        Place.given(uri)
    assert "pa55word" not in str(caught.value)


@pytest.mark.parametrize("uri", ["mongodb://mongo1,mongo2/hms?replicaSet=rs0", "mongodb://ann@mongo1/", X509])
def test_a_uri_without_a_password_may_stand_there(uri: str) -> None:
    assert Place.given(uri).uri == uri


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o602])
def test_a_password_in_a_file_that_others_can_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int
) -> None:
    path = uri_file(tmp_path, SECRET, mode)
    monkeypatch.setenv("HMS_MONGO", path)
    for given in (path, None):
        with pytest.raises(UsageError, match=f"mode 0{mode:o}.*chmod 600 {path}") as caught:
            Place.given(given)
        assert "pa55word" not in str(caught.value)
    uri_file(tmp_path, "mongodb://mongo1", mode)
    assert Place.given(path).uri == "mongodb://mongo1", "nothing in it is secret"


@pytest.mark.parametrize(
    "content", [b"", b"\n", b"\xff\xfe\x00", b"ann:pa55word@mongo1", b"mongo://ann:pa55word@mongo1"]
)
def test_a_file_without_a_uri_is_no_silent_embedded_server(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "uri"
    path.write_bytes(content)
    with pytest.raises(UsageError, match="holds no URI") as caught:
        Place.given(str(path))
    assert "pa55word" not in str(caught.value)


@pytest.mark.parametrize(
    "holder",
    [Place(Path("results"), SECRET), Server(SECRET), ServerState("pa55word", "rs0"), ServerFolder(Path("results"))],
)
def test_no_representation_holds_the_password(holder: Any) -> None:
    assert "pa55word" not in repr(holder)
