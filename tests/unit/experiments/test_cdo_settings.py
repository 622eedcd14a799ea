import numpy as np
import pytest

from kcde.data import made_up
from kcde.experiments import _cdo_settings
from kcde.seeding import rng_of


def median_of_pairs(points):
    """Every pair once, by a loop."""
    pairs = [(a, b) for i, a in enumerate(points) for b in points[i + 1 :]]
    return np.median([np.linalg.norm(a - b) for a, b in pairs])


@pytest.fixture
def pairs():
    rng = rng_of("test-cdo-settings")
    return rng.uniform(0, 8, (40, 2)), rng.standard_normal((40, 1))


def test_the_donut_by_hand():
    X, Y = made_up.donut_draw(2, rng_of("test-cdo-settings", "donut"))
    found = _cdo_settings.authors("donut", "CDO", X, Y)
    assert found["kernel_x"] == "laplace"
    assert found["bandwidth_x"] == pytest.approx(median_of_pairs(X) / np.sqrt(2))
    # 62² points against 100 rows, and against more rows than points.
    assert found["regularization"] == found["output_regularization"] == pytest.approx(1 / 62)
    few = _cdo_settings.authors("donut", "CDO", X[:30], Y[:30])
    assert few["regularization"] == pytest.approx(1 / 30)
    assert found["bandwidth_y"] == pytest.approx(2.08, abs=0.005)
    assert (found["reference"], found["reference_box"]) == (62, (-2.0, 2.0))
    assert (found["weights"], found["scaling"]) == ("signed", "published")


def test_distances_of_a_grid():
    ticks = np.linspace(-1, 3, 7)
    points = np.array([(a, b) for a in ticks for b in ticks])
    assert _cdo_settings.grid_distance((-1, 3), 7) == pytest.approx(median_of_pairs(points))


def test_the_terrain_by_hand(pairs):
    X, Y = pairs
    found = _cdo_settings.authors("terrain", "CDO", X, Y)
    assert found["kernel_x"] == "gaussian"
    assert found["bandwidth_x"] == pytest.approx(np.sqrt(median_of_pairs(X)) / 2)
    grid = np.linspace(Y.min() - 0.2, Y.max() + 0.2, 40)
    assert found["reference"] == 40
    assert found["bandwidth_y"] == pytest.approx(50 * (grid[1] - grid[0]))
    np.testing.assert_allclose(found["reference_box"], grid[[0, -1]])
    assert found["regularization"] == found["output_regularization"] == 0.1
    process = _cdo_settings.authors("terrain", "GaussianProcess", X, Y)
    assert process["bandwidth_x"] == pytest.approx([57.416, 25.447], abs=1e-3)
    assert process["noise_std"] ** 2 == pytest.approx(0.1)
    for flow in ("ConditionalRealNVP", "ConditionalMAF"):
        stages = _cdo_settings.authors("terrain", flow, X, Y)
        assert stages == {
            "blocks": 10,
            "steps": [100, 100, 300],
            "learning_rate": [0.01, 0.001, 0.0001],
        }
        # On the donut they are the defaults of the classes.
        assert _cdo_settings.authors("donut", flow, X, Y) == {}


def test_traffic_by_hand():
    days, times = np.repeat(np.arange(3), 5), np.tile(np.arange(5) * 3600.0, 3)
    inputs = np.column_stack([days, times])
    X = np.repeat(inputs, [1, 4, 2] * 5, axis=0)
    Y = rng_of("test-cdo-settings", "traffic").uniform(0, 1, (len(X), 1))
    found = _cdo_settings.authors("traffic", "CDO", X, Y)
    # Inputs that repeat count once.
    expected = [np.sqrt(median_of_pairs(column[:, None])) / 4 for column in inputs.T]
    assert found["bandwidth_x"] == pytest.approx(expected)
    width = np.ptp(Y)
    grid = np.linspace(Y.min() - width / 10, Y.max() + width / 10, 1008)
    np.testing.assert_allclose(found["reference_box"], grid[[0, -1]])
    assert found["bandwidth_y"] == pytest.approx(grid[1] - grid[0])
    assert found["regularization"] == pytest.approx(1008**-0.441)


@pytest.mark.parametrize(
    ("experiment", "centres", "bandwidth", "regularization"),
    [("donut", 100, 1.0, 1.0), ("terrain", 100, 1.0, 1.0), ("traffic", 1000, 0.1, 0.1)],
)
def test_lscde_is_that_of_the_package(pairs, experiment, centres, bandwidth, regularization):
    found = _cdo_settings.authors(experiment, "LSCDE", *pairs)
    assert (found["implementation"], found["n_centres"]) == ("cde", centres)
    assert found["bandwidth_x"] == found["bandwidth_y"] == bandwidth
    assert found["regularization"] == regularization
