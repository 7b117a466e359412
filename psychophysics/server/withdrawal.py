"""`hms study withdraw`: erase a participant's answers on request, as the withdrawal page does by the code."""

from psychophysics.errors import StudyError
from psychophysics.server.keys import read_secrets
from psychophysics.server.sessions import recruited
from psychophysics.server.store.opening import open_answers
from psychophysics.stimuli.freeze import open_frozen
from psychophysics.study_folder import StudyFolder


def withdraw(folder: StudyFolder, store: str | None, *, code: str | None, prolific_id: str | None) -> None:
    """Erase the answers of one participant; a server may run meanwhile.

    Args:
        folder: of the study.
        store: see `open_answers`.
        code: the withdrawal code, or
        prolific_id: the recruiter's id.

    Raises:
        StudyError: neither or both are given, nobody has taken part yet, or nobody has this code or id.
    """
    if (code is None) == (prolific_id is None):
        raise StudyError("who withdraws? Give --code CODE, as the participant's page showed it, or --prolific-id ID")
    frozen, _ = open_frozen(folder)
    if not folder.secrets.is_file():
        raise StudyError(
            f"nobody has taken part yet: {folder.secrets} is missing. Next: hms study serve {frozen.study}"
        )
    secrets = read_secrets(folder.secrets)
    given = code or secrets.withdrawal_code(secrets.pseudonym(recruited(prolific_id or "")))
    answers = open_answers(folder, frozen, store)
    try:
        if not answers.withdraw(secrets.withdrawal_hash(given)):
            raise StudyError("nobody has this code or id, or the answers were erased before. Nothing was changed")
    finally:
        answers.close()
