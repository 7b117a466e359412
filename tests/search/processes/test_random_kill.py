"""Random kills under load: workers, drivers, server and trials, killed, stopped and continued with a seed.

    pytest -m chaos tests/search/processes/test_random_kill.py -s              a minute, as in CI
    HMS_CHAOS_SECONDS=600 HMS_CHAOS_SEED=7 pytest -m chaos tests/search/processes/test_random_kill.py -s

Two searches share a server, one with `rand`, one with `tpe`. At the end every trial is DONE exactly once, or rightly
ERROR after its crashes; one row an epoch. With `rand`, points and numbers equal those of undisturbed trials of the same
seeds; with `tpe`, each proposal is recomputed from the trials that it was made from.
"""

import collections
import os
import random
import signal
import subprocess
import time
from dataclasses import dataclass, field
from typing import Any

import psutil
import pytest

from search.config import SearchConfig
from search.config_reader import load_config
from search.driver import propose_point
from search.provenance import trial_seed
from search.space import expression
from search.store import Document
from search.store.contract import MAX_CRASHES

SECONDS = float(os.environ.get("HMS_CHAOS_SECONDS", "60"))
SEED = int(os.environ.get("HMS_CHAOS_SEED", "1"))
ALGORITHMS = ("rand", "tpe")
TRIALS = max(8, int(SECONDS * 0.25))
WORKERS = 2  # each search
DEEDS = {signal.SIGKILL: 4, signal.SIGTERM: 2, signal.SIGUSR1: 1, signal.SIGSTOP: 3}  # and how often
PAUSE_SECONDS = 2.0  # between two deeds, in the mean: trials of three seconds must get somewhere in between
SETTINGS = [f"search.max_trials={TRIALS}", "search.lease_seconds=4", "search.grace_seconds=3"]
SETTINGS += ["training.toy_seconds=0.08", "training.device=cpu"]
NUMBERS = ("finish", "stopped", "epochs_trained", "stable_epoch", "hms", "mse", "accuracy", "loss")

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(SECONDS * 3 + 180)]


@dataclass
class Cast:
    """The processes that a supervisor keeps alive, and a monkey that does not."""

    hms: Any
    roles: dict[str, list[str]]
    rng: random.Random
    running: dict[str, subprocess.Popen[str]] = field(default_factory=dict)
    due: dict[str, float] = field(default_factory=dict)
    stopped: list[tuple[float, psutil.Process]] = field(default_factory=list)
    deeds: collections.Counter[str] = field(default_factory=collections.Counter)

    def tend(self, *, patience: float) -> None:
        """Start what is missing after a while of at most `patience` seconds; continue what was stopped."""
        now = time.monotonic()
        for role, command in self.roles.items():
            process = self.running.get(role)
            if self.finished(role.split()[1]) or (process is not None and process.poll() is None):
                continue
            if self.due.setdefault(role, now + self.rng.uniform(0, patience)) <= now:
                if process is not None:
                    # Not read to its end, for which one would wait: a stopped child of a dead process keeps it open.
                    process.stdout.close()
                    process.stderr.close()
                    self.hms.started.remove(process)
                self.running[role] = self.hms.start(*command)
                del self.due[role]
        for entry in [entry for entry in self.stopped if entry[0] <= now]:
            self._send(entry[1], signal.SIGCONT)
            self.stopped.remove(entry)

    def finished(self, name: str) -> bool:
        """Whether a search's driver saw its end: every trial final, some of them perhaps in ERROR."""
        driver = self.running.get(f"driver {name}")
        return driver is not None and driver.poll() in (0, 4)

    def strike(self) -> None:
        """One deed to one process, whichever it is."""
        victims = self.hms.processes()
        if not victims:
            return
        victim = self.rng.choice(victims)
        (deed,) = self.rng.choices(list(DEEDS), list(DEEDS.values()))
        name = self._name(victim)
        if victim.pid == os.getpid() or (name == "mongod" and deed == signal.SIGUSR1):
            return  # the latter rotates its log; no harm, no news
        if self._send(victim, deed):
            self.deeds[f"{deed.name} {name}"] += 1
            if deed == signal.SIGSTOP:
                self.stopped.append((time.monotonic() + self.rng.uniform(0.2, 7.0), victim))

    def calm(self) -> None:
        """Continue all that is stopped."""
        for _, process in self.stopped:
            self._send(process, signal.SIGCONT)
        self.stopped.clear()

    @staticmethod
    def _name(process: psutil.Process) -> str:
        try:
            command = process.cmdline()
        except psutil.Error:
            return "gone"
        if process.name() == "mongod":
            return "mongod"
        return next((role for role in ("driver", "worker") if role in command), "trial")

    @staticmethod
    def _send(process: psutil.Process, deed: signal.Signals) -> bool:
        try:
            process.send_signal(deed)
        except psutil.Error:
            return False
        return True


def test_searches_survive_random_kills(hms, until, undisturbed):
    roles = {}
    for name in ALGORITHMS:
        settings = [word for setting in [*SETTINGS, f"search.algorithm={name}"] for word in ("--set", setting)]
        roles[f"driver {name}"] = ["driver", str(hms.config), "--name", name, *settings]
        # A worker that comes before its driver finds no search, and is started again.
        roles |= {f"worker {name} {number}": ["worker", "--name", name] for number in range(WORKERS)}
    cast = Cast(hms, roles, random.Random(SEED))
    begun = [hms.results / name / "trials" for name in ALGORITHMS]
    until(lambda: cast.tend(patience=0) or all(any(trials.glob("*/checkpoint-*")) for trials in begun))
    strikes = time.monotonic()
    ends = strikes + SECONDS
    while (now := time.monotonic()) < ends:
        cast.tend(patience=1.0)
        if strikes <= now:
            cast.strike()
            strikes = now + cast.rng.expovariate(1 / PAUSE_SECONDS)
        time.sleep(0.1)
    cast.calm()
    print(f"\nseed {SEED}, {SECONDS:g} s: {sum(cast.deeds.values())} deeds: {dict(cast.deeds)}")
    while not all(cast.finished(name) for name in ALGORITHMS):
        cast.tend(patience=0.5)
        assert time.monotonic() < ends + SECONDS + 120, [hms("status", name).out for name in ALGORITHMS]
        time.sleep(0.2)

    disturbed = 0
    for name in ALGORITHMS:
        config = load_config(hms.config, [*SETTINGS, f"search.algorithm={name}"], name)
        with hms.store() as store:
            documents, rows = {document["tid"]: document for document in store.jobs(name)}, store.epochs(name)
        lost = _check_whole(documents, rows)
        _check_proposals(config, documents)
        _check_equal(config, documents, rows, undisturbed)
        ways = collections.Counter((document["attempt"], document["preemptions"]) for document in documents.values())
        print(f"{name}: {len(documents)} trials, {lost} rightly lost; (attempts, pre-emptions): {dict(ways)}")
        disturbed += sum(document["attempt"] > 1 for document in documents.values())
    assert disturbed, "the run proves nothing"


def _check_whole(documents: dict[int, Document], rows: list[Document]) -> int:
    """Each trial once, one row an evaluated epoch; the number of trials in ERROR, each after its share of crashes."""
    assert sorted(documents) == list(range(TRIALS))
    keys = [(row["tid"], row["epoch"]) for row in rows]
    assert len(keys) == len(set(keys))
    failed = [document for document in documents.values() if document["state"] != 2]
    for document in documents.values():
        hows = [attempt["how"] for attempt in document["history"]]
        assert len(hows) == document["attempt"]
        if document in failed:
            assert document["error"]["message"].startswith("lost"), document["error"]
            crashes = [how for how in hows if how != "preempted"]
            assert set(crashes[-MAX_CRASHES:]) <= {"lease_expired", "worker_died"} and len(crashes) >= MAX_CRASHES
        else:
            assert hows[-1] == "finished" and hows.count("finished") == 1
    return len(failed)


def _check_proposals(config: SearchConfig, documents: dict[int, Document]) -> None:
    """Every point follows from the study's seed and the trials that `suggest` saw."""
    for tid, document in documents.items():
        seen = [documents[number] for number in document["seen"]]
        misc, _, params = propose_point(config, expression(config.space), tid, seen)
        assert (misc["vals"], params) == (document["misc"]["vals"], document["params"])
        assert document["seed"] == trial_seed(config.search.seed, tid)


def _check_equal(config: SearchConfig, documents: dict[int, Document], rows: list[Document], undisturbed: Any) -> None:
    """Numbers of trials that finished are those of a trial that nobody disturbed."""
    of_epoch = ("epoch", "hms", "mse", "accuracy", "window_sd", "stable")
    for tid, document in documents.items():
        if document["state"] != 2:
            continue
        result, expected = undisturbed(config, document)
        assert [document["result"][key] for key in NUMBERS] == [result[key] for key in NUMBERS]
        mine = [[row[key] for key in of_epoch] for row in rows if row["tid"] == tid]
        assert mine == [[row[key] for key in of_epoch] for row in expected]
