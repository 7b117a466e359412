"""One attempt at one trial, seen from its worker: the child process, the lease, the messages between child and store.

The child that trains talks by a pipe. An outage of the store never interrupts it: messages wait in order and are
written when the store is back. Checkpoints are deleted only when the store knows their successors.
"""

import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any

from search.errors import DocumentRefused, LeaseLost, StoreError, StoreRefused
from search.order import TrialOrder
from search.provenance import provenance
from search.store import Job, State, waiting
from search.trial_process import child_main

if TYPE_CHECKING:
    from search.worker import Worker

POLL_SECONDS = 0.05
PROGRESS_SECONDS = 2.0
KEPT_CHECKPOINTS = 2


class Attempt:
    """Runs a reserved trial to an outcome."""

    def __init__(self, worker: "Worker", job: Job) -> None:
        self.worker, self.job = worker, job
        self.store, self.config = worker.store, worker.config
        self.folder = worker.folder.trial(job.tid)
        self.lost = threading.Event()
        self.ended = threading.Event()
        self.progress: dict[str, Any] = {}
        self.messages: deque[tuple[str, dict[str, Any]]] = deque()
        self.checkpoints = [dict(info) for info in _stored_checkpoints(job)]
        self.deadline: float | None = None
        self.store_seconds = 0.0
        self.outcome: str | None = None

    def run(self) -> int:
        """Run to an outcome; 1 when the trial ended here (DONE or ERROR), else 0."""
        worker, job = self.worker, self.job
        worker.say(f"trial {job.tid}: attempt {job.attempt} on {worker.slot.device}")
        order = waiting(self._order, on_wait=self._say_waiting, stop=worker.stopping)
        receiver, sender = worker.processes.Pipe(duplex=False)
        child = worker.processes.Process(target=child_main, args=(order, sender))
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

    def _say_waiting(self, error: StoreError, _seconds: float) -> None:
        self.worker.say(f"trial {self.job.tid} waits for the store: {error}")
        self.worker.on_outage()

    def _order(self) -> TrialOrder:
        worker, job = self.worker, self.job
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
            folder=self.folder,
            data_root=worker.data_root,
            device=worker.slot.device,
            threads=worker.slot.threads,
            checkpoints=tuple(self.checkpoints),
            history=tuple(self.store.epochs(worker.name, job.tid)),
            finished_hms=finished,
        )

    def _serve(self, child: Any, receiver: Any) -> None:
        """Move messages from the child to the store until there is an outcome."""
        open_pipe = True
        while self.outcome is None:
            if self.lost.is_set():
                self.outcome = "taken over or cancelled; nothing more is written"
                return
            if self.worker.asked_to_stop() and self.deadline is None:
                child.terminate()
                self.deadline = time.monotonic() + self.config.search.grace_seconds
            if open_pipe and receiver.poll(POLL_SECONDS):
                try:
                    self.messages.append(receiver.recv())
                except (EOFError, OSError):
                    open_pipe = False
            self._flush()
            if self.outcome is None and not self.messages:
                if self.deadline is not None and time.monotonic() > self.deadline:
                    child.kill()
                    self.messages.append(("preempted", {}))
                elif not open_pipe:
                    child.join()
                    # Asked to stop before it could listen, it is no crash.
                    how = "crashed" if self.deadline is None else "preempted"
                    self.messages.append((how, {"exitcode": child.exitcode}))

    def _flush(self) -> None:
        """Write waiting messages in order; what the store cannot take now stays for the next turn."""
        while self.messages and self.outcome is None:
            started = time.perf_counter()
            try:
                self._write(*self.messages[0])
            except LeaseLost:
                self.lost.set()
                return
            except DocumentRefused as error:
                self.messages[0] = ("error", {"message": str(error), "traceback": ""})
                continue
            except StoreRefused:
                raise
            except StoreError as error:
                self._wait_for_store(error)
                return
            finally:
                self.store_seconds += time.perf_counter() - started
            self.messages.popleft()

    def _wait_for_store(self, error: StoreError) -> None:
        self.worker.say(f"trial {self.job.tid}: {len(self.messages)} messages wait for the store: {error}")
        if self.deadline is not None and time.monotonic() > self.deadline:
            self.outcome = "left to its lease: the store was away at the end"
            return
        self.worker.on_outage()
        time.sleep(POLL_SECONDS)

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
                self._keep_checkpoint(payload)
            case "warning":
                self.worker.say(f"trial {job.tid}: {payload['message']}")
            case "done":
                store.finish(job, self._completed(payload["result"]))
                for file in self.folder.glob("checkpoint-*"):
                    file.unlink(missing_ok=True)
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

    def _keep_checkpoint(self, info: dict[str, Any]) -> None:
        """Delete what the store no longer names: it names this checkpoint and the one before."""
        self.checkpoints.insert(0, info)
        for old in self.checkpoints[KEPT_CHECKPOINTS:]:
            (self.folder / old["file"]).unlink(missing_ok=True)
        del self.checkpoints[KEPT_CHECKPOINTS:]

    def _completed(self, result: dict[str, Any]) -> dict[str, Any]:
        """The child's result with where and with what it was made."""
        slot = self.worker.slot
        return {
            **result,
            "seconds": {**result["seconds"], "store": self.store_seconds},
            "device": slot.device,
            "threads": slot.threads,
            "precision": self.config.training.precision,
            "provenance": provenance(),
        }

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
            except StoreError:
                continue  # the next one may get through; the lease outlives two of them


def _stored_checkpoints(job: Job) -> list[Any]:
    newest = job.checkpoint
    return [info for info in (newest, (newest or {}).get("previous")) if info]
