"""Many participants in real Chromium, over all conditions of a study."""

import pytest

from psychophysics.collection import collect
from psychophysics.exclusions import exclusions
from psychophysics.simulated_strategies import preference

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

INSTRUCTION_S, TRIAL_S = 25.0, 15.0


def test_many_participants_in_all_conditions(start_server, visit, in_main, check_stored):
    """Every place of a study with five conditions is taken by somebody who decides by chance; nobody else gets one."""
    conditions = ["natural", "synthetic", "mixed", "blurred", "none"]
    server = start_server(
        design={"conditions": conditions, "ranked_sets": 2, "sets": 2, "participants_per_cell": 2},
        exclusions={"rarer_side": 0},
    )
    visitors = []
    for _ in range(20):
        visitors.append(visit(server, in_main(server, main=preference("random", server.manifest)), clock=True))
        visitors[-1].join()
        visitors[-1].instructions(INSTRUCTION_S)
        visitors[-1].finish(seconds=TRIAL_S)
        check_stored(visitors[-1])
    late = visit(server)
    late.join()
    late.page.get_by_role("heading", name="The study is full").wait_for()

    found = collect(server.frozen, server.manifest, *server.stored())
    assert exclusions(found.trials, found.participants, found.study.thresholds).empty
    assert found.participants["condition"].value_counts().to_dict() == dict.fromkeys(conditions, 4)
    assert sorted(found.participants["participant"]) == sorted(visitor.id for visitor in visitors)
    assert len(found.trials) == sum(len(visitor.buttons) for visitor in visitors) == 16 * 8 + 4 * 6
