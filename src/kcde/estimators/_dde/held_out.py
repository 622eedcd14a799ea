"""The likelihood of held-out rows under f, for early stopping."""

import numpy as np

from kcde.normalisers import logsumexp
from kcde.panels import panel_nodes
from kcde.seeding import rng_of

_DRAWS = 4000
_NODES = 1000  # about as many as quadrature takes for bandwidths of a tenth of the spread


def nodes_of(d_y: int) -> int:
    """Return about how many nodes the normaliser takes, for memory."""
    return _NODES if d_y == 1 else _DRAWS


class HeldOut:
    """Held-out rows, with everything that does not change while f is trained.

    Z is by Gauss-Legendre quadrature where d_y = 1, by 4000 fixed draws of p_0 otherwise. Building
    it costs O(m (h + q)) for m basis functions, h rows and q nodes; a likelihood O(h m q).

    Parameters
    ----------
    potential
        The basis functions, all with weight 1: a `KernelSum` or `FeatureSum`.
    base
        p_0.
    X, Y
        The rows, shapes (h, d_x), (h, d_y).
    support
        Lower end, upper end and panel width where d_y = 1, outside of which f vanishes.
    density_weight
        p is p_0 exp(f / density_weight) / Z.
    """

    def __init__(self, potential, base, X, Y, support, density_weight: float):
        self._weight = density_weight
        self._kernel = potential.kernel_x(X)
        self._pairs = self._kernel * potential.potential(Y).T
        self._log_base = base.log_density(Y)
        self._outside = 0.0
        if support is None:
            nodes = base.sample(_DRAWS, rng_of("held-out", _DRAWS))
            self._log_weights = np.full(_DRAWS, -np.log(_DRAWS))
        else:
            lower, upper, width = support
            nodes, weights = panel_nodes(lower, upper, int(np.ceil((upper - lower) / width)))
            nodes = nodes[:, None]
            self._log_weights = np.log(weights) + base.log_density(nodes)
            self._outside = base.mass_outside(lower, upper)
        self._at_nodes = potential.potential(nodes)

    def loss(self, weights: np.ndarray) -> float:
        """Return the mean negative log-likelihood, nats, for weights (m,) of the basis functions.

        Parameters
        ----------
        weights
            Shape (m,).
        """
        each = np.tile(weights, self._kernel.shape[1] // len(weights)) / self._weight
        log_f = (self._kernel * each) @ self._at_nodes + self._log_weights
        log_z = logsumexp(log_f, axis=1)
        if self._outside > 0.0:
            log_z = np.logaddexp(log_z, np.log(self._outside))
        return float(np.mean(log_z - self._pairs @ each - self._log_base))
