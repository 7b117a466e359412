"""A laboratory's server with TLS and passwords: nothing shows them, a reader can look, and no document runs code."""

import dataclasses
import gzip
import hashlib
import json
import pickle
import threading
from pathlib import Path

import pandas as pd
import psutil
import pytest
import torch

from search.config_reader import load_config
from search.store import State, Store, new_job_document

READING = (
    ("status", "toy"),
    ("workers",),
    ("log", "toy", "--tid", "0"),
    ("export", "toy"),
    ("report", "toy"),
    ("backup", "toy", "toy.jsonl.gz"),
)
WRITING = (
    ("run", "toy.yaml"),
    ("driver", "toy.yaml"),
    ("worker", "--name", "toy"),
    ("retry", "toy", "--state", "failed"),
    ("cancel", "toy"),
    ("forget", "toy", "--yes", "--force"),
)
FINISHED = {"status": "ok", "loss": -0.1, "hms": 0.1, "hms_status": "ok", "epochs_trained": 5, "finish": "max_epochs"}


class Bomb:
    """Unpickled, it leaves a trace."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self):
        return Path.touch, (self.target,)


@pytest.fixture
def cwd(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def prepared(store, hms, **changed):
    """The search `toy` of `hms.config`, said to be finished, so that workers leave when no trial waits."""
    config = load_config(hms.config)
    document = config.document()
    document["search"] |= changed
    store.create_or_resume("toy", config=document, hashes=config.hashes(), provenance={})
    store.update_search("toy", finished=True, max_trials=1, command="hms run toy.yaml")


def command_lines(seen, over):
    """Collect the command line of every process of this machine."""
    while not over.wait(0.2):
        for process in psutil.process_iter():
            try:
                seen.add("\0".join(process.cmdline()))
            except psutil.Error:
                continue


def test_the_password_of_a_search_stands_nowhere(hms, lab, lab_database, cwd):
    address = cwd / "address"
    address.write_text(lab.uri("worker") + "\n")
    address.chmod(0o600)
    hms.environment["HMS_MONGO"] = str(address)
    seen, over = set(), threading.Event()
    watch = threading.Thread(target=command_lines, args=(seen, over))
    watch.start()
    try:
        run = hms.start("run", str(hms.config), "--workers", "2")
        done = hms.wait(run)
    finally:
        over.set()
        watch.join()
    assert done.code == 0, done.err
    assert len({line for line in seen if f"--launcher\0{run.pid}" in line}) == 2, "the workers were seen"
    more = [hms.start(*command) for command in (("export", "toy"), ("backup", "toy", "toy.jsonl.gz"), ("log", "toy"))]
    said = [done, *[hms.wait(process) for process in more]]
    assert [each.code for each in said] == [0, 0, 0, 0], said
    texts = {f"process {line}": line.encode() for line in seen}
    texts |= {f"output {number}": (each.out + each.err).encode() for number, each in enumerate(said)}
    texts["backup"] = gzip.decompress((cwd / "toy.jsonl.gz").read_bytes())
    texts |= {str(path): contents(path) for path in hms.results.rglob("*") if path.is_file()}
    for collection in lab_database.list_collection_names():
        texts[collection] = json.dumps(list(lab_database[collection].find()), default=str).encode()
    assert {"jobs", "searches", "workers", str(hms.results / "toy" / "report" / "report.html")} <= texts.keys()
    assert lab_database["jobs"].count_documents({"state": 2}) == 4 and not (hms.results / ".mongod").exists()
    showing = [name for name, text in texts.items() if any(form in text for form in lab.forms)]
    assert not showing


def contents(path):
    if path.suffix == ".parquet":
        return pd.read_parquet(path).to_csv().encode()
    return path.read_bytes()


def test_a_reader_can_look_and_is_told_what_else_takes(hms, lab, lab_database, cwd):
    with Store.connect(lab.uri("worker")) as store:
        prepared(store, hms)
        # A column of numbers and text, and an error that a page must not take for its own.
        points = {"learning_rate": 0.1, "epochs": 5}, {"learning_rate": "'0.1'", "epochs": 5}
        store.insert(new_job_document("toy", tid, params=params, seed=0) for tid, params in enumerate(points))
        job = store.reserve("toy", "w")
        store.record(job, 5, {"hms": 0.1, "mse": 0.1, "accuracy": 0.1, "stable": False})
        store.finish(job, FINISHED)
        store.fail(store.reserve("toy", "w"), "<script>alert()</script>")
        store.update_search("toy", finished=False)  # of a finished one nothing could be cancelled
    before = list(lab_database["jobs"].find()), list(lab_database["searches"].find())
    hms.environment["HMS_MONGO"] = lab.uri("reader")
    started = [(command, hms.start(*command)) for command in READING + WRITING]
    for command, process in started:
        done = hms.wait(process)
        assert done.code == (0 if command in READING else 3), (command, done.err)
        if command in WRITING:
            assert "user reader has no right to" in done.err and "role readWrite" in done.err, done.err
        assert "Traceback" not in done.err and not any(form.decode() in done.err + done.out for form in lab.forms)
    assert before == (list(lab_database["jobs"].find()), list(lab_database["searches"].find()))
    assert (cwd / "toy.jsonl.gz").exists()
    page = (hms.results / "toy" / "report" / "report.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page and "\\u003cscript>alert" in page


def test_no_document_runs_code_and_each_trial_ends(hms, lab, lab_database, cwd):
    canary, trial = cwd / "canary", hms.results / "toy" / "trials" / "000002"
    call = f"__import__('pathlib').Path({str(canary)!r}).touch()"
    trial.mkdir(parents=True)
    torch.save(Bomb(canary), trial / "checkpoint-evil.pt")
    digest = hashlib.sha256((trial / "checkpoint-evil.pt").read_bytes()).hexdigest()
    poison = {
        0: {"params.epochs": call},
        1: {"params.$where": call, "misc.cmd": ["domain_attachment", "FMinIter_Domain"], "misc.x": pickled(canary)},
        2: {"checkpoint": {"epoch": 5, "trained": 5, "file": "checkpoint-evil.pt", "sha256": digest, "previous": None}},
        3: {
            "params.learner": "os:system",
            "requires.__class__": "os:system",
            "spec": pickled(canary),
        },
    }
    with Store.connect(lab.uri("worker")) as store:
        prepared(store, hms, checkpoints="gridfs")
        params = {"learning_rate": 0.1, "epochs": 10}
        store.insert(new_job_document("toy", tid, params=params, seed=tid) for tid in poison)
        for tid, fields in poison.items():
            # By replacement: an update would take `$where` for an operator.
            document = lab_database["jobs"].find_one({"tid": tid})
            for path, value in fields.items():
                *parents, last = path.split(".")
                inner = document
                for parent in parents:
                    inner = inner[parent]
                inner[last] = value
            lab_database["jobs"].replace_one({"tid": tid}, document)
        job = store.reserve("toy", "w")
        store.put_file(dataclasses.replace(job, tid=2), trial / "checkpoint-evil.pt")
        store.requeue(job, "a test")
        (trial / "checkpoint-evil.pt").unlink()
    hms.environment["HMS_MONGO"] = lab.uri("worker")
    served = hms("worker", "--name", "toy")
    assert served.code == 0 and "fetched checkpoint-evil.pt" in served.out, served.err
    trials = list(lab_database["jobs"].find().sort("tid", 1))
    assert [State(trial["state"]).name for trial in trials] == ["ERROR", "DONE", "DONE", "DONE"]
    assert "invalid literal for int()" in trials[0]["error"]["message"]
    assert "checkpoint skipped" in served.out and trials[2]["result"]["epochs_trained"] == 10
    lab_database["searches"].update_one({}, {"$set": {"config.training.learner": "os:system"}})
    refused = hms("worker", "--name", "toy")
    assert refused.code == 2 and "training.learner" in refused.err and "os:system" in refused.err, refused.err
    assert not canary.exists()
    pickle.loads(pickled(canary))
    assert canary.exists(), "the pickles were live"


def pickled(target):
    return pickle.dumps(Bomb(target))


def test_a_wrong_password_is_one_message_with_its_user(hms, lab):
    hms.environment["HMS_MONGO"] = lab.uri("worker", password="not-of-the-lab")
    for command in (("status",), ("worker", "--name", "toy")):
        done = hms(*command)
        assert done.code == 3 and "refused the user worker" in done.err, done.err
        assert "of-the-lab" not in done.err + done.out and len(done.err.splitlines()) == 1


def test_a_password_on_the_command_line_is_refused(hms, lab):
    done = hms("status", "--mongo", lab.uri("worker"))
    assert done.code == 2 and "export HMS_MONGO=" in done.err and "of-the-lab" not in done.err
