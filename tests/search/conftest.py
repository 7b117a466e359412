"""Prepared data that tests share; a laboratory's server: a real `mongod` that asks for TLS and a password."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus

import pytest
from pymongo import MongoClient

from metrics.stimuli92 import prepare_stimuli92
from prednet.data.demo import prepare_demo
from search.mongod import find_mongod
from search.mongod.process import free_port
from search.paths import stimuli_path

ROOT_PASSWORD = "r00t-of-the-laboratory"
ROLES = {
    "worker": [{"role": "readWrite", "db": "hms"}],
    "reader": [{"role": "read", "db": "hms"}],
    "nobody": [],
    "inserter": [{"role": "inserter", "db": "hms"}],
}


@pytest.fixture(scope="session")
def small_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An `HMS_DATA` with the 92 stimuli and the demo at 24x32, which tests may add to and change nothing of."""
    given = os.environ.get("HMS_TEST_DATA")
    if not given:
        pytest.skip("HMS_TEST_DATA is not set: it holds the 92 stimuli and the human RDMs")
    root = tmp_path_factory.mktemp("data")
    prepare_stimuli92(stimuli_path(root), source=Path(given) / "human92")
    prepare_demo(root / "video" / "demo-24x32", height=24, width=32)
    return root


@dataclass
class Lab:
    """`password` is everybody's but the administrator's; it has each character that a URI gives a meaning."""

    port: int
    folder: Path
    password: str = "p@ss:w/rd?#[%]&=+ ü-of-the-lab"

    @property
    def admin_uri(self) -> str:
        return self.uri("root", password=ROOT_PASSWORD, database="admin")

    def uri(
        self,
        user: str,
        *,
        password: str | None = None,
        host: str = "localhost",
        authority: str = "ca",
        database: str = "hms",
        options: str = "",
    ) -> str:
        login = f"{quote_plus(user)}:{quote_plus(self.password if password is None else password)}"
        tls = f"tls=true&tlsCAFile={quote_plus(str(self.folder / authority))}.pem"
        return f"mongodb://{login}@{host}:{self.port}/?authSource={database}&directConnection=true&{tls}{options}"

    @property
    def forms(self) -> list[bytes]:
        """The password as written, as in a URI, and a part that survives any encoding."""
        return [self.password.encode(), quote_plus(self.password).encode(), b"of-the-lab"]


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is needed to make certificates")
    folder = tmp_path_factory.mktemp("lab")
    _certificates(openssl, folder)
    lab = Lab(free_port(), folder)
    with subprocess.Popen(_command(lab), stdout=subprocess.DEVNULL) as server:
        try:
            _initiate(lab)
            yield lab
        finally:
            server.terminate()


@pytest.fixture
def lab_database(lab: Lab) -> Iterator[Any]:
    """The laboratory's database, as its administrator sees it; emptied at the end."""
    with MongoClient[dict[str, Any]](lab.admin_uri) as client:
        yield client["hms"]
        client.drop_database("hms")


def _certificates(openssl: str, folder: Path) -> None:
    """`ca.pem`, a server's certificate that it signed, and `other.pem`, another authority."""

    def run(*words: str) -> None:
        subprocess.run([openssl, *words], check=True, capture_output=True, cwd=folder)

    for name in ("ca", "other"):
        made = ("-keyout", f"{name}.key", "-out", f"{name}.pem", "-days", "2", "-subj", f"/CN={name}")
        run("req", "-x509", "-newkey", "rsa:2048", "-nodes", *made)
    run("req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=server", "-keyout", "server.key", "-out", "server.csr")
    (folder / "names").write_text("subjectAltName=DNS:localhost")
    signed = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "names")
    run("x509", "-req", "-in", "server.csr", "-out", "server.crt", *signed)
    (folder / "server.pem").write_text((folder / "server.key").read_text() + (folder / "server.crt").read_text())
    (folder / "keyfile").write_text("abcdefghijklmnopqrstuvwxyz")
    (folder / "keyfile").chmod(0o600)
    (folder / "data").mkdir()


def _command(lab: Lab) -> list[str]:
    given = os.environ.get("HMS_TEST_MONGOD")
    options = {
        "--dbpath": lab.folder / "data",
        "--port": lab.port,
        "--bind_ip": "127.0.0.1",
        "--replSet": "lab",
        "--keyFile": lab.folder / "keyfile",
        "--tlsMode": "requireTLS",
        "--tlsCertificateKeyFile": lab.folder / "server.pem",
        "--wiredTigerCacheSizeGB": 0.25,
    }
    words = [str(word) for pair in options.items() for word in pair]
    return [
        str(find_mongod(given)),
        *words,
        "--nounixsocket",
        "--setParameter",
        "diagnosticDataCollectionEnabled=false",
    ]


def _initiate(lab: Lab) -> None:
    tls: dict[str, Any] = {"tls": True, "tlsCAFile": str(lab.folder / "ca.pem"), "directConnection": True}
    with MongoClient[dict[str, Any]]("localhost", lab.port, **tls) as client:
        member = {"_id": 0, "host": f"localhost:{lab.port}"}
        client.admin.command("replSetInitiate", {"_id": "lab", "members": [member]})
        while not client.admin.command("hello")["isWritablePrimary"]:
            time.sleep(0.05)
        client.admin.command("createUser", "root", pwd=ROOT_PASSWORD, roles=["root"])
    with MongoClient[dict[str, Any]](lab.admin_uri) as client:
        writing = {"resource": {"db": "hms", "collection": ""}, "actions": ["find", "insert", "update", "listIndexes"]}
        client["hms"].command("createRole", "inserter", privileges=[writing], roles=[])
        for user, roles in ROLES.items():
            client["hms"].command("createUser", user, pwd=lab.password, roles=roles)
