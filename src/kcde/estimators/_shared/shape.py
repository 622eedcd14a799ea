"""Modes and pictures of conditional densities, from their quantiles and log densities."""

from typing import TYPE_CHECKING, Any

import numpy as np

from kcde.arrays import array_namespace, take_rows, to_numpy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LEVELS = np.arange(1, 65) / 65
_STEPS = 40
_GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0
_ENDS = (0.001, 0.999)
_POINTS = 400
_MOST_CURVES = 20


def mode(model: Any, X):
    """Return the y where each p(y|x) is highest, shape (n,).

    The highest of 64 quantiles with the same probability between neighbours, refined between its
    neighbours by golden sections to 1e-8 of their distance. A peak that holds less than 1/65 of the
    probability may be missed.

    Parameters
    ----------
    model
        A fitted conditional density of one y.
    X
        An array of shape (n, d_x).
    """
    xp, nodes = array_namespace(X), to_numpy(model.quantile(X, _LEVELS))
    n, count = nodes.shape

    def log_density(y: np.ndarray) -> np.ndarray:
        """Return log p at y (n, k)."""
        rows = np.repeat(np.arange(n), y.shape[1])
        found = model.log_density(take_rows(X, rows), xp.asarray(y.reshape(-1)))
        return to_numpy(found).reshape(y.shape)

    best = np.argmax(log_density(nodes), axis=1)
    every = np.arange(n)
    low = nodes[every, np.maximum(best - 1, 0)]
    high = nodes[every, np.minimum(best + 1, count - 1)]
    for _ in range(_STEPS):
        step = _GOLDEN * (high - low)
        inner = np.stack([high - step, low + step], axis=1)
        left, right = log_density(inner).T
        rises = left < right
        low, high = np.where(rises, inner[:, 0], low), np.where(rises, high, inner[:, 1])
    return 0.5 * (low + high)


def plot(model: Any, X, axes: "Axes | None" = None, labels=None) -> "Axes":
    """Draw p(y|x) of some x, from the lowest 0.1% quantile to the highest 99.9%.

    Parameters
    ----------
    model
        A fitted conditional density of one y.
    X
        Shape (n, d_x), at most 20 rows; None without x.
    axes
        Of matplotlib; None: those of a new figure.
    labels
        One for each x; by default their numbers.

    Raises
    ------
    ValueError
        If there are more than 20 rows, or not as many labels.
    """
    ends = to_numpy(model.quantile(X, _ENDS))
    labels = list(range(len(ends))) if labels is None else list(labels)
    if len(ends) > _MOST_CURVES or len(labels) != len(ends):
        raise ValueError(
            f"plot draws at most {_MOST_CURVES} x, with a label each; got {len(ends)} x and "
            f"{len(labels)} labels"
        )
    y = np.linspace(ends[:, 0].min(), ends[:, 1].max(), _POINTS)
    xp = array_namespace(X) if hasattr(X, "dtype") else np
    given = np.empty((1, 0)) if X is None else X
    density = to_numpy(model.density_at(xp.asarray(y[:, None]))(given))
    if axes is None:
        import matplotlib.pyplot as plt

        axes = plt.subplots()[1]
    for label, row in zip(labels, density, strict=True):
        axes.plot(y, row, label=str(label))
    axes.set_xlabel("y")
    axes.set_ylabel("p(y|x)")
    return axes
