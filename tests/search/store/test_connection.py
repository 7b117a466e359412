import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pymongo import MongoClient

from search.errors import StoreRefused, StoreUnreachable, UsageError
from search.mongod import find_mongod
from search.mongod.process import free_port
from search.store import Store


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


def test_a_server_that_is_too_old_is_refused_with_both_versions(
    mongo_uri: str, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with MongoClient[dict[str, Any]](mongo_uri) as client:
        major, minor = client.server_info()["versionArray"][:2]
    monkeypatch.setattr("search.store.connection.OLDEST_SERVER", (major, minor + 1))
    refusal = rf"is version {major}\.{minor}; {major}\.{minor + 1} or later is needed\. Upgrade it"
    with pytest.raises(StoreRefused, match=refusal):
        Store.connect(mongo_uri, database=database)
    monkeypatch.setattr("search.store.connection.OLDEST_SERVER", (major, minor))
    Store.connect(mongo_uri, database=database).close()


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
