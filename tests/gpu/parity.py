"""What is compared between numpy and another namespace, and how closely."""

import numpy as np

from kcde.arrays import array_namespace, to_numpy

TOLERANCE = 1e-9  # of a number, and of the largest where numbers are sums of signed terms


def assert_same(found, expected, tolerance=TOLERANCE, what=""):
    """Compare an array of any namespace with numpy's."""
    found, expected = to_numpy(found), to_numpy(expected)
    scale = float(np.max(np.abs(expected[np.isfinite(expected)]), initial=0.0))
    np.testing.assert_allclose(found, expected, tolerance, tolerance * scale, err_msg=what)


def powers(y):
    return array_namespace(y).concat([y**0, y, y**2], axis=1)


def density_numbers(model, X, Y) -> dict:
    """Return what a fitted density says at some rows."""
    xp, few = array_namespace(Y), X[:6, :]
    numbers = {
        "log_density": model.log_density(X, Y),
        "shared points": model.log_density_at(Y[:4, :])(few),
        "density": model.density_at(Y[:4, :])(few),
        "expectation": model.conditional_expectation(powers, few),
        "score": xp.asarray(model.score(X, Y)),
    }
    if model.n_outputs_ == 1 or not hasattr(model, "sample_hmc"):
        # Long chains tell rounding apart; short ones are compared on their own.
        numbers["draws"] = model.sample(few, 5, np.random.default_rng(3))
    pairs = ("log_unnormalized", "log_unnormalized_gradient", "score_matching_loss")
    own = {name: (few,) for name in ("mean", "variance", "weights_at")}
    for name, at in (own | dict.fromkeys((*pairs, "nonpositive_share"), (X, Y))).items():
        if hasattr(model, name):
            numbers[name] = xp.asarray(getattr(model, name)(*at))
    return numbers


def expectation_numbers(model, X, Y) -> dict:
    """Return what a fitted estimator of expectations says at some rows."""
    few = X[:6, :]
    return {
        "expectation": model.conditional_expectation(powers, few),
        "mean": model.mean(few),
        "second moments": model.conditional_moments(few)[1],
        "probability": model.conditional_probability(lambda y: y[:, 0] <= 0.1, few),
        "weights": model.weights(few),
        "draws": model.sample(few, 5, np.random.default_rng(3)),
    }
