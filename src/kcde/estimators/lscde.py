"""Least-squares conditional density estimation (Sugiyama et al., IEICE Transactions 2010)."""

from math import log, pi, sqrt

import numpy as np

from kcde.arrays import array_namespace, take_rows, to_numpy
from kcde.estimators.mixture import GaussianMixture
from kcde.kernels import GaussianKernel
from kcde.linalg import solve_positive_definite, symmetric_spectrum
from kcde.normalisers import logsumexp
from kcde.seeding import rng_of
from kcde.selection import best_index, complement, kfold, log_grid

BANDWIDTHS = log_grid(10**-1.5, 10**1.5, 20)
REGULARIZATIONS = log_grid(1e-3, 10.0, 20)


class LSCDE(GaussianMixture):
    """p(y|x) ∝ Σ_l α_l φ_l(x, y), α = max(0, (H + λI)⁻¹ h), normalised over y.

    φ_l(x, y) = exp(-|x - u_l|²/2σ²) exp(-|y - v_l|²/2σ²) with centres (u_l, v_l) drawn from the
    training pairs; H = ∫ (1/n) Σ_i φ(x_i, y) φ(x_i, y)ᵀ dy and h = (1/n) Σ_i φ(x_i, y_i).

    Fitting costs O(n b² + b³) for b centres; a whole λ path one eigendecomposition of H per σ and
    fold.

    Parameters
    ----------
    bandwidth
        σ, one standard deviation for x and y. None: chosen from 20 log-spaced values.
    regularization
        λ. None: chosen from 20 log-spaced values.
    n_centres
        At most so many centres.
    selection
        "likelihood": by held-out log likelihood, the default of the authors' code and the rule
        of the published columns. "squared-error": by the held-out ½αᵀHα - hᵀα of their paper.
    folds
        Of the cross-validation.
    random_state
        Names the draw of the centres and the shuffle of the folds.

    Attributes
    ----------
    weights_
        α, shape (b,), not negative.
    centres_x_, centres_y_
        Shapes (b, d_x), (b, d_y).
    bandwidth_, regularization_
        What was used, given or chosen.
    """

    def __init__(
        self,
        bandwidth=None,
        regularization=None,
        *,
        n_centres=100,
        selection="likelihood",
        folds=5,
        random_state=0,
    ):
        self.bandwidth = bandwidth
        self.regularization = regularization
        self.n_centres = n_centres
        self.selection = selection
        self.folds = folds
        self.random_state = random_state

    def _fit(self, X, Y):
        self._check_parameters()
        rng = rng_of("selection", self.random_state)
        rows = np.sort(rng.permutation(Y.shape[0])[: self.n_centres])
        self.centres_x_, self.centres_y_ = take_rows(X, rows), take_rows(Y, rows)
        self.cv_results_ = {}
        self.bandwidth_, self.regularization_ = self.bandwidth, self.regularization
        if self.bandwidth is None or self.regularization is None:
            self._select(X, Y, rng)
        basis = _Basis(X, Y, self.centres_x_, self.centres_y_, self.bandwidth_)
        H, h = basis.moments(np.arange(Y.shape[0]))
        xp = array_namespace(Y)
        alpha = solve_positive_definite(H, h, shift=self.regularization_).x
        self.weights_ = xp.clip(alpha, min=0.0)
        if not bool(xp.any(self.weights_ > 0)):
            raise np.linalg.LinAlgError(
                "every weight of the least-squares solution is negative, so that clipping leaves "
                "no density; raise the regularization or the bandwidth"
            )
        self._centres, self._sigma = self.centres_y_, self.bandwidth_

    def _check_parameters(self):
        for name in ("bandwidth", "regularization"):
            value = getattr(self, name)
            if value is not None and not (np.isscalar(value) and 0 < value < np.inf):
                raise ValueError(f"{name} must be a positive number or None; got {value!r}")
        if self.n_centres < 1:
            raise ValueError(f"n_centres must be at least 1; got {self.n_centres}")
        if self.selection not in _CRITERIA:
            raise ValueError(
                f"selection must be one of {sorted(_CRITERIA)}; got {self.selection!r}"
            )

    def _select(self, X, Y, rng):
        folds = kfold(Y.shape[0], self.folds, rng)
        sigmas = BANDWIDTHS if self.bandwidth is None else np.array([self.bandwidth])
        path = REGULARIZATIONS if self.regularization is None else np.array([self.regularization])
        criterion = _CRITERIA[self.selection]
        score = np.zeros((len(sigmas), len(path)))
        for i, sigma in enumerate(sigmas):
            basis = _Basis(X, Y, self.centres_x_, self.centres_y_, float(sigma))
            for held_out in folds:
                rows = complement(held_out, Y.shape[0])
                score[i] += criterion(basis, basis.weight_path(rows, path), held_out)
        i, j = best_index(score)
        self.bandwidth_, self.regularization_ = float(sigmas[i]), float(path[j])
        self.cv_results_ = {"bandwidth": sigmas, "regularization": path, "score": score}

    def _log_weights(self, X):
        xp = array_namespace(X)
        difference = X[:, None, :] - self.centres_x_[None, :, :]
        log_phi = -0.5 * xp.sum(difference * difference, axis=2) / self.bandwidth_**2
        positive = self.weights_ > 0
        safe = xp.where(positive, self.weights_, xp.ones_like(self.weights_))
        nothing = xp.full_like(safe, -xp.inf)
        log_terms = log_phi + xp.where(positive, xp.log(safe), nothing)
        return log_terms - logsumexp(log_terms, axis=1)[:, None]


class _Basis:
    """φ at the training pairs, for one σ."""

    def __init__(self, X, Y, U, V, sigma: float):
        xp = array_namespace(Y)
        self.phi_x = GaussianKernel(sigma)(X, U)
        self.phi_y = GaussianKernel(sigma)(Y, V)
        self.log_volume = Y.shape[1] * log(sqrt(2.0 * pi) * sigma)
        # ∫ φ_y,l φ_y,l′ dy = (√π σ)^d exp(-|v - v′|²/4σ²)
        self.overlap = (sqrt(pi) * sigma) ** Y.shape[1] * xp.sqrt(GaussianKernel(sigma)(V, V))

    def moments(self, rows):
        """Return H (b, b) and h (b,) averaged over the rows."""
        xp = array_namespace(self.phi_x)
        phi_x, phi_y = take_rows(self.phi_x, rows), take_rows(self.phi_y, rows)
        return self.overlap * (phi_x.T @ phi_x) / len(rows), xp.mean(phi_x * phi_y, axis=0)

    def weight_path(self, rows, path: np.ndarray):
        """Return α clipped at 0, shape (b, L), for every λ of the path."""
        xp = array_namespace(self.phi_x)
        H, h = self.moments(rows)
        gamma, U = symmetric_spectrum(H)
        shrink = 1.0 / (gamma[:, None] + xp.asarray(path)[None, :])
        return xp.clip(U @ (shrink * (U.T @ h)[:, None]), min=0.0)


def _log_likelihood(basis: _Basis, alpha, held_out) -> np.ndarray:
    """Return Σ log p(y|x) over the held-out rows for each column of α, shape (L,)."""
    xp = array_namespace(alpha)
    phi_x, phi_y = take_rows(basis.phi_x, held_out), take_rows(basis.phi_y, held_out)
    tiny = float(np.finfo(float).tiny)
    numerator = xp.log(xp.clip((phi_x * phi_y) @ alpha, min=tiny))
    denominator = xp.log(xp.clip(phi_x @ alpha, min=tiny)) + basis.log_volume
    return to_numpy(xp.sum(numerator - denominator, axis=0))


def _negative_squared_error(basis: _Basis, alpha, held_out) -> np.ndarray:
    """Return -|held out| (½αᵀHα - hᵀα) for each column of α, shape (L,)."""
    xp = array_namespace(alpha)
    H, h = basis.moments(held_out)
    return -len(held_out) * to_numpy(0.5 * xp.sum(alpha * (H @ alpha), axis=0) - h @ alpha)


_CRITERIA = {"likelihood": _log_likelihood, "squared-error": _negative_squared_error}
