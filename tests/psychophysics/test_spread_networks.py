"""Which networks of a search a study compares."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from psychophysics.errors import StudyError
from psychophysics.spread_networks import SearchNetwork, candidates, open_search, spread, told

FIXED = Path(__file__).parents[1] / "search" / "report" / "fixed"


def network(tid: int, hms: float, mse: float) -> SearchNetwork:
    return SearchNetwork(tid, hms, mse, Path(f"{tid}.pt"))


def exported(results: Path, without: tuple[int, ...] = ()) -> pd.DataFrame:
    """The tables of the small fixed search, and a weights file for each finished trial but some; its trials."""
    tables = results / "fixed" / "tables"
    tables.mkdir(parents=True)
    for path in FIXED.iterdir():
        (tables / path.name).write_bytes(path.read_bytes())
    trials = pd.read_csv(tables / "trials.csv")
    for tid in trials.loc[trials["state"] == "DONE", "tid"]:
        if tid not in without:
            weights = results / "fixed" / "trials" / f"{tid:06d}" / "network.pt"
            weights.parent.mkdir(parents=True)
            weights.touch()
    return trials


def test_ends_are_the_extremes_and_between_them_the_mse_nearest_to_the_median_near_each_step() -> None:
    # Steps of HMS for 4 networks: 0.0, 0.1, 0.2, 0.3; near 0.1 are tids 1 to 3, near 0.2 tid 4. Median MSE: 0.03.
    networks = [
        network(0, 0.0, 0.09), network(1, 0.07, 0.01), network(2, 0.12, 0.04), network(3, 0.10, 0.08),
        network(4, 0.21, 0.02), network(5, 0.3, 0.01), network(6, 0.3, 0.03),
    ]  # fmt: skip
    chosen = spread(networks, 4)
    assert [found.tid for found in chosen] == [0, 2, 4, 6]
    lines = told(chosen, networks)
    assert lines[0] == "n = 4 networks of 7 with weights and a defined HMS"
    assert lines[1] == "HMS 0.0000 to 0.3000: 0.0000, 0.1200, 0.2100, 0.3000"
    # Ranks of MSE by rising HMS 4, 3, 1, 2: rho = 1 - 6 (9 + 1 + 4 + 4) / (4 * 15) = -0.8
    assert (
        lines[2]
        == "MSE 0.02000 to 0.09000, median of all 0.03000; Spearman with HMS -0.80 (0: HMS sets them apart, not MSE)"
    )


def test_a_gap_in_hms_is_filled_by_the_nearest_and_no_network_is_taken_twice() -> None:
    networks = [network(i, hms, 0.01) for i, hms in enumerate([0.0, 0.01, 0.02, 0.9, 1.0])]
    assert [found.tid for found in spread(networks, 5)] == [0, 1, 2, 3, 4]
    assert [found.tid for found in spread(networks, 2)] == [0, 4]
    rng = np.random.default_rng(0)
    many = [network(i, float(h), float(m)) for i, (h, m) in enumerate(rng.random((40, 2)))]
    chosen = spread(many, 9)
    hms = [found.hms for found in chosen]
    assert len({found.tid for found in chosen}) == 9 and hms == sorted(hms)
    assert (hms[0], hms[-1]) == (min(n.hms for n in many), max(n.hms for n in many))
    assert np.abs(np.diff(hms) - (hms[-1] - hms[0]) / 8).max() < (hms[-1] - hms[0]) / 8
    assert np.std([found.mse for found in chosen]) < np.std([found.mse for found in many])


def test_networks_of_one_hms_cannot_be_spread() -> None:
    with pytest.raises(StudyError, match=r"all 3 networks have the HMS 0\.1000"):
        spread([network(i, 0.1, 0.01 * i) for i in range(3)], 2)


def test_candidates_have_hms_mse_and_weights(tmp_path) -> None:
    trials = exported(tmp_path)
    found = candidates(open_search(tmp_path, "fixed"), tmp_path, 6)
    usable = trials[(trials["state"] == "DONE") & trials["hms"].notna() & trials["mse"].notna()]
    assert sorted(n.tid for n in found) == sorted(usable["tid"]) and len(found) < (trials["state"] == "DONE").sum()
    values = usable.set_index("tid")
    assert all((n.hms, n.mse) == (values.loc[n.tid, "hms"], values.loc[n.tid, "mse"]) for n in found)
    assert [n.hms for n in found] == sorted(n.hms for n in found)


def test_too_few_networks_are_refused_with_what_the_others_lack(tmp_path) -> None:
    trials = pd.read_csv(FIXED / "trials.csv")
    done = trials[trials["state"] == "DONE"]
    usable = done.loc[done["hms"].notna() & done["mse"].notna(), "tid"].tolist()
    exported(tmp_path, without=tuple(usable[3:]))
    with pytest.raises(StudyError) as caught:
        candidates(open_search(tmp_path, "fixed"), tmp_path, 6)
    undefined, gone = len(done) - len(usable), len(usable) - 3
    assert (
        f"6 networks are asked for, but of {len(done)} finished trials of `fixed` 3 can be used: {undefined} have no "
        f"defined HMS or MSE; {gone} have no network.pt (trials {usable[3]}, "
    ) in str(caught.value)
    assert f"hms rerun fixed --tid {usable[3]} trains such a network again; or --networks 3" in str(caught.value)


def test_an_unknown_search_names_the_nearest(tmp_path) -> None:
    exported(tmp_path)
    with pytest.raises(StudyError, match=r"holds no search `fixxed`: did you mean `fixed`\? \(searches there: fixed\)"):
        open_search(tmp_path, "fixxed")
    with pytest.raises(StudyError, match=r"no search was exported there\). Next: hms export other"):
        open_search(tmp_path / "empty", "other")
