"""Threads of a worker: started, or refused as the operating system refuses a fork."""

import errno
import threading
from collections.abc import Callable
from concurrent.futures import Future


def in_background(call: Callable[[], None]) -> "Future[None]":
    """Run `call` in a thread that no exit of the process waits for."""
    future: Future[None] = Future()

    def run() -> None:
        try:
            call()
        except Exception as error:
            future.set_exception(error)
        else:
            future.set_result(None)

    start(threading.Thread(target=run, daemon=True, name="files"))
    return future


def start(thread: threading.Thread) -> None:
    """Start a thread. Raises `OSError`, as a fork would, where the machine has none to give."""
    try:
        thread.start()
    except RuntimeError as error:
        raise OSError(errno.EAGAIN, str(error)) from None
