"""Doubly dual embedding on numpy: f, p_0, held-out rows, and the optimum of the objective.

With sampler and dual function at their optimum, equation 18 is w times the penalised likelihood of
T = f/w, -mean log p_0 e^T/Z + ηw/2 ‖T‖², convex in T. Its minimiser over the whole RKHS is
T(x, y) = φ(x)ᵀ Θ ψ(y), with φ features of full rank at the training x and ψ features of full rank
at the training y and at the nodes that integrate over y; it is found by L-BFGS.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from kcde.arrays import logsumexp
from kcde.estimators._likelihood import objective as likelihood
from kcde.estimators._shared.floored import Normal
from kcde.estimators._shared.rows import by_blocks
from kcde.kernels import GaussianKernel
from kcde.normalisers import GaussianProposal
from kcde.panels import panel_count, panel_nodes
from kcde.seeding import rng_of

POINTS, FEATURES = "points", "features"
"""Representations of f: kernels at the training rows, random features."""

KERNEL_REACH = 8.0
"""Bandwidths: the kernel is below 1e-13 there."""

DRAWS, NODES = 4000, 1000
"""Of the normaliser of held-out rows: draws of p_0, and about the nodes of a quadrature for
bandwidths of a tenth of the spread."""


@dataclass(frozen=True)
class GaussianBase(GaussianProposal):
    """N(mean, diag(std²))."""

    def mass_outside(self, lower: float, upper: float) -> float:
        """Return the mass outside [lower, upper], for d_y = 1."""
        return Normal(float(self.mean[0]), float(self.std[0])).outside(lower, upper)


@dataclass(frozen=True)
class UniformBase:
    """Uniform on a box.

    The ends are of shape (d_y,), in the units of y.
    """

    lower: np.ndarray
    upper: np.ndarray

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Return n draws, shape (n, d_y)."""
        return rng.uniform(self.lower, self.upper, (n, len(self.lower)))

    def log_density(self, Y: np.ndarray) -> np.ndarray:
        """Return the log density at Y (n, d_y), shape (n,): -inf outside the box."""
        inside = np.all((self.lower <= Y) & (self.upper >= Y), axis=1)
        return np.where(inside, -np.sum(np.log(self.upper - self.lower)), -np.inf)

    def mass_outside(self, lower: float, upper: float) -> float:
        """Return the mass outside [lower, upper], for d_y = 1."""
        inside = min(upper, float(self.upper[0])) - max(lower, float(self.lower[0]))
        return 1.0 - max(0.0, inside) / float(self.upper[0] - self.lower[0])


class _Pairs:
    """f(x, y) = Σ_k kernel_x(x)_k potential(y)_k, at pairs."""

    def at_pairs(self, X, Y):
        """Return f at the pairs X (n, d_x), Y (n, d_y), shape (n,)."""

        def of(rows):
            return np.sum(self.kernel_x(X[rows]).T * self.potential(Y[rows]), axis=0)

        return by_blocks(of, len(Y), self.kernel_x(X[:1]).shape[1], like=Y)


@dataclass(frozen=True)
class KernelSum(_Pairs):
    """f(x, y) = Σ_b a_b k_X(X_b, x) k_Y(Y_b, y), Gaussian kernels.

    X, Y of shapes (m, d_x), (m, d_y), weights a (m,), bandwidths (d_x,), (d_y,).
    """

    X: np.ndarray
    Y: np.ndarray
    weights: np.ndarray
    bandwidth_x: np.ndarray
    bandwidth_y: np.ndarray

    def kernel_x(self, X):
        """Return k_X(X, X_b), shape (n, m)."""
        return GaussianKernel(self.bandwidth_x)(X, self.X)

    def potential(self, Y):
        """Return F (m, q) such that f(x, Y_q) = Σ_b k_X(X_b, x) F_bq, at Y (q, d_y)."""
        return self.weights[:, None] * GaussianKernel(self.bandwidth_y)(self.Y, Y)


@dataclass(frozen=True)
class FeatureSum(_Pairs):
    """f(x, y) = √(2/r) Σ_j b_j cos(ω_j·x + υ_j·y + φ_j) (dde, appendix B).

    With ω_j ~ N(0, σ_X⁻²), υ_j ~ N(0, σ_Y⁻²) and φ_j uniform, the mean product of two features is
    k_X k_Y (Rahimi and Recht 2008).

    ω, υ are the frequencies, shapes (r, d_x), (r, d_y), φ the phases and b the weights, shape (r,).
    """

    frequencies_x: np.ndarray
    frequencies_y: np.ndarray
    phases: np.ndarray
    weights: np.ndarray

    def kernel_x(self, X):
        """Return cos and -sin of ω·x + φ, shape (n, 2r)."""
        angle = X @ self.frequencies_x.T + self.phases
        return np.concatenate([np.cos(angle), -np.sin(angle)], axis=1)

    def potential(self, Y):
        """Return F (2r, q) such that f(x, Y_q) is row x of `kernel_x` times column q of F."""
        angle = self.frequencies_y @ Y.T
        scaled = np.sqrt(2.0 / len(self.phases)) * self.weights[:, None]
        return np.concatenate([scaled * np.cos(angle), scaled * np.sin(angle)])


class HeldOut:
    """Held-out rows, with everything that does not change while f is trained.

    Z is by Gauss-Legendre quadrature where d_y = 1, by 4000 fixed draws of p_0 otherwise. Building
    it costs O(m (h + q)) for m basis functions, h rows and q nodes; a likelihood O(h m q).

    `potential` has the basis functions, all with weight 1, and X, Y are the rows, shapes (h, d_x),
    (h, d_y). The support is lower end, upper end and panel width where d_y = 1, outside of which f
    vanishes. p is p_0 exp(f / density_weight) / Z.
    """

    def __init__(self, potential, base, X, Y, support, density_weight: float):
        self._weight = density_weight
        self._kernel = potential.kernel_x(X)
        self._pairs = self._kernel * potential.potential(Y).T
        self._log_base = base.log_density(Y)
        self._outside = 0.0
        if support is None:
            nodes = base.sample(DRAWS, rng_of("held-out", DRAWS))
            self._log_weights = np.full(DRAWS, -np.log(DRAWS))
        else:
            lower, upper, width = support
            nodes, weights = panel_nodes(lower, upper, int(np.ceil((upper - lower) / width)))
            nodes = nodes[:, None]
            self._log_weights = np.log(weights) + base.log_density(nodes)
            self._outside = base.mass_outside(lower, upper)
        self._at_nodes = potential.potential(nodes)

    def loss(self, weights: np.ndarray) -> float:
        """Return the mean negative log-likelihood, nats, for weights (m,) of the basis."""
        each = np.tile(weights, self._kernel.shape[1] // len(weights)) / self._weight
        log_z = logsumexp((self._kernel * each) @ self._at_nodes + self._log_weights, axis=1)
        if self._outside > 0.0:
            log_z = np.logaddexp(log_z, np.log(self._outside))
        return float(np.mean(log_z - self._pairs @ each - self._log_base))


PENALTIES = 10.0 ** np.arange(1.0, -4.0, -1.0)
"""Candidates of nη of `Likelihood.stopped`, downwards."""

_HALF_DECADES = 10.0 ** np.arange(1.0, -4.5, -0.5)  # of nη, for `Likelihood.nearest`
_HELD_OUT = 5  # one of so many parts of the rows
_WORSE = 2  # penalties in a row without a gain end the path
_ITERATIONS, _TOLERANCE = 5000, 1e-11
_ROUGH = 1e-7  # the tolerance along a path
_LARGEST_GAP = 1e-4  # nats between a solution and the optimum
_MOVED = 1e-6  # nats of the mean of log Z
_FINEST = {1: 16, 2: 4}  # d_y: panels of a side in place of one
_SHARE = 0.5  # of a bandwidth between the nodes at which ψ has full rank
_MOST_NODES = {1: 5000, 2: 1000}  # d_y: of full rank, and of some 400 times as many to integrate
_TAIL = 6.0  # standard deviations of p_0, beyond which it has 2e-9 of its mass
_NOTHING = 1e-300


@dataclass(frozen=True)
class Evaluation:
    """A density p_0 e^T/Z under the objective.

    The penalty is η; the likelihood -mean log p of the training rows, nats; the loss the same and
    ηw/2 ‖T‖². `log_density` maps pairs X (n, d_x), Y (n, d_y) to log p(y|x), nats, shape (n,).
    """

    penalty: float
    likelihood: float
    loss: float
    log_density: Callable


@dataclass(frozen=True)
class Optimum(Evaluation):
    """The density with the smallest loss.

    The gap is an upper bound of what the loss is above its minimum, nats; theta is Θ, shape
    (r_x, r_y), and finer the panels of the quadrature in place of one.
    """

    gap: float
    theta: np.ndarray
    finer: int


class Likelihood:
    """The penalised likelihood of some rows.

    O(n³ + n q r_y) to build and O(n² r_y + n r_y q) for a gradient, with q nodes and r_y features
    of y.

    d_y is 1, or 2 where p_0 is uniform; w is the weight.

    Raises
    ------
    ValueError
        If there is no quadrature for this y, or the bandwidths of y are too small for it.
    """

    def __init__(self, X, Y, bandwidth_x, bandwidth_y, base, weight: float):
        self.X, self.Y, self._base, self._weight = X, Y, base, weight
        self._widths = bandwidth_x, bandwidth_y
        self._sides = _sides(Y, bandwidth_y, base)
        # Points half a bandwidth apart cover all nodes.
        sides = zip(self._sides, bandwidth_y, strict=True)
        axes = [np.linspace(a, b, 2 + int((b - a) / (_SHARE * h))) for (a, b, _), h in sides]
        rng, centres = rng_of("optimum"), np.concatenate([Y, _product(axes)])
        nodes, most = len(centres) - len(Y), _MOST_NODES[len(self._sides)]
        if nodes > most:
            raise ValueError(f"bandwidths of y need {nodes} nodes, over {most}: take larger ones")
        features = partial(likelihood.KernelFeatures, rng=rng)
        self._x = features(X, bandwidth_x, len(X))
        self._y = features(centres, bandwidth_y, len(centres))
        self._phi, self._psi = self._x(X), self._y(Y)
        self._preconditioner = likelihood.Preconditioner.of_rows(self._phi, self._psi)
        self._grids: dict[int, likelihood.OutputGrid] = {}

    def minimised(self, penalty: float, start: Optimum | None = None, *, rough=False) -> Optimum:
        """Return the optimum with a penalty η > 0.

        It starts from that of another penalty, by default from T = 0. Where it may be rough, a
        solution is good enough whose loss falls slowly, however far it is from its minimum.
        """
        if not penalty > 0:
            raise ValueError(f"penalty must be positive; got {penalty!r}: without it there is none")
        n, factor = len(self.Y), penalty * self._weight
        cross, phi = (self._phi.T @ self._psi)[None] / n, _different(self._phi)
        theta, finer = np.zeros(cross.shape), 1
        if start is not None:
            theta, finer = start.theta[None], start.finer
        options = {"iterations": _ITERATIONS, "tolerance": _ROUGH if rough else _TOLERANCE}
        while True:
            sums = likelihood.Sums([phi], self._grid(finer))
            objective = likelihood.Objective(sums, cross, [len(phi)])
            given = theta, self._preconditioner, factor
            theta = likelihood.minimise(objective, *given, **options)[0]
            grids = self._grid(finer), self._grid(2 * finer)
            log_z = [likelihood.log_normalisers(phi, theta, grid) for grid in grids]
            if np.mean(np.abs(log_z[1] - log_z[0])) <= _MOVED:
                break
            finer = self._refined(finer)
        value, gradient = objective(theta, factor)
        # The loss is strongly convex with modulus ηw.
        gap = float(np.sum(gradient**2)) / (2.0 * factor)
        if not (rough or gap <= _LARGEST_GAP):
            known = f"the optimum with η = {penalty:g} is known up to {gap:.1g} nats"
            raise FloatingPointError(f"{known}: take a larger η")
        loss = float(value[0]) - float(np.mean(self._base.log_density(self.Y)))
        log_density = partial(self._log_density, theta[0], finer)
        of_rows = loss - 0.5 * factor * float(np.sum(theta**2))
        return Optimum(penalty, of_rows, loss, log_density, gap, theta[0], finer)

    def stopped(self) -> Optimum:
        """Return the optimum with the penalty that a held-out fifth of the rows chooses.

        The penalty falls along `PENALTIES`, each solution the start of the next, until the
        likelihood of the held-out rows gains nothing twice; the choice is fitted to all rows with
        the same nη.
        """
        n = len(self.Y)
        order = rng_of("optimum", "held-out", n).permutation(n)
        held, kept = np.split(order, [max(1, n // _HELD_OUT)])
        given = *self._widths, self._base, self._weight
        part, found, losses = Likelihood(self.X[kept], self.Y[kept], *given), None, []
        for penalty in PENALTIES:
            found = part.minimised(penalty / len(kept), found, rough=True)
            losses.append(-np.mean(found.log_density(self.X[held], self.Y[held])))
            if len(losses) - 1 - int(np.argmin(losses)) >= _WORSE:
                break
        return self.minimised(float(PENALTIES[int(np.argmin(losses))]) / n)

    def nearest(self, T: KernelSum) -> float:
        """Return the penalty η under which a function is nearest to the optimum, in loss.

        It is the one whose optimum has the norm of T: there the loss of both differs by their
        likelihoods alone, so that a T that was trained without penalty, and stopped, is compared
        with the likeliest function of its norm. Among half decades of nη, 10 to 1e-4.
        """
        n, trained = len(self.Y), self.evaluated(T, 1.0)
        half_norm2, found, gaps = trained.loss - trained.likelihood, None, []
        for penalty in _HALF_DECADES / n:
            found = self.minimised(penalty, found, rough=True)
            gaps.append(trained.likelihood + penalty * half_norm2 - found.loss)
            # The gap is convex in η.
            if gaps[-1] > min(gaps):
                break
        return float(_HALF_DECADES[int(np.argmin(gaps))]) / n

    def evaluated(self, T: KernelSum, penalty: float) -> Evaluation:
        """Return what the objective is for a function of these bandwidths, by the same quadrature.

        η may be 0.
        """
        log_density = partial(self._log_density_of, T)
        of_rows = -float(np.mean(log_density(self.X, self.Y)))
        norm2 = float(T.weights @ T.at_pairs(T.X, T.Y))
        loss = of_rows + 0.5 * penalty * self._weight * norm2
        return Evaluation(penalty, of_rows, loss, log_density)

    def _log_density(self, theta: np.ndarray, finer: int, X, Y) -> np.ndarray:
        phi = self._x(X)
        log_z = likelihood.log_normalisers(_different(phi), theta[None], self._grid(finer))[:, 0]
        return np.einsum("na,na->n", phi @ theta, self._y(Y)) + self._base.log_density(Y) - log_z

    def _log_density_of(self, T: KernelSum, X, Y) -> np.ndarray:
        kernel, finer = _different(T.kernel_x(X)), 1
        log_z = self._log_normalisers_of(T, kernel, finer)
        while True:
            before, log_z = log_z, self._log_normalisers_of(T, kernel, 2 * finer)
            if np.mean(np.abs(log_z - before)) <= _MOVED:
                break
            finer = self._refined(finer)
        return T.at_pairs(X, Y) + self._base.log_density(Y) - log_z

    def _log_normalisers_of(self, T: KernelSum, kernel: np.ndarray, finer: int) -> np.ndarray:
        potential = np.pad(T.potential(self._nodes(finer)[0]), ((0, 0), (0, 1)))
        log_weights = self._grid(finer).log_weights

        def of(rows):
            return logsumexp(kernel[rows] @ potential + log_weights, axis=1)

        return by_blocks(of, len(kernel), len(log_weights), like=kernel)

    def _refined(self, finer: int) -> int:
        if finer >= _FINEST[len(self._sides)]:
            raise FloatingPointError("T is too steep to integrate: take a larger bandwidth_y or η")
        return 2 * finer

    def _nodes(self, finer: int) -> tuple[np.ndarray, np.ndarray]:
        """Return nodes (q, d_y) and weights (q,) of Gauss-Legendre panels."""
        rules = [panel_nodes(a, b, finer * panel_count(a, b, h)) for a, b, h in self._sides]
        nodes, weights = zip(*rules, strict=True)
        return _product(nodes), _product(weights).prod(axis=1)

    def _grid(self, finer: int) -> likelihood.OutputGrid:
        """Return the nodes with ψ and p_0; the last is for all y beyond them, where T is 0."""
        if finer not in self._grids:
            nodes, weights = self._nodes(finer)
            lower, upper, _ = self._sides[0]
            uniform = isinstance(self._base, UniformBase)
            outside = 0.0 if uniform else self._base.mass_outside(lower, upper)
            psi = np.pad(self._y(nodes), ((0, 1), (0, 0)))
            log_weights = np.log(weights) + self._base.log_density(nodes)
            log_outside = np.log(max(outside, _NOTHING))
            self._grids[finer] = likelihood.OutputGrid(psi, np.append(log_weights, log_outside))
        return self._grids[finer]


def _sides(Y, bandwidth, base: GaussianBase | UniformBase) -> list[tuple[float, float, float]]:
    """Return of each dimension of y the ends beyond which T p_0 is p_0 or 0, and a panel width."""
    if isinstance(base, UniformBase) and Y.shape[1] <= 2:
        sides = zip(base.lower, base.upper, bandwidth, strict=True)
        return [(float(a), float(b), float(width)) for a, b, width in sides]
    if Y.shape[1] != 1:
        raise ValueError(f"d_y must be 1, or 2 with base='uniform'; got d_y = {Y.shape[1]}")
    # Where p_0 has mass the optimum is not 0, however far the rows are: it lowers p there.
    width, mean, tail = float(bandwidth[0]), float(base.mean[0]), _TAIL * float(base.std[0])
    lower = min(float(Y.min()) - KERNEL_REACH * width, mean - tail)
    upper = max(float(Y.max()) + KERNEL_REACH * width, mean + tail)
    return [(lower, upper, float(min(width, base.std[0])))]


def _different(phi: np.ndarray) -> np.ndarray:
    """Return the first row where all are equal, as they are without x: it stands for all."""
    return phi[:1] if np.all(phi == phi[:1]) else phi


def _product(sides: Sequence[np.ndarray]) -> np.ndarray:
    return np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1).reshape(-1, len(sides))
