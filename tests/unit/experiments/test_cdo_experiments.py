"""Experiments of cdo: the authors' settings, smoothers, and scores against fits by hand."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from scipy.stats import norm

from kcde import scores
from kcde.data import loaders, made_up
from kcde.data.traffic import Traffic, open_traffic
from kcde.estimators import CDO, LSCDE, GaussianProcess, Standardised
from kcde.experiments import _conditional, donut, terrain, traffic
from kcde.experiments._conditional import NadarayaWatson
from kcde.experiments.donut import Donut
from kcde.experiments.terrain import FOLDS, RANDOM, Terrain
from kcde.experiments.traffic import TrafficByTime
from kcde.seeding import rng_of
from kcde.selection import complement

OPTIONS = {"bandwidth_x": 0.4, "bandwidth_y": 0.4, "regularization": 0.01}
TWO = {
    Donut: {"repetitions": 2, "points": 3},
    Terrain: {"dataset": "smoke-terrain", "folds": 2},
    TrafficByTime: {"dataset": "smoke-traffic", "splits": 2, "thinned": 0},
}
"""Two repetitions, folds or splits of each."""


@pytest.fixture
def run(launch):
    return lambda cls, method="LSCDE", **given: launch(cls, method=method, **TWO[cls] | given)[:2]


def values(frame, split=0, **setting):
    rows = frame[frame["setting"].eq(scores.setting(**setting)) & frame["split"].eq(split)]
    return dict(zip(rows["metric"], rows["value"], strict=True))


def test_settings_of_the_donut_by_hand():
    X, Y = made_up.donut_draw(2, rng_of("test-cdo-settings", "donut"))
    found = _conditional.authors("donut", "CDO", X, Y)
    assert found["kernel_x"] == "laplace"
    assert found["bandwidth_x"] == pytest.approx(np.median(pdist(X)) / np.sqrt(2))
    # 62² points against 100 rows, and against more rows than points.
    assert found["regularization"] == found["output_regularization"] == pytest.approx(1 / 62)
    few = _conditional.authors("donut", "CDO", X[:30], Y[:30])
    assert few["regularization"] == pytest.approx(1 / 30)
    assert found["bandwidth_y"] == pytest.approx(2.08, abs=0.005)
    assert (found["reference"], found["reference_box"]) == (62, (-2.0, 2.0))
    assert (found["weights"], found["scaling"]) == ("signed", "published")


def test_settings_of_traffic_by_hand(rng):
    days, times = np.repeat(np.arange(3), 5), np.tile(np.arange(5) * 3600.0, 3)
    inputs = np.column_stack([days, times])
    X = np.repeat(inputs, [1, 4, 2] * 5, axis=0)
    Y = rng.uniform(0, 1, (len(X), 1))
    found = _conditional.authors("traffic", "CDO", X, Y)
    # Inputs that repeat count once.
    expected = [np.sqrt(np.median(pdist(column[:, None]))) / 4 for column in inputs.T]
    assert found["bandwidth_x"] == pytest.approx(expected)
    width = np.ptp(Y)
    grid = np.linspace(Y.min() - width / 10, Y.max() + width / 10, 1008)
    np.testing.assert_allclose(found["reference_box"], grid[[0, -1]])
    assert found["bandwidth_y"] == pytest.approx(grid[1] - grid[0])
    assert found["regularization"] == pytest.approx(1008**-0.441)


@pytest.mark.parametrize("name", ["linear-interpolation", "Clough-Tocher"])
def test_a_plane_is_interpolated_exactly_and_beyond_it_the_nearest_row_counts(name):
    """On a grid of step 8, with some rows left out."""
    X = 8.0 * np.stack(np.meshgrid(np.arange(9), np.arange(9)), axis=-1).reshape(-1, 2)
    Y, held = 3.0 + 0.5 * X[:, :1] - 0.2 * X[:, 1:], np.array([12, 13, 40, 66])
    rest = complement(held, 81)
    make = _conditional.MAKERS[name]
    model = make("terrain", X[rest], Y[rest], np.random.default_rng(0)).fit(X[rest], Y[rest])
    np.testing.assert_allclose(model.mean(X[held]), Y[held], atol=1e-4)
    outside = np.array([[-30.0, 0.0], [64.0, 90.0]])
    np.testing.assert_allclose(model.mean(outside)[:, 0], [3.0, 3.0 + 32.0 - 12.8])


@pytest.mark.parametrize(("kernel", "power"), [("gaussian", 2), ("laplace", 1)])
def test_smoothing_equals_a_naive_loop(rng, kernel, power):
    X, Y = rng.standard_normal((60, 2)), 100.0 + rng.standard_normal((60, 1))
    model = NadarayaWatson(kernel, [0.4, 0.7]).fit(X, Y)
    # Where every kernel underflows, their ratios do not.
    for x in (*rng.standard_normal((3, 2)), np.array([1e5, 0.0])[:: 3 - 2 * power]):
        logs = -np.sum(np.abs((X - x) / [0.4, 0.7]) ** power / power, axis=1)
        weights = np.exp(logs - logs.max())
        mean = np.average(Y[:, 0], weights=weights)
        spread = np.average((Y[:, 0] - mean) ** 2, weights=weights)
        assert model.mean(x[None])[0, 0] == pytest.approx(mean, rel=1e-9)
        assert model.variance(x[None])[0, 0] == pytest.approx(spread, abs=1e-8)


@pytest.mark.parametrize(("variant", "spread"), [("as-published", 1.0), ("ours", None)])
def test_errors_of_the_donut_are_those_of_a_fit_by_hand(run, variant, spread):
    """The published process has a spread of one."""
    frame, _ = run(Donut, "GP", estimator="GaussianProcess", variant=variant, settings="authors")
    X, Y, evaluated = donut.repetition(1, 3)
    model = GaussianProcess(**_conditional.authors("donut", "GaussianProcess", X, Y)).fit(X, Y)
    for x in (0, 1):
        found, joint = values(frame, 1, x=x), made_up.donut_joint_density(x, evaluated)
        at = np.array([[float(x)]])
        std = np.sqrt(model.variance(at)) if spread is None else spread
        density = norm.pdf(evaluated, model.mean(at), std).prod(axis=1)
        assert found["joint_error"] == pytest.approx(np.abs(density - joint).mean())
        exact = joint / made_up.donut_marginal_density(x)
        assert found["conditional_error"] == pytest.approx(np.abs(density - exact).mean())
        assert found["joint_error_of_zero"] == pytest.approx(joint.mean())


@pytest.mark.parametrize(("cls", "rows"), [(Donut, 8), (Terrain, 10), (TrafficByTime, 2)])
def test_a_failed_fit_is_rows_that_say_why(run, cls, rows):
    frame, _ = run(cls, options={"bandwidth_x": -1.0})
    failed = frame[frame["status"] == "failed"]
    assert len(failed) == rows
    assert failed["detail"].str.contains("bandwidth_x").all()


def test_folds_are_a_partition_and_splits_a_fifth():
    every = terrain.parts("some", 57, 10, 3)
    folds, random = ([each[3] for each in every if each[0] == kind] for kind in (FOLDS, RANDOM))
    assert sorted(np.concatenate(folds)) == list(range(57))
    for _, _, train, test in every:
        assert sorted([*train, *test]) == list(range(57))
    assert [len(test) for test in random] == [11] * 3
    assert set(random[0]) != set(random[1])
    # Fewer of them are the first of them.
    for part, same in zip(terrain.parts("some", 57, 2, 1), [*folds[:2], random[0]], strict=True):
        np.testing.assert_array_equal(part[3], same)


def test_errors_of_the_terrain_are_those_of_a_fit_by_hand(run, smoke):
    frame, _ = run(Terrain, options=OPTIONS, splits=1)
    data = loaders.load("smoke-terrain", *smoke)

    def fitted(protocol, number, train, test):
        """Mean of the training rows, predictions and observations of the test rows, scores."""
        own = frame["setting"].eq(scores.setting(protocol=protocol)) & frame["split"].eq(number)
        seed = int(frame[own]["seed"].iloc[0])
        model = Standardised(LSCDE(**OPTIONS, random_state=seed))
        model.fit(data.X[train], data.Y[train])
        found = values(frame, number, protocol=protocol)
        return data.Y[train].mean(), model.mean(data.X[test])[:, 0], data.Y[test, 0], found

    _, fold, random = terrain.parts("smoke-terrain", 340, 2, 1)
    mean, predicted, y, found = fitted(*fold)
    expected = np.abs(predicted - y).sum() / np.abs(y - mean).sum()
    assert found["smae"] == found["smae_centred"] == pytest.approx(expected)
    assert found["smae_pointwise"] == pytest.approx(np.abs(predicted / y - 1).mean())
    assert random[0] == RANDOM
    _, predicted, y, found = fitted(*random)
    assert found["smae_pointwise_std"] == pytest.approx(np.abs(predicted / y - 1).std(ddof=1))
    frame, _ = run(Terrain, "GP", estimator="GaussianProcess", settings="authors")
    found = values(frame, protocol=FOLDS)
    assert found["smae"] == found["smae_predicted"] != found["smae_centred"]


def test_errors_of_traffic_are_those_of_a_fit_by_hand(run, smoke):
    frame, arrays = run(TrafficByTime, "CDO", settings="authors")
    data = open_traffic("smoke-traffic", *smoke)
    split = data.split(1)
    options = _conditional.authors("traffic", "CDO", split.X, split.Y)
    model = CDO(**options).fit(split.X, split.Y)
    X, Y = np.vstack([split.X, split.X_test]), np.vstack([split.Y, split.Y_test])
    errors = []
    for place, x in enumerate(data.inputs):
        outputs = split.Y_test[(split.X_test == x).all(axis=1)]
        own, every = (B[(x == A).all(axis=1)] for A, B in ((split.X, split.Y), (X, Y)))
        if len(outputs) < 2:
            assert np.isnan(arrays["test_mean"][1, place])
            continue
        mean, spread = model.mean(x[None])[0, 0], np.sqrt(model.variance(x[None])[0, 0])
        ratios = (mean / outputs.mean(), spread / outputs.std(), own.mean() / outputs.mean())
        # Days may overlap as in the notebook.
        errors.append(np.abs(np.array([*ratios, mean / every.mean()]) - 1))
    assert 0 < len(errors) < len(data.inputs)
    found, names = values(frame, 1), ("", "of_training", "overlapping")
    measured = [found["mean_error"], found["std_error"]]
    measured += [found[f"mean_error_{name}"] for name in names[1:]]
    np.testing.assert_allclose(measured, np.median(errors, axis=0))
    assert found["negative_variance_share"] == 0.0


def test_a_negative_variance_is_counted_and_worse_than_any_error(run, monkeypatch):
    monkeypatch.setattr(CDO, "variance", lambda self, X: np.where(X[:, :1] == 2, -1.0, 400.0))
    frame, arrays = run(TrafficByTime, "CDO", settings="authors")
    wednesday = arrays["inputs"][0][:, 0] == 2
    np.testing.assert_array_equal(np.isnan(arrays["std"][0]), wednesday)
    assert values(frame)["negative_variance_share"] == pytest.approx(wednesday.mean())
    tested = ~np.isnan(arrays["test_std"][0])
    errors = abs(20.0 / arrays["test_std"][0, tested] - 1)
    expected = np.median(np.where(wednesday[tested], 1e9, errors))
    assert values(frame)["std_error"] == pytest.approx(expected)
    assert expected > np.median(errors[~wednesday[tested]])


@pytest.mark.parametrize("scaling", ["published", "corrected"])
def test_the_factorisation_over_distinct_inputs_is_exact(rng, scaling):
    """With so many outputs of each of nine inputs."""
    inputs = np.column_stack([np.arange(9) % 3, 600.0 * (np.arange(9) // 3)])
    X = np.repeat(inputs, [1, 7, 2, 5, 3, 9, 1, 4, 6], axis=0)
    Y = 0.1 + 0.02 * X[:, :1] + 0.01 * rng.standard_normal((len(X), 1))
    data = Traffic("small", X, Y, np.zeros(len(X), dtype=int))
    options = {"scaling": scaling, "reference": 40}
    assert traffic.grouping_difference(options, data) < 1e-9
    model = CDO(**_conditional.authors("traffic", "CDO", X, Y)).fit(X, Y)
    # The plain solve notices a wrong one.
    wrong = traffic.ungrouped_moments(model, X[:-1], Y[:-1], data.inputs)[0]
    assert np.max(np.abs(wrong - model.mean(data.inputs)[:, 0])) > 1e-4
