"""Who gets at the embedded server: this machine only, by a password that its owner alone can read."""

import os
import stat
from pathlib import Path
from typing import Any

import psutil
import pytest
from pymongo import MongoClient
from pymongo.errors import OperationFailure

from search.mongod import EmbeddedServer
from search.mongod.folder import ServerFolder

GIVEN = Path(os.environ["HMS_TEST_MONGOD"]) if "HMS_TEST_MONGOD" in os.environ else None


def test_only_its_owner_on_this_machine_gets_at_it(tmp_path: Path) -> None:
    folder = ServerFolder(tmp_path)
    folder.root.mkdir(mode=0o755)
    server = EmbeddedServer(tmp_path, GIVEN)
    server.join()
    try:
        listening = [c for c in psutil.Process(server.pid).net_connections("inet") if c.status == psutil.CONN_LISTEN]
        assert [address.laddr.ip for address in listening] == ["127.0.0.1"]
        assert not any(path.is_socket() for path in Path("/tmp").glob(f"mongodb-{listening[0].laddr.port}.sock"))
        anonymous = "mongodb://" + server.uri.partition("@")[2]
        with MongoClient[dict[str, Any]](anonymous) as client:
            for read in (lambda: client["hms"]["jobs"].find_one(), client.list_database_names):
                with pytest.raises(OperationFailure, match="requires authentication"):
                    read()
            with pytest.raises(OperationFailure, match="authentication"):
                client.admin.command("createUser", "me", pwd="x", roles=["root"])
        # The folder keeps others out of everything in it; what holds a secret is private by itself as well.
        for path, mode in ((folder.root, 0o700), (folder.data, 0o700), (folder.state, 0o600), (folder.uri, 0o600)):
            assert stat.S_IMODE(path.stat().st_mode) == mode, path
        password = server.uri.split(":")[2].split("@")[0]
        for path in (path for path in folder.root.iterdir() if path.is_file() and path.stat().st_mode & 0o077):
            assert password.encode() not in path.read_bytes(), path
    finally:
        server.leave()


def test_each_folder_has_secrets_of_its_own(tmp_path: Path) -> None:
    folders = [ServerFolder(tmp_path / name) for name in ("a", "b")]
    for folder in folders:
        folder.prepare()
    states = [folder.read_state() for folder in folders]
    assert states[0].password != states[1].password and min(len(state.password) for state in states) >= 32
    assert folders[0].key.read_text() != folders[1].key.read_text()
    assert all(stat.S_IMODE(folder.key.stat().st_mode) == 0o600 for folder in folders)
