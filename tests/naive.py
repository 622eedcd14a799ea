"""The estimators again, as loops that follow the papers word for word: references, not methods."""

import clarabel
import numpy as np
from scipy import sparse
from scipy.stats import norm


def slopes(f, at, step=1e-6):
    """Central differences of a function along each axis of a vector."""
    return np.array([f(at + h) - f(at - h) for h in step * np.eye(len(at))]) / (2.0 * step)


def kernel(a, b, sigma):
    return float(np.exp(-0.5 * np.sum(((np.asarray(a) - np.asarray(b)) / sigma) ** 2)))


def partial(a, b, sigma, *axes):
    """∂_{axes} k(a, b) in the first argument, by the recursion of Hermite polynomials."""
    if not axes:
        return kernel(a, b, sigma)
    i, rest = axes[0], axes[1:]
    value = -(a[i] - b[i]) / sigma[i] ** 2 * partial(a, b, sigma, *rest)
    for position, j in enumerate(rest):
        if j == i:
            remaining = rest[:position] + rest[position + 1 :]
            value -= partial(a, b, sigma, *remaining) / sigma[i] ** 2
    return value


class NaiveKCEF:
    """kcef, Theorem 1, entry by entry: O(n²d²) Python operations."""

    base_std = 2.0

    def __init__(self, X, Y, sigma_x, sigma_y, regularization):
        self.X, self.Y, self.regularization = X, Y, regularization
        self.sigma_x = np.broadcast_to(sigma_x, X.shape[1])
        self.sigma_y = np.broadcast_to(sigma_y, Y.shape[1])
        n, d = Y.shape
        pairs = [(b, i) for b in range(n) for i in range(d)]
        # ∂_i ∂_{j+d} k = -∂_i ∂_j k
        k_x = [[kernel(a, b, self.sigma_x) for b in X] for a in X]
        G = [[-k_x[a][b] * self.dk(Y[a], Y[b], i, j) for b, j in pairs] for a, i in pairs]
        h = np.array([self.xi(X[b], Y[b], i) for b, i in pairs])
        beta = np.linalg.solve(G + n * regularization * np.eye(n * d), h / regularization)
        self.beta, self.pairs = beta.reshape(n, d), pairs

    def dk(self, a, b, *axes):
        return partial(a, b, self.sigma_y, *axes)

    def xi(self, x, y, *j):
        """ξ̂(x, y), or ∂_{y_j} of it: a derivative in the second argument changes the sign."""
        total = 0.0
        for X_b, Y_b in zip(self.X, self.Y, strict=True):
            for i in range(self.Y.shape[1]):
                r = -Y_b[i] / self.base_std**2
                k_x = kernel(X_b, x, self.sigma_x)
                total += k_x * (self.dk(Y_b, y, i, i, *j) + r * self.dk(Y_b, y, i, *j))
        return (-1) ** len(j) * total / len(self.Y)

    def log_unnormalized(self, x, y):
        """log q_0(y) + T(x, y) at one point."""
        value = norm.logpdf(y, scale=self.base_std).sum() - self.xi(x, y) / self.regularization
        for b, i in self.pairs:
            k_x = kernel(self.X[b], x, self.sigma_x)
            value += self.beta[b, i] * k_x * self.dk(self.Y[b], y, i)
        return value


def epsilon_kde_density(x, y, X, Y, radius, bandwidth, min_neighbours):
    """p(y|x) of the ε-neighbourhood estimator."""
    distance = np.array([np.sqrt(np.mean((x - row) ** 2)) for row in X])
    near = [i for i in range(len(X)) if distance[i] <= radius]
    if len(near) < min_neighbours:
        near = list(np.argsort(distance)[:min_neighbours])
    return np.mean([norm.pdf(y, Y[i], bandwidth).prod() for i in near])


def cdo_weights(x, X, Y, Z, k, sigma_y, alpha, shift):
    """β of cdo, supplement A.2, with all rows of X and c = `shift`, before division by its sum."""
    n, m = len(X), len(Z)
    L, L_ZY = (norm.pdf(Z[:, None], points, sigma_y).prod(axis=2) for points in (Z, Y))
    similar = k(X, x[None])[:, 0]
    inverse = np.linalg.inv(L + shift * np.eye(m))
    return inverse @ inverse @ L_ZY @ np.linalg.solve(k(X, X) + n * alpha * np.eye(n), similar)


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
