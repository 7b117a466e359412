"""Which networks of a search a study compares: spread evenly over HMS, and as alike in MSE as that leaves room for."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import stats

from psychophysics.errors import StudyError
from search.config_section import nearest
from search.paths import RunFolder
from search.report.tables import SearchTables, read_tables


@dataclass(frozen=True)
class SearchNetwork:
    """A finished trial: `hms` -1..1 (higher is more alike), `mse` of its last evaluation; `weights`: its network.pt."""

    tid: int
    hms: float
    mse: float
    weights: Path


def open_search(results: Path, name: str) -> SearchTables:
    """The exported tables of a search.

    Raises:
        StudyError, UsageError: no such search under `results`, or it was never exported.
    """
    folder = RunFolder.of(results, name)
    if not folder.root.is_dir():
        known = sorted(path.parent.parent.name for path in results.glob("*/tables/search.json"))
        told = f"searches there: {', '.join(known)}" if known else "no search was exported there"
        raise StudyError(f"{results} holds no search `{name}`{nearest(name, known)} ({told}). Next: hms export {name}")
    return read_tables(folder.tables)


def candidates(tables: SearchTables, results: Path, wanted: int) -> list[SearchNetwork]:
    """The finished trials that have HMS, MSE and a network.pt, by rising HMS.

    Raises:
        StudyError: fewer than `wanted`; the message counts what the others lack.
    """
    name, done = tables.record.name, tables.finished
    folder = RunFolder.of(results, name)
    undefined = done["hms"].isna() | done["mse"].isna()
    found = [
        SearchNetwork(int(tid), hms, mse, folder.trial(int(tid)) / "network.pt")
        for tid, hms, mse in done.loc[~undefined, ["tid", "hms", "mse"]].to_numpy(float).tolist()
    ]
    there = sorted((network for network in found if network.weights.is_file()), key=lambda n: (n.hms, n.tid))
    if len(there) < wanted:
        gone = [network.tid for network in found if not network.weights.is_file()]
        lacks = [f"{int(undefined.sum())} have no defined HMS or MSE"] if undefined.any() else []
        lacks += [f"{len(gone)} have no network.pt (trials {_first(gone)})"] if gone else []
        again = f"hms rerun {name} --tid {gone[0]} trains such a network again; or " if gone else ""
        ask = f"--networks {len(there)}" if len(there) > 1 else "a search with more networks"
        raise StudyError(
            f"{wanted} networks are asked for, but of {len(done)} finished trials of `{name}` {len(there)} can be used"
            f"{': ' if lacks else ''}{'; '.join(lacks)}. Next: {again}{ask}"
        )
    return there


def spread(networks: Sequence[SearchNetwork], n: int) -> list[SearchNetwork]:
    """`n` of the networks, by rising HMS: the lowest, the highest, and n - 2 near even steps of HMS between them.

    Of the networks nearer to a step than to its neighbours that one is taken whose MSE is nearest to the median of
    all, so that HMS and not MSE sets the chosen apart; where there is none, the one nearest to the step.

    Raises:
        StudyError: all have the same HMS.
    """
    ordered = sorted(networks, key=lambda network: (network.hms, network.tid))
    low, high = ordered[0], ordered[-1]
    if not low.hms < high.hms:
        raise StudyError(f"all {len(ordered)} networks have the HMS {low.hms:.4f}: they cannot be spread over it")
    middle = float(np.median([network.mse for network in ordered]))
    step = (high.hms - low.hms) / (n - 1)
    chosen, left = [low, high], ordered[1:-1]
    for target in low.hms + step * np.arange(1, n - 1):
        near = [network for network in left if abs(network.hms - target) <= step / 2]
        best = (
            min(near, key=lambda network: abs(network.mse - middle))
            if near
            else min(left, key=lambda network: abs(network.hms - target))
        )
        chosen.append(best)
        left.remove(best)
    return sorted(chosen, key=lambda network: network.hms)


def told(chosen: Sequence[SearchNetwork], everybody: Sequence[SearchNetwork]) -> list[str]:
    """What was chosen, for a person: spread of HMS and MSE, and whether MSE rises with HMS."""
    hms, mse = ([getattr(network, name) for network in chosen] for name in ("hms", "mse"))
    middle = np.median([network.mse for network in everybody])
    rho = float(stats.spearmanr(hms, mse).statistic) if len(set(mse)) > 1 and len(chosen) > 2 else float("nan")
    goes = f"Spearman with HMS {rho:+.2f} (0: HMS sets them apart, not MSE)" if np.isfinite(rho) else "all alike"
    return [
        f"n = {len(chosen)} networks of {len(everybody)} with weights and a defined HMS",
        f"HMS {hms[0]:.4f} to {hms[-1]:.4f}: {', '.join(f'{value:.4f}' for value in hms)}",
        f"MSE {min(mse):.5f} to {max(mse):.5f}, median of all {middle:.5f}; {goes}",
    ]


def _first(tids: Sequence[int]) -> str:
    return ", ".join(map(str, tids[:5])) + (", ..." if len(tids) > 5 else "")
