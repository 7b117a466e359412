"""`hms study collect`: the tidy tables of a study, from its store of answers. The server may go on meanwhile."""

from dataclasses import replace
from pathlib import Path

from psychophysics.baselines.pictures import manifest_baselines
from psychophysics.collection import collect
from psychophysics.errors import ResponsesError
from psychophysics.responses import Responses, write_responses
from psychophysics.server.store.opening import open_answers
from psychophysics.stimuli.freeze import open_frozen
from psychophysics.study_folder import StudyFolder


def collect_study(folder: StudyFolder, store: str | None, out: Path) -> str:
    """Write the tables of all answers so far into `out`; what they hold, in a line.

    Args:
        folder: of the study.
        store: see `open_answers`.
        out: folder.

    Raises:
        ResponsesError: nobody has taken part yet.
        StimuliError: the study is not frozen, or what was frozen has changed.
        StoreError: the store cannot be used.
    """
    frozen, manifest = open_frozen(folder)
    if store is None and not folder.answers.is_file():
        option = " --rehearsal" if folder.rehearsal else ""
        raise ResponsesError(
            f"there are no answers: {folder.answers} does not exist. Next: hms study serve {frozen.study}{option}; "
            "where the answers are in MongoDB: --store URI"
        )
    answers = open_answers(folder, frozen, store)
    try:
        events = answers.events()  # before the participants: whoever withdraws in between is not among those any more
        participants = answers.participants()
    finally:
        answers.close()
    responses = collect(frozen, manifest, participants, events, manifest_baselines(folder, manifest))
    responses = replace(responses, study=replace(responses.study, name=folder.answered(frozen.study)))
    write_responses(responses, out)
    return _counted(responses)


def _counted(responses: Responses) -> str:
    people = responses.participants
    finished = int((people["finished"] & ~people["withdrawn"]).sum())
    withdrawn = int(people["withdrawn"].sum())
    return (
        f"{len(people)} participants, {finished} finished, {len(people) - finished - withdrawn} not finished, "
        f"{withdrawn} withdrawn; {len(responses.trials)} answers"
    )
