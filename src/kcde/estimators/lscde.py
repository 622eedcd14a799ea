"""Least-squares conditional density estimation (Sugiyama et al., IEICE Transactions 2010)."""

from math import exp, log, pi, sqrt

import numpy as np

from kcde.arrays import array_namespace, take_rows, to_numpy
from kcde.estimators.mixture import GaussianMixture, log_gaussian
from kcde.kernels import GaussianKernel
from kcde.linalg import solve_positive_definite
from kcde.normalisers import logsumexp
from kcde.seeding import rng_of
from kcde.selection import best_index, complement, kfold, log_grid

BANDWIDTHS = log_grid(10**-1.5, 10**1.5, 20)
REGULARIZATIONS = log_grid(1e-3, 10.0, 20)


class LSCDE(GaussianMixture):
    """p(y|x) ∝ Σ_l α_l φ_l(x, y), α = max(0, (H + λI)⁻¹ h), normalised over y.

    φ_l(x, y) = exp(-|x - u_l|²/2σ²) exp(-|y - v_l|²/2σ²) with centres (u_l, v_l) drawn from the
    training pairs; H = ∫ (1/n) Σ_i φ(x_i, y) φ(x_i, y)ᵀ dy and h = (1/n) Σ_i φ(x_i, y_i).

    Fitting costs O(n b² + b³) for b centres; selection that, for each σ and fold, and b³ for each
    λ of the path.

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
    density_floor
        None: the normalised density, far from all centres as well. A number ε: what the authors'
        code calls the density, p/max(ε, normaliser) + ε, in the selection and after it; ε bounds
        the loss of a point by -log ε, and where no centre is near x it does not integrate to 1.
        Their ε, used for the published columns, is 2.2e-16, the spacing of doubles at 1.
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
        density_floor=None,
        folds=5,
        random_state=0,
    ):
        self.bandwidth = bandwidth
        self.regularization = regularization
        self.n_centres = n_centres
        self.selection = selection
        self.density_floor = density_floor
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
        for name in ("bandwidth", "regularization", "density_floor"):
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
                alpha = basis.weight_path(rows, path)
                score[i] += criterion(basis, alpha, held_out, self.density_floor)
        i, j = best_index(score)
        self.bandwidth_, self.regularization_ = float(sigmas[i]), float(path[j])
        self.cv_results_ = {"bandwidth": sigmas, "regularization": path, "score": score}

    def log_density(self, X, Y):
        """Return log p(y|x), nats, shape (n,), for the pairs X (n, d_x), Y (n, d_y)."""
        if self.density_floor is None:
            return super().log_density(X, Y)
        basis = _Basis(*self._check_pair(X, Y), self.centres_x_, self.centres_y_, self.bandwidth_)
        numerator = (basis.phi_x * basis.phi_y) @ self.weights_
        normaliser = exp(basis.log_volume) * (basis.phi_x @ self.weights_)
        return _floored(numerator, normaliser, self.density_floor)

    def log_density_at(self, Y):
        """Return a function X (n, d_x) -> log p(Y|X), shape (n, q), at shared Y (q, d_y)."""
        if self.density_floor is None:
            return super().log_density_at(Y)

        def at(X):
            basis = _Basis(X, Y, self.centres_x_, self.centres_y_, self.bandwidth_)
            numerator = (basis.phi_x * self.weights_) @ basis.phi_y.T
            normaliser = exp(basis.log_volume) * (basis.phi_x @ self.weights_)
            return _floored(numerator, normaliser[:, None], self.density_floor)

        return at

    def _log_weights(self, X):
        xp = array_namespace(X)
        log_phi = log_gaussian(X, self.centres_x_, self.bandwidth_, normalised=False)
        positive = self.weights_ > 0
        safe = xp.where(positive, self.weights_, xp.ones_like(self.weights_))
        nothing = xp.full_like(safe, -xp.inf)
        log_terms = log_phi + xp.where(positive, xp.log(safe), nothing)
        return log_terms - logsumexp(log_terms, axis=1)[:, None]


class _Basis:
    """φ at points X and at points Y, for one σ."""

    def __init__(self, X, Y, U, V, sigma: float):
        xp = array_namespace(Y)
        self.log_phi_x, self.log_phi_y = (
            log_gaussian(A, B, sigma, normalised=False) for A, B in ((X, U), (Y, V))
        )
        self.phi_x, self.phi_y = xp.exp(self.log_phi_x), xp.exp(self.log_phi_y)
        self.log_volume = Y.shape[1] * log(sqrt(2.0 * pi) * sigma)
        # ∫ φ_y,l φ_y,l′ dy = (√π σ)^d exp(-|v - v′|²/4σ²)
        self.overlap = (sqrt(pi) * sigma) ** Y.shape[1] * xp.sqrt(GaussianKernel(sigma)(V, V))

    def moments(self, rows):
        """Return H (b, b) and h (b,) averaged over the rows."""
        xp = array_namespace(self.phi_x)
        phi_x, phi_y = take_rows(self.phi_x, rows), take_rows(self.phi_y, rows)
        return self.overlap * (phi_x.T @ phi_x) / len(rows), xp.mean(phi_x * phi_y, axis=0)

    def weight_path(self, rows, path: np.ndarray):
        """Return α clipped at 0, shape (b, L), for every λ of the path.

        Elimination, not one spectrum for all λ: where σ is small, H is nearly diagonal, and a
        weight of 1e-30 must not come out as the rounding error of the largest, since the density
        is a ratio of weights.
        """
        xp = array_namespace(self.phi_x)
        H, h = self.moments(rows)
        shifts = xp.asarray(path)[:, None, None] * xp.eye(H.shape[0], dtype=H.dtype)
        right = xp.broadcast_to(h[None, :, None], (len(path), H.shape[0], 1))
        return xp.clip(xp.linalg.solve(H[None, ...] + shifts, right)[:, :, 0].T, min=0.0)


def _floored(numerator, normaliser, floor: float):
    """Return log(numerator / max(ε, normaliser) + ε), as the authors' code has it."""
    xp = array_namespace(numerator)
    return xp.log(numerator / xp.clip(normaliser, min=floor) + floor)


def _log_likelihood(basis: _Basis, alpha, held_out, floor) -> np.ndarray:
    """Return Σ log p(y|x) over the held-out rows for each column of α, shape (L,).

    Without a floor it is -inf or NaN, so that the candidate is passed over, where every weight
    near a row is clipped.
    """
    xp = array_namespace(alpha)
    if floor is not None:
        phi_x = take_rows(basis.phi_x, held_out)
        numerator = (phi_x * take_rows(basis.phi_y, held_out)) @ alpha
        normaliser = exp(basis.log_volume) * (phi_x @ alpha)
        return to_numpy(xp.sum(_floored(numerator, normaliser, floor), axis=0))
    log_phi_x = take_rows(basis.log_phi_x, held_out)
    numerator = _log_product(log_phi_x + take_rows(basis.log_phi_y, held_out), alpha)
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


def _negative_squared_error(basis: _Basis, alpha, held_out, floor) -> np.ndarray:
    """Return -|held out| (½αᵀHα - hᵀα) for each column of α, shape (L,)."""
    xp = array_namespace(alpha)
    H, h = basis.moments(held_out)
    return -len(held_out) * to_numpy(0.5 * xp.sum(alpha * (H @ alpha), axis=0) - h @ alpha)


_CRITERIA = {"likelihood": _log_likelihood, "squared-error": _negative_squared_error}
