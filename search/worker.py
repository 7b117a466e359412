"""A worker: reserve a trial, keep its lease, run it in a child process, write what it reports, give it back or finish.

One worker serves one device slot. All its traffic with the store is here; the child that trains talks to it by a pipe,
so that an outage of the store never interrupts training: messages wait in order and are written when it is back.
"""

import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from search.config import SearchConfig
from search.errors import DocumentRefused, LeaseLost, StoreUnreachable
from search.order import TrialOrder
from search.paths import RunFolder
from search.process_identity import ProcessIdentity
from search.provenance import provenance
from search.store import Job, State, Store
from search.trial_process import LEARNERS, child_main

POLL_SECONDS = 0.05
IDLE_SECONDS = 0.1
IDLE_LIMIT = 1.0
PROGRESS_SECONDS = 2.0
REAP_SECONDS = 10.0

Say = Callable[[str], None]


@dataclass(frozen=True)
class Slot:
    """Where trials of one worker run: a device such as `cpu` or `cuda:1`, and the CPU threads it may use."""

    device: str
    threads: int
    number: int = 0

    def offers(self) -> dict[str, Any]:
        """The device classes and precisions that this slot can give a trial."""
        kind = self.device.partition(":")[0]
        if kind == "cuda":
            import torch

            bf16 = torch.cuda.is_available() and torch.cuda.is_bf16_supported()
        else:
            bf16 = True
        return {"device_class": kind, "precision": ["fp32", "bf16"] if bf16 else ["fp32"]}


class Worker:
    """Serves trials of one search until it is finished or the worker is asked to stop."""

    def __init__(
        self,
        store: Store,
        config: SearchConfig,
        slot: Slot,
        *,
        folder: RunFolder,
        data_root: Path,
        allow_mixed: bool = False,
        say: Say = print,
        on_outage: Callable[[], object] = lambda: None,
    ) -> None:
        self.store, self.config, self.slot = store, config, slot
        self.folder, self.data_root, self.allow_mixed, self.say = folder, data_root, allow_mixed, say
        self.on_outage = on_outage
        self.name = config.search.name
        self.owner = {**ProcessIdentity.current().to_dict(), "device": slot.device, "slot": slot.number}
        self.stopping = threading.Event()
        self.processes = multiprocessing.get_context("forkserver")
        learner = LEARNERS[config.training.learner].partition(":")[0]
        self.processes.set_forkserver_preload(["search.trial", learner])

    def stop_on_signals(self) -> None:
        """SIGTERM, SIGUSR1 and SIGINT: checkpoint, give the trial back, exit 0. A second signal exits at once."""

        def handler(number: int, _frame: object) -> None:
            if self.stopping.is_set():
                os._exit(128 + number)
            self.stopping.set()

        for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT):
            signal.signal(number, handler)

    def run(self) -> int:
        """Serve until the search is finished or a signal came; the number of trials that this worker ended."""
        ended, idle, last_reap = 0, IDLE_SECONDS, 0.0
        self._warm_fork_server()
        self.say(f"worker {self.slot.number} of `{self.name}` is ready on {self.slot.device}")
        while not self.stopping.is_set():
            try:
                if time.monotonic() - last_reap > REAP_SECONDS:
                    self.store.reap(self.name)
                    last_reap = time.monotonic()
                job = self.store.reserve(
                    self.name, self.owner, require=self.slot.offers(), allow_mixed=self.allow_mixed
                )
                if job is None and self.store.search(self.name).get("finished"):
                    break
            except StoreUnreachable as error:
                self.say(f"waiting for the store: {error}")
                self.on_outage()
                self.stopping.wait(IDLE_LIMIT)
                continue
            if job is None:
                self.stopping.wait(idle)
                idle = min(idle * 1.5, IDLE_LIMIT)
                continue
            idle = IDLE_SECONDS
            ended += TrialRun(self, job).run()
        return ended

    def _warm_fork_server(self) -> None:
        """Pay the imports of the fork server once, before the first trial is reserved."""
        process = self.processes.Process(target=time.sleep, args=(0,))
        process.start()
        process.join()


class TrialRun:
    """One attempt at one trial: the child process, the lease, and the messages between the child and the store."""

    def __init__(self, worker: Worker, job: Job) -> None:
        self.worker, self.job = worker, job
        self.store, self.config = worker.store, worker.config
        self.lost = threading.Event()
        self.ended = threading.Event()
        self.progress: dict[str, Any] = {}
        self.waiting: deque[tuple[str, dict[str, Any]]] = deque()
        self.store_seconds = 0.0
        self.outcome: str | None = None

    def run(self) -> int:
        """Run to an outcome; 1 when the trial ended here (DONE or ERROR), else 0."""
        worker, job = self.worker, self.job
        worker.say(f"trial {job.tid}: attempt {job.attempt} on {worker.slot.device}")
        receiver, sender = worker.processes.Pipe(duplex=False)
        child = worker.processes.Process(target=child_main, args=(self._order(), sender), daemon=False)
        child.start()
        sender.close()
        beat = threading.Thread(target=self._heartbeats, daemon=True, name="heartbeat")
        beat.start()
        try:
            self._serve(child, receiver)
        finally:
            self.ended.set()
            if child.is_alive():
                child.kill()
            child.join()
            receiver.close()
            beat.join()
        worker.say(f"trial {job.tid}: {self.outcome}")
        return int(self.outcome in ("done", "error"))

    def _order(self) -> TrialOrder:
        worker, job = self.worker, self.job
        stored = job.checkpoint
        finished: tuple[float, ...] = ()
        if self.config.stopping.threshold_sd is not None:
            done = [document for document in self.store.jobs(worker.name) if document["state"] == State.DONE]
            finished = tuple(d["result"]["hms"] for d in done if d["result"].get("hms") is not None)
        return TrialOrder(
            name=worker.name,
            tid=job.tid,
            seed=job.seed,
            params=dict(job.params),
            config=self.config,
            folder=worker.folder.trial(job.tid),
            data_root=worker.data_root,
            device=worker.slot.device,
            threads=worker.slot.threads,
            checkpoints=tuple(dict(info) for info in (stored, (stored or {}).get("previous")) if info),
            history=tuple(self.store.epochs(worker.name, job.tid)),
            finished_hms=finished,
        )

    def _serve(self, child: Any, receiver: Any) -> None:
        """Move messages from the child to the store until there is an outcome."""
        deadline: float | None = None
        open_pipe = True
        while self.outcome is None:
            if self.lost.is_set():
                self.outcome = "taken over or cancelled; nothing more is written"
                return
            if self.worker.stopping.is_set() and deadline is None:
                os.kill(child.pid, signal.SIGTERM)
                deadline = time.monotonic() + self.config.search.grace_seconds
            if open_pipe and receiver.poll(POLL_SECONDS):
                try:
                    self.waiting.append(receiver.recv())
                except (EOFError, OSError):
                    open_pipe = False
            self._flush()
            if self.outcome is None and not self.waiting:
                if deadline is not None and time.monotonic() > deadline:
                    child.kill()
                    self.waiting.append(("preempted", {}))
                elif not open_pipe:
                    child.join()
                    # Asked to stop before it could listen, it is no crash.
                    how = "crashed" if deadline is None else "preempted"
                    self.waiting.append((how, {"exitcode": child.exitcode}))

    def _flush(self) -> None:
        """Write waiting messages in order; what the store cannot take now stays for the next turn."""
        while self.waiting and self.outcome is None:
            kind, payload = self.waiting[0]
            started = time.perf_counter()
            try:
                self._write(kind, payload)
            except StoreUnreachable as error:
                self.worker.say(f"trial {self.job.tid}: the store is away, {len(self.waiting)} messages wait: {error}")
                self.worker.on_outage()
                if self.worker.stopping.is_set():
                    self.outcome = "left to its lease: the store was away at the end"
                return
            except LeaseLost:
                self.lost.set()
                return
            except DocumentRefused as error:
                self.waiting[0] = ("error", {"message": str(error), "traceback": ""})
                continue
            finally:
                self.store_seconds += time.perf_counter() - started
            self.waiting.popleft()

    def _write(self, kind: str, payload: dict[str, Any]) -> None:
        store, job = self.store, self.job
        match kind:
            case "begin":
                store.begin_attempt(job, payload["epoch"])
                self.progress = {"epoch": payload["trained"], "epochs": payload["epochs"]}
            case "progress":
                self.progress = {**self.progress, **payload}
            case "epoch":
                store.record(job, payload["epoch"], {key: payload[key] for key in payload if key != "epoch"})
                shown = {key: payload[key] for key in ("hms", "mse", "accuracy")}
                self.progress = {**self.progress, "evaluated": payload["epoch"], **shown}
            case "checkpoint":
                store.set_checkpoint(job, payload)
            case "warning":
                self.worker.say(f"trial {job.tid}: {payload['message']}")
            case "done":
                result = payload["result"]
                result["seconds"]["store"] = self.store_seconds
                result["device"], result["threads"] = self.worker.slot.device, self.worker.slot.threads
                result["precision"] = self.config.training.precision
                result["provenance"] = provenance()
                store.finish(job, result)
                self.outcome = "done"
            case "preempted":
                store.requeue(job, reason="preempted")
                self.outcome = "given back"
            case "error":
                store.fail(job, payload["message"], payload["traceback"])
                self.outcome = "error"
            case "crashed":
                store.release(job.name, self.worker.owner)
                self.outcome = f"crashed: the trial's process ended with exit code {payload['exitcode']}"

    def _heartbeats(self) -> None:
        """Renew the lease, more often while there is progress to show; a miss means that the trial was taken."""
        sent: dict[str, Any] = {}
        last = time.monotonic()
        while not self.ended.wait(PROGRESS_SECONDS):
            progress = self.progress
            if progress == sent and time.monotonic() - last < self.config.search.heartbeat_seconds:
                continue
            try:
                if not self.store.heartbeat(self.job, progress=progress):
                    self.lost.set()
                    return
                sent, last = progress, time.monotonic()
            except StoreUnreachable:
                continue
