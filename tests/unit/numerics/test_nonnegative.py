import numpy as np
import pytest

from kcde.linalg import nonnegative_least_squares


def problem(rng, M):
    """Columns that are close to their neighbours, as those of Gaussians on a grid."""
    z = np.linspace(-3.0, 3.0, M)
    A = np.exp(-0.5 * ((np.linspace(-4, 4, 60)[:, None] - z) / 0.3) ** 2)
    return A, rng.standard_normal((5, 60)) + 0.5


@pytest.mark.parametrize("M", [40, 601, 1500])
def test_no_direction_descends(rng, M):
    A, B = problem(rng, M)
    gamma = nonnegative_least_squares(A, B)
    assert gamma.shape == (5, M)
    assert (gamma >= 0.0).all()
    gradient = (B - gamma @ A.T) @ A
    assert gradient.max() < 1e-6
    assert np.abs(gradient[gamma > 0.0]).max() < 1e-6


def test_no_rows_and_no_solution_but_zero(rng):
    A, _ = problem(rng, 700)
    assert nonnegative_least_squares(A, np.empty((0, 60))).shape == (0, 700)
    np.testing.assert_array_equal(nonnegative_least_squares(A, -np.ones((2, 60))), 0.0)
