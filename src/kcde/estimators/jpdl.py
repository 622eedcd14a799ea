"""Joint distribution learning with polynomials (jdl, section 4.5)."""

from typing import ClassVar

from kcde.estimators._low_rank.basis import PolynomialBasis
from kcde.estimators._low_rank.sums_of_squares import solve_by_samples, solve_with_clarabel
from kcde.estimators._shared import checks
from kcde.estimators.jdl import JointDistribution

SOLVERS = ("samples", "clarabel", "clarabel-unreduced")


class JPDL(JointDistribution):
    """Predict expectations of functions of y given a few x, by polynomials; no density.

    `predict` gives the mean of y, `score` its R².

    A joint distribution dQ = (1 + h) dP_X dP_Y with h a polynomial in x times one in y.

    With the expectation inner product and orthonormal polynomials H = (Ψ_YᵀΨ_X/n - ȳx̄ᵀ)/(1 + λ):
    (38). Its first row and column vanish, constants being the first polynomials, so that both
    marginals are those of the rows. Nothing is approximated and there is no bandwidth.

    Fitting costs n (m_X + m_Y)² multiplications, m = (d + q choose q).

    Parameters
    ----------
    degree
        q: of the polynomials in x, and of those in y; even if constrained.
    regularization
        λ of (8).
    constrained
        Whether 1 + h is constrained to a sum of squares, so that it is nonnegative: (39) and (23).
    solver
        Of the constrained problem. "samples": an interior-point method implemented here, the
        fastest. "clarabel": the semidefinite program with monomials of degree at most q/2 in x and
        in y, all that a sum of squares of this form can have (its Newton polytope).
        "clarabel-unreduced": with those of total degree at most q, as the paper has it; the same
        set, but a program without interior, which solvers may fail on.
    standardize
        Whether x and y are first brought to mean 0 and standard deviation 1 of the training rows:
        parameters and what is learned are then in these units. False: the rows as they are.

    Attributes
    ----------
    coef_
        H, shape (m_Y, m_X).
    objective_
        The regularised loss (38) at H.
    basis_x_, basis_y_
        The bases.
    rank_x_, rank_y_
        m_X and m_Y.
    solver_status_, solver_residual_, solver_iterations_
        "closed form" or "optimal"; the solver's largest residual; its iterations.

    Examples
    --------
    >>> import numpy as np
    >>> from kcde import JPDL
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 1))
    >>> Y = np.sin(X) + 0.3 * rng.normal(size=(100, 1))
    >>> model = JPDL(degree=2).fit(X, Y)
    >>> model.mean(np.array([[1.0]])).shape
    (1, 1)
    """

    selection_rule: ClassVar[str] = "polynomials of degree 4 and λ = 0.001, nothing is searched"

    density_instead: ClassVar[str] = (
        "density_ratio is its density over the product of the marginals, which are those of the "
        "rows; SmoothedJDL, with Gaussian kernels instead of polynomials, has a density of y"
    )

    def __init__(
        self,
        degree=4,
        regularization=1e-3,
        *,
        constrained=False,
        solver="samples",
        standardize=True,
    ):
        self.degree = degree
        self.regularization = regularization
        self.constrained = constrained
        self.solver = solver
        self.standardize = standardize

    def make_basis_x(self, X):
        """Return the orthonormal polynomials over training rows X (n, d_x); n m_X² time."""
        return PolynomialBasis(self._scaled(X), self.degree, "X")

    def make_basis_y(self, Y):
        """Return the orthonormal polynomials over training rows Y (n, d_y); n m_Y² time."""
        return PolynomialBasis(self._scaled(Y), self.degree, "Y")

    def _check_parameters(self):
        checks.positive("regularization", self.regularization)
        checks.whole("degree", self.degree)
        checks.choice("constrained", self.constrained, (False, True))
        if self.constrained and self.degree % 2:
            raise ValueError(f"sums of squares have an even degree; got {self.degree}")
        checks.choice("solver", self.solver, SOLVERS)

    def _constrained(self, summary, curvature, linear, marginal, start):
        problem = linear, 1.0 + self.regularization, summary.basis_x, summary.basis_y
        if self.solver == "samples":
            return solve_by_samples(*problem)
        return solve_with_clarabel(*problem, reduced=self.solver == "clarabel")
