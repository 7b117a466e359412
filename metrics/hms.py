"""Human-model similarity (HMS): the rank correlation of a model's RDM with the human RDM.

Blanchard, Kinnison, RichardWebster, Bashivan & Scheirer (2019), "A Neurobiological Evaluation Metric for Neural
Network Model Search", CVPR. Range [-1, 1], higher = more human-like.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from metrics.errors import MetricError
from metrics.rdm import FloatArray, StreamedGram, align, check_rdm, upper

Status = Literal["ok", "undefined_constant", "undefined_collapsed", "diverged"]

SNAP = 1e-10
# Float32 rounding leaves correlation distances this far outside of [0, 2]; more is another kind of distance.
_CLIP_TOLERANCE = 1e-3


@dataclass(frozen=True)
class HmsResult:
    """HMS of one network: a number exactly when `status` is "ok".

    `value`: Spearman correlation (the paper's), ties sharing their mean rank. `rho_a`: its expected value under random
    breaking of ties (Schuett et al. 2023, eLife 12:e82566); smaller when there are ties. Both in [-1, 1].
    `status`: "undefined_constant" = some stimulus' pattern has one value in all units; "undefined_collapsed" = all
    distances are equal, as in a network that ignores its input; "diverged" = NaN or infinity.
    `n_pairs`: pairs of stimuli compared.
    """

    value: float | None
    status: Status
    rho_a: float | None
    n_pairs: int


def ranks(values: npt.ArrayLike, snap: float = SNAP) -> FloatArray:
    """Mean ranks from 1 of finite values (m,), m >= 1; values closer than `snap` to the lowest of their group are tied.

    A group never spans more than `snap`, so a dense run of distinct values does not melt into one tie.
    """
    array = np.asarray(values, dtype=np.float64)
    order = np.argsort(array, kind="stable")
    ordered = array[order]
    gaps = np.diff(ordered)
    starts = np.flatnonzero(np.append(True, (gaps >= snap) & (gaps > 0)))
    stops = np.append(starts[1:], array.size)
    # A chain of close values that spans more than `snap` is cut greedily, from its lowest value up.
    spans = ordered[stops - 1] - ordered[starts]
    cuts = [cut for run in np.flatnonzero(spans >= snap) for cut in _cuts(ordered, starts[run], stops[run], snap)]
    starts = np.sort(np.concatenate([starts, np.array(cuts, dtype=np.intp)]))
    stops = np.append(starts[1:], array.size)
    result = np.empty(array.size)
    result[order] = np.repeat((starts + 1 + stops) / 2, stops - starts)
    return result


def _cuts(ordered: FloatArray, start: int, stop: int, snap: float) -> list[int]:
    cuts: list[int] = []
    low = start
    while snap > 0 and ordered[stop - 1] - ordered[low] >= snap:
        ahead = int(np.searchsorted(ordered[low:stop], ordered[low] + snap, side="left"))
        low = min(low + max(ahead, 1), stop - 1)
        cuts.append(low)
    return cuts


def spearman(first: npt.ArrayLike, second: npt.ArrayLike) -> float | None:
    """Spearman's rank correlation of two (m,) vectors; None when either is constant after snapping."""
    a, b = _centred_ranks(first), _centred_ranks(second)
    norm = float(np.sqrt((a @ a) * (b @ b)))
    return float(np.clip(a @ b / norm, -1.0, 1.0)) if norm > 0 else None


def rho_a(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """Spearman's correlation of two (m,) vectors, m >= 2, averaged over all ways to break ties, as in rsatoolbox."""
    a, b = _centred_ranks(first), _centred_ranks(second)
    return float(12 * (a @ b) / (a.size**3 - a.size))


def _centred_ranks(values: npt.ArrayLike) -> FloatArray:
    result = ranks(values)
    return result - (result.size + 1) / 2


def hms(
    model_rdm: npt.ArrayLike,
    reference_rdm: npt.ArrayLike,
    *,
    labels: Sequence[str] | None = None,
    reference_labels: Sequence[str] | None = None,
) -> HmsResult:
    """Compare a model's RDM (n, n) with the human RDM (n, n); distances are clipped to [0, 2] and snapped to 1e-10.

    With `labels` and `reference_labels` the model is first put into the order of the reference. A non-finite model
    RDM is "diverged"; `hms_from_gram` also tells constant patterns. Inputs are not modified.
    Raises MetricError on shapes, labels or distances that do not fit and on an unusable reference.
    """
    if (labels is None) != (reference_labels is None):
        raise MetricError("Only one of labels and reference_labels was given; pass both, or neither.")
    model = check_rdm(model_rdm, "model RDM")
    if labels is not None and reference_labels is not None:
        model = align(model, labels, reference_labels)
    reference = _reference_pairs(reference_rdm, model.shape[0])
    pairs = upper(model)
    if not np.isfinite(pairs).all():
        return HmsResult(None, "diverged", None, pairs.size)
    pairs = _clip(pairs, "model RDM")
    value = spearman(pairs, reference)
    if value is None:
        return HmsResult(None, "undefined_collapsed", None, pairs.size)
    return HmsResult(value, "ok", rho_a(pairs, reference), pairs.size)


def hms_from_gram(
    gram: StreamedGram,
    reference_rdm: npt.ArrayLike,
    *,
    labels: Sequence[str] | None = None,
    reference_labels: Sequence[str] | None = None,
) -> HmsResult:
    """HMS of streamed features, with the status that the features, not only their RDM, tell; see `hms`."""
    result = hms(gram.rdm(), reference_rdm, labels=labels, reference_labels=reference_labels)
    if gram.finite and gram.constant.any():
        return HmsResult(None, "undefined_constant", None, result.n_pairs)
    if result.status == "ok" and gram.collapsed:
        return HmsResult(None, "undefined_collapsed", None, result.n_pairs)
    return result


def _reference_pairs(reference_rdm: npt.ArrayLike, n: int) -> FloatArray:
    reference = check_rdm(reference_rdm, "reference RDM")
    if reference.shape[0] != n:
        raise MetricError(f"The model RDM has {n} stimuli, the reference RDM {reference.shape[0]}.")
    pairs = upper(reference)
    if not np.isfinite(pairs).all():
        raise MetricError("The reference RDM holds NaN or infinity; prepare it again: hms data stimuli92")
    pairs = _clip(pairs, "reference RDM")
    if float(np.ptp(pairs)) < SNAP:
        raise MetricError(f"All pairs of the reference RDM are {pairs[0]:.6g}; a rank needs different values.")
    return pairs


def _clip(pairs: FloatArray, name: str) -> FloatArray:
    low, high = float(pairs.min()), float(pairs.max())
    if low < -_CLIP_TOLERANCE or high > 2 + _CLIP_TOLERANCE:
        raise MetricError(
            f"The {name} spans {low:.6g} to {high:.6g}; distances 1 - correlation lie in [0, 2]. "
            "Compute it with metrics.rdm.correlation_rdm."
        )
    return np.clip(pairs, 0.0, 2.0)
