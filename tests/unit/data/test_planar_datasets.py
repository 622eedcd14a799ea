import numpy as np
import pytest
from scipy.stats import chi2, chisquare, kstest

from kcde.data import planar
from kcde.data.names import PLANAR

REACH = {"two-moons": 5.0, "ring": 6.0, "grid": 2.0}
CELLS = 600


def midpoints(name):
    """Midpoints (CELLS²,) of a square that holds all but a share of 1e-12, and a cell's area."""
    reach = REACH[name.removesuffix("-code")]
    edge = 2 * reach / CELLS
    ticks = -reach + edge * (np.arange(CELLS) + 0.5)
    return np.stack(np.meshgrid(ticks, ticks, indexing="ij"), axis=-1).reshape(-1, 2), edge**2


def density_by_hand(name, y):
    """The laws of the text, a point at a time; two moons up to its constant."""
    a, b = y
    r = np.hypot(a, b)
    if name == "grid":
        bumps = [(a - c) ** 2 + (b - 1) ** 2 for c in (0, 1)]
        return np.mean([np.exp(-bump / 0.02) / (0.02 * np.pi) for bump in bumps])
    if name == "ring":
        along = sum(
            c / 9 * np.exp(-0.5 * ((r - c) / 0.1) ** 2) / (0.1 * np.sqrt(2 * np.pi))
            for c in (1, 3, 5)
        )
        return along / (2 * np.pi * r)
    bumps = np.exp(-0.5 * ((a - 2) / 0.6) ** 2) + np.exp(-0.5 * ((a + 2) / 0.6) ** 2)
    return np.exp(-(0.5 * ((r - 2) / 0.4) ** 2 - np.log(bumps)))


@pytest.mark.parametrize("name", PLANAR)
def test_density_has_mass_one(name):
    points, area = midpoints(name)
    assert np.exp(planar.log_density(name, points)).sum() * area == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("name", PLANAR)
def test_density_is_that_of_the_text(name, rng):
    points = planar.draw(name, 40, rng) + 0.1 * rng.standard_normal((40, 2))
    expected = np.log([density_by_hand(name, point) for point in points])
    found = planar.log_density(name, points)
    # The constant of two moons is checked by its mass.
    constant = (found - expected)[0] if name.startswith("two-moons") else 0.0
    np.testing.assert_allclose(found - expected, constant, atol=1e-10)


@pytest.mark.parametrize("name", PLANAR)
def test_draws_follow_the_density(name, rng):
    n, blocks = 20_000, 30
    points, area = midpoints(name)
    mass = (np.exp(planar.log_density(name, points)) * area).reshape((blocks, CELLS // blocks) * 2)
    expected = n * mass.sum(axis=(1, 3)).ravel()
    reach = REACH[name.removesuffix("-code")]
    edges = np.linspace(-reach, reach, blocks + 1)
    counts = np.histogram2d(*planar.draw(name, n, rng).T, bins=[edges, edges])[0].ravel()
    often = expected >= 5
    merged = [np.append(v[often], v[~often].sum()) for v in (counts, expected)]
    statistic = np.sum((merged[0] - merged[1]) ** 2 / merged[1])
    assert chi2.sf(statistic, len(merged[0]) - 1) > 1e-3


def test_angles_of_the_ring_are_uniform_and_apart_from_the_radius(rng):
    points = planar.draw("ring", 6000, rng)
    angle = np.arctan2(points[:, 1], points[:, 0])
    far = np.hypot(*points.T) > 4
    for part in (angle, angle[far], angle[~far]):
        assert kstest(part / (2 * np.pi) + 0.5, "uniform").pvalue > 1e-3


@pytest.mark.parametrize("name", PLANAR)
def test_modes_are_reached_in_proportion(name, rng):
    modes = planar.modes(name)
    found = modes.nearest(planar.draw(name, 9000, rng))
    assert modes.weights.sum() == pytest.approx(1)
    assert len(modes.labels) == len(modes.weights)
    counts = np.bincount(found, minlength=len(modes.weights))
    assert chisquare(counts, 9000 * modes.weights).pvalue > 1e-3


def test_modes_are_where_the_points_lie():
    assert planar.modes("two-moons").nearest(np.array([[-2, 0.3], [1.8, 1]])).tolist() == [0, 1]
    assert planar.modes("grid").nearest(np.array([[0.1, 1], [0.9, 0.8]])).tolist() == [0, 1]
    ring = planar.modes("ring").nearest(np.array([[0.6, -0.9], [0, 5.2], [-3.1, 0]]))
    assert ring.tolist() == [0, 2, 1]


def test_circles_have_points_in_proportion_to_their_lengths():
    np.testing.assert_allclose(planar.modes("ring").weights, [1 / 9, 3 / 9, 5 / 9])


def test_what_the_code_does_differs_where_the_protocol_says():
    assert planar.sizes("two-moons") == planar.sizes("ring") == (500, 5000)
    assert planar.sizes("grid") == (500, 1500)
    assert planar.sizes("two-moons-code") == (1000, 5000)
    same = np.ones((1, 2))
    assert planar.log_density("two-moons", same) == planar.log_density("two-moons-code", same)


def test_points_of_a_seed_are_its_own():
    train, test = planar.of_seed("grid", 3)
    assert (train.shape, test.shape) == ((500, 2), (1500, 2))
    np.testing.assert_array_equal(planar.of_seed("grid", 3)[0], train)
    assert not np.array_equal(planar.of_seed("grid", 4)[0], train)


def test_deviations_are_those_from_the_support():
    on = {"ring": [[0, -3], [4, 3]], "grid": [[0, 1], [1, 1]], "two-moons": [[2, 0], [-2, 0]]}
    for name, points in on.items():
        np.testing.assert_allclose(planar.deviations(name, np.array(points, float)), 0.0)
    assert planar.deviations("ring", np.array([[0.0, 1.2]])) == pytest.approx(2.0)
    assert planar.deviations("grid", np.array([[0.3, 0.6]])) == pytest.approx(5.0)
    # By the radius on the axis; beside it by the first coordinate.
    assert planar.deviations("two-moons", np.array([[2.8, 0.0]])) == pytest.approx(2.0)
    assert planar.deviations("two-moons", np.array([[0.2, 1.99]])) == pytest.approx(3.0)


def test_mistakes_are_named(rng):
    for ask in (planar.sizes, planar.modes, lambda name: planar.draw(name, 2, rng)):
        with pytest.raises(ValueError, match="no planar data 'rings'; known: two-moons, ring"):
            ask("rings")
    with pytest.raises(ValueError, match=r"shape \(n, 2\); got \(3,\)"):
        planar.log_density("ring", np.zeros(3))
