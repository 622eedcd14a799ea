"""Least-squares conditional density estimation (Sugiyama et al., IEICE Transactions 2010)."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from math import exp, pi, sqrt

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from kcde import linalg
from kcde.arrays import array_namespace, logsumexp, solve_triangular, take_rows, to_numpy
from kcde.estimators._shared import checks, mixture
from kcde.estimators.base import CommonOptions, Tags
from kcde.kernels import as_bandwidths
from kcde.kernels.gaussian import log_gaussian_kernel
from kcde.memory import require_memory
from kcde.seeding import rng_of
from kcde.selection import best_index, complement

BANDWIDTHS = np.geomspace(10**-1.5, 10**1.5, 20)
REGULARIZATIONS = np.geomspace(1e-3, 10.0, 20)

_SWEEPS = 5
"""Times that every column's own bandwidth is chosen anew, at most."""


@dataclass(eq=False, repr=False)
class LSCDE(CommonOptions, mixture.SignedMixture):
    """Predict the density of y given x, of any shape, by least squares, for up to 10,000 rows.

    `predict` gives the mean of y, `score` the mean log density of rows.

    p(y|x) ∝ Σ_l α_l φ_l(x, y), α = max(0, (H + λI)⁻¹ h), normalised over y.

    φ_l(x, y) = exp(-|x - u_l|²/2σ_x²) exp(-|y - v_l|²/2σ_y²) with centres (u_l, v_l) drawn from
    the training pairs; H = ∫ (1/n) Σ_i φ(x_i, y) φ(x_i, y)ᵀ dy and h = (1/n) Σ_i φ(x_i, y_i).

    Fitting costs O(n b² + b³) for b centres; selection that, for each σ and fold, and b³ for each
    λ of the path; without `isotropic` that for each column and sweep again, with one λ.

    Far from all centres the basis functions vanish, and the nearest centres alone decide.

    Parameters
    ----------
    bandwidth_x, bandwidth_y
        Standard deviations of φ in the units of x and y: a number, or one per dimension. None: one
        σ, for both where both are None, chosen from 20 log-spaced values.
    regularization
        λ. None: chosen from 20 log-spaced values.
    n_centres
        Maximum number of centres.
    density_floor
        None: the normalised density, far from all centres as well. A number ε: what a public copy
        of the authors' code calls the density, p/max(ε, normaliser) + ε, in the selection and
        after it; ε bounds the loss of a point by -log ε, and where no centre is near x it does
        not integrate to 1. Its ε is 2.2e-16, the spacing of doubles at 1. `mean`, `cdf`,
        `quantile`, `interval` and `sample` are of the mixture without it.
    weights
        "clipped": α as above. Without clipping, and what cdo (supplement B) proposes instead:
        "signed", (H + λI)⁻¹h, where `log_density` is -inf where the estimate is not positive;
        "constrained", the minimiser of ½αᵀ(H + λI)α - hᵀα under α ≥ 0; "projected", the α ≥ 0 whose
        mixture is nearest to the signed one in L2, averaged over the training x. The selection
        is always that of the clipped weights.
    implementation
        "sugiyama": as above. "cde": as the Python package `cde` has it, which the authors of cdo
        call: another H, and centres by k-means (`kcde.estimators.lscde`); for comparisons,
        with one σ for x and y. The package standardises both.
    folds
        Number of folds of the cross-validation.
    isotropic
        Whether one σ is chosen for all columns without a bandwidth. False: from that σ on, each
        column has its own, the best of the same values while all else stays; x, y and then λ are
        chosen anew until none changes, at most 5 times. The text of kcef (section 4) has one per
        dimension in figure 1 and does not say how they are tuned.
    random_state
        Seeds the centres and the shuffle of the folds.
    standardize
        Whether x and y are first brought to mean 0 and standard deviation 1 of the training rows:
        parameters and what is learned are then in these units. False: the rows as they are.

    Attributes
    ----------
    weights_
        α, shape (b,), not negative unless signed.
    centres_x_, centres_y_
        Shapes (b, d_x), (b, d_y).
    jitter_
        Added to the diagonal of H beyond λ; 0.0 as a rule.
    bandwidth_x_, bandwidth_y_, regularization_
        Values used, given or chosen.

    Examples
    --------
    >>> import numpy as np
    >>> from kcde import LSCDE
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 1))
    >>> Y = np.sin(X) + 0.3 * rng.normal(size=(100, 1))
    >>> model = LSCDE(bandwidth_x=0.5, bandwidth_y=0.5, regularization=0.1).fit(X, Y)
    >>> model.mean(np.array([[1.0]])).round(1)
    array([[0.8]])
    >>> model.interval(np.array([[1.0]]), 0.9).shape
    (1, 2)
    """

    selection_rule = (
        "at most 100 Gaussian centres, one σ (10^−1.5…10^1.5) and λ (10^−3…10) on a 20 × 20 "
        "grid, 5-fold held-out likelihood"
    )

    tags = Tags(grouped=True)

    bandwidth_x: float | Sequence[float] | None = None
    bandwidth_y: float | Sequence[float] | None = None
    regularization: float | None = None
    _: KW_ONLY
    n_centres: int = 100
    density_floor: float | None = None
    weights: str = "clipped"
    implementation: str = "sugiyama"
    folds: int = 5
    isotropic: bool = True

    def _fit(self, X, Y):
        self._check_parameters()
        rng = rng_of("selection", self.random_state)
        self.centres_x_, self.centres_y_ = self._draw_centres(X, Y, rng)
        self.cv_results_ = {}
        self.regularization_ = self.regularization
        self._set_bandwidths(1.0)
        choices = self.bandwidth_x, self.bandwidth_y, self.regularization
        if any(choice is None for choice in choices):
            self._select(X, Y, rng)
        H, h = self._basis(X, Y).moments(np.arange(Y.shape[0]))
        self.weights_, self.jitter_ = _SOLVERS[self.weights](H, h, self.regularization_)
        if not bool(array_namespace(Y).any(self.weights_ > 0)):
            raise np.linalg.LinAlgError("no weight is positive: raise regularization or bandwidth")
        self._centres, self._sigma = self.centres_y_, self.bandwidth_y_

    @property
    def _integrates_to_one(self) -> bool:
        return super()._integrates_to_one and self.density_floor is None

    def _draw_centres(self, X, Y, rng) -> tuple:
        if self.implementation == "cde":
            xp, found = array_namespace(Y), centres(to_numpy(X), to_numpy(Y), self.n_centres, rng)
            return tuple(xp.asarray(each) for each in found)
        rows = np.sort(rng.permutation(Y.shape[0])[: self.n_centres])
        return take_rows(X, rows), take_rows(Y, rows)

    def _check_parameters(self):
        for name in ("regularization", "density_floor"):
            checks.positive(name, getattr(self, name), optional=True)
        package = self.implementation == "cde"
        checks.whole("n_centres", self.n_centres, FEWEST_CENTRES if package else 1)
        checks.choice("weights", self.weights, _SOLVERS)
        checks.choice("implementation", self.implementation, ("sugiyama", "cde"))
        if package and not self.isotropic:
            raise ValueError("implementation='cde' has one bandwidth: set isotropic=True with it")
        if self.weights == "signed" and self.density_floor is not None:
            raise ValueError("density_floor is for weights that are not signed")

    def _set_bandwidths(self, sigma: float):
        """Take what is given, and `sigma` for what is not."""
        x = sigma if self.bandwidth_x is None else self.bandwidth_x
        y = sigma if self.bandwidth_y is None else self.bandwidth_y
        self.bandwidth_x_ = as_bandwidths(x, self.n_features_in_, "bandwidth_x")
        self.bandwidth_y_ = as_bandwidths(y, self.n_outputs_, "bandwidth_y")

    def _basis(self, X, Y) -> "_Basis":
        U, V = self.centres_x_, self.centres_y_
        if self.implementation != "cde":
            return _Basis(X, Y, U, V, self.bandwidth_x_, self.bandwidth_y_)
        both = np.concatenate([self.bandwidth_x_, self.bandwidth_y_])
        if np.any(both != both[0]):
            raise ValueError(f"implementation='cde' has one bandwidth; got {both.tolist()}")
        return _PackageBasis(X, Y, U, V, self.bandwidth_x_, self.bandwidth_y_)

    def _select(self, X, Y, rng):
        folds = self._kfold(np.arange(Y.shape[0]), self.folds, rng)
        given = self.bandwidth_x is not None and self.bandwidth_y is not None
        sigmas = np.ones(1) if given else BANDWIDTHS
        path = REGULARIZATIONS if self.regularization is None else np.array([self.regularization])

        def held_out_scores(path: np.ndarray) -> np.ndarray:
            """Return the score of the present bandwidths, one for each λ of a path."""
            basis, total = self._basis(X, Y), np.zeros(len(path))
            for held_out, moments in zip(folds, basis.moments_without(folds), strict=True):
                alpha = basis.weight_path(moments, path)
                total += _log_likelihood(basis, alpha, held_out, self.density_floor)
            return total

        def of(sigma: float) -> np.ndarray:
            self._set_bandwidths(sigma)
            return held_out_scores(path)

        score = np.stack([of(sigma) for sigma in sigmas])
        i, j = best_index(score)
        self._set_bandwidths(sigmas[i])
        self.regularization_ = float(path[j])
        self.cv_results_ = {"bandwidth": sigmas, "regularization": path, "score": score}
        if not self.isotropic:
            self._select_each(held_out_scores, path)

    def _select_each(self, held_out_scores: Callable, path: np.ndarray) -> None:
        """Choose the bandwidth of each column that has none, in turn, and λ after them."""
        chosen = [self.bandwidth_x_] if self.bandwidth_x is None else []
        chosen += [self.bandwidth_y_] if self.bandwidth_y is None else []
        columns = [(own, column) for own in chosen for column in range(len(own))]

        def of(own, column: int, sigma: float) -> float:
            own[column] = sigma
            return held_out_scores(np.array([self.regularization_]))[0]

        def now() -> list[float]:
            return [own[column] for own, column in columns] + [self.regularization_]

        for _ in range(_SWEEPS):
            before = now()
            for own, column in columns:
                score = np.array([of(own, column, sigma) for sigma in BANDWIDTHS])
                own[column] = BANDWIDTHS[best_index(score)]
            self.regularization_ = float(path[best_index(held_out_scores(path))])
            if before == now():
                return

    def _log_density(self, X, Y):
        if self.density_floor is None:
            return super()._log_density(X, Y)
        basis = self._basis(X, Y)
        numerator = (basis.phi_x * basis.phi_y) @ self.weights_
        return basis.floored(numerator, basis.phi_x @ self.weights_, self.density_floor)

    def _log_density_at(self, Y):
        if self.density_floor is None:
            return super()._log_density_at(Y)

        def at(X):
            basis = self._basis(X, Y)
            numerator = (basis.phi_x * self.weights_) @ basis.phi_y.T
            total = (basis.phi_x @ self.weights_)[:, None]
            return basis.floored(numerator, total, self.density_floor)

        return at

    def _log_weights(self, X):
        log_phi = log_gaussian_kernel(X, self.centres_x_, self.bandwidth_x_)
        log_terms = log_phi + mixture.log_where_positive(self.weights_)
        return log_terms - logsumexp(log_terms, axis=1)[:, None]

    def _signed_weights(self, X):
        xp = array_namespace(X)
        log_phi = log_gaussian_kernel(X, self.centres_x_, self.bandwidth_x_)
        # Far from all centres every φ underflows; their ratios do not.
        phi = xp.exp(log_phi - xp.max(log_phi, axis=1, keepdims=True))
        return mixture.divided_by_sums(phi * self.weights_, "raise regularization or bandwidth_x")


class _Basis:
    """φ at points X and at points Y, for one pair of bandwidths, and the moments of both."""

    def __init__(self, X, Y, U, V, sigma_x: np.ndarray, sigma_y: np.ndarray):
        xp = array_namespace(Y)
        # φ of x and of y with the logarithms of a fold's, which the held-out likelihood needs, H
        # twice and a product of rows.
        width = U.shape[0] * 7
        require_memory(Y, "LSCDE's basis at rows", max(X.shape[0], Y.shape[0]), lambda n: n * width)
        self._x, self._y = (X, U, sigma_x), (Y, V, sigma_y)
        self.phi_x = xp.exp(log_gaussian_kernel(*self._x))
        self.phi_y = xp.exp(log_gaussian_kernel(*self._y))
        self.log_volume = mixture.log_volume(sigma_y)
        # ∫ φ_y,l φ_y,l′ dy = (√π σ_y)^d exp(-|v - v′|²/4σ_y²)
        root = xp.exp(0.5 * log_gaussian_kernel(V, V, sigma_y))
        self.overlap = exp(mixture.log_volume(sigma_y / sqrt(2.0))) * root

    def log_phi(self, rows) -> Iterator:
        """Yield the logarithms of φ of x and of y, shape (len rows, b)."""
        for points, centres, sigma in (self._x, self._y):
            yield log_gaussian_kernel(take_rows(points, rows), centres, sigma)

    def _phi(self, rows) -> tuple:
        return take_rows(self.phi_x, rows), take_rows(self.phi_y, rows)

    def _gram(self, rows, phi_x):
        """Return H (b, b) averaged over some rows, with φ of their x."""
        return self.overlap * (phi_x.T @ phi_x) / len(rows)

    def moments(self, rows):
        """Return H (b, b) and h (b,) averaged over the rows."""
        phi_x, phi_y = self._phi(rows)
        return self._gram(rows, phi_x), array_namespace(phi_x).mean(phi_x * phi_y, axis=0)

    def moments_without(self, folds: Sequence[np.ndarray]) -> Iterator[tuple]:
        """Yield `moments` of the rows outside each fold of a partition.

        They are the sums of those of the other folds: each row is read once, not once a fold.
        """
        n, xp = self.phi_y.shape[0], array_namespace(self.phi_y)
        each = (self._phi(fold) for fold in folds)
        sums = [(phi_x.T @ phi_x, xp.sum(phi_x * phi_y, axis=0)) for phi_x, phi_y in each]
        for number, held_out in enumerate(folds):
            others, rows = sums[:number] + sums[number + 1 :], n - len(held_out)
            H, h = (sum(parts) for parts in zip(*others, strict=True))
            yield self.overlap * H / rows, h / rows

    def weight_path(self, moments: tuple, path: np.ndarray):
        """Return α clipped at 0, shape (b, L), of `moments` for every λ of the path.

        Elimination, not one spectrum for all λ: where σ is small, H is nearly diagonal, and a
        weight of 1e-30 must not come out as the rounding error of the largest, since the density
        is a ratio of weights.
        """
        xp, (H, h) = array_namespace(self.phi_x), moments
        shifts = xp.asarray(path)[:, None, None] * xp.eye(H.shape[0], dtype=H.dtype)
        right = xp.broadcast_to(h[None, :, None], (len(path), H.shape[0], 1))
        return xp.clip(xp.linalg.solve(H[None, ...] + shifts, right)[:, :, 0].T, min=0.0)

    def floored(self, numerator, total, floor: float):
        """Return log(numerator / max(ε, normaliser) + ε), as that public copy of the code has it.

        `total` is the normaliser over the volume of φ in y.
        """
        xp = array_namespace(numerator)
        return xp.log(numerator / xp.clip(exp(self.log_volume) * total, min=floor) + floor)


class _PackageBasis(_Basis):
    """The same with what the Python package `cde` computes in place of H, for one σ.

    With a_l = (1/n) Σ_i |x_i - u_l|, distances that are not squared, it is positive semi-definite,

    H_kl = (√π σ)^{d_y} exp(-(2 a_k + 2 a_l + |v_k - v_l|) / 5σ²).
    """

    def __init__(self, X, Y, U, V, sigma_x: np.ndarray, sigma_y: np.ndarray):
        super().__init__(X, Y, U, V, sigma_x, sigma_y)
        self._to_centres, self._between = _distances(X, U), _distances(V, V)
        self._sigma = float(sigma_y[0])

    def _gram(self, rows, phi_x):
        xp = array_namespace(self._between)
        mean = xp.mean(take_rows(self._to_centres, rows), axis=0)
        exponent = 2.0 * (mean[:, None] + mean[None, :]) + self._between
        volume = (sqrt(pi) * self._sigma) ** self._y[0].shape[1]
        return volume * xp.exp(-exponent / (5.0 * self._sigma**2))

    def moments_without(self, folds: Sequence[np.ndarray]) -> Iterator[tuple]:
        """Yield `moments` of the rows outside each fold."""
        return (self.moments(complement(held_out, self.phi_y.shape[0])) for held_out in folds)


def _log_likelihood(basis: _Basis, alpha, held_out, floor) -> np.ndarray:
    """Return Σ log p(y|x) over the held-out rows for each column of α, shape (L,).

    Without a floor it is -inf or NaN, so that the candidate is passed over, where every weight
    near a row is clipped.
    """
    xp = array_namespace(alpha)
    if floor is not None:
        phi_x = take_rows(basis.phi_x, held_out)
        numerator = (phi_x * take_rows(basis.phi_y, held_out)) @ alpha
        return to_numpy(xp.sum(basis.floored(numerator, phi_x @ alpha, floor), axis=0))
    log_phi_x, log_phi_y = basis.log_phi(held_out)
    numerator = _log_product(log_phi_x + log_phi_y, alpha)
    denominator = _log_product(log_phi_x, alpha) + basis.log_volume
    with np.errstate(invalid="ignore"):
        return to_numpy(xp.sum(numerator - denominator, axis=0))


def _log_product(log_phi, alpha):
    """Return log(exp(log_phi) @ α), shape (n, L), with each row's largest term taken out.

    Far from all centres every φ underflows; their ratios, which make the density, do not.
    """
    xp = array_namespace(alpha)
    largest = xp.max(log_phi, axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        return xp.log(xp.exp(log_phi - largest) @ alpha) + largest


def _signed(H, h, regularization):
    factor = linalg.factor_positive_definite(H, shift=regularization)
    return factor.solve(h), factor.jitter


def _clipped(H, h, regularization):
    alpha, jitter = _signed(H, h, regularization)
    return array_namespace(alpha).clip(alpha, min=0.0), jitter


def _constrained(H, h, regularization):
    """Return argmin ½αᵀ(H + λI)α - hᵀα over α ≥ 0: with LLᵀ = H + λI, of |Lᵀα - L⁻¹h|."""
    factor = linalg.factor_positive_definite(H, shift=regularization)
    target = to_numpy(solve_triangular(factor.lower, h))
    alpha = linalg.nonnegative_least_squares(to_numpy(factor.lower).T, target[None, :])[0]
    return array_namespace(H).asarray(alpha), factor.jitter


def _projected(H, h, regularization):
    """Return argmin (γ - α)ᵀH(γ - α) over γ ≥ 0 for the signed α."""
    alpha, jitter = _signed(H, h, regularization)
    values, vectors = linalg.symmetric_spectrum(H)
    root = to_numpy(values)[:, None] ** 0.5 * to_numpy(vectors).T
    gamma = linalg.nonnegative_least_squares(root, (root @ to_numpy(alpha))[None, :])[0]
    return array_namespace(H).asarray(gamma), jitter


_SOLVERS = {
    "clipped": _clipped,
    "signed": _signed,
    "constrained": _constrained,
    "projected": _projected,
}


FEWEST_CENTRES = 3
"""The two pairs, and a cluster."""


def centres(X: np.ndarray, Y: np.ndarray, count: int, rng: np.random.Generator) -> tuple:
    """Return the centres (b, d_x), (b, d_y) of the package: k-means on the pairs, and two pairs.

    These are the innermost and the outermost; one start of k-means++, where the package has ten.
    """
    from sklearn.cluster import KMeans

    pairs = np.hstack([X, Y])
    order = np.argsort(np.linalg.norm(pairs - pairs.mean(axis=0), axis=1), kind="stable")
    ends, rest = pairs[order[[0, -1]]], pairs[order[1:-1]]
    clusters = min(count, len(pairs)) - len(ends)
    seed = int(rng.integers(2**31))
    with warnings.catch_warnings():
        # Rows that repeat may leave fewer distinct pairs than clusters: some centres then coincide.
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = KMeans(clusters, n_init=1, random_state=seed).fit(rest).cluster_centers_
    both = np.vstack([ends, found])
    return both[:, : X.shape[1]], both[:, X.shape[1] :]


def _distances(A, B):
    """Return |a - b|, shape (a, b)."""
    return array_namespace(A).sqrt(-2.0 * log_gaussian_kernel(A, B, np.ones(A.shape[1])))
