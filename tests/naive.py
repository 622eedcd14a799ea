"""The estimators again, as loops that follow the papers word for word: references, not methods."""

import numpy as np


def slopes(f, at, step=1e-6):
    """Central differences of a function along each axis of a vector."""
    return np.array([f(at + h) - f(at - h) for h in step * np.eye(len(at))]) / (2.0 * step)


def kernel(a, b, sigma):
    """k(a, b) of the anisotropic Gaussian kernel."""
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

    def __init__(self, X, Y, sigma_x, sigma_y, regularization, base_std=2.0):
        self.X, self.Y, self.regularization, self.base_std = X, Y, regularization, base_std
        self.sigma_x = np.broadcast_to(sigma_x, X.shape[1])
        self.sigma_y = np.broadcast_to(sigma_y, Y.shape[1])
        n, d = Y.shape
        pairs = [(b, i) for b in range(n) for i in range(d)]
        # ∂_i ∂_{j+d} k = -∂_i ∂_j k
        G = np.array(
            [[-self.k_x(a, b) * self.dk(Y[a], Y[b], i, j) for b, j in pairs] for a, i in pairs]
        )
        h = np.array([self.xi(X[b], Y[b], i) for b, i in pairs])
        beta = np.linalg.solve(G + n * regularization * np.eye(n * d), h / regularization)
        self.beta, self.pairs = beta.reshape(n, d), pairs

    def k_x(self, a, b):
        return kernel(self.X[a], self.X[b], self.sigma_x)

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

    def T(self, x, y):
        """The natural parameter at one point."""
        value = -self.xi(x, y) / self.regularization
        for b, i in self.pairs:
            k_x = kernel(self.X[b], x, self.sigma_x)
            value += self.beta[b, i] * k_x * self.dk(self.Y[b], y, i)
        return value

    def log_unnormalized(self, x, y):
        """log q_0(y) + T(x, y) at one point."""
        d, s = len(y), self.base_std
        log_base = -0.5 * np.sum(y**2) / s**2 - d * np.log(s * np.sqrt(2 * np.pi))
        return log_base + self.T(x, y)


def lscde_weights(X, Y, U, V, sigma_x, sigma_y, regularization):
    """α of least-squares conditional density estimation, with H by numerical integration over y."""
    y = np.linspace(Y.min() - 12 * sigma_y, Y.max() + 12 * sigma_y, 20001)
    bumps = np.exp(-((y - V) ** 2) / (2 * sigma_y**2))
    phi_x = np.array([[kernel(x, u, np.full(len(u), sigma_x)) for u in U] for x in X])
    phi_y = np.array([[kernel(t, v, np.full(1, sigma_y)) for v in V] for t in Y])
    H = (bumps @ bumps.T) * (y[1] - y[0]) * (phi_x.T @ phi_x) / len(X)
    shifted = H + regularization * np.eye(len(U))
    return np.maximum(0.0, np.linalg.solve(shifted, (phi_x * phi_y).mean(axis=0)))


def lscde_density(x, y, U, V, sigma_x, sigma_y, alpha):
    """p(y|x), normalised by numerical integration."""
    grid = np.linspace(V.min() - 12 * sigma_y, V.max() + 12 * sigma_y, 20001)[:, None]
    weights = alpha * np.array([kernel(x, u, np.full(len(u), sigma_x)) for u in U])
    curve = np.exp(-((grid - V[:, 0]) ** 2) / (2 * sigma_y**2)) @ weights
    here = np.exp(-((y[0] - V[:, 0]) ** 2) / (2 * sigma_y**2)) @ weights
    return here / np.trapezoid(curve, grid[:, 0])


def epsilon_kde_density(x, y, X, Y, radius, bandwidth, min_neighbours):
    """p(y|x) of the ε-neighbourhood estimator."""
    distance = np.array([np.sqrt(np.mean((x - row) ** 2)) for row in X])
    near = [i for i in range(len(X)) if distance[i] <= radius]
    if len(near) < min_neighbours:
        near = list(np.argsort(distance)[:min_neighbours])
    values = [kernel(y, Y[i], np.full(len(y), bandwidth)) for i in near]
    return np.mean(values) / (bandwidth * np.sqrt(2 * np.pi)) ** len(y)


def gaussian_density(y, z, sigma):
    """N(y; z, diag σ²)."""
    return kernel(y, z, sigma) / np.prod(np.sqrt(2 * np.pi) * np.asarray(sigma))


def cdo_weights(x, X, Y, Z, k, sigma_y, alpha, shift):
    """β of cdo, supplement A.2, with all rows of X and c = `shift`, before division by its sum."""
    n, m = len(X), len(Z)
    K = np.array([[k(a, b) for b in X] for a in X])
    L = np.array([[gaussian_density(a, b, sigma_y) for b in Z] for a in Z])
    L_ZY = np.array([[gaussian_density(z, y, sigma_y) for y in Y] for z in Z])
    similar = np.array([k(a, x) for a in X])
    inverse = np.linalg.inv(L + shift * np.eye(m))
    return inverse @ inverse @ L_ZY @ np.linalg.solve(K + n * alpha * np.eye(n), similar)
