"""Convergence of the estimator where the theory holds: kcef, theorem 2.

If T_0 lies in R(C^γ) and λ = c n^-α with α = max(1/(2(γ+1)), 1/4), then ‖T - T_0‖ is of order
n^(α-1/2) and the Kullback-Leibler divergence of order n^(2α-1). Here γ is 1/2 and 1, known by
construction. One stream of data a repetition is read up to n, so that a slope can be fitted within
each repetition.

The theorem is stated for c = 1, and its bounds hold for every c. Run are c = 1 and three multiples
of ‖C‖, which is 0.11 or 0.12: 1, for which λ is not small against C at these n, and 1/10 and 3/100,
for which it is; ‖T_λ - T_0‖, the error that would be left without noise, is stored with the errors
and shows how far the smallest λ is from its limit.

The natural parameter T_0 of `Target` lies in R(C^γ) for a γ known by construction: x is uniform on
(-1, 1), q_0 = N(0, 2²), both kernels are Gaussian. Then all assumptions of kcef, appendix A.4,
hold: (A) by construction; (B) y ranges over the real line; (C) the kernel is smooth; (D) ‖∂k(y, ·)‖
is constant and p_0(y|x) ≤ q_0(y) exp(2‖T_0‖) vanishes faster than any power; (E) k_X ≤ 1; (F) ‖∂k‖
and ‖∂²k‖ are constant and ∂ log q_0 is linear. T_0 solves

    T_0 = r C^γ S / ‖C^γ S‖,    C = E_{p_0}[k_X(x, ·) ∂k(y, ·) ⊗ k_X(x, ·) ∂k(y, ·)],

where C is the covariance operator of p_0 itself (equation (7)), so that T_0 is found by iteration.
S has coefficients (-1)^(pq)/((1+p)(1+q)): barely in the space, so that T_0 is hardly smoother than
γ says, and no product of functions of x and y.

Everything is computed in the orthonormal basis ψ_p ⊗ ψ_q of the space of functions that belongs to
k_X k, ψ_m(z) = exp(-u²/2) u^m/√m!, u = z/σ (Steinwart, Hush and Scovel 2006), and by quadrature
over x and y: no code of the estimator is used.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import NamedTuple

import numpy as np

from kcde import scores
from kcde.arrays import array_namespace, asarray, to_numpy
from kcde.estimators import KCEF
from kcde.experiments import methods
from kcde.experiments.base import Experiment, Outcome, attempt, parameter, sized
from kcde.linalg import symmetric_spectrum
from kcde.metrics import REGULARIZATION_ERROR
from kcde.names import AS_PUBLISHED
from kcde.seeding import rng_of, row_seed

BANDWIDTH_X = 1.0
BANDWIDTH_Y = 2.0
BASE_STD = 2.0
NORM = 3.0  # r, the norm of T_0
TERMS = (14, 60)  # basis functions in x and y: enough for |x| ≤ 1 and |y| ≤ 5 base deviations

_TOLERANCE = 1e-7
_LOST = 1e-6


def features(z: np.ndarray, bandwidth: float, terms: int, order: int = 0) -> np.ndarray:
    """Return ψ_m(z), shape (n, terms), or a derivative in z; products sum to the Gaussian kernel's.

    Its σ is `bandwidth`, in the units of z; `order` is 0, 1 or 2.
    """
    u = np.asarray(z)[:, None] / bandwidth
    m = np.arange(1, terms)
    rows = np.exp(-0.5 * u**2) * np.hstack([np.ones_like(u), np.cumprod(u / np.sqrt(m), axis=1)])
    # ψ_m′ = (√m ψ_{m-1} - u ψ_m)/σ, differentiated `order` times.
    before = np.zeros_like(rows)
    for k in range(order):
        lowered = np.hstack([np.zeros_like(u), rows[:, :-1] * np.sqrt(m)])
        rows, before = (lowered - u * rows - k * before / bandwidth) / bandwidth, rows
    return rows


class Grid:
    """Quadrature over x (Gauss-Legendre) and y (trapezoidal rule) with the basis at its nodes.

    The weights of x include its density 1/2. The defaults leave errors near rounding: integrands
    in y are analytic and vanish at ±`widest_y`.
    """

    def __init__(self, nodes_x: int = 24, step_y: float = 0.25, widest_y: float = 16.0):
        self.x, weight = np.polynomial.legendre.leggauss(nodes_x)
        self.y = np.arange(-widest_y, widest_y + step_y / 2, step_y)
        self.weight_x, self.weight_y = weight / 2, np.full(len(self.y), step_y)
        # ψ_p(x), shape (a, P); ψ_q(y) and ψ_q′(y), shape (b, Q); log q_0(y), shape (b,).
        self.basis_x = features(self.x, BANDWIDTH_X, TERMS[0])
        self.basis_y = features(self.y, BANDWIDTH_Y, TERMS[1])
        self.slope_y = features(self.y, BANDWIDTH_Y, TERMS[1], 1)
        self.log_base = -0.5 * (self.y / BASE_STD) ** 2 - np.log(BASE_STD * np.sqrt(2 * np.pi))

    def normalised(self, log_unnormalised: np.ndarray) -> np.ndarray:
        """Return log p(y|x), shape (a, b), from a function of the same shape plus any f(x)."""
        mass = np.exp(log_unnormalised) @ self.weight_y
        return log_unnormalised - np.log(mass)[:, None]

    def log_density(self, coefficients: np.ndarray) -> np.ndarray:
        """Return log p_T(y|x) at the nodes, shape (a, b), for T with coefficients (P, Q)."""
        return self.normalised(self.basis_x @ coefficients @ self.basis_y.T + self.log_base)

    def divergence(self, log_p: np.ndarray, log_q: np.ndarray) -> float:
        """Return the expected Kullback-Leibler divergence of q from p, both (a, b), in nats."""
        return float(self.weight_x @ (np.exp(log_p) * (log_p - log_q)) @ self.weight_y)

    def covariance(self, coefficients: np.ndarray) -> np.ndarray:
        """Return the matrix of C under p_T, shape (P Q, P Q), of equation (7)."""
        density = np.exp(self.log_density(coefficients)) * self.weight_y
        over_y = np.einsum("ab,bq,br->aqr", density, self.slope_y, self.slope_y, optimize=True)
        over_x = self.weight_x[:, None, None] * np.einsum("ap,as->aps", self.basis_x, self.basis_x)
        size = TERMS[0] * TERMS[1]
        return np.einsum("aps,aqr->pqsr", over_x, over_y, optimize=True).reshape(size, size)


@dataclass(frozen=True)
class Target:
    """p_0(y|x) = q_0(y) exp(T_0(x, y))/Z(x), with T_0 in R(C^γ).

    `coefficients` are those of T_0 in the orthonormal basis, shape (P, Q), with the norm of T_0.
    """

    gamma: float
    coefficients: np.ndarray
    grid: Grid

    @cached_property
    def log_density(self) -> np.ndarray:
        """Log of p_0(y|x) at the nodes of `grid`, shape (a, b)."""
        return self.grid.log_density(self.coefficients)

    @cached_property
    def _spectrum(self) -> tuple[np.ndarray, np.ndarray]:
        mu, vectors = symmetric_spectrum(self.grid.covariance(self.coefficients))
        return mu, vectors.T @ self.coefficients.ravel()

    @property
    def operator_norm(self) -> float:
        """‖C‖, the largest eigenvalue."""
        return float(self._spectrum[0][-1])

    def regularization_error(self, regularization: float) -> float:
        """Return ‖T_λ - T_0‖ = ‖λ(C + λ)⁻¹T_0‖, what is left without noise (kcef, theorem 3)."""
        mu, components = self._spectrum
        return float(np.linalg.norm(regularization / (mu + regularization) * components))

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return n pairs x (n,), y (n,) from p_0, by rejection from q_0.

        |T_0(x, y)| ≤ ‖T_0‖ because both kernels are 1 on the diagonal, so that a draw is kept with
        probability exp(T_0(x, y) - ‖T_0‖).
        """
        x, y = rng.uniform(-1.0, 1.0, n), np.empty(n)
        in_y = features(x, BANDWIDTH_X, TERMS[0]) @ self.coefficients
        bound, waiting = np.linalg.norm(self.coefficients), np.arange(n)
        while len(waiting):
            drawn = BASE_STD * rng.standard_normal(len(waiting))
            value = np.sum(in_y[waiting] * features(drawn, BANDWIDTH_Y, TERMS[1]), axis=1)
            kept = np.log(rng.random(len(waiting))) < value - bound
            y[waiting[kept]] = drawn[kept]
            waiting = waiting[~kept]
        return x, y


def target(gamma: float) -> Target:
    """Solve for T_0 by damped iteration, each step one spectrum of C.

    For the two γ that are run it takes less than 200 steps.
    """
    nodes = Grid()
    p, q = np.ogrid[: TERMS[0], : TERMS[1]]
    source = (-1.0) ** (p * q) / ((1 + p) * (1 + q))
    current = np.zeros(TERMS)
    while True:
        C = nodes.covariance(current)
        if gamma == 1:
            wanted = C @ source.ravel()
        else:
            mu, vectors = symmetric_spectrum(C)
            wanted = vectors @ (mu**gamma * (vectors.T @ source.ravel()))
        wanted = wanted.reshape(TERMS)
        wanted *= NORM / np.linalg.norm(wanted)
        if np.linalg.norm(wanted - current) < _TOLERANCE:
            return Target(gamma, current, nodes)
        current = 0.5 * (current + wanted)


def estimate_coefficients(x, y, beta, regularization: float) -> np.ndarray:
    """Return the coefficients (P, Q) of the estimator of kcef, theorem 1, in the same basis.

    T = Σ_b k_X(X_b, ·)[β_b ∂k(Y_b, ·) - (∂²k(Y_b, ·) + ∂log q_0(Y_b) ∂k(Y_b, ·))/(nλ)].

    x, y and β have the shapes (n,).
    """
    in_x, in_y = features(x, BANDWIDTH_X, TERMS[0]), features(y, BANDWIDTH_Y, TERMS[1])
    for name, values, rows in (("x", x, in_x), ("y", y, in_y)):
        lost = 1.0 - np.sum(rows**2, axis=1)
        if np.max(lost) > _LOST:
            outside = f"{name} = {values[np.argmax(lost)]:.3g}"
            raise ValueError(f"{outside} lies outside what {rows.shape[1]} basis functions express")
    n_lambda = len(y) * regularization
    first = (beta + y / BASE_STD**2 / n_lambda)[:, None] * features(y, BANDWIDTH_Y, TERMS[1], 1)
    return in_x.T @ (first - features(y, BANDWIDTH_Y, TERMS[1], 2) / n_lambda)


EXPONENTS = (0.5, 1.0)
SMALLEST = 100  # training pairs; n doubles from here

_UNITS = {"norm_error": "", "kl": "nats"}


class Constant(NamedTuple):
    """The c of λ = c n^-α: `value` itself where it is absolute, else times ‖C‖."""

    absolute: bool
    value: float

    def axes(self, gamma: float) -> dict[str, float | bool]:
        """Return the axes of the setting of a series."""
        known = {"gamma": gamma, "constant": self.value}
        return known | {"absolute": True} if self.absolute else known


# The last is that of the theorem as it is printed.
CONSTANTS = (*(Constant(False, value) for value in (0.03, 0.1, 1.0)), Constant(True, 1.0))


@dataclass(frozen=True)
class Consistency(Experiment):
    """KCEF fitted to growing samples of a well-specified target. Needs no data."""

    name = "consistency"
    repeated = ("repetitions",)

    repetitions: int = sized(3, 40, 100, "Independent streams of data.", at_least=2)
    largest: int = sized(400, 3200, 6400, "Most training pairs.", at_least=2 * SMALLEST)
    backend: str = parameter("auto", "auto, numpy or cupy.")

    @classmethod
    def estimators(cls, method: str) -> list[str]:
        """Return the estimator whose code a job runs."""
        return ["KCEF"]

    @property
    def rows_fitted(self) -> list[int]:
        """The n that are run: doubled from `SMALLEST` up to `largest`."""
        return [SMALLEST << k for k in range(int(np.log2(self.largest / SMALLEST)) + 1)]

    def open(self) -> list[Target]:
        """Return the targets."""
        return [target(gamma) for gamma in EXPONENTS]

    def outcome(self, unit: int) -> Outcome:
        """Fit to a stream of each target; both rows of a fit that fails say why."""
        backend, ns, rows = methods.backend_of(KCEF(), self.backend), self.rows_fitted, []
        for target in self.data:
            key = self.name, target.gamma, unit
            x, y = (asarray(one, backend) for one in target.sample(ns[-1], rng_of(*key)))
            told = {"backend": backend, "split": unit, "seed": row_seed(*key)}
            for n, constant in product(ns, CONSTANTS):
                regularization = _regularization(target, constant, n)
                found, seconds = attempt(errors, target, x[:n], y[:n], regularization)
                row = self._row(target, constant, n) | told
                if not isinstance(found, Exception):
                    row["seconds"] = seconds
                rows += [row | each for each in scores.cells(_UNITS, found)]
        return Outcome(rows)

    def _row(self, target: Target, constant: Constant, n: int) -> dict:
        setting = scores.setting(**constant.axes(target.gamma))
        named = {"dataset": "well-specified", "method": "KCEF", "variant": AS_PUBLISHED}
        return self.row(0, **named, dim=1, setting=setting, n_train=n, backend="numpy")

    def rows(self, outcomes: list[Outcome]) -> list[dict]:
        """Return the rows of each target in turn, and then what noise does not explain."""
        rows = []
        for target in self.data:
            axes = {scores.setting(**each.axes(target.gamma)) for each in CONSTANTS}
            rows += [row for each in outcomes for row in each.rows if row["setting"] in axes]
            for constant, n in product(CONSTANTS, self.rows_fitted):
                left = target.regularization_error(_regularization(target, constant, n))
                without_noise = {"metric": REGULARIZATION_ERROR, "value": left}
                rows.append(self._row(target, constant, n) | without_noise)
        return rows


def _regularization(target: Target, constant: Constant, n: int) -> float:
    """Return λ, which falls like n^-α."""
    c = constant.value * (1.0 if constant.absolute else target.operator_norm)
    return c * n ** -max(0.25, 1.0 / (2.0 * (target.gamma + 1.0)))


def errors(target: Target, x, y, regularization: float) -> tuple[float, float]:
    """Fit KCEF with λ to pairs; return ‖T - T_0‖ and the divergence from p_0 in nats.

    The norm is that of the RKHS, in which T_0 has norm `NORM`; the divergence is expected over x.
    The pairs have the shapes (n,) and are where KCEF is to compute.
    """
    given = BANDWIDTH_X, BANDWIDTH_Y, regularization, BASE_STD
    model = KCEF(*given, standardize=False).fit(x[:, None], y[:, None])
    found = to_numpy(x), to_numpy(y), to_numpy(model.coef_[:, 0])
    estimated = estimate_coefficients(*found, regularization)
    grid, xp = target.grid, array_namespace(x)
    nodes_x, nodes_y = xp.asarray(grid.x[:, None]), xp.asarray(grid.y[:, None])
    log_q = grid.normalised(to_numpy(model.log_unnormalized_at(nodes_y)(nodes_x)))
    distance = float(np.linalg.norm(estimated - target.coefficients))
    return distance, grid.divergence(target.log_density, log_q)
