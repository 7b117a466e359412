"""One attempt at one trial, seen from its worker: the child process, the lease, the messages between child and store.

The child that trains talks by a pipe. An outage of the store never interrupts it: messages wait in order and are
written when the store is back. So do they while the files that a message names are sent to other workers. Checkpoints
are deleted only when the store knows their successors.
"""

import contextlib
import shutil
import threading
import time
from collections import deque
from concurrent.futures import Future, wait
from typing import TYPE_CHECKING, Any

from search.background import in_background, start
from search.checkpoints import ARTIFACTS, LOG, named_checkpoints
from search.errors import DocumentRefused, LeaseLost, StoreError, StoreRefused
from search.order import TrialOrder
from search.out_of_memory import explain_exit
from search.provenance import provenance
from search.store import Job, Patience, waiting
from search.trial_process import child_main

if TYPE_CHECKING:
    from search.worker import Worker

POLL_SECONDS = 0.05
PROGRESS_SECONDS = 2.0
KEPT_CHECKPOINTS = 2
NOT_FINISHED = ("error", "given back")
"""Outcomes after which no store can hold a result of this attempt: its artifacts belong to nothing."""
FILES_OF = {"done": ARTIFACTS, "error": (LOG,)}


class Attempt:
    """Runs a reserved trial to an outcome."""

    def __init__(self, worker: "Worker", job: Job) -> None:
        self.worker, self.job = worker, job
        self.store, self.config, self.files = worker.store, worker.config, worker.files
        self.folder, self.own_folder = worker.folder.trial(job.tid), worker.folder.attempt(job.tid, job.token)
        self.lost = threading.Event()
        self.ended = threading.Event()
        self.progress: dict[str, Any] = {}
        self.messages: deque[tuple[str, dict[str, Any]]] = deque()
        self.checkpoints = named_checkpoints(job)
        self.sending: Future[None] | None = None
        self.deadline: float | None = None
        self.patience, self.next_try = Patience(), 0.0
        self.store_seconds = 0.0
        self.outcome: str | None = None

    def run(self) -> int:
        """Run to an outcome; 1 when the trial ended here (DONE or ERROR), else 0."""
        worker, job = self.worker, self.job
        worker.say(f"trial {job.tid}: attempt {job.attempt} on {worker.slot.device}")
        beat = threading.Thread(target=self._heartbeats, daemon=True, name="heartbeat")
        start(beat)
        try:
            order = waiting(self._order, on_wait=self._say_waiting, stop=worker.stopping)
            self._train(order)
        finally:
            self.ended.set()
            beat.join()
        if self.outcome in NOT_FINISHED:
            shutil.rmtree(self.own_folder, ignore_errors=True)
        worker.say(f"trial {job.tid}: {self.outcome}")
        return int(self.outcome in ("done", "error"))

    def _train(self, order: TrialOrder) -> None:
        """Run the child until there is an outcome."""
        receiver, sender = self.worker.processes.Pipe(duplex=False)
        child = self.worker.processes.Process(target=child_main, args=(order, sender))
        child.start()
        sender.close()
        try:
            self._serve(child, receiver)
        finally:
            if child.is_alive():
                child.kill()
            child.join()
            receiver.close()

    def _say_waiting(self, error: StoreError, _seconds: float) -> None:
        self.worker.say(f"trial {self.job.tid} waits for the store: {error}")
        self.worker.on_outage()

    def _order(self) -> TrialOrder:
        worker, job = self.worker, self.job
        self.files.fetch(job, self.checkpoints, worker.say)
        finished: tuple[float, ...] = ()
        if self.config.stopping.threshold_sd is not None:
            finished = tuple(self.store.finished_values(worker.name, self.config.stopping.metric))
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
            finished=finished,
            attempt_folder=self.own_folder,
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
            if not open_pipe:
                time.sleep(POLL_SECONDS)
            elif receiver.poll(POLL_SECONDS):
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
        late = self.deadline is not None and time.monotonic() > self.deadline
        if time.monotonic() < self.next_try and not late:
            return
        while self.messages and self.outcome is None:
            try:
                if not self._sent(*self.messages[0]):
                    return
                started = time.perf_counter()
                self._write(*self.messages[0])
                self.patience.worked()
                self.store_seconds += time.perf_counter() - started
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
            self.messages.popleft()

    def _wait_for_store(self, error: StoreError) -> None:
        """Try again later, while the child trains on; what is no outage ends the trial after some tries."""
        if self.deadline is not None and time.monotonic() > self.deadline:
            self.outcome = "left to its lease: the store was away at the end"
            return
        try:
            pause = self.patience.pause(error)
        except StoreError:
            if self.messages[0][0] == "error":
                self.outcome = f"left to its lease: {error}"
            self.messages[0] = ("error", {"message": str(error), "traceback": ""})
            self.patience.worked()
            return
        if self.patience.is_news(error):
            self.worker.say(f"trial {self.job.tid}: messages wait for the store: {error}")
        self.worker.on_outage()
        self.next_try = time.monotonic() + pause

    def _sent(self, kind: str, payload: dict[str, Any]) -> bool:
        """Whether the files that a message speaks of are where other workers find them; begins to send them.

        Sending never holds up the child or a signal. What is not sent when the grace time ends is left out, and the
        trial goes on from the checkpoint before.
        """
        names = [name for name in FILES_OF.get(kind, ()) if self.files.path(self.job, name).is_file()]
        names += [payload["file"]] if kind == "checkpoint" else []
        if not names:
            return True
        if self.sending is None:
            self.sending = in_background(lambda: self.files.put(self.job, names, self.ended.is_set))
        wait([self.sending], timeout=POLL_SECONDS)
        late = self.deadline is not None and time.monotonic() > self.deadline
        if not self.sending.done() and not late:
            return False
        sending, self.sending = self.sending, None
        try:
            sending.result(timeout=0)
        except OSError as error:  # a TimeoutError is one
            why = str(error) or "the grace time ended first"
            message = f"{', '.join(names)} could not be kept: {why}"
            if kind == "checkpoint":
                self.messages[0] = ("warning", {"message": message})
                return True
            self.worker.say(f"trial {self.job.tid}: {message}")
            if kind == "done" and late:
                self.messages[0] = ("preempted", {})
        return True

    def _write(self, kind: str, payload: dict[str, Any]) -> None:
        store, job = self.store, self.job
        match kind:
            case "begin":
                store.begin_attempt(job, payload["epoch"], payload["skipped"])
                self.progress = {**self.progress, "epoch": payload["trained"], "epochs": payload["epochs"]}
                self.checkpoints = [info for info in self.checkpoints if info["file"] not in payload["skipped"]]
                # What could not be read today may be of use to a person: it goes when the trial ends.
                self._delete(payload["damaged"])
            case "progress":
                self.progress = {**self.progress, **payload}
            case "epoch":
                store.record(job, payload["epoch"], {key: payload[key] for key in payload if key != "epoch"})
                shown = {key: payload[key] for key in self.config.metrics.names}
                self.progress = {**self.progress, "evaluated": payload["epoch"], **shown}
            case "checkpoint":
                store.set_checkpoint(job, payload)
                self._keep_checkpoint(payload)
            case "warning":
                self.progress = {**self.progress, "warning": payload["message"]}
                self.worker.say(f"trial {job.tid}: {payload['message']}")
            case "done":
                store.finish(job, self._completed(payload["result"]))
                self.outcome = "done"
                with contextlib.suppress(StoreError):  # the next worker that starts sweeps again
                    self.files.conclude(job.tid)
            case "preempted":
                store.requeue(job, reason="preempted")
                self.outcome = "given back"
            case "error":
                store.fail(job, payload["message"], payload["traceback"])
                self.outcome = "error"
            case "crashed":
                how = explain_exit(payload["exitcode"])
                store.release(job.name, self.worker.owner, reason=f"the trial's process: {how}")
                self.outcome = f"crashed: {how}"

    def _keep_checkpoint(self, info: dict[str, Any]) -> None:
        """Delete what the store no longer names: it names this checkpoint and the one before."""
        self.progress = {key: self.progress[key] for key in self.progress if key != "warning"}
        self.checkpoints.insert(0, info)
        old = self.checkpoints[KEPT_CHECKPOINTS:]
        del self.checkpoints[KEPT_CHECKPOINTS:]
        self._delete([info["file"] for info in old])

    def _delete(self, names: list[str]) -> None:
        with contextlib.suppress(StoreError):  # the sweep at the end finds them
            self.files.delete(self.job.tid, names)

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
        """Renew the lease now and then and when there is progress to show; look each time whether it still holds.

        A look is cheap, and a person who cancels a trial does not wait for the next heartbeat.
        """
        sent: dict[str, Any] = {}
        last = time.monotonic()
        while not self.ended.wait(PROGRESS_SECONDS):
            progress = self.progress
            renew = progress != sent or time.monotonic() - last >= self.config.search.heartbeat_seconds
            try:
                if not (self.store.heartbeat(self.job, progress=progress) if renew else self.store.holds(self.job)):
                    self.lost.set()
                    return
                if renew:
                    sent, last = progress, time.monotonic()
            except StoreError:
                continue  # the next one may get through; the lease outlives two of them
