"""Permutation test of HMS: is an RDM more similar to the reference than with its stimuli in any other order?

Mantel (1967), Cancer Research 27:209-220; Phipson & Smyth (2010), Stat Appl Genet Mol Biol 9:39 on p = (b+1)/(B+1).
A p-value over 4,186 pairs as if they were independent is wrong: each stimulus is in 91 of them.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from metrics.comparators import comparator, ranks
from metrics.errors import MetricError
from metrics.rdm import FloatArray, check_rdm, square, upper

# A permutation that leaves the value as it is must count as at least as large, in spite of rounding.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class PermutationTest:
    """One-sided p-value, (b + 1) / (B + 1), where b of B permutations reach the value; None when that is undefined.

    `value`: of the data, in [-1, 1]. `null_mean`, `null_sd`: of the permutations.
    """

    value: float | None
    p: float | None
    permutations: int
    null_mean: float | None
    null_sd: float | None


def mantel(
    model_rdm: npt.ArrayLike,
    reference_rdm: npt.ArrayLike,
    *,
    permutations: int = 10_000,
    seed: int = 0,
    name: str = "spearman",
) -> PermutationTest:
    """Permute the stimuli of the model's RDM (n, n), rows and columns together; compare by the comparator `name`.

    MetricError when the shapes differ or there are no permutations.
    """
    model, reference = check_rdm(model_rdm, "model RDM"), check_rdm(reference_rdm, "reference RDM")
    if model.shape != reference.shape or permutations < 1:
        raise MetricError(
            f"RDMs of {model.shape} and {reference.shape}, {permutations} permutations: cannot be tested."
        )
    chosen = comparator(name)
    value = chosen.similarity(upper(model), upper(reference)) if np.isfinite(model).all() else None
    if value is None:
        return PermutationTest(None, None, permutations, None, None)
    first, second = _comparable(model, name), _comparable(reference, name)
    rng, null = np.random.default_rng(seed), np.empty(permutations)
    i, j = np.triu_indices(len(model), 1)
    for index in range(permutations):
        order = rng.permutation(len(model))
        if name == "tau-a":
            null[index] = chosen.similarity(first[order[i], order[j]], second[i, j]) or 0.0
        else:
            null[index] = np.vdot(first[order[:, None], order], second)
    if name != "tau-a":
        # The norms do not change when stimuli are permuted.
        null *= value / np.vdot(first, second) if np.vdot(first, second) else 0.0
    reached = int((null >= value - _ROUNDING).sum())
    p = (reached + 1) / (permutations + 1)
    return PermutationTest(value, p, permutations, float(null.mean()), float(null.std()))


def _comparable(rdm: FloatArray, name: str) -> FloatArray:
    """What the comparator multiplies, as (n, n) with diagonal 0: centred ranks, centred distances, or distances."""
    pairs = upper(rdm)
    if name == "cosine":
        return square(pairs)
    if name in ("spearman", "rho-a", "tau-a"):
        pairs = ranks(pairs)
    return square(pairs - pairs.mean())
