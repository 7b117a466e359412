"""Which store `--store` means, for a study and for its rehearsal."""

import pytest

from psychophysics.server.store.contract import Newcomer
from psychophysics.server.store.opening import open_answers
from psychophysics.session_plan import Place


@pytest.mark.parametrize("kind", ["sqlite", "mongo"])
def test_answers_of_a_rehearsal_are_never_among_those_of_the_study(make_drawn_study, tmp_path, request, kind):
    frozen, _, folder = make_drawn_study(tmp_path, study={"name": "rehearsed"})
    uri = request.getfixturevalue("mongo_uri") if kind == "mongo" else None
    where = folder.root.parent / "uri"
    where.touch(mode=0o600)
    where.write_text(uri or "")
    store = str(where) if uri else None
    folder.rehearsed(True).taken.mkdir()
    real, rehearsal = (open_answers(folder.rehearsed(apart), frozen, store) for apart in (False, True))
    try:
        newcomer = Newcomer("ann", "1", (1280, 800), "code", "recruiter")
        rehearsal.join(newcomer, lambda people: Place("none", 0, 0), 5.0)
        assert [who.id for who in rehearsal.participants()] == ["ann"] and real.participants() == []
        real.join(newcomer, lambda people: Place("none", 1, 0), 5.0)  # who rehearsed may still take part
        assert not rehearsal.withdraw("another") and rehearsal.withdraw("code")
        assert real.participant("ann") is not None and rehearsal.participant("ann") is None
    finally:
        real.close()
        rehearsal.close()
