"""What is compared between numpy and another namespace, and how closely."""

import numpy as np

from kcde.arrays import array_namespace, to_numpy

TOLERANCE = 1e-9
"""Relative: of a number, and of the largest where numbers are sums of signed terms."""


def assert_same(found, expected, tolerance=TOLERANCE):
    """Compare an array of any namespace with numpy's."""
    found, expected = to_numpy(found), np.asarray(expected)
    finite = np.abs(expected[np.isfinite(expected)])
    scale = float(np.max(finite, initial=0.0))
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * scale)


def moved(arrays, xp):
    """Return arrays in a namespace."""
    return [xp.asarray(array) for array in arrays]


def powers(y):
    """1, y and y²."""
    return array_namespace(y).concat([y**0, y, y**2], axis=1)


def density_numbers(model, X, Y) -> dict:
    """Return what a fitted density says at some rows."""
    xp = array_namespace(Y)
    few = X[:6, :]
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
    for name in ("mean", "variance", "weights_at"):
        if hasattr(model, name):
            numbers[name] = getattr(model, name)(few)
    pairs = ("log_unnormalized", "log_unnormalized_gradient", "score_matching_loss")
    for name in (*pairs, "nonpositive_share"):
        if hasattr(model, name):
            numbers[name] = xp.asarray(getattr(model, name)(X, Y))
    return numbers


def expectation_numbers(model, X, Y) -> dict:
    """Return what a fitted estimator of expectations says at some rows."""
    few = X[:6, :]
    mean, second = model.conditional_moments(few)
    return {
        "expectation": model.conditional_expectation(powers, few),
        "mean": mean,
        "second moments": second,
        "probability": model.conditional_probability(lambda y: y[:, 0] <= 0.1, few),
        "weights": model.weights(few),
        "draws": model.sample(few, 5, np.random.default_rng(3)),
    }


def compare(numbers: dict, expected: dict):
    """Compare what two models say, thing by thing."""
    assert numbers.keys() == expected.keys()
    for name, values in numbers.items():
        try:
            assert_same(values, to_numpy(expected[name]))
        except AssertionError as difference:
            raise AssertionError(f"{name}: {difference}") from None
