"""`hms study replay`: one trial of one participant as it was shown, with what was answered and what was right."""

from pathlib import Path

from psychophysics.errors import ResponsesError
from psychophysics.replay.moment import find_moment, find_participant, listed
from psychophysics.replay.page import replay_page
from psychophysics.server.store.opening import open_answers
from psychophysics.stimuli.files import written
from psychophysics.stimuli.freeze import open_frozen
from psychophysics.study_folder import StudyFolder

__all__ = ["find_moment", "replay_page", "replay_trial"]


def replay_trial(folder: StudyFolder, store: str | None, participant: str, trial: str | None, out: Path | None) -> str:
    """Write the page of a trial and return its path; without `trial`, a line for each trial that was shown.

    Args:
        folder: of the study.
        store: see `open_answers`.
        participant: pseudonym, or how it begins.
        trial: its id, such as `main-07`.
        out: file of the page; None: `replays/PARTICIPANT-TRIAL.html` in the study's folder.

    Raises:
        StimuliError: the study is not frozen, or what was frozen has changed.
        ResponsesError: no answers, no such participant or trial.
        StoreError: the store cannot be used.
    """
    frozen, manifest = open_frozen(folder)
    if store is None and not folder.answers.is_file():
        raise ResponsesError(
            f"there are no answers: {folder.answers} does not exist; where they are in MongoDB: --store URI"
        )
    answers = open_answers(folder, frozen, store)
    try:
        person = find_participant(answers.participants(), participant)
        events = answers.events(person.id)
    finally:
        answers.close()
    if trial is None:
        return "\n".join(listed(frozen, manifest, person, events)) or f"{person.id} has seen no trial yet"
    page = replay_page(folder, frozen, manifest, find_moment(frozen, manifest, person, events, trial))
    path = out or folder.replays / f"{person.id}-{trial}.html"
    with written(path) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return str(path)
