"""Progress of preparing data: a rich bar on a terminal, a plain line every few seconds elsewhere."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

Progress = Callable[[str, int, int], None]
PLAIN_SECONDS = 5.0


@contextmanager
def shown_progress(console: Console) -> Iterator[Progress]:
    """A callback `(what, done, total)` whose calls are shown on `console` for as long as the block."""
    if not console.is_terminal:
        yield _PlainLines(console)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Bars(*columns, console=console, transient=True) as bars:
        tasks: dict[str, TaskID] = {}

        def update(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=total)
            bars.update(tasks[what], completed=done, total=total)
            if all(task.finished for task in bars.tasks):
                bars.stop()
            else:
                bars.start()

        yield update


class _PlainLines:
    def __init__(self, console: Console) -> None:
        self.console = console
        self.said: dict[str, tuple[float, bool]] = {}

    def __call__(self, what: str, done: int, total: int) -> None:
        now, complete = time.monotonic(), done >= total
        before, was_complete = self.said.get(what, (-PLAIN_SECONDS, False))
        if was_complete if complete else now - before < PLAIN_SECONDS:
            return
        self.said[what] = (now, complete)
        self.console.print(f"{what}: {done} of {total}", highlight=False)
