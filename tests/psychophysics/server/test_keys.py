import json

import pytest

from psychophysics.errors import StudyError
from psychophysics.server.keys import read_secrets


@pytest.fixture
def secrets(tmp_path):
    return read_secrets(tmp_path / "secrets.json")


def test_secrets_are_made_once_and_for_the_owner_alone(secrets, tmp_path):
    path = tmp_path / "secrets.json"
    assert path.stat().st_mode & 0o777 == 0o600
    again = read_secrets(path)
    assert again == secrets and again.fingerprint == secrets.fingerprint and again.token("p") == secrets.token("p")
    assert len(set(json.loads(path.read_text()).values())) == 3
    assert all(value not in repr(secrets) for value in json.loads(path.read_text()).values())


def test_a_token_is_of_one_participant_and_one_study(secrets, tmp_path):
    other = read_secrets(tmp_path / "other.json")
    token = secrets.token("ann")
    assert secrets.participant_of(token) == "ann" and other.participant_of(token) is None
    for wrong in (token[:-1], token + "x", "", ".", "ann.", token.replace("ann", "ben"), "\udcff", token.upper()):
        assert secrets.participant_of(wrong) is None


def test_a_withdrawal_code_is_known_however_it_is_typed(secrets):
    code = secrets.withdrawal_code("ann")
    known = secrets.withdrawal_hash(code)
    typed = code.replace("0", "o").replace("1", "l")
    for text in (code.lower(), code.replace("-", ""), f" {typed} ", typed.replace("l", "I")):
        assert secrets.withdrawal_hash(text) == known
    assert secrets.withdrawal_hash(secrets.withdrawal_code("ben")) != known


def test_names_that_are_made_tell_nothing_and_differ(secrets, tmp_path):
    other = read_secrets(tmp_path / "other.json")
    made = [secrets.pseudonym("w1"), secrets.pseudonym("w2"), other.pseudonym("w1"), secrets.recruiter_hash("w1")]
    made += [secrets.image_name("w1"), secrets.withdrawal_code("w1"), other.recruiter_hash("w1")]
    assert len(set(made)) == len(made) and len(made[0]) == 32 and len(made[3]) == 64


def test_open_and_damaged_secrets_are_refused(secrets, tmp_path):
    path = tmp_path / "secrets.json"
    path.chmod(0o640)
    with pytest.raises(StudyError, match=r"can be read by others \(mode 040 for them\)\. Next: chmod 600"):
        read_secrets(path)
    path.chmod(0o600)
    path.write_text('{"key": "x"}')
    with pytest.raises(StudyError, match="damaged"):
        read_secrets(path)
