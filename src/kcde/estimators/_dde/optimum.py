"""The optimum of the objective that doubly dual embedding trains by a saddle point.

With sampler and dual function at their optimum, equation 18 is w times the penalised likelihood of
T = f/w, -mean log p_0 e^T/Z + ηw/2 ‖T‖², convex in T. Its minimiser over the whole RKHS is
T(x, y) = φ(x)ᵀ Θ ψ(y), with φ features of full rank at the training x and ψ features of full rank
at the training y and at the nodes that integrate over y; it is found by L-BFGS.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from kcde.arrays import row_blocks
from kcde.estimators._dde.functions import KERNEL_REACH, GaussianBase, KernelSum, UniformBase
from kcde.estimators._likelihood import objective as likelihood
from kcde.estimators._likelihood.features import KernelFeatures, OutputGrid
from kcde.estimators._likelihood.objective import Preconditioner, minimise
from kcde.normalisers import logsumexp
from kcde.panels import panel_count, panel_nodes
from kcde.seeding import rng_of

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
        self._x = KernelFeatures.of_rows(X, bandwidth_x, len(X), rng, constant=False)
        self._y = KernelFeatures.of_rows(centres, bandwidth_y, len(centres), rng, constant=False)
        self._phi, self._psi = self._x(X), self._y(Y)
        self._preconditioner = Preconditioner.of_rows(self._phi, self._psi)
        self._grids: dict[int, OutputGrid] = {}

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
            theta = minimise(objective, theta, self._preconditioner, factor, **options).theta
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
        T = np.einsum("na,na->n", phi @ theta, self._y(Y))
        return T + self._base.log_density(Y) - log_z

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
        blocks = row_blocks(len(kernel), len(log_weights))
        return np.concatenate(
            [logsumexp(kernel[rows] @ potential + log_weights, axis=1) for rows in blocks]
        )

    def _refined(self, finer: int) -> int:
        if finer >= _FINEST[len(self._sides)]:
            raise FloatingPointError("T is too steep to integrate: take a larger bandwidth_y or η")
        return 2 * finer

    def _nodes(self, finer: int) -> tuple[np.ndarray, np.ndarray]:
        """Return nodes (q, d_y) and weights (q,) of Gauss-Legendre panels."""
        rules = [panel_nodes(a, b, finer * panel_count(a, b, h)) for a, b, h in self._sides]
        nodes, weights = zip(*rules, strict=True)
        return _product(nodes), _product(weights).prod(axis=1)

    def _grid(self, finer: int) -> OutputGrid:
        """Return the nodes with ψ and p_0; the last is for all y beyond them, where T is 0."""
        if finer not in self._grids:
            nodes, weights = self._nodes(finer)
            lower, upper, _ = self._sides[0]
            uniform = isinstance(self._base, UniformBase)
            outside = 0.0 if uniform else self._base.mass_outside(lower, upper)
            psi = np.pad(self._y(nodes), ((0, 1), (0, 0)))
            log_weights = np.log(weights) + self._base.log_density(nodes)
            log_outside = np.log(max(outside, _NOTHING))
            self._grids[finer] = OutputGrid(psi, np.append(log_weights, log_outside))
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
