"""HMS in parts: by layer, by time step, within and between categories; from features that stream by once."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
import numpy.typing as npt

from metrics.comparators import SNAP, rho_a, spearman
from metrics.errors import MetricError
from metrics.hms import HmsResult, clipped
from metrics.rdm import FloatArray, StreamedGram, check_rdm, rescaled


class GramGrid:
    """Gram matrices of n stimuli by time step and layer, in float64; their sums are those of a layer, a step, all.

    One pass over the features fills it: each (step, layer) has a `StreamedGram` of its own, (n, n), and sums are merged
    exactly. `step` is None for features without time.
    """

    def __init__(self, n: int) -> None:
        """Start empty for `n` >= 2 stimuli; MetricError for fewer."""
        self.n = n
        self._grams: dict[tuple[int | None, str], StreamedGram] = {}

    def update(self, layer: str, features: npt.ArrayLike, step: int | None = None) -> None:
        """Add features (n, d) of a layer at a step; any number of pieces. Raises as `StreamedGram.update`."""
        self._grams.setdefault((step, layer), StreamedGram(self.n)).update(features)

    @property
    def layers(self) -> list[str]:
        """Layers in the order in which they came."""
        return list(dict.fromkeys(layer for _, layer in self._grams))

    @property
    def steps(self) -> list[int]:
        """Time steps, ascending; none for features without time."""
        return sorted({step for step, _ in self._grams if step is not None})

    def gram(self, *, layer: str | None = None, step: int | None = None) -> StreamedGram:
        """The Gram matrix of a layer, a step, a layer at a step, or (neither given) of everything."""
        chosen = [
            gram
            for (own_step, own_layer), gram in self._grams.items()
            if layer in (None, own_layer) and step in (None, own_step)
        ]
        if not chosen:
            raise MetricError(f"There are no features of layer {layer!r}, step {step}; layers: {self.layers}.")
        total = StreamedGram(self.n)
        for gram in chosen:
            total.merge(gram)
        return total


@dataclass(frozen=True)
class CategoryHms:
    """HMS over the pairs of two categories: within one where `first` == `second`, between two otherwise.

    "all" stands for every category: ("all", "within") pools the pairs within each, ("all", "between") those between.
    """

    first: str
    second: str
    result: HmsResult


def hms_by_category(
    model_rdm: npt.ArrayLike, reference_rdm: npt.ArrayLike, categories: Sequence[str]
) -> list[CategoryHms]:
    """HMS over parts of the pairs; RDMs (n, n) and `categories` (n,) in one order.

    Pooled within and between first, then each category and each two. Ranks are taken within each part, so that a part
    cannot profit from differences to other parts. Parts with fewer than 3 pairs are left out.
    """
    model, reference = check_rdm(model_rdm, "model RDM"), rescaled(check_rdm(reference_rdm, "reference RDM"))
    kinds = np.array(categories)
    if model.shape != reference.shape or kinds.shape != (model.shape[0],):
        raise MetricError(
            f"{kinds.size} categories, a model RDM of {model.shape}, a reference RDM of {reference.shape}: "
            "give all for the same n stimuli."
        )
    i, j = np.triu_indices(len(kinds), 1)
    first, second = kinds[i], kinds[j]
    parts = {("all", "within"): first == second, ("all", "between"): first != second}
    for one, two in combinations_with_replacement(dict.fromkeys(categories), 2):
        parts[one, two] = ((first == one) & (second == two)) | ((first == two) & (second == one))
    pairs, truth = model[i, j], reference[i, j]
    return [
        CategoryHms(*names, _hms_of_pairs(pairs[chosen], truth[chosen]))
        for names, chosen in parts.items()
        if chosen.sum() >= 3
    ]


def _hms_of_pairs(model: FloatArray, reference: FloatArray) -> HmsResult:
    if not np.isfinite(model).all():
        return HmsResult(None, "diverged", None, model.size)
    value = spearman(clipped(model), reference) if np.ptp(reference) >= SNAP else None
    if value is None:
        return HmsResult(None, "undefined_collapsed", None, model.size)
    return HmsResult(value, "ok", rho_a(clipped(model), reference), model.size)
