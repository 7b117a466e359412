"""Erasing answers from the command line, of a study on disk."""

import pytest

from psychophysics.errors import StudyError
from psychophysics.server.keys import read_secrets
from psychophysics.server.requests import Joining
from psychophysics.server.running import RunningStudy
from psychophysics.server.sessions import Sessions
from psychophysics.server.store.opening import open_answers
from psychophysics.server.withdrawal import withdraw


@pytest.fixture
def sessions(drawn_study):
    """Sessions of a study that may be served at the same time."""
    frozen, manifest, folder = drawn_study
    store = open_answers(folder, frozen)
    yield Sessions(RunningStudy(folder, frozen, manifest, store, read_secrets(folder.secrets)))
    store.close()


def join(sessions, prolific_id=None):
    recruiter = prolific_id and {"prolific_pid": prolific_id, "study_id": "s", "session_id": "x"}
    body = {"consent_version": "1", "recruiter": recruiter, "viewport": {"width": 1000, "height": 800}}
    return sessions.join(Joining.model_validate(body))[0]


def test_a_participant_is_erased_by_code_or_by_prolific_id(sessions):
    study = sessions.study
    by_code, _, stays = join(sessions), join(sessions, "worker-7"), join(sessions, "worker-8")
    withdraw(study.folder, None, code=by_code["withdrawal_code"].lower(), prolific_id=None)
    withdraw(study.folder, None, code=None, prolific_id="worker-7")
    people = study.store.participants()
    assert [who.id for who in people if not who.withdrawn] == [stays["token"].partition(".")[0]]
    assert sum(who.withdrawn for who in people) == 2
    for code, prolific_id in ((by_code["withdrawal_code"], None), (None, "worker-7"), (None, "worker-9"), ("x", None)):
        with pytest.raises(StudyError, match="Nothing was changed"):
            withdraw(study.folder, None, code=code, prolific_id=prolific_id)
    assert study.store.participants() == people


def test_who_withdraws_must_be_said(drawn_study):
    for both in (None, "x"):
        with pytest.raises(StudyError, match=r"Give --code CODE, .* or --prolific-id ID"):
            withdraw(drawn_study[2], None, code=both, prolific_id=both)
    with pytest.raises(StudyError, match="nobody has taken part yet"):
        withdraw(drawn_study[2], None, code="x", prolific_id=None)
    assert not drawn_study[2].answers.exists()
