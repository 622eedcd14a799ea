"""Distribution functions, quantiles and CRPS of one-dimensional Gaussian mixtures, one a row."""

from math import pi, sqrt

import numpy as np
from scipy.special import ndtri

from kcde.arrays import array_namespace, normal_cdf
from kcde.estimators._shared.roots import increasing_root

_TOLERANCE = 1e-10  # of a quantile, in the smallest standard deviation


def mixture_cdf(weights, centres, sigma, y):
    """Return Σ_l w_l Φ((y - v_l)/σ_l), shape (n, k).

    Parameters
    ----------
    weights
        w, shape (n, m), whose rows sum to one.
    centres, sigma
        v and σ, of shapes that broadcast to (n, m).
    y
        Shape (n, k).
    """
    xp = array_namespace(weights)
    u = (y[:, :, None] - centres[:, None, :]) / sigma[:, None, :]
    return xp.clip(xp.sum(weights[:, None, :] * normal_cdf(u), axis=2), max=1.0)


def mixture_crps(weights, centres, sigma, y):
    """Return the CRPS of the mixtures of `mixture_cdf` at y (n,), shape (n,).

    E|Y - y| - E|Y - Y′|/2 over pairs of components, n m² numbers (Grimit et al., Q. J. R. Meteorol.
    Soc. 2006, equation (5)).
    """
    xp = array_namespace(weights)
    distance = xp.sum(weights * mean_distance(y[:, None] - centres, sigma), axis=1)
    apart = centres[:, :, None] - centres[:, None, :]
    both = xp.sqrt(sigma[:, :, None] ** 2 + sigma[:, None, :] ** 2)
    pairs = weights[:, :, None] * weights[:, None, :] * mean_distance(apart, both)
    return distance - 0.5 * xp.sum(pairs, axis=(1, 2))


def mean_distance(u, sigma):
    """Return E|Z| of Z normal with mean u and standard deviation σ, elementwise."""
    xp, z = array_namespace(u), u / sigma
    return sigma * (sqrt(2.0 / pi) * xp.exp(-0.5 * z * z) + z * (2.0 * normal_cdf(z) - 1.0))


def normal_crps(z):
    """Return the CRPS of the standard normal at z, elementwise (Gneiting et al. 2005)."""
    return mean_distance(z, 1.0) - 1.0 / sqrt(pi)


def mixture_quantile(weights, centres, sigma, p: np.ndarray):
    """Return the p-quantiles of the mixtures of `mixture_cdf`, shape (n, k), for p of shape (k,).

    A quantile lies between the smallest and the largest of those of the components; it is looked
    for from that of a normal density of the same mean and variance on.
    """
    xp = array_namespace(weights)
    z, p = xp.asarray(ndtri(p)), xp.asarray(p)
    own = centres[:, None, :] + sigma[:, None, :] * z[None, :, None]
    shape = (weights.shape[0], p.shape[0])
    lower, upper = (xp.broadcast_to(f(own, axis=2), shape) for f in (xp.min, xp.max))

    def excess(y):
        u = (y[:, :, None] - centres[:, None, :]) / sigma[:, None, :]
        shares = weights[:, None, :] * normal_cdf(u)
        slopes = weights[:, None, :] * xp.exp(-0.5 * u * u) / sigma[:, None, :]
        return xp.sum(shares, axis=2) - p, xp.sum(slopes, axis=2) / sqrt(2.0 * pi)

    mean = xp.sum(weights * centres, axis=1, keepdims=True)
    spread = xp.sqrt(xp.sum(weights * ((centres - mean) ** 2 + sigma**2), axis=1, keepdims=True))
    start = mean + spread * z
    return increasing_root(excess, lower, upper, start, _TOLERANCE * float(xp.min(sigma)))
