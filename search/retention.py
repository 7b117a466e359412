"""Which weights stay: those of the best K finished trials, where `search.keep_best` asks for it.

No lock is needed. DONE is final, and one more finished trial only pushes others out of the best K: a trial that is out
for one worker is out for all, for ever. RDMs, predicted frames and curves are small and stay.
"""

import math
from collections.abc import Mapping

from search.checkpoints import WEIGHTS, CheckpointStore
from search.store import State, Store


def out_of_best(losses: Mapping[int, float | None], keep: int) -> set[int]:
    """The trials whose loss is not among the `keep` lowest; ties go to the lower tid, no loss comes last."""
    ranked = sorted(losses, key=lambda tid: (math.inf if losses[tid] is None else losses[tid], tid))
    return {tid for place, tid in enumerate(ranked) if place >= keep or losses[tid] is None}


class Retention:
    """Deletes the weights of trials that fell out of the best `keep`; None keeps all."""

    def __init__(self, store: Store, files: CheckpointStore, name: str, keep: int | None) -> None:
        self.store, self.files, self.name, self.keep = store, files, name, keep
        self.deleted: set[int] = set()

    def enforce(self) -> None:
        """Delete what is out by now; for after a trial that ended, and for the start of a worker."""
        if self.keep is None:
            return
        endings = self.store.endings(self.name)
        losses = {tid: loss for tid, (state, loss) in endings.items() if state == State.DONE}
        for tid in sorted(out_of_best(losses, self.keep) - self.deleted):
            self.files.delete(tid, WEIGHTS)
            self.deleted.add(tid)
