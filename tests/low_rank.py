"""Dense references for the low-rank estimators, straight from jdl's formulas."""

import clarabel
import numpy as np
from scipy import sparse


def greedy_cholesky(K, target):
    """Algorithm 1, line by line: L and the (n, m) matrix B, pivots, trace error."""
    n = len(K)
    d, pivots = np.diag(K).copy(), []
    L, B = np.zeros((n, 0)), np.zeros((n, 0))
    while d.sum() > target and d.max() > 1e-13:
        p = int(np.argmax(d))
        e = np.eye(n)[p]
        column = (K @ e - L @ L.T @ e) / np.sqrt(d[p])
        coefficient = (e - B @ L.T @ e) / np.sqrt(d[p])
        L, B = np.column_stack([L, column]), np.column_stack([B, coefficient])
        d = np.maximum(d - column**2, 0.0)
        d[p] = 0.0
        pivots.append(p)
    return L, B, np.array(pivots), d.sum()


def dense_jdl(K_x, K_y, regularization):
    """Minimiser of (14): the values h(x_j, y_i) on the grid, shape (n, n), rows y.

    The n²-dimensional normal equations (K_x² ⊗ K_y²/n² + λ K_x ⊗ K_y) vec H = vec(...).
    """
    n = len(K_x)
    quadratic = np.kron(K_x @ K_x, K_y @ K_y) / n**2 + regularization * np.kron(K_x, K_y)
    linear = K_y @ K_x / n - K_y @ np.ones((n, n)) @ K_x / n**2
    solution = np.linalg.lstsq(quadratic, linear.T.ravel(), rcond=1e-13)[0]
    return K_y @ solution.reshape(n, n).T @ K_x


def grid_values(model, X, Y):
    """h(x_j, y_i) of a fitted joint distribution, shape (len Y, len X)."""
    rows = [model.density_ratio(np.repeat(x[None], len(Y), axis=0), Y) for x in X]
    return np.array(rows).T - 1.0


def quadratic_program(quadratic, linear, equality, total, inequality, limits):
    """Minimise ½ x·Q x - c·x subject to e·x = total and G x ≤ limits, by Clarabel."""
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    rows = sparse.vstack([sparse.csc_array(equality[None]), sparse.csc_array(inequality)])
    solution = clarabel.DefaultSolver(
        sparse.csc_matrix(sparse.triu(sparse.csc_array(quadratic))),
        -linear,
        sparse.csc_matrix(rows),
        np.r_[total, limits],
        [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(len(limits))],
        settings,
    ).solve()
    return np.array(solution.x)
