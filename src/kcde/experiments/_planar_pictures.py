"""Data of the figures of planar models (dde, figures 1 to 3)."""

from collections.abc import Mapping, Sequence

import numpy as np

from kcde.experiments._planar_models import PlanarModel

NODES = 100
SNAPSHOT_SAMPLES = 1000
_MARGIN = 0.1
"""Margin of a frame on each side, as a share of the range of the training points."""

_HISTORY = {"objective": "history_objective", "mmd2_biased": "history_mmd2"}


def pictures(model: PlanarModel, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Return the surfaces of a model and, if it kept snapshots, samples at each of them.

    Parameters
    ----------
    model
        Fitted.
    rng
        Source of the samples.

    Returns
    -------
    dict
        `surface_x`, `surface_y` (100,) over the training points and a tenth of their range on each
        side; `surface_log_density` (100, 100), nats, index of y first. Of an estimator that has a
        natural parameter of its own `surface_f`, likewise; with snapshots `snapshot_iterations`
        (k,) and `snapshots` (k, 1000, 2).
    """
    lower, upper = model.train.min(axis=0), model.train.max(axis=0)
    margin = _MARGIN * (upper - lower)
    x, y = np.linspace(lower - margin, upper + margin, NODES, axis=1)
    nodes = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    shape = (NODES, NODES)
    found = {"surface_x": x, "surface_y": y}
    found["surface_log_density"] = model.log_density(nodes).reshape(shape)
    if (f := model.natural_parameter(nodes)) is not None:
        found["surface_f"] = f.reshape(shape)
    if iterations := getattr(model.estimator, "snapshots_", ()):
        drawn = [model.draw_snapshot(each, SNAPSHOT_SAMPLES, rng) for each in iterations]
        found |= {"snapshot_iterations": np.array(iterations), "snapshots": np.stack(drawn)}
    return found


def histories(found: Sequence[Mapping | None]) -> dict[str, np.ndarray]:
    """Return objective and discrepancy at each check of the training; {} without any history.

    Parameters
    ----------
    found
        `history_` of the estimator of each seed, None where it has none or failed.

    Returns
    -------
    dict
        `history_iteration` (checks,), `history_objective` and `history_mmd2` (seeds, checks), NaN
        from where a training ended, and for a seed that failed.
    """
    longest = max((len(one["iteration"]) for one in found if one), default=0)
    if not longest:
        return {}
    full = next(one for one in found if one and len(one["iteration"]) == longest)
    arrays = {"history_iteration": np.asarray(full["iteration"])}
    for name, stored in _HISTORY.items():
        arrays[stored] = np.full((len(found), longest), np.nan)
        for row, one in zip(arrays[stored], found, strict=True):
            if one:
                row[: len(one[name])] = one[name]
    return arrays
