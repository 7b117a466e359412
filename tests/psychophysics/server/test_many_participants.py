"""Simulated participants, many at once, on a real server: nothing is lost, nothing double, all places are filled."""

import json
from collections import Counter

import numpy as np
import pytest

from psychophysics.collection import collect
from psychophysics.errors import StudyError
from psychophysics.exclusions import accepted, exclusions
from psychophysics.simulated_participants import Behaviour, SimulatedParticipant, refuse_real, simulate
from psychophysics.simulated_strategies import preference


def as_sent(event):
    return json.dumps([event[name] for name in ("seq", "kind", "at_ms", "content")], sort_keys=True)


@pytest.fixture(scope="module")
def two_a_cell(make_drawn_study, tmp_path_factory):
    """Twenty places."""
    design = {"ranked_sets": 2, "sets": 2, "participants_per_cell": 2}
    return make_drawn_study(tmp_path_factory.mktemp("twenty"), design=design)


def lost_and_double(served, visits):
    sent = Counter(as_sent(event) for visit in visits for event in visit.events)
    stored = Counter(as_sent(vars(event)) for event in served.study.store.events())
    assert sent.total() > 200 and max(sent.values()) == 1
    return (sent - stored).total(), (stored - sent).total()


def test_none_is_lost_none_double_and_all_places_are_filled_equally(serve, two_a_cell):
    frozen, manifest, _ = two_a_cell
    served = serve(two_a_cell)
    visits = simulate(served.url, Behaviour(preference("perfect", manifest), repeat=0.3), 20, seed=3, at_once=20)
    assert [visit.status for visit in visits] == ["done"] * 20 and sum(visit.repeated for visit in visits) > 20
    assert lost_and_double(served, visits) == (0, 0)
    people = served.study.store.participants()
    assert Counter(Counter(who.place[:2] for who in people).values()) == {2: 10}

    found = collect(frozen, manifest, people, served.study.store.events())
    excluded = exclusions(found.trials, found.participants, found.study.thresholds)
    assert excluded.empty and len(accepted(found.participants, excluded)) == 20
    main = found.trials[found.trials["kind"] == "main"]
    assert main["correct"].all() and len(main) == 20 * 4
    late = SimulatedParticipant(served.url, Behaviour(preference("random", manifest)), np.random.default_rng())
    assert late.take_part().status == "no place"


def test_participants_of_a_prolific_study_have_ids(serve, make_drawn_study, tmp_path):
    changes = {"recruitment": {"kind": "prolific", "completion_code": "C0DE"}, "design": {"conditions": ["none"]}}
    study = make_drawn_study(tmp_path, **changes)
    served = serve(study)
    visits = simulate(served.url, Behaviour(preference("random", study[1])), 2)
    assert [visit.status for visit in visits] == ["done", "done"] and visits[0].token != visits[1].token


def test_simulated_participants_refuse_a_server_of_real_answers(served):
    with pytest.raises(StudyError, match=r"people; simulated participants .* hms study serve drawn --rehearsal"):
        refuse_real(served.url, "drawn")
    with pytest.raises(StudyError, match="serves the study `drawn`, not `other`"):
        refuse_real(served.url, "other")
    with pytest.raises(StudyError, match="is no address of a study"):
        refuse_real("localhost:8000", "drawn")
