"""The store that a person means by `--store`."""

from psychophysics.server.store.contract import AnswerStore
from psychophysics.server.store.mongo import MongoStore
from psychophysics.server.store.sqlite import SqliteStore
from psychophysics.stimuli.freeze import Frozen
from psychophysics.study_folder import StudyFolder
from search.errors import UsageError
from search.place import uri_in
from search.store.uri import holds_secret, is_uri


def open_answers(folder: StudyFolder, frozen: Frozen, store: str | None = None) -> AnswerStore:
    """Open the answers of a study; an empty store is made where there is none.

    Args:
        folder: of the study.
        frozen: the study.
        store: a MongoDB URI without a password, or a file that holds one; None: `answers.sqlite` in the folder.

    Raises:
        StimuliError: the store holds answers to another frozen study.
        UsageError: neither URI nor file, or a password where others could read it.
        StoreError: it cannot be used.
    """
    if store is None:
        return SqliteStore(folder.answers, frozen.sha256)
    if is_uri(store) and holds_secret(store):
        raise UsageError(
            "--store holds a password, and everybody on this machine can read command lines (ps). Give it in a file "
            "that only you can read: --store FILE"
        )
    uri = store if is_uri(store) else uri_in("--store", store)
    return MongoStore.open(uri, folder.answered(frozen.study), frozen.sha256)
