"""The trials store: the only code that speaks MongoDB. Its contract is the docstring of `contract.py`."""

from search.store.archive import Archive
from search.store.contract import Document, Job, State
from search.store.documents import new_job_document, to_plain
from search.store.driver_lock import DriverLock
from search.store.epochs import Epochs
from search.store.files import Files, StoredFile
from search.store.jobs import Jobs
from search.store.outages import MANY_TRIES, Patience, waiting
from search.store.recovery import Recovery
from search.store.workers import Workers

__all__ = [
    "MANY_TRIES",
    "Document",
    "Job",
    "Patience",
    "State",
    "Store",
    "StoredFile",
    "new_job_document",
    "to_plain",
    "waiting",
]


class Store(DriverLock, Jobs, Epochs, Files, Recovery, Workers, Archive):
    """A connected trials store: searches, driver lock, trials, leases, epochs, files, recovery, workers, archive."""
