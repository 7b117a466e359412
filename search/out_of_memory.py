"""A trial that needs more memory than its device has: how that is recognised and what is said about it."""

import contextlib
import signal
from pathlib import Path

from search.order import TrialOrder

# What torch and oneDNN say when an allocation on a CPU fails; on CUDA there is an exception of its own.
CPU_SIGNS = ("can't allocate memory", "not enough memory", "std::bad_alloc", "could not create a memory object")
KILL_FIRST = 500


def ran_out_of_memory(error: BaseException | None) -> bool:
    """Whether an exception, or one that it arose from, is a failed allocation on a CPU or GPU."""
    while error is not None:
        if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
            return True
        if isinstance(error, RuntimeError) and any(sign in str(error) for sign in CPU_SIGNS):
            return True
        error = error.__cause__ or error.__context__
    return False


def explain_out_of_memory(order: TrialOrder, reason: str) -> str:
    """One message: what was too large for which device, and what makes it smaller."""
    batch = int(order.params.get("batch_size", order.config.training.batch_size))
    training, data = order.config.training, order.config.data
    every = max(1, round(training.nt**0.5))
    return (
        f"out of memory on {order.device}: a batch of {batch} sequences of {training.nt} frames of {data.height}x"
        f"{data.width} ({reason}). Lower batch_size, pass --set training.recompute_every={every} (slower, the same "
        "numbers up to rounding) or run fewer workers a device; then "
        f"`hms retry {order.name} --state failed` and run it again"
    )


def explain_exit(exitcode: int | None) -> str:
    """How a trial's process ended that said nothing."""
    if exitcode == -signal.SIGKILL:
        return (
            "killed by SIGKILL, as the kernel does when memory runs out (see `dmesg | grep -i oom`): lower batch_size, "
            "set training.recompute_every or run fewer workers"
        )
    if exitcode is not None and exitcode < 0:
        return f"killed by {signal.Signals(-exitcode).name}"
    return f"exit code {exitcode}"


def volunteer() -> None:
    """When memory runs out, let the kernel end this process, not its worker or the database server."""
    with contextlib.suppress(OSError):  # no Linux, or a sandbox
        Path("/proc/self/oom_score_adj").write_text(str(KILL_FIRST))
