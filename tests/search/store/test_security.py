"""A server with TLS, passwords and users of different rights: what each may do, and what is said when it may not."""

import re
import warnings
from typing import Any
from urllib.parse import quote_plus

import pytest

from search.errors import StoreRefused, StoreUnreachable, UsageError
from search.store import Store, new_job_document
from search.store.uri import holds_secret, hosts, options, redacted, user


def connect(uri: str, **settings: Any) -> Store:
    return Store.connect(uri, timeout_seconds=settings.pop("timeout_seconds", 10.0), **settings)


def filled(lab: Any) -> None:
    """A search `s` with one trial, made by a user who may write."""
    with connect(lab.uri("worker")) as store:
        store.create_or_resume("s", config={}, hashes={"space": "a", "training": "b"}, provenance={})
        store.insert([new_job_document("s", 0, params={}, seed=0)])


def test_everything_works_over_tls_with_a_password_of_special_characters(lab: Any, lab_database: Any) -> None:
    filled(lab)
    with connect(lab.uri("worker")) as store:
        job = store.reserve("s", "w")
        assert job is not None
        store.record(job, 5, {"hms": 0.1})
        store.finish(job, {"status": "ok", "loss": -0.1})
        assert store.counts("s")["DONE"] == 1
        assert lab.password not in repr(store) and quote_plus(lab.password) not in repr(store)
    assert lab_database["jobs"].index_information()["exp_key_1_tid_1"]["unique"]


@pytest.mark.parametrize(
    ("kind", "change", "words"),
    [
        (StoreUnreachable, {"authority": "other"}, r"certificate .* localhost:\d+ is not trusted.*tlsCAFile=FILE"),
        (StoreUnreachable, {"host": "127.0.0.1"}, r"not valid for '127\.0\.0\.1'.*host as the certificate does"),
        (StoreRefused, {"password": "of-the-lab-no-more"}, r"refused the user worker: Authentication failed\. Check"),
        (StoreRefused, {"database": "admin"}, r"refused the user worker.*authSource"),
        (UsageError, {"authority": "absent"}, "tlscafile file is not readable"),
    ],
)
def test_a_wrong_uri_is_one_clear_message(lab: Any, kind: type[Exception], change: dict[str, str], words: str) -> None:
    with pytest.raises(kind, match=words) as caught:
        connect(lab.uri("worker", **change), timeout_seconds=1.0)
    assert "of-the-lab" not in str(caught.value) and "\n" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_tls_on_one_side_only_is_named(lab: Any, mongo_uri: str) -> None:
    plain = re.sub("&tls.*", "", lab.uri("worker"))
    with pytest.raises(StoreUnreachable, match=r"connection closed\. If it asks for TLS, the URI needs tls=true"):
        connect(plain, timeout_seconds=1.0)
    with pytest.raises(StoreUnreachable, match=r"If it does not speak TLS, the URI must not say tls=true"):
        connect(f"{mongo_uri}&tls=true", timeout_seconds=1.0)


def test_who_may_only_read_reads_everything_and_is_told_what_is_missing_to_write(lab: Any, lab_database: Any) -> None:
    with connect(lab.uri("reader")) as empty:
        assert empty.names() == []
    filled(lab)
    with connect(lab.uri("reader")) as store:
        assert store.names() == ["s"] and store.counts("s")["NEW"] == 1 and store.epochs("s") == []
        assert store.search("s")["exp_key"] == "s" and store.job("s", 0) is not None and store.files("s") == []
        for write, command in (
            (lambda: store.insert([new_job_document("s", 1, params={}, seed=0)]), "insert"),
            (lambda: store.reserve("s", "w"), "findAndModify"),
            (lambda: store.cancel("s"), "update"),
            (lambda: store.update_search("s", finished=True), "update"),
            (lambda: store.remove_search("s"), "delete"),
        ):
            words = rf"user reader has no right to `{command}` in the database hms .*localhost.*role readWrite"
            with pytest.raises(StoreRefused, match=words) as caught:
                write()
            assert caught.value.exit_code == 3
    assert lab_database["jobs"].count_documents({"state": 0}) == 1


def test_who_may_not_even_read_is_told_so(lab: Any) -> None:
    with pytest.raises(StoreRefused, match=r"user nobody has no right to .* database hms .*role read,"):
        connect(lab.uri("nobody"))


def test_who_writes_must_have_the_indexes_that_keep_trials_unique(lab: Any, lab_database: Any) -> None:
    with pytest.raises(StoreRefused, match=r"user inserter has no right to `createIndexes`.*role readWrite"):
        connect(lab.uri("inserter"))
    filled(lab)
    with connect(lab.uri("inserter")) as store:
        assert store.insert([new_job_document("s", tid, params={}, seed=0) for tid in (0, 1)]) == 1
    lab_database["jobs"].drop_index("exp_key_1_tid_1")
    with pytest.raises(StoreRefused, match="createIndexes"):
        connect(lab.uri("inserter"))
    with connect(lab.uri("reader")) as reader:
        assert reader.counts("s")["NEW"] == 2


def test_a_password_that_is_not_percent_encoded_reaches_no_message_and_no_warning() -> None:
    """The driver would take `123` for a port and `Pa55` for an unknown option, and warn of it by name."""
    for uri in ("mongodb://ann:123?Pa55=w@mongo1/", "mongodb://ann:Pa55?w@mongo1/?w=1", "mongodb+srv://a:Pa55?@h.net/"):
        with warnings.catch_warnings(record=True) as warned, pytest.raises(UsageError) as caught:
            warnings.simplefilter("always")
            connect(uri)
        assert "percent-encoded" in str(caught.value)
        assert "pa55" not in f"{caught.value}{[w.message for w in warned]}".lower() and "123" not in str(caught.value)


def test_the_parts_of_a_uri() -> None:
    uri = "mongodb://an%40n:p%2Bw+d@a:1,b/db?TLS=true;authSource=%24external"
    assert user(uri) == "an@n" and hosts(uri) == "a:1,b" and options(uri) == {"tls": "true", "authsource": "$external"}
    assert redacted("p%2Bw+d, p+w+d and p+w d", uri) == "***, *** and ***"
    assert holds_secret(uri) and not holds_secret("mongodb://ann@a") and hosts("mongodb://ann:x@") == "(no host)"
