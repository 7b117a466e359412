import pytest
from pymongo import MongoClient

from psychophysics.server.store.contract import Newcomer
from psychophysics.server.store.mongo import MongoStore
from psychophysics.server.store.opening import open_answers
from psychophysics.server.store.sqlite import SqliteStore
from psychophysics.session_plan import Place
from search.errors import StoreUnreachable, UsageError


def test_answers_lie_in_the_studys_folder_or_where_a_file_says(drawn_study, mongo_uri, tmp_path):
    frozen, _, folder = drawn_study
    store = open_answers(folder, frozen)
    assert isinstance(store, SqliteStore) and str(store) == str(folder.answers)
    store.close()
    (tmp_path / "uri").write_text(mongo_uri + "\n")
    (tmp_path / "uri").chmod(0o600)
    store = open_answers(folder, frozen, str(tmp_path / "uri"))
    assert isinstance(store, MongoStore) and mongo_uri.partition(":")[2].partition("@")[0] not in str(store)
    assert str(store).startswith("MongoDB at 127.0.0.1:") and str(store).endswith("study drawn")
    store.join(Newcomer("ann", "1", (1, 1), "code", "hash"), lambda people: Place("none", 0, 0), 1.0)
    store.close()
    with MongoClient(mongo_uri) as client:
        # No ObjectId: it would tell when somebody took part.
        assert list(client["hms"]["study_recruiters"].find({"_id": {"$regex": "drawn"}})) == [{"_id": "drawn/hash"}]


def test_what_is_no_store_is_refused_without_its_password(drawn_study, tmp_path):
    frozen, _, folder = drawn_study
    for text, told in (
        ("mongodb://u:geheim@h/", "--store holds a password"),
        ("postgres://u:geheim@h/", "--store is neither a mongodb:// URI nor a file"),
        ("nowhere", "--store is neither a mongodb:// URI nor a file: nowhere"),
    ):
        with pytest.raises(UsageError) as refused:
            open_answers(folder, frozen, text)
        assert told in str(refused.value) and "geheim" not in str(refused.value)
    (tmp_path / "uri").write_text("mongodb://u:geheim@h/")
    (tmp_path / "uri").chmod(0o644)
    with pytest.raises(UsageError, match="chmod 600"):
        open_answers(folder, frozen, str(tmp_path / "uri"))


def test_a_server_that_does_not_answer_is_named():
    with pytest.raises(StoreUnreachable, match=r"no MongoDB server answers at 127\.0\.0\.1:1 .*"):
        MongoStore.connect("mongodb://127.0.0.1:1/", timeout_seconds=0.2)
