import numpy as np
import pytest
from scipy.stats import multivariate_normal

from kcde.data import donut
from kcde.seeding import rng_of


def midpoints(count, low=-2.0, high=2.0):
    ticks = low + (high - low) * (np.arange(count) + 0.5) / count
    return np.stack(np.meshgrid(ticks, ticks, indexing="ij"), axis=-1).reshape(-1, 2)


def test_means_are_the_unit_circle_tilted_about_the_first_axis():
    centres = donut.means()
    assert centres.shape == (50, 3)
    np.testing.assert_allclose(np.linalg.norm(centres, axis=1), 1.0)
    normal = np.array([0.0, -np.sin(0.5), np.cos(0.5)])
    np.testing.assert_allclose(centres @ normal, 0.0, atol=1e-15)
    gaps = np.linalg.norm(centres - np.roll(centres, 1, axis=0), axis=1)
    np.testing.assert_allclose(gaps, 2 * np.sin(np.pi / 50))


def test_joint_density_is_that_of_the_mixture():
    Y = rng_of("test-donut").uniform(-1.5, 1.5, (40, 2))
    for x in (1.0, 0.0, -0.3):
        points = np.column_stack([np.full(len(Y), x), Y])
        naive = np.mean(
            [multivariate_normal.pdf(points, mean, 0.01 * np.eye(3)) for mean in donut.means()],
            axis=0,
        )
        np.testing.assert_allclose(donut.joint_density(x, Y), naive, rtol=1e-12)


@pytest.mark.parametrize("x", [1.0, 0.0, 0.45])
def test_densities_fit_together(x):
    nodes, cell = midpoints(200), (4.0 / 200) ** 2
    over_y = donut.joint_density(x, nodes).sum() * cell
    assert over_y == pytest.approx(donut.marginal_density(x), rel=1e-9)
    assert donut.conditional_density(x, nodes).sum() * cell == pytest.approx(1.0, rel=1e-9)


def test_the_marginal_integrates_to_one():
    ticks = np.linspace(-2, 2, 4001)
    assert np.trapezoid([donut.marginal_density(x) for x in ticks], ticks) == pytest.approx(1.0)


def test_draws_follow_the_densities():
    X, Y = donut.draw(4000, rng_of("test-donut-draws"))
    assert X.shape == (200_000, 1)
    assert Y.shape == (200_000, 2)
    # Share near x = 0 against the marginal, and there of y above the plane against the conditional.
    slab = np.abs(X[:, 0]) < 0.05
    ticks = np.linspace(-0.05, 0.05, 101)
    expected = np.trapezoid([donut.marginal_density(x) for x in ticks], ticks)
    assert slab.mean() == pytest.approx(expected, abs=4 * np.sqrt(expected / len(X)))
    nodes, cell = midpoints(200), (4.0 / 200) ** 2
    inside = np.linalg.norm(nodes - [0.9, 0.5], axis=1) < 0.1
    share = donut.conditional_density(0.0, nodes)[inside].sum() * cell
    found = np.linalg.norm(Y[slab] - [0.9, 0.5], axis=1) < 0.1
    assert found.mean() == pytest.approx(share, abs=0.015)


def test_the_same_stream_gives_the_same_points():
    one, again, other = (donut.draw(2, rng_of("donut", seed)) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one[1], again[1])
    assert not np.isin(one[1], other[1]).any()


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="at least 1; got 0"):
        donut.draw(0, rng_of("donut"))
    with pytest.raises(ValueError, match=r"shape \(n, 2\); got \(3,\)"):
        donut.joint_density(0.0, np.zeros(3))
