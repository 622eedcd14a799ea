"""What is timed: the operations that a fit is made of, and what they cost on paper."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from kcde.arrays import add_to_diagonal, array_namespace, asarray
from kcde.estimators import KCEF
from kcde.estimators._kcef.gradient import gradient_score
from kcde.kernels import GaussianKernel
from kcde.linalg import factor_positive_definite, pivoted_cholesky
from kcde.seeding import rng_of
from kcde.selection import kfold

DIMENSION, BANDWIDTH_X, BANDWIDTH_Y, REGULARIZATION, BASE_STD = 10, 3.0, 1.0, 1e-3, 2.0
FOLDS, TEST, DRAWS = 5, 200, 1000
RANK, PLANE_BANDWIDTH = 100, 0.5
"""Of the pivoted Cholesky, on points of a plane: such that 100 columns are not the whole matrix."""

SQUARE = (500, 1000, 2000, 4000, 8000, 16000, 30000, 60000, 90000, 120000)
"""n where a matrix of n x n numbers is held; the last is 115 GB."""

LONG = (*SQUARE[:6], 32000, 64000, 125000, 250000, 500000, 1_000_000, 2_000_000, 4_000_000)
"""n where time and memory grow with n alone."""


@dataclass
class Problem:
    """Made-up data of n rows on a backend, and what was fitted to them."""

    n: int
    backend: str
    model: KCEF | None = None

    @cached_property
    def X(self):
        """Shape (n, 10)."""
        return self._normal("X", DIMENSION)

    @cached_property
    def Y(self):
        """Shape (n, 1), a wave in the first column of X and noise."""
        wave = array_namespace(self.X).sin(self.X[:, :1])
        return wave + 0.5 * self._normal("noise", 1)

    @cached_property
    def plane(self):
        """Shape (n, 2)."""
        return self._normal("plane", 2)

    @cached_property
    def test(self):
        """X and Y that the model has not seen, 200 rows."""
        rng = rng_of("scaling", "test", self.n)
        shapes = ((TEST, DIMENSION), (TEST, 1))
        return tuple(asarray(rng.standard_normal(shape), self.backend) for shape in shapes)

    def draw(self) -> None:
        """Draw X and Y, and put them on the device."""
        self.X, self.Y  # noqa: B018

    def kernel_matrix(self, rows: int | None = None):
        """Return the Gaussian kernel matrix of the first rows, with 1 added to its diagonal."""
        X = self.X[:rows, :]
        return add_to_diagonal(GaussianKernel(BANDWIDTH_X)(X, X), 1.0)

    def fit(self) -> KCEF:
        """Fit and keep a KCEF with given parameters."""
        self.model = KCEF(BANDWIDTH_X, BANDWIDTH_Y, REGULARIZATION, BASE_STD).fit(self.X, self.Y)
        return self.model

    def _normal(self, name: str, columns: int):
        rng = rng_of("scaling", name, self.n)
        return asarray(rng.standard_normal((self.n, columns)), self.backend)


class Operation(NamedTuple):
    """Something timed against n.

    Attributes
    ----------
    name, title
        In the results, and above the panel.
    sizes
        n, ascending.
    flops
        Of the terms that grow fastest in n, which the rate of matrix products bounds.
    bytes
        That have to be read or written at least once.
    held
        Numbers in memory at the end; an implementation may need more on the way.
    fitted
        Whether it begins from a fitted model, which costs a solve.
    factorised
        Rows of the largest matrix that is factorised, 0 where none is.
    """

    name: str
    title: str
    sizes: tuple[int, ...]
    flops: Callable[[float], float]
    bytes: Callable[[float], float]
    held: Callable[[float], float]
    fitted: bool = False
    factorised: Callable[[float], float] = lambda n: n


OPERATIONS = (
    Operation(
        name="gram",
        title=f"Gram matrix, $d={DIMENSION}$",
        sizes=SQUARE,
        flops=lambda n: 2 * DIMENSION * n**2,
        bytes=lambda n: 8 * n**2,
        held=lambda n: n**2,
        factorised=lambda n: 0,
    ),
    Operation(
        name="cholesky",
        title="Cholesky factorisation in place",
        sizes=SQUARE,
        flops=lambda n: n**3 / 3,
        bytes=lambda n: 16 * n**2,
        held=lambda n: n**2,
    ),
    Operation(
        name="solve",
        title="Gram matrix and solve",
        sizes=SQUARE,
        flops=lambda n: n**3 / 3,
        bytes=lambda n: 16 * n**2,
        held=lambda n: n**2,
    ),
    Operation(
        name="tuning",
        title=f"Tuning step, {FOLDS} folds, with gradient",
        sizes=SQUARE,
        flops=lambda n: FOLDS * kept(n) ** 3 / 3,
        bytes=lambda n: FOLDS * 16 * kept(n) ** 2,
        held=lambda n: 2 * n**2,
        factorised=lambda n: kept(n),
    ),
    Operation(
        name="likelihood",
        title=f"Log likelihood, {TEST} points, {DRAWS} draws",
        sizes=SQUARE,
        flops=lambda n: 2 * TEST * DRAWS * n,
        bytes=lambda n: 8 * (TEST + DRAWS) * n,
        held=lambda n: (TEST + DRAWS) * n,
        fitted=True,
    ),
    Operation(
        name="pivoted",
        title=f"Pivoted Cholesky, {RANK} columns, $d=2$",
        sizes=LONG,
        flops=lambda n: RANK**2 * n,
        bytes=lambda n: 8 * RANK * n,
        held=lambda n: RANK * n,
        factorised=lambda n: 0,
    ),
)
"""In the order of the panels."""

NAMED = {operation.name: operation for operation in OPERATIONS}

SOLVE = NAMED["solve"]
"""What a fitted model costs."""


def kept(n: float) -> int:
    """Return how many of n rows a fold leaves to be solved for."""
    return round(n * (FOLDS - 1) / FOLDS)


class Contender(NamedTuple):
    """One implementation of an operation.

    Attributes
    ----------
    operation, name
        `name` is "kcde", or whose implementation it is.
    prepare
        From a `Problem` to what `run` takes; not timed, and done again before every run.
    run
        What is timed.
    packages
        Whose versions belong in the results.
    times
        What is timed counts so many times.
    """

    operation: Operation
    name: str
    prepare: Callable
    run: Callable
    packages: tuple[str, ...]
    times: int = 1


def ours(backend: str) -> list[Contender]:
    """Return kcde's implementation of every operation."""
    prepared = {
        "gram": (lambda p: p.X, lambda X: GaussianKernel(BANDWIDTH_X)(X, X)),
        "cholesky": (Problem.kernel_matrix, _factorise),
        "solve": (_with_data, Problem.fit),
        "tuning": (_held_out_score, _step),
        "likelihood": (lambda p: (p.model or p.fit(), *p.test), _log_density),
        "pivoted": (lambda p: p.plane, _pivoted),
    }
    packages = ("cupy",) if backend == "cupy" else ("numpy", "scipy")
    return [Contender(o, "kcde", *prepared[o.name], packages) for o in OPERATIONS]


def _with_data(problem: Problem) -> Problem:
    """Return the problem after its X and Y have been drawn, which is not to be timed."""
    problem.draw()
    return problem


def _factorise(matrix):
    return factor_positive_definite(matrix, overwrite=True)


def _held_out_score(problem: Problem) -> Callable:
    folds = kfold(problem.n, FOLDS, rng_of("scaling", "folds", problem.n))
    return gradient_score(problem.X, problem.Y, folds, BASE_STD)


def _step(score: Callable):
    return score(np.full(DIMENSION, BANDWIDTH_X), BANDWIDTH_Y, REGULARIZATION)


def _log_density(state):
    model, X, Y = state
    draws = model.log_normaliser(X, method="importance", n_samples=DRAWS)
    return model.log_unnormalized(X, Y) - draws.log_z


def _pivoted(points):
    kernel = GaussianKernel(PLANE_BANDWIDTH)
    found = pivoted_cholesky(kernel, points, 1e-12, max_rank=RANK)
    if len(found.pivots) < RANK:
        raise RuntimeError(f"the kernel matrix of {len(points)} points has {len(found.pivots)}")
    return found
