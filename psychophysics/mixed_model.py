"""A logistic mixed-effects model by Laplace's approximation, of crossed random effects with correlated slopes.

    correct ~ Bernoulli(sigmoid(X beta + Z b)),   b of one level of a term ~ Normal(0, L L')

The likelihood integrates over b. With b = L u, u ~ Normal(0, 1), the integrand has one mode; Laplace's approximation
takes the normal density there. Up to a constant its negative logarithm, with M = Z L and W = diag(p (1 - p)), is
    -log p(correct | u) + u'u / 2 + log |M' W M + I| / 2      at the mode u,
which is minimised over beta and the lower triangles L together (`nAGQ = 1` of R's lme4), with its exact gradient.
Standard errors come from the curvature over all of them. Bates et al. (2015), J. Stat. Softw. 67(1).
Intervals use Student's t with Satterthwaite's degrees of freedom: with 18 units the normal's cover too rarely.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import linalg, optimize, sparse, special, stats

from psychophysics.errors import NotEstimable

FloatArray = npt.NDArray[np.floating[Any]]

_NEWTON_STEPS = 100
_MODE_TOLERANCE = 1e-9  # of the gradient at the mode of u, whose curvature is at least 1
_GRADIENT_TOLERANCE = 1e-4  # of the minimum, in standard errors
_STEP = 1e-4  # of the differences of gradients that give the curvature
_FLAT = 1e-8  # eigenvalues of the curvature below this share of the largest: a direction without information


@dataclass(frozen=True)
class RandomTerm:
    """`(columns | groups)` of lme4: groups (n,) of any labels; design (n, k) float64; columns: its k names."""

    name: str
    groups: npt.NDArray[np.object_]
    design: FloatArray
    columns: tuple[str, ...] = ("intercept",)


@dataclass(frozen=True)
class Spread:
    """Estimated random effects of one term: SD (k,) and correlations (k, k) on the scale of log-odds; levels: groups.

    A correlation with an SD of 0 is NaN.
    """

    columns: tuple[str, ...]
    sd: FloatArray
    correlation: FloatArray
    levels: int


@dataclass(frozen=True)
class Fit:
    """names (p,), estimate (p,), covariance (p, p) of the fixed effects, log-odds; log_likelihood: Laplace's.

    n: observations. Higher estimate = more often correct. `singular`: a random SD or a combination is 0 (on the edge).
    """

    names: tuple[str, ...]
    estimate: FloatArray
    covariance: FloatArray
    uncertainty: "Uncertainty"
    random: Mapping[str, Spread]
    log_likelihood: float
    n: int
    singular: bool

    def contrast(self, weights: npt.ArrayLike) -> "Contrast":
        """A weighted sum of the effects, weights (p,): value, interval and test against 0."""
        w = np.asarray(weights, float)
        value, error = float(w @ self.estimate), float(np.sqrt(w @ self.covariance @ w))
        df = self.uncertainty.degrees_of_freedom(w)
        half = float(stats.t.ppf(0.975, df)) * error
        return Contrast(value, error, df, value - half, value + half, float(2 * stats.t.sf(abs(value) / error, df)))


@dataclass(frozen=True)
class Contrast:
    """An effect in log-odds, its standard error, degrees of freedom, 95 % interval, and two-sided p."""

    value: float
    error: float
    df: float
    low: float
    high: float
    p: float


@dataclass(frozen=True)
class Uncertainty:
    """How well the variance of an effect is itself known (Satterthwaite 1946; Kuznetsova et al. 2017, lmerTest).

    given (p, p): covariance of the fixed effects for the estimated L; slopes (m, p, p): its derivatives by the m
    entries of L; spread (m, m): their covariance.
    """

    given: FloatArray
    slopes: FloatArray
    spread: FloatArray

    def degrees_of_freedom(self, w: FloatArray) -> float:
        """Of the weighted sum of effects `w` (p,); at least 1."""
        slope = w @ self.slopes @ w
        variance = float(slope @ self.spread @ slope)
        return max(1.0, 2 * float(w @ self.given @ w) ** 2 / variance) if variance > 0 else np.inf


def fit(correct: npt.ArrayLike, fixed: npt.ArrayLike, names: Sequence[str], terms: Sequence[RandomTerm]) -> Fit:
    """Fit the model to `correct` (n,) bool with fixed effects (n, p) float64 and random `terms`.

    Raises NotEstimable where the data do not determine the effects: all answers alike, collinear or separated effects.
    """
    y, X = np.asarray(correct, float), np.asarray(fixed, float)
    if y.min() == y.max():
        raise NotEstimable(f"All {y.size} answers are {'correct' if y[0] else 'wrong'}: no model describes them.")
    if np.linalg.matrix_rank(X) < X.shape[1]:
        raise NotEstimable(f"The effects {', '.join(names)} are not independent of each other in these data.")
    ordered = sorted(terms, key=lambda term: (term.design.shape[1] > 1, -len(set(term.groups))))
    laplace = _Laplace(y, X, ordered)
    start = laplace.start()
    found = optimize.minimize(laplace, start, jac=True, method="L-BFGS-B", options={"maxiter": 500, "ftol": 1e-11})
    parameters, curvature = _polished(laplace, found.x)
    estimate = parameters[: X.shape[1]]
    covariance = _fixed_covariance(curvature, X.shape[1])
    if np.abs(estimate).max() > 12 or not np.isfinite(covariance).all() or (np.diag(covariance) <= 0).any():
        raise NotEstimable(
            "The effects have no finite estimate: "
            + ", ".join(f"{name} {value:.1f}" for name, value in zip(names, estimate, strict=True))
            + ". Are all answers of a condition alike?"
        )
    value, _ = laplace(parameters)
    spreads = {term.name: laplace.spread(parameters, t) for t, term in enumerate(ordered)}
    singular = any((spread.sd < 1e-3).any() or laplace.rank(parameters, t) for t, spread in enumerate(spreads.values()))
    uncertainty = _uncertainty(laplace, parameters, curvature)
    return Fit(tuple(names), estimate, covariance, uncertainty, spreads, -value, y.size, singular)


class _Laplace:
    """The negative Laplace log-likelihood and its gradient, as a function of (beta, lower triangles of every L).

    `terms` come with the one first whose block of M' W M is eliminated first, see `_Curvature`.
    """

    def __init__(self, y: FloatArray, X: FloatArray, terms: Sequence[RandomTerm]) -> None:
        self.y, self.X, self.terms = y, X, terms
        self.sizes = [term.design.shape[1] for term in terms]
        self.tril = [np.tril_indices(k) for k in self.sizes]
        coded = [np.unique(term.groups, return_inverse=True) for term in terms]
        self.levels = [len(labels) for labels, _ in coded]
        ends = np.cumsum([k * levels for k, levels in zip(self.sizes, self.levels, strict=True)])
        # Where the k entries of every observation stand among all columns of M; (n, sum of k).
        self.places = np.concatenate(
            [
                end - k * levels + codes.reshape(-1, 1) * k + np.arange(k)
                for end, k, levels, (_, codes) in zip(ends, self.sizes, self.levels, coded, strict=True)
            ],
            axis=1,
        )
        self.first = ends[0] if self.sizes[0] == 1 else 0
        self.u = np.zeros(ends[-1])

    def start(self) -> FloatArray:
        """Fixed effects without random ones; every SD a half, uncorrelated."""
        beta = np.zeros(self.X.shape[1])
        for _ in range(8):
            p = special.expit(self.X @ beta)
            information = (self.X * (p * (1 - p))[:, None]).T @ self.X
            beta = beta + np.linalg.solve(information + 1e-3 * np.eye(len(beta)), self.X.T @ (self.y - p))
        return np.concatenate([beta, *(0.5 * np.eye(k)[tril] for k, tril in zip(self.sizes, self.tril, strict=True))])

    def factors(self, parameters: FloatArray) -> list[FloatArray]:
        """Every L (k, k), lower triangular."""
        found, place = [], self.X.shape[1]
        for k, tril in zip(self.sizes, self.tril, strict=True):
            L = np.zeros((k, k))
            L[tril] = parameters[place : place + len(tril[0])]
            found.append(L)
            place += len(tril[0])
        return found

    def matrix(self, parameters: FloatArray) -> tuple[FloatArray, sparse.csr_array]:
        """The entries (n, sum of k) of M, and M (n, q)."""
        rows = np.concatenate(
            [term.design @ L for term, L in zip(self.terms, self.factors(parameters), strict=True)], axis=1
        )
        pointer = np.arange(0, rows.size + 1, rows.shape[1])
        return rows, sparse.csr_array((rows.ravel(), self.places.ravel(), pointer), shape=(len(rows), len(self.u)))

    def given(self, parameters: FloatArray) -> FloatArray:
        """Covariance (p, p) of the fixed effects when L is known: their block of the inverse joint curvature with u."""
        X = self.X
        _, M = self.matrix(parameters)
        _, eta, curvature = self._mode(M, X @ parameters[: X.shape[1]])
        p = special.expit(eta)
        weighted = X * (p * (1 - p))[:, None]
        across = M.T @ weighted
        solved = np.column_stack([curvature.solve(column) for column in across.T])
        return np.linalg.inv(X.T @ weighted - across.T @ solved)

    def __call__(self, parameters: FloatArray) -> tuple[float, FloatArray]:
        """Value and gradient."""
        y, X, places = self.y, self.X, self.places
        rows, M = self.matrix(parameters)
        u, eta, curvature = self._mode(M, X @ parameters[: X.shape[1]])
        p = special.expit(eta)
        w, e = p * (1 - p), y - p
        value = float(np.logaddexp(0, eta).sum() - y @ eta + u @ u / 2) + curvature.log_determinant / 2
        # Only those entries of M H^-1 (n, q) count that M itself has.
        inverse = curvature.inverse()
        MH = np.einsum("ij,ijc->ic", rows, inverse[places[:, :, None], places[:, None, :]])
        # The determinant changes with u too, and u with the parameters: `a` and `v` carry that through the mode.
        a = w * (1 - 2 * p) * (rows * MH).sum(axis=1) / 2
        v = curvature.solve(M.T @ a)
        through = a - e - w * (M @ v)
        inner = through[:, None] * u[places] + e[:, None] * v[places] + w[:, None] * MH
        gradient, column = [X.T @ through], 0
        for term, k, tril in zip(self.terms, self.sizes, self.tril, strict=True):
            gradient.append((term.design.T @ inner[:, column : column + k])[tril])
            column += k
        return value, np.concatenate(gradient)

    def _mode(self, M: sparse.csr_array, offset: FloatArray) -> tuple[FloatArray, FloatArray, "_Curvature"]:
        """u at the mode (q,), the linear predictor (n,) and the curvature there, by Newton's method."""
        u, y = self.u, self.y
        eta = offset + M @ u

        def objective(u: FloatArray, eta: FloatArray) -> float:
            return float(np.logaddexp(0, eta).sum() - y @ eta + u @ u / 2)

        value = objective(u, eta)
        for _ in range(_NEWTON_STEPS):
            p = special.expit(eta)
            curvature = _Curvature(M, p * (1 - p), self.first)
            slope = u - M.T @ (y - p)
            if np.abs(slope).max() < _MODE_TOLERANCE:
                break
            step, size = curvature.solve(slope), 1.0
            while True:
                tried = u - size * step
                eta = offset + M @ tried
                changed = objective(tried, eta)
                if changed <= value + 1e-9 * abs(value) or size < 1e-6:
                    break
                size /= 2
            u, value = tried, changed
        self.u = u
        return u, eta, curvature

    def spread(self, parameters: FloatArray, t: int) -> Spread:
        """SD and correlations of term `t`."""
        L = self.factors(parameters)[t]
        covariance = L @ L.T
        sd = np.sqrt(np.diag(covariance))
        with np.errstate(invalid="ignore", divide="ignore"):
            correlation = covariance / np.outer(sd, sd)
        return Spread(self.terms[t].columns, sd, correlation, self.levels[t])

    def rank(self, parameters: FloatArray, t: int) -> bool:
        """Whether the covariance of term `t` has a direction without spread."""
        return bool(np.linalg.svd(self.factors(parameters)[t], compute_uv=False).min() < 1e-3)


class _Curvature:
    """H = M' W M + I (q, q), factored. Its first block, of a term with one column, is diagonal and eliminated.

    What remains is dense: crossed effects fill a sparse factor, and q is some hundred for a whole study.
    """

    def __init__(self, M: sparse.csr_array, w: FloatArray, first: int) -> None:
        weighted = sparse.csr_array((M.data * np.repeat(w, np.diff(M.indptr)), M.indices, M.indptr), shape=M.shape)
        H = (M.T @ weighted).tocsr()
        self.first = first
        self.diagonal = H.diagonal()[:first] + 1
        self.across = H[:first, first:].toarray()
        rest = H[first:, first:].toarray() + np.eye(H.shape[0] - first)
        self.scaled = self.across / self.diagonal[:, None]
        self.factor = linalg.cho_factor(rest - self.across.T @ self.scaled, lower=True, check_finite=False)

    @property
    def log_determinant(self) -> float:
        """log |H|."""
        return float(np.log(self.diagonal).sum() + 2 * np.log(np.diag(self.factor[0])).sum())

    def solve(self, right: FloatArray) -> FloatArray:
        """H^-1 right, for right (q,)."""
        top, bottom = right[: self.first], right[self.first :]
        below = linalg.cho_solve(self.factor, bottom - self.scaled.T @ top, check_finite=False)
        return np.concatenate([top / self.diagonal - self.scaled @ below, below])

    def inverse(self) -> FloatArray:
        """H^-1 (q, q)."""
        first = self.first
        rest = linalg.cho_solve(self.factor, np.eye(len(self.factor[0])), check_finite=False)
        side = self.scaled @ rest
        whole = np.empty((first + len(rest), first + len(rest)))
        whole[first:, first:] = rest
        whole[:first, first:], whole[first:, :first] = -side, -side.T
        whole[:first, :first] = side @ self.scaled.T
        whole[np.arange(first), np.arange(first)] += 1 / self.diagonal
        return whole


def _polished(laplace: _Laplace, parameters: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The minimum to `_GRADIENT_TOLERANCE`, and the curvature (m, m) there."""
    for _ in range(10):
        curvature = _curvature(laplace, parameters)
        value, gradient = laplace(parameters)
        values, vectors = np.linalg.eigh(curvature)
        informed = values > _FLAT * values[-1]
        along = vectors[:, informed].T @ gradient
        if np.sqrt((along**2 / values[informed]).sum()) < _GRADIENT_TOLERANCE:
            return parameters, curvature
        step, size = vectors[:, informed] @ (along / values[informed]), 1.0
        while laplace(parameters - size * step)[0] > value and size > 1e-4:
            size /= 2
        parameters = parameters - size * step
    raise NotEstimable(f"The mixed model did not converge on {laplace.y.size} answers; simplify its random effects.")


def _curvature(laplace: _Laplace, parameters: FloatArray) -> FloatArray:
    """Second derivatives (m, m), by central differences of the exact gradient."""
    found = np.empty((len(parameters), len(parameters)))
    for i in range(len(parameters)):
        moved = np.zeros(len(parameters))
        moved[i] = _STEP
        found[i] = (laplace(parameters + moved)[1] - laplace(parameters - moved)[1]) / (2 * _STEP)
    return (found + found.T) / 2


def _fixed_covariance(curvature: FloatArray, p: int) -> FloatArray:
    """Covariance (p, p) of the fixed effects when all parameters are estimated; flat random directions are left out."""
    across = curvature[:p, p:]
    reduced = curvature[:p, :p] - across @ np.linalg.pinv(curvature[p:, p:], rcond=_FLAT, hermitian=True) @ across.T
    return np.linalg.inv(reduced)


def _uncertainty(laplace: _Laplace, parameters: FloatArray, curvature: FloatArray) -> Uncertainty:
    p = laplace.X.shape[1]
    slopes = []
    for i in range(p, len(parameters)):
        moved = np.zeros(len(parameters))
        moved[i] = _STEP
        slopes.append((laplace.given(parameters + moved) - laplace.given(parameters - moved)) / (2 * _STEP))
    spread = np.linalg.pinv(curvature, rcond=_FLAT, hermitian=True)[p:, p:]
    return Uncertainty(laplace.given(parameters), np.array(slopes), spread)
