"""The child process in which a trial runs: isolated from crashes and leaks, gone when its worker is gone.

The worker starts it from a fork server that has imported torch but touched no device. It talks to the worker by one
pipe: (kind, payload) tuples, the kinds of `search.trial` plus `done`, `preempted` and `error`.
"""

import contextlib
import faulthandler
import importlib
import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import threading
import traceback
from typing import Any

from search.order import Preempted, TrialOrder
from search.out_of_memory import explain_out_of_memory, ran_out_of_memory, volunteer

TRACEBACK_LIMIT = 16_000
# The allow-list: a trial runs one of these, never code that a document names.
LEARNERS = {"prednet": "search.prednet_learner:PredNetLearner", "toy": "search.toy_learner:ToyLearner"}


def child_main(order: TrialOrder, pipe: "multiprocessing.connection.Connection[Any, Any]") -> None:
    """Run `order`; every outcome is one last message on `pipe`."""
    stop = threading.Event()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGUSR1):
        signal.signal(number, lambda *_: stop.set())
    _leave_with_parent()
    volunteer()

    def report(kind: str, payload: dict[str, Any]) -> None:
        if kind != "progress":
            with contextlib.suppress(OSError):  # a full disk silences the log, no more
                print(f"{kind}: {payload}", flush=True)
        pipe.send((kind, payload))

    try:
        _log_to(order)
        # Heavy, and already imported by the fork server where it trains a network.
        from search.trial import Trial

        module, _, name = LEARNERS[order.config.training.learner].partition(":")
        learner = getattr(importlib.import_module(module), name)(order)
        report("done", {"result": Trial(order, learner, report, stop.is_set).run()})
    except Preempted:
        report("preempted", {})
    except Exception as error:
        report("error", {"message": _explain(error, order), "traceback": traceback.format_exc()[-TRACEBACK_LIMIT:]})
    finally:
        pipe.close()


def _explain(error: Exception, order: TrialOrder) -> str:
    from metrics.errors import MetricError
    from prednet.errors import PredNetError
    from search.errors import HmsError

    if isinstance(error, HmsError | PredNetError | MetricError):
        return str(error)
    if ran_out_of_memory(error):
        return explain_out_of_memory(order, (str(error) or type(error).__name__).splitlines()[0])
    return f"{type(error).__name__}: {error}"


def _leave_with_parent() -> None:
    """Exit at once when the worker dies: an orphan would train on and hold the device."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True, name="parent-watch").start()


def _log_to(order: TrialOrder) -> None:
    """Send stdout and stderr of this process to the trial's log."""
    order.folder.mkdir(parents=True, exist_ok=True)
    log = (order.folder / "log.txt").open("a", encoding="utf-8", buffering=1)
    os.dup2(log.fileno(), 1)
    os.dup2(log.fileno(), 2)
    sys.stdout = sys.stderr = log
    faulthandler.enable(log)
