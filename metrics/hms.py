"""Human-model similarity (HMS): the rank correlation of a model's RDM with the human RDM.

Blanchard, Kinnison, RichardWebster, Bashivan & Scheirer (2019), "A Neurobiological Evaluation Metric for Neural
Network Model Search", CVPR. Range [-1, 1], higher = more human-like.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from metrics.comparators import SNAP, rho_a, spearman
from metrics.errors import MetricError
from metrics.rdm import FloatArray, StreamedGram, align, check_rdm, rescaled, upper

Status = Literal["ok", "undefined_constant", "undefined_collapsed", "diverged"]

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


def hms(
    model_rdm: npt.ArrayLike,
    reference_rdm: npt.ArrayLike,
    *,
    labels: Sequence[str] | None = None,
    reference_labels: Sequence[str] | None = None,
) -> HmsResult:
    """Compare a model's RDM (n, n) with the human RDM (n, n); distances are clipped to [0, 2] and snapped to 1e-10.

    The reference may be of any unit, such as cross-validated distances: see `metrics.rdm.rescaled`.
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
    pairs = clipped(pairs)
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
    pairs = rescaled(pairs)
    if float(np.ptp(pairs)) < SNAP:
        raise MetricError(
            f"All pairs of the reference RDM are {upper(reference)[0]:.6g}; a rank needs different values."
        )
    return pairs


def since_epoch_0(rows: Sequence[Mapping[str, Any]]) -> list[float | None]:
    """HMS of each row minus that of the same network (`tid`) at epoch 0, before it was trained; in [-2, 2].

    Rows have `tid`, `epoch` and `hms`; None where either HMS is undefined or epoch 0 was not evaluated.
    """
    untrained = {row["tid"]: row["hms"] for row in rows if row["epoch"] == 0}
    values = [(row["hms"], untrained.get(row["tid"])) for row in rows]
    return [None if hms is None or first is None else hms - first for hms, first in values]


def clipped(pairs: FloatArray) -> FloatArray:
    """A model's pairs (m,) within [0, 2]; MetricError when they are outside by more than rounding."""
    low, high = float(pairs.min()), float(pairs.max())
    if low < -_CLIP_TOLERANCE or high > 2 + _CLIP_TOLERANCE:
        raise MetricError(
            f"The model RDM spans {low:.6g} to {high:.6g}; distances 1 - correlation lie in [0, 2]. "
            "Compute it with metrics.rdm.correlation_rdm."
        )
    return np.clip(pairs, 0.0, 2.0)
