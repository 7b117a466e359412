import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus

import pytest
from pymongo import MongoClient

from search.errors import StoreRefused, StoreUnreachable, UsageError
from search.mongod import find_mongod
from search.mongod.process import free_port
from search.store import Store, new_job_document


@pytest.fixture(scope="module")
def standalone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a real `mongod` without a replica set."""
    folder = tmp_path_factory.mktemp("standalone")
    port = free_port()
    options = ["--dbpath", str(folder), "--port", str(port), "--bind_ip", "127.0.0.1", "--nounixsocket"]
    with subprocess.Popen([str(find_mongod()), *options], stdout=subprocess.DEVNULL) as server:
        yield f"127.0.0.1:{port}"
        server.terminate()


def test_a_standalone_server_is_refused_with_the_command_that_mends_it(standalone: str) -> None:
    with pytest.raises(StoreRefused, match=r"stands alone.*mongod --replSet rs0.*rs\.initiate\(\)"):
        Store.connect(f"mongodb://{standalone}")


def test_a_set_that_was_never_initiated_is_named_so(tmp_path: Path) -> None:
    port = free_port()
    options = ["--dbpath", str(tmp_path), "--port", str(port), "--replSet", "rs0", "--nounixsocket"]
    with subprocess.Popen([str(find_mongod()), *options], stdout=subprocess.DEVNULL) as server:
        try:
            with MongoClient[dict[str, Any]]("127.0.0.1", port, directConnection=True) as client:
                assert client.admin.command("hello")["isreplicaset"]
            with pytest.raises(StoreRefused, match=r"never initiated.*rs\.initiate\(\)"):
                Store.connect(f"mongodb://127.0.0.1:{port}", timeout_seconds=1)
        finally:
            server.terminate()


def test_an_unreachable_server_is_named_by_host_and_port() -> None:
    port = free_port()
    with pytest.raises(StoreUnreachable) as caught:
        Store.connect(f"mongodb://me:s3cr%40t@127.0.0.1:{port}/?authSource=admin", timeout_seconds=0.5)
    message = str(caught.value)
    assert f"127.0.0.1:{port}" in message and "--mongo URI" in message and "refused" in message
    assert "s3cr" not in message and "Topology" not in message
    assert caught.value.__cause__ is None


def test_a_wrong_password_is_refused_without_being_shown(mongo_uri: str, database: str) -> None:
    password = mongo_uri.split(":")[2].split("@")[0]
    wrong = mongo_uri.replace(password, "not-the-one")
    with pytest.raises(StoreRefused, match=r"refused the user hms.*authSource") as caught:
        Store.connect(wrong, database=database)
    assert "not-the-one" not in str(caught.value)


def test_no_credentials_are_refused_too(mongo_uri: str, database: str) -> None:
    anonymous = "mongodb://" + mongo_uri.partition("@")[2]
    with pytest.raises(StoreRefused, match=r"refused the user \(none given\)"):
        Store.connect(anonymous, database=database)


@pytest.mark.parametrize(
    "uri",
    ["http://me:s3cret@host", "localhost", "mongodb://me:s3cret@host:port/", "mongodb://u:s3cret:x@h/", "mongodb://"],
)
def test_what_is_no_uri_is_a_usage_error_without_the_password(uri: str) -> None:
    with pytest.raises(UsageError, match="URI is not valid") as caught:
        Store.connect(uri)
    assert "s3cret" not in str(caught.value)


def test_safe_defaults_hold_unless_the_uri_says_otherwise(mongo_uri: str, database: str) -> None:
    with Store.connect(mongo_uri, database=database) as store:
        assert store._jobs.write_concern.document == {"w": "majority", "j": True}
        assert store._client.options.retry_writes is True
    with Store.connect(f"{mongo_uri}&w=1&retryWrites=false&readConcernLevel=local", database=database) as store:
        assert store._jobs.write_concern.document == {"w": 1, "j": True}
        assert store._client.options.retry_writes is False
        assert store._jobs.read_concern.level == "local"


def test_the_representation_holds_no_password(store: Store, mongo_uri: str) -> None:
    password = mongo_uri.split(":")[2].split("@")[0]
    assert password not in repr(store) and "127.0.0.1" in repr(store)


@pytest.fixture
def encrypted(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A real replica set that asks for TLS and a password: its address, and the authority's certificate."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is needed to make a certificate")
    key, certificate, both = (tmp_path / name for name in ("key.pem", "cert.pem", "both.pem"))
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-days", "2", "-nodes"]
    files = ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run([openssl, "req", "-x509", "-newkey", "rsa:2048", *subject, *files], check=True, capture_output=True)
    both.write_text(key.read_text() + certificate.read_text())
    secret = tmp_path / "keyfile"
    secret.write_text("abcdefghijklmnopqrstuvwxyz")
    secret.chmod(0o600)
    (tmp_path / "data").mkdir()
    port = free_port()
    options = ["--dbpath", str(tmp_path / "data"), "--port", str(port), "--bind_ip", "127.0.0.1", "--nounixsocket"]
    options += [
        "--tlsMode",
        "requireTLS",
        "--tlsCertificateKeyFile",
        str(both),
        "--replSet",
        "lab",
        "--keyFile",
        str(secret),
    ]
    with subprocess.Popen([str(find_mongod()), *options], stdout=subprocess.DEVNULL) as server:
        tls = {"tls": True, "tlsCAFile": str(certificate), "directConnection": True}
        with MongoClient[dict[str, Any]]("localhost", port, **tls) as client:
            members = [{"_id": 0, "host": f"localhost:{port}"}]
            client.admin.command("replSetInitiate", {"_id": "lab", "members": members})
            while not client.admin.command("hello")["isWritablePrimary"]:
                time.sleep(0.05)
            client.admin.command("createUser", "ann", pwd="p@ss:w/rd", roles=["root"])
        yield f"localhost:{port}", certificate
        server.terminate()


def test_tls_and_authentication_come_from_the_uri_alone(encrypted: tuple[str, Path]) -> None:
    address, authority = encrypted
    login = "mongodb://ann:p%40ss%3Aw%2Frd@"
    options = f"replicaSet=lab&authSource=admin&tls=true&tlsCAFile={quote_plus(str(authority))}"
    with Store.connect(f"{login}{address}/?{options}") as store:
        store.insert([new_job_document("s", 0, params={}, seed=0)])
        job = store.reserve("s", "w")
        assert job is not None
        store.record(job, 5, {"hms": 0.1})
        store.finish(job, {"status": "ok", "loss": -0.1})
        assert store.counts("s")["DONE"] == 1
    with pytest.raises(StoreUnreachable, match="certificate") as untrusted:
        Store.connect(f"{login}{address}/?replicaSet=lab&tls=true", timeout_seconds=1)
    with pytest.raises(StoreUnreachable) as plain:
        Store.connect(f"{login}{address}/?replicaSet=lab", timeout_seconds=1)
    for caught in (untrusted, plain):
        assert "p@ss" not in str(caught.value) and "p%40ss" not in str(caught.value)
