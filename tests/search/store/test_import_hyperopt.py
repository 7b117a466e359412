"""Trials of stock HyperOpt, adopted.

`MongoTrials` itself cannot run on PyMongo 4, so the documents are those of a real `fmin` in memory, with what its
MongoDB side adds, as the source of `hyperopt.mongoexp` has it: `_id`, `exp_key`, `misc.cmd`, owner (`HOST:PID`,),
errors as (type, message), attachments in GridFS.
"""

import importlib
import json
import pickle
import re
import sys
from datetime import UTC, datetime, timedelta

import gridfs
import numpy as np
import optuna
import pytest
from hyperopt import JOB_STATE_ERROR, STATUS_FAIL, STATUS_OK, Trials, fmin, hp, rand
from hyperopt.base import SONify
from pymongo import MongoClient

from metrics.errors import MetricError
from search.errors import StoreUnreachable, UsageError
from search.export import export_tables
from search.import_hyperopt import import_hyperopt, source_uri
from search.optuna_mirror import mirror
from search.paths import RunFolder
from search.report import write_report
from search.report.tables import read_tables
from search.run import stored_config
from search.store import State
from search.store.hyperopt_adapter import as_hyperopt_trials, best
from search.store.hyperopt_database import HyperoptDatabase

SPACE = {
    "lr": hp.loguniform("lr", -5, 0),
    "net": hp.choice("net", [{"kind": "a"}, {"kind": "b", "depth": hp.quniform("depth", 1, 5, 1)}]),
}
TRIALS = 40
PACKAGE = """
from metrics.metric import Metric

METRIC = Metric("blur", "Blur", "px", False, -9.0, 9.0, "", lambda network, inputs: {"blur": 0.5})
"""


class Poison:
    def __reduce__(self):
        return (pytest.fail, ("a pickle of the database was opened",))


def objective(point):
    if point["lr"] > 0.5:
        return {"status": STATUS_FAIL, "reason": "too hot"}
    return {"status": STATUS_OK, "loss": -point["lr"], "seconds": np.float32(2.5), "note": "text", "good": True}


def losses_in(page):
    """The column `Loss` of a report's table of trials."""
    data = json.loads(re.search(r'id="trials-data">(.*?)</script>', page, re.S)[1])
    return next(column["values"] for column in data["columns"] if column["title"] == "Loss")


@pytest.fixture(scope="module")
def stock():
    """What a real search of HyperOpt left in memory."""
    trials = Trials()
    seed = np.random.default_rng(5)
    fmin(objective, SPACE, rand.suggest, TRIALS, trials=trials, rstate=seed, verbose=False, show_progressbar=False)
    return trials


@pytest.fixture
def old(mongo_uri, database, stock):
    """A database as `MongoTrials` lays it out; yields the database, and its URI's way in."""
    with MongoClient(mongo_uri) as client:
        there = client[f"{database}-old"]
        begun = datetime(2020, 1, 1, tzinfo=UTC)
        for number, trial in enumerate(stock.trials):
            document = SONify({**trial, "exp_key": "old", "owner": ["node1:77"]})
            document["misc"] |= {"cmd": ["domain_attachment", "FMinIter_Domain"], "workdir": None}
            document |= {"book_time": begun, "refresh_time": begun + timedelta(seconds=number)}
            there.jobs.insert_one(document)
        for index in ("exp_key", "result.loss", "book_time"):
            there.jobs.create_index(index)
        gridfs.GridFS(there).put(pickle.dumps(Poison()), filename="FMinIter_Domain", exp_key="old")
        yield there, mongo_uri.replace("/?", f"/{database}-old?")
        client.drop_database(f"{database}-old")


@pytest.fixture
def source(old):
    _, uri = old
    with HyperoptDatabase.open(uri) as opened:
        yield opened


def test_the_trials_are_those_of_hyperopt(store, old, source, stock):
    before = [list(old[0][name].find()) for name in sorted(old[0].list_collection_names())]
    told = import_hyperopt(store, source, None, None, None)
    assert told["counts"] == {"DONE": TRIALS}
    back = as_hyperopt_trials(store.jobs("old"))
    assert back.vals == stock.vals and back.statuses() == stock.statuses() and STATUS_FAIL in back.statuses()
    assert back.losses() == stock.losses()
    assert best(store.jobs("old"))["tid"] == stock.best_trial["tid"]
    assert back.argmin == stock.argmin
    job = store.job("old", 3)
    assert (job["owner"], job["history"][0]["how"], job["attempt"]) == ("node1:77", "finished", 1)
    assert [list(old[0][name].find()) for name in sorted(old[0].list_collection_names())] == before


def test_export_and_report_show_them_and_say_so(store, source, stock, tmp_path):
    import_hyperopt(store, source, "old", "adopted", "-hms")
    folder = RunFolder.of(tmp_path, "adopted")
    exported = read_tables(export_tables(store, "adopted", folder, tmp_path / "no-data"))
    table = exported.trials.set_index("tid")
    finished = table[table["status"] == "ok"]
    for tid, point in finished.iterrows():
        vals = {label: values[0] if values else None for label, values in stock.trials[tid]["misc"]["vals"].items()}
        assert (point["param.lr"], point["hms"], point["loss"]) == (vals["lr"], vals["lr"], -vals["lr"])
        assert point["param.net"] == vals["net"]
        assert np.isnan(point["param.depth"]) == (vals["depth"] is None)
    assert set(finished["result.seconds"]) == {2.5} and "result.good" not in table
    assert table["seconds"].sum() == sum(range(TRIALS))
    page = write_report(exported.directory, tmp_path / "report").read_text()
    assert "Imported from HyperOpt at" in page and "hp.choice" in page
    assert losses_in(page) == [None if np.isnan(loss) else pytest.approx(loss, rel=1e-6) for loss in table["loss"]]
    for wrong in ("compared with human visual cortex", "Reduced sizes", "nan</td>", "nan /"):
        assert wrong not in page


def test_its_study_in_optuna_has_the_values_of_the_metric_that_the_loss_was(store, source, stock, tmp_path):
    url = f"sqlite:///{tmp_path}/study.db"
    losses = [loss for loss in stock.losses() if loss is not None]
    for name, loss_is, values in (
        ("mse", "mse", losses),
        ("hms", "-hms", [-loss for loss in losses]),
        ("no", None, []),
    ):
        import_hyperopt(store, source, "old", name, loss_is)
        mirror(store, name, url)
        study = optuna.load_study(study_name=name, storage=url)
        assert [trial.value for trial in study.trials if trial.value is not None] == values
        if values:
            assert study.direction.name == ("MINIMIZE" if name == "mse" else "MAXIMIZE")


def test_a_loss_that_is_no_metric_is_shown_as_a_loss(store, source, stock, tmp_path):
    import_hyperopt(store, source, None, None, None)
    tables = export_tables(store, "old", RunFolder.of(tmp_path, "old"), tmp_path / "no-data")
    page = write_report(tables, tmp_path / "report").read_text()
    assert losses_in(page) == [None if loss is None else pytest.approx(loss, rel=1e-6) for loss in stock.losses()]
    assert "its loss is taken for no metric" in page and "there is nothing to correlate" in page


def test_what_never_ended_is_cancelled_and_errors_keep_their_words(store, old, source):
    jobs = old[0].jobs
    jobs.update_one({"tid": 0}, {"$set": {"state": 1}})
    jobs.update_one({"tid": 1}, {"$set": {"state": 0, "book_time": None, "owner": None}})
    jobs.update_one({"tid": 2}, {"$set": {"state": JOB_STATE_ERROR, "error": ["<class 'ValueError'>", "bad"]}})
    jobs.update_one({"tid": 3}, {"$set": {"result": {"status": "ok", "loss": float("nan")}}})
    twice = jobs.find_one({"tid": 4}, {"_id": False})
    jobs.insert_one({**twice, "version": twice["version"] + 1, "result": {"status": "ok", "loss": 7.0}})
    told = import_hyperopt(store, source, None, None, "mse")
    assert told["counts"] == {"DONE": TRIALS - 3, "CANCEL": 2, "ERROR": 1}
    assert any("2 trials that never ended" in note for note in told["notes"])
    assert any("1 trials stored more than once" in note for note in told["notes"])
    found = store.jobs("old")
    assert [State(job["state"]).name for job in found[:4]] == ["CANCEL", "CANCEL", "ERROR", "DONE"]
    assert found[2]["error"]["message"] == "<class 'ValueError'>: bad"
    assert found[3]["result"]["status"] == "fail" and "mse" not in found[3]["result"]
    assert (found[4]["result"]["mse"], found[4]["result"]["mse_status"]) == (7.0, "ok")


BROKEN = (
    {"tid": "abc"},
    {"state": 9},
    {"book_time": "yesterday"},
    {"misc": "text"},
    {"result": [1, 2]},
    {"misc.vals.x": [float("nan")]},
)


def test_documents_that_cannot_be_read_are_left_out_and_named(store, old, source):
    jobs = old[0].jobs
    for tid, fields in enumerate(BROKEN):
        jobs.update_one({"tid": tid}, {"$set": fields})
    jobs.update_one({"tid": len(BROKEN)}, {"$unset": {"tid": True}})
    nameless = jobs.find_one({"tid": {"$exists": False}})["_id"]
    told = import_hyperopt(store, source, None, None, None)
    assert any(f"trial ? ({nameless}): KeyError" in note for note in told["notes"])
    left_out = len(BROKEN) + 1
    assert [job["tid"] for job in store.jobs("old")] == list(range(left_out, TRIALS))
    assert any(f"{left_out} stored trials are left out" in note and "trial 1 (" in note for note in told["notes"])
    jobs.update_many({}, {"$set": {"misc": "text"}})
    with pytest.raises(UsageError, match="no trial of 'neu' can be read; the first: trial"):
        import_hyperopt(store, source, None, "neu", None)
    assert store.names() == ["old"]


def test_its_loss_may_be_a_metric_of_a_package(store, source, stock, install_metric, monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(install_metric(PACKAGE, metric="blur"))
    importlib.invalidate_caches()
    monkeypatch.delitem(sys.modules, "sharp_metric", raising=False)
    with pytest.raises(UsageError, match=r"--loss-is=-blur: of blur lower is better.*: --loss-is=blur"):
        import_hyperopt(store, source, None, None, "-blur")
    with pytest.raises(UsageError, match=r"of accuracy higher is better.*: --loss-is=-accuracy"):
        import_hyperopt(store, source, None, None, "accuracy")
    with pytest.raises(MetricError, match="`blurr` is no metric on this machine: did you mean `blur`"):
        import_hyperopt(store, source, None, None, "blurr")
    assert store.names() == []
    import_hyperopt(store, source, None, None, "blur")
    exported = read_tables(export_tables(store, "old", RunFolder.of(tmp_path, "old"), tmp_path / "no-data"))
    assert list(exported.metrics)[-1] == "blur" and not exported.metrics["blur"].higher_is_better
    finished = exported.trials[exported.trials["status"] == "ok"]
    assert list(finished["blur"]) == [loss for loss in stock.losses() if loss is not None]


def test_which_search_must_be_clear(store, old, source):
    old[0].jobs.update_many({"tid": {"$gte": 30}}, {"$set": {"exp_key": None}})
    old[0].jobs.update_many({"tid": {"$lt": 10}}, {"$set": {"exp_key": "a key: odd"}})
    with pytest.raises(UsageError, match=r"holds these exp_keys: \(none\), a key: odd, old. Choose one: --exp-key"):
        import_hyperopt(store, source, None, None, None)
    with pytest.raises(UsageError, match="Choose one"):
        import_hyperopt(store, source, "nothing", None, None)
    with pytest.raises(UsageError, match=r"'a key: odd' is no name.*--name NEW"):
        import_hyperopt(store, source, "a key: odd", None, None)
    assert import_hyperopt(store, source, "a key: odd", "odd", None)["counts"] == {"DONE": 10}
    assert import_hyperopt(store, source, "old", None, None)["counts"] == {"DONE": 20}
    with pytest.raises(UsageError, match="already"):
        import_hyperopt(store, source, "old", None, None)
    assert store.names() == ["odd", "old"]


def test_an_imported_search_cannot_be_served(store, source):
    import_hyperopt(store, source, None, None, None)
    with pytest.raises(UsageError, match="imported from HyperOpt"):
        stored_config(store, "old")


@pytest.mark.parametrize("uri", ["mongodb://h:1", "mongodb://h:1/", "mongodb://h:1/?a=b", "mongodb://h:1/db/jobs"])
def test_a_uri_that_names_no_database(uri):
    with pytest.raises(UsageError, match="must name the database that HyperOpt used"):
        HyperoptDatabase.open(uri)


def test_a_server_that_is_not_there_and_passwords_on_the_command_line(tmp_path):
    with pytest.raises(StoreUnreachable, match=r"127\.0\.0\.1:9"):
        HyperoptDatabase.open("mongodb://127.0.0.1:9/db?serverSelectionTimeoutMS=200")
    with pytest.raises(UsageError, match=r"HyperOpt's own form; in MongoDB's words: mongodb://h:1/db$"):
        source_uri("mongo://h:1/db/jobs")
    with pytest.raises(UsageError, match=r"HyperOpt's own form.*in a file") as caught:
        source_uri("mongo://me:pa55word@h:1/db/jobs")
    assert "pa55word" not in str(caught.value)
    with pytest.raises(UsageError, match="write it to a file") as caught:
        source_uri("mongodb://me:pa55word@h/db")
    assert "pa55word" not in str(caught.value)
    file = tmp_path / "uri"
    file.write_text("mongodb://me:pa55word@h/db\n")
    file.chmod(0o600)
    assert source_uri(str(file)) == "mongodb://me:pa55word@h/db"
    assert source_uri("mongodb://h/db") == "mongodb://h/db"
