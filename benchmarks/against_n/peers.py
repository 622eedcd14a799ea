"""What others offer for the same operations, each as its users write it."""

import numpy as np

from against_n.operations import (
    BANDWIDTH_X,
    FOLDS,
    NAMED,
    PLANE_BANDWIDTH,
    RANK,
    REGULARIZATION,
    Contender,
    Problem,
    kept,
)
from kcde.arrays import add_to_diagonal, array_namespace


def peers(backend: str) -> list[Contender]:
    """Return the peers on a backend; one whose package is missing fails when it is prepared."""
    return _on_device() if backend == "cupy" else _on_host()


def _on_host() -> list[Contender]:
    scipy, sklearn, torch = ("scipy",), ("scikit-learn",), ("torch", "linear_operator")
    folds = f"scipy, {FOLDS} Choleskys"
    return [
        Contender(NAMED["gram"], "scipy", lambda p: p.X, _scipy_gram, scipy),
        Contender(NAMED["cholesky"], "scipy", _columns_first, _scipy_cholesky, scipy),
        Contender(NAMED["solve"], "scipy", lambda p: (p.X, p.Y), _scipy_solve, scipy),
        Contender(NAMED["solve"], "scikit-learn", _kernel_ridge, _fit, sklearn),
        Contender(NAMED["tuning"], folds, _one_fold, _scipy_cholesky, scipy, FOLDS),
        Contender(NAMED["pivoted"], "linear_operator", _linear_operator, _lazily_pivoted, torch),
    ]


def _on_device() -> list[Contender]:
    cupy = ("cupy",)
    folds = f"cupy, {FOLDS} Choleskys"
    return [
        Contender(NAMED["cholesky"], "cupy", Problem.kernel_matrix, _array_cholesky, cupy),
        Contender(NAMED["solve"], "cupy", lambda p: (p.X, p.Y), _cupy_solve, cupy),
        Contender(NAMED["tuning"], folds, _one_fold, _array_cholesky, cupy, FOLDS),
    ]


def _scipy_gram(X):
    from scipy.spatial.distance import cdist

    scaled = X / BANDWIDTH_X
    matrix = cdist(scaled, scaled, "sqeuclidean")
    matrix *= -0.5
    return np.exp(matrix, out=matrix)


def _columns_first(problem: Problem):
    """Return the symmetric matrix in the order in which LAPACK needs no copy."""
    return problem.kernel_matrix().T


def _one_fold(problem: Problem):
    return problem.kernel_matrix(kept(problem.n)).T


def _scipy_cholesky(matrix):
    from scipy.linalg import cho_factor

    return cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)


def _scipy_solve(data):
    from scipy.linalg import cho_solve

    X, Y = data
    matrix = _scipy_gram(X)
    add_to_diagonal(matrix, len(matrix) * REGULARIZATION)
    return cho_solve(_scipy_cholesky(matrix.T), Y, check_finite=False)


def _kernel_ridge(problem: Problem):
    from sklearn.kernel_ridge import KernelRidge

    gamma, alpha = 0.5 / BANDWIDTH_X**2, problem.n * REGULARIZATION
    return KernelRidge(alpha=alpha, kernel="rbf", gamma=gamma), problem.X, problem.Y


def _fit(state):
    model, X, Y = state
    return model.fit(X, Y)


def _linear_operator(problem: Problem):
    import torch
    from linear_operator.operators import KernelLinearOperator

    def gaussian(A, B):
        return torch.exp(-0.5 * torch.cdist(A, B) ** 2)

    torch.set_num_threads(1)
    points = torch.from_numpy(problem.plane / PLANE_BANDWIDTH)
    return KernelLinearOperator(points, points, covar_func=gaussian)


def _lazily_pivoted(matrix):
    import torch

    with torch.no_grad():
        return matrix.pivoted_cholesky(RANK, error_tol=0.0)


def _array_cholesky(matrix):
    return array_namespace(matrix).linalg.cholesky(matrix)


def _cupy_solve(data):
    from cupyx.scipy.linalg import solve_triangular

    X, Y = data
    xp, scaled = array_namespace(X), X / BANDWIDTH_X
    half = 0.5 * xp.sum(scaled * scaled, axis=1)
    matrix = xp.exp(scaled @ scaled.T - half[:, None] - half[None, :])
    add_to_diagonal(matrix, len(matrix) * REGULARIZATION)
    lower = xp.linalg.cholesky(matrix)
    return solve_triangular(lower, solve_triangular(lower, Y, lower=True), trans=1, lower=True)
