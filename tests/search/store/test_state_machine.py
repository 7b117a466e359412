"""The contract as a machine: the store and a plain model take the same random steps, and never differ.

Workers with reservations old and new, drivers, launchers, reapers and people act in any order. The model knows MongoDB
as little as the store's users do.
"""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from search.errors import LeaseLost
from search.store import Job, State, Store, new_job_document
from search.store.contract import MAX_CRASHES

TIDS = st.integers(0, 5)
OWNERS = st.sampled_from(["a", "b"])
EPOCHS = st.sampled_from([0, 5, 10, 15])
WHICH = st.integers(0, 10**6)
LONG = 1000.0
_names = (f"machine-{number}" for number in itertools.count())


@dataclass
class Trial:
    """What the contract says that a trial is."""

    state: State = State.NEW
    token: str | None = None
    owner: str | None = None
    expired: bool = False
    attempt: int = 0
    crashes: int = 0
    preemptions: int = 0
    resume_epoch: int = 0
    version: int = 0
    checkpoints: list[tuple[int, str]] = field(default_factory=list)  # newest first, two at most
    hows: list[str] = field(default_factory=list)
    rows: dict[int, tuple[int, float]] = field(default_factory=dict)  # epoch -> (attempt, hms)

    def crash(self, how: str) -> None:
        self.crashes += 1
        lost = self.crashes >= MAX_CRASHES
        self.state, self.token = (State.ERROR if lost else State.NEW), None
        self.owner = self.owner if lost else None
        self._end(how)

    def checkpoint(self, epoch: int, file: str) -> None:
        if not self.checkpoints or self.checkpoints[0][1] != file:
            self.checkpoints.insert(0, (epoch, file))
        self.checkpoints = [(epoch, file), *self.checkpoints[1:2]]
        if epoch > self.resume_epoch:
            self.crashes = 0

    def end(self, state: State, how: str | None) -> None:
        self.state = state
        self._end(how)

    def _end(self, how: str | None) -> None:
        self.expired = False
        self.version += 1
        self.hows += [how] if how else []


class Machine(RuleBasedStateMachine):
    """Each rule does the same to the store and to the model."""

    def __init__(self, store: Store, reaper: Store) -> None:
        super().__init__()
        self.store, self.reaper, self.name = store, reaper, next(_names)
        self.trials: dict[int, Trial] = {}
        self.jobs: list[Job] = []  # all reservations there ever were
        self.files = (f"checkpoint-{number}" for number in itertools.count())

    def running(self) -> dict[int, Trial]:
        return {tid: trial for tid, trial in self.trials.items() if trial.state == State.RUNNING}

    def waiting(self) -> list[int]:
        return [tid for tid, trial in sorted(self.trials.items()) if trial.state == State.NEW]

    def held(self, which: int) -> tuple[Job, Trial, bool]:
        """A reservation, three times of four one that holds; its trial; whether it holds."""
        tokens = {trial.token for trial in self.running().values()}
        holding = [job for job in self.jobs if job.token in tokens]
        choice = holding if holding and which % 4 else self.jobs
        job = choice[which // 4 % len(choice)]
        return job, self.trials[job.tid], job in holding

    def write(self, which: int, call: Callable[[Job], None], then: Callable[[Trial], None]) -> None:
        """A fenced write, which renews the lease or is refused."""
        job, trial, held = self.held(which)
        if not held:
            with pytest.raises(LeaseLost):
                call(job)
            return
        call(job)
        then(trial)
        trial.expired = False
        trial.version += 1

    @initialize()
    def begin(self) -> None:
        for tid in range(3):
            self.insert(tid)

    @precondition(lambda self: len(self.trials) < 6)
    @rule(tid=TIDS)
    def insert(self, tid: int) -> None:
        new = self.store.insert([new_job_document(self.name, tid, params={"lr": 0.1}, seed=tid)])
        assert new == (tid not in self.trials)
        self.trials.setdefault(tid, Trial())

    @precondition(lambda self: self.waiting())
    @rule(owner=OWNERS)
    def reserve(self, owner: str) -> None:
        job, waiting = self.store.reserve(self.name, owner), self.waiting()
        assert job is not None
        trial = self.trials[waiting[0]]
        assert job.token not in {old.token for old in self.jobs}
        trial.state, trial.token, trial.owner, trial.expired = State.RUNNING, job.token, owner, False
        trial.attempt += 1
        trial.version += 1
        newest = trial.checkpoints[0][1] if trial.checkpoints else None
        assert (job.tid, job.attempt, (job.checkpoint or {}).get("file")) == (waiting[0], trial.attempt, newest)
        self.jobs.append(job)

    @precondition(lambda self: self.jobs)
    @rule(which=WHICH)
    def heartbeat(self, which: int) -> None:
        job, trial, held = self.held(which)
        assert self.store.heartbeat(job) is held
        if held:
            trial.expired = False
            trial.version += 1

    @precondition(lambda self: self.jobs)
    @rule(which=WHICH, torn=st.booleans(), fresh=st.booleans())
    def begin_attempt(self, which: int, torn: bool, fresh: bool) -> None:
        """From the newest checkpoint, or the one before when it is torn, or the start."""
        _, trial, _ = self.held(which)
        skipped = [file for _, file in trial.checkpoints[: 2 if fresh else torn]]
        usable = [(epoch, file) for epoch, file in trial.checkpoints if file not in skipped]
        epoch = usable[0][0] if usable else 0

        def then(trial: Trial) -> None:
            trial.resume_epoch = epoch
            trial.checkpoints = [kept for kept in usable if kept[0] <= epoch]
            trial.rows = {at: row for at, row in trial.rows.items() if at <= epoch}

        self.write(which, lambda job: self.store.begin_attempt(job, epoch, skipped), then)

    @precondition(lambda self: self.jobs)
    @rule(which=WHICH, epoch=EPOCHS, hms=st.floats(-1, 1))
    def record(self, which: int, epoch: int, hms: float) -> None:
        def then(trial: Trial) -> None:
            trial.rows[epoch] = (trial.attempt, hms)

        self.write(which, lambda job: self.store.record(job, epoch, {"hms": hms}), then)

    @precondition(lambda self: self.jobs)
    @rule(which=WHICH, epoch=EPOCHS, repeated=st.booleans())
    def set_checkpoint(self, which: int, epoch: int, repeated: bool) -> None:
        file = next(self.files)

        def call(job: Job) -> None:
            for _ in range(1 + repeated):
                self.store.set_checkpoint(job, {"epoch": epoch, "file": file})

        def then(trial: Trial) -> None:
            trial.checkpoint(epoch, file)
            trial.version += repeated

        self.write(which, call, then)

    @precondition(lambda self: self.jobs)
    @rule(which=WHICH, how=st.sampled_from(["finished", "failed", "preempted", "preempted"]))
    def end(self, which: int, how: str) -> None:
        """The worker's own ends; each may be repeated after a lost answer."""
        job, trial, held = self.held(which)
        call, states = {
            "finished": (lambda: self.store.finish(job, {"status": "ok", "loss": 0.5}), (State.DONE,)),
            "failed": (lambda: self.store.fail(job, "boom", "trace"), (State.ERROR,)),
            "preempted": (lambda: self.store.requeue(job, "SIGTERM"), (State.NEW, State.ERROR)),
        }[how]
        if held:
            call()
            trial.end(states[0], how)
            if how == "preempted":
                trial.preemptions += 1
                trial.owner = None
        elif trial.token == job.token and trial.state in states:
            call()
        else:
            with pytest.raises(LeaseLost):
                call()

    @precondition(lambda self: self.running())
    @rule(which=WHICH)
    def lease_runs_out(self, which: int) -> None:
        tid = sorted(self.running())[which % len(self.running())]
        self.trials[tid].expired = True
        back = [{"$set": {"lease_until": {"$subtract": ["$$NOW", 1]}}}]
        self.store._jobs.update_one({"exp_key": self.name, "tid": tid}, back)

    @precondition(lambda self: any(trial.expired for trial in self.trials.values()))
    @rule()
    def reap(self) -> None:
        taken = [tid for tid, trial in sorted(self.running().items()) if trial.expired]
        assert self.reaper.reap(self.name) == taken
        for tid in taken:
            self.trials[tid].crash("lease_expired")

    @precondition(lambda self: self.running())
    @rule(owner=OWNERS)
    def release(self, owner: str) -> None:
        taken = [tid for tid, trial in sorted(self.running().items()) if trial.owner == owner]
        assert self.store.release(self.name, owner) == taken
        for tid in taken:
            self.trials[tid].crash("worker_died")

    @precondition(lambda self: len(self.trials) > 3)
    @rule(tid=TIDS)
    def cancel(self, tid: int) -> None:
        trial = self.trials.get(tid)
        if trial is None or trial.state not in (State.NEW, State.RUNNING):
            assert self.store.cancel(self.name, tid) == []
            return
        assert self.store.cancel(self.name, tid) == [tid]
        trial.end(State.CANCEL, "cancelled" if trial.state == State.RUNNING else None)
        trial.token = None

    @precondition(lambda self: any(trial.expired or trial.state == State.ERROR for trial in self.trials.values()))
    @rule(which=st.sampled_from(["failed", "stale"]))
    def retry(self, which: Any) -> None:
        def repeated(trial: Trial) -> bool:
            if which == "failed":
                return trial.state == State.ERROR
            return trial.state == State.RUNNING and trial.expired

        tids = [tid for tid, trial in sorted(self.trials.items()) if repeated(trial)]
        assert self.store.retry(self.name, which) == tids
        for tid in tids:
            trial = self.trials[tid]
            trial.end(State.NEW, "retried_stale" if which == "stale" else None)
            trial.token = trial.owner = None
            trial.crashes = trial.preemptions = 0

    @invariant()
    def the_store_is_as_the_model(self) -> None:
        rows = self.store.epochs(self.name)
        found = {
            job["tid"]: Trial(
                state=State(job["state"]),
                token=job["token"],
                owner=job["owner"],
                expired=self.trials[job["tid"]].expired,
                attempt=job["attempt"],
                crashes=job["crashes"],
                preemptions=job["preemptions"],
                resume_epoch=job["resume_epoch"],
                version=job["version"],
                checkpoints=list(_checkpoints(job["checkpoint"])),
                hows=[entry["how"] for entry in job["history"]],
                rows={row["epoch"]: (row["attempt"], row["hms"]) for row in rows if row["tid"] == job["tid"]},
            )
            for job in self.store.jobs(self.name)
        }
        assert found == self.trials
        assert len(rows) == sum(len(trial.rows) for trial in self.trials.values())


def _checkpoints(info: dict[str, Any] | None) -> Iterator[tuple[int, str]]:
    while info is not None:
        yield info["epoch"], info["file"]
        info = info.get("previous")


def test_the_store_and_a_plain_model_never_differ(connect: Callable[..., Store]) -> None:
    # A lease of nothing: this reaper never has to be connected for a while before it may judge.
    store, reaper = connect(lease_seconds=LONG), connect(lease_seconds=0.0)
    run_state_machine_as_test(
        lambda: Machine(store, reaper),
        settings=settings(
            max_examples=60,
            stateful_step_count=40,
            derandomize=True,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate],  # to shrink a failure takes minutes
        ),
    )
