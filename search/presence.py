"""A worker's sign of life in the store, from its start to its end, whether it trains or waits."""

import contextlib
import threading
from collections.abc import Iterator, Mapping
from typing import Any

from search.errors import StoreError
from search.store import Store

LEAVE_SECONDS = 2.0
"""An end is not held up for longer by a store that is away; the sign of life then runs out."""


@contextlib.contextmanager
def present(store: Store, name: str, owner: Mapping[str, Any], every: float) -> Iterator[None]:
    """Show a sign of life every so many seconds for as long as the block runs. An outage is none of its business."""
    leaving = threading.Event()

    def live() -> None:
        while not leaving.is_set():
            with contextlib.suppress(StoreError):
                store.greet(name, owner)
            leaving.wait(every)
        with contextlib.suppress(StoreError):
            store.leave(name, owner)

    thread = threading.Thread(target=live, daemon=True, name="presence")
    thread.start()
    try:
        yield
    finally:
        leaving.set()
        thread.join(LEAVE_SECONDS)
