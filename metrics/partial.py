"""HMS controlling for other RDMs: what is left of the agreement once pixels or outlines are accounted for."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from metrics.comparators import ranks
from metrics.rdm import FloatArray

# Residuals smaller than this share of the ranks' own variance are rounding: the control explains all of them.
_NOTHING_LEFT = 1e-10


def partial_spearman(first: npt.ArrayLike, second: npt.ArrayLike, controls: Sequence[npt.ArrayLike]) -> float | None:
    """Partial Spearman correlation of pairs (m,) and (m,) given `controls`, each (m,); in [-1, 1].

    Pearson's correlation of what is left of the ranks after linear regression on the ranks of all controls. None when
    nothing is left, as of a model that is itself a control. Kendall & Stuart (1973), "The Advanced Theory of
    Statistics" 2, ch. 27.
    """
    design = np.stack([_centred(control) for control in controls], axis=1)
    a, b = (_residual(_centred(values), design) for values in (first, second))
    if a is None or b is None:
        return None
    return float(np.clip(a @ b / np.sqrt((a @ a) * (b @ b)), -1.0, 1.0))


def _centred(values: npt.ArrayLike) -> FloatArray:
    own = ranks(values)
    return own - own.mean()


def _residual(values: FloatArray, design: FloatArray) -> FloatArray | None:
    left = values - design @ np.linalg.lstsq(design, values, rcond=None)[0]
    return left if left @ left > _NOTHING_LEFT * (values @ values) else None
