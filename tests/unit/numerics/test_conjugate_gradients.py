"""Solves by conjugate gradients, against elimination."""

import numpy as np

from kcde.kernels import GaussianKernel
from kcde.linalg import conjugate_gradients, few_steps


def _gram(n=2000):
    X = np.random.default_rng(0).normal(size=(n, 2))
    return GaussianKernel(0.3)(X, X)


def test_a_large_shift_takes_few_steps_to_rounding():
    A, shift = _gram(), 1e4
    b = np.random.default_rng(1).normal(size=(len(A), 3))
    b[:, 1] = 0.0
    steps = few_steps(A, shift)
    assert steps <= 8
    exact = np.linalg.solve(A + shift * np.eye(len(A)), b)
    found = conjugate_gradients(A, b, shift, steps)
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-15 * np.abs(exact).max())
    assert not found[:, 1].any()


def test_few_steps_are_not_promised_where_many_are_needed():
    A = _gram()
    assert few_steps(A, 1e-3) is None
    assert few_steps(A, 0.0) is None
    assert few_steps(A, 1e-40) is None
    assert few_steps(A, 1e-320) is None
    assert few_steps(A[:100, :100], 1.0) is None
    A[0, 0] = np.nan
    assert few_steps(A, 1e4) is None
