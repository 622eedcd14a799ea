"""Hyper-parameters to fit each estimator quickly with, and pairs to fit it to."""

import numpy as np
import pytest

from kcde.estimators import estimator_class, estimator_names

# Hyper-parameters that spare the selection; an estimator not named here chooses its own.
_KERNELS = {"bandwidth_x": 1.0, "bandwidth_y": 0.9, "regularization": 0.01}
QUICK = {
    "KCEF": _KERNELS,
    "KEF": {"bandwidth_y": 0.9, "regularization": 0.01},
    "LSCDE": {"bandwidth_x": 0.6, "bandwidth_y": 0.5, "regularization": 0.1},
    "EpsilonKDE": {"radius": 0.5, "bandwidth_y": 0.3},
    "NADE": {"hidden_units": 8, "components": 2, "epochs": 20},
    "DDE": {"iterations": 200, "patience": 200},
    "CDO": _KERNELS | {"bandwidth_y": 0.3, "output_regularization": 0.1},
    "GaussianProcess": {"bandwidth_x": 1.0, "signal_std": 0.8, "noise_std": 0.4},
    "Defensive": {"repeats": 1, "tuning_rows": 20},
    "KernelCDE": {"bandwidth_x": 0.8, "bandwidth_y": 0.3},
    "LinearGaussian": {"regularization": 0.01},
    "LikelihoodKCEF": _KERNELS,
    "QuantileForest": {"min_samples_leaf": 5, "bandwidth_y": 0.3, "trees": 20},
    "NGBoost": {"stages": 20},
}
_FLOW = {"hidden_units": 8, "blocks": 2, "steps": 40, "learning_rate": 0.01}
QUICK |= dict.fromkeys(("ConditionalMAF", "ConditionalRealNVP"), _FLOW)
_SMOOTHED = _KERNELS | {"bandwidth_y": 0.8, "smoothing": 0.3}
QUICK |= dict.fromkeys(("SmoothedCME", "SmoothedJDL"), _SMOOTHED)
# Where what is trained need not be trained well.
FEWER = {"DDE": {"iterations": 5, "refit": False}, "NADE": {"epochs": 1}, "NGBoost": {"stages": 5}}
FEWER |= {name: {"steps": 5} for name in ("ConditionalMAF", "ConditionalRealNVP")}


def make(name, fewer=False, **options):
    """Return an estimator that is quick to fit, or hardly trained at all."""
    known = QUICK.get(name, {}) | (FEWER.get(name, {}) if fewer else {})
    return estimator_class(name)(**known | options)


def everything(others, slow=()):
    """Return an estimator of each class, hardly trained, and others by name, as parameters."""
    every = {name: make(name, fewer=True) for name in estimator_names()} | others
    marks = {name: [pytest.mark.nightly] for name in slow}
    return [pytest.param(each, id=name, marks=marks.get(name, ())) for name, each in every.items()]


def some_pairs(rng, n=30, columns=2, noise=0.4):
    """Pairs with so many x and one y, around a curve, of unit scale."""
    X = rng.standard_normal((n, columns))
    return X, np.sin(X[:, :1]) + noise * rng.standard_normal((n, 1))


def densities():
    return [name for name in estimator_names() if estimator_class(name).tags.density]
