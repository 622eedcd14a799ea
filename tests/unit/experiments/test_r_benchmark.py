"""r_benchmark, larger_sets and table1_readings: splits, and scores by hand."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from kcde import scores
from kcde.data.loaders import load
from kcde.estimators import KCEF, LSCDE, NADE, Standardised
from kcde.experiments import r_benchmark, table1_readings
from kcde.experiments.r_benchmark import LargerSets, RBenchmark, forward, half_split
from kcde.experiments.table1_readings import DRAWN, Reading, Table1Readings
from kcde.metrics import CRPS, NEEDED_SECONDS, NLL, NLL_CONDITIONAL, NLL_QUADRATURE, NLL_X
from kcde.seeding import rng_of, split_seed

QUICK = {"bandwidth_x": 1.0, "bandwidth_y": 1.0, "regularization": 0.01}
NETWORK = {"hidden_units": 4, "components": 2, "epochs": 4}


@pytest.fixture
def data(smoke):
    return load("smoke-linear", smoke[0], catalogue=smoke[1])


@pytest.fixture
def by_hand(data):
    """Rows of split 1 of the smoke data, and standardised: train, test, X, Y."""
    train, test = half_split("smoke-linear", 1, len(data.Y))
    X, Y = ((z - z[train].mean(axis=0)) / z[train].std(axis=0) for z in (data.X, data.Y))
    return train, test, X, Y


def of(frame, split):
    return frame[frame["split"] == split].set_index("metric")["value"]


def test_scores_are_those_of_a_standardised_fit_by_hand(launch, by_hand, data):
    frame, arrays, *_ = launch(RBenchmark, "smoke-linear", "KCEF", options=QUICK, splits=2)
    train, test, X, Y = by_hand
    found = of(frame, 1)
    assert found[NLL] == pytest.approx(-arrays["log_density"][1].mean(), rel=1e-9)
    fitted = KCEF(**QUICK).fit(X[train], Y[train])
    assert found[NLL_QUADRATURE] == pytest.approx(-fitted.score(X[test], Y[test]), rel=1e-8)
    assert found[CRPS] == pytest.approx(fitted.crps(X[test], Y[test]).mean(), rel=1e-5)
    error = frame[frame.metric == "importance_error"]
    assert error["value"].iloc[1] == pytest.approx(found[NLL] - found[NLL_QUADRATURE], abs=1e-8)
    assert (error["value"].abs() < 5 * error["stderr"]).all()
    model = Standardised(KCEF(**QUICK)).fit(data.X[train], data.Y[train])
    np.testing.assert_allclose(arrays["pit"][1], model.cdf(data.X[test], data.Y[test]), atol=1e-6)
    ends = model.interval(data.X[test], 0.5)
    inside = (ends[:, 0] <= data.Y[test, 0]) & (data.Y[test, 0] <= ends[:, 1])
    assert found["coverage_50"] == pytest.approx(inside.mean(), abs=1e-9)
    assert found["coverage_90"] == np.mean(np.abs(arrays["pit"][1] - 0.5) <= 0.45)


def test_the_evaluation_of_dde_draws_like_the_test_half(launch, by_hand):
    job = {"options": QUICK, "splits": 2, "evaluation": "test-half"}
    found = of(launch(RBenchmark, "smoke-linear", "KCEF", **job).frame, 1)
    train, test, X, Y = by_hand
    model = KCEF(**QUICK).fit(X[train], Y[train])
    centre, spread = Y[test].mean(), Y[test].std()
    draws = centre + spread * rng_of("importance", "smoke-linear", 1).standard_normal((1000, 1))
    log_f = [model.log_unnormalized(np.repeat(x[None], 1000, axis=0), draws) for x in X[test]]
    log_z = np.log(np.mean(np.exp(log_f) / norm.pdf(draws[:, 0], centre, spread), axis=1))
    expected = np.mean(log_z - model.log_unnormalized(X[test], Y[test]))
    assert found[NLL] == pytest.approx(expected, rel=1e-8)
    assert found["importance_samples"] == 1000


@pytest.mark.nightly
def test_a_joint_density_is_scored_on_x_and_y_and_on_its_parts(launch, smoke):
    """By hand: columns x, then y, standardised by the training half, one column after the other."""
    job = {"options": NETWORK, "splits": 2, "target": "joint"}
    frame, *_ = launch(RBenchmark, "smoke-mixed", "NADE", **job)
    data = load("smoke-mixed", smoke[0], catalogue=smoke[1])
    columns = np.hstack([data.X, data.Y])
    for split in range(2):
        train, test = half_split("smoke-mixed", split, len(columns))
        Z = (columns - columns[train].mean(axis=0)) / columns[train].std(axis=0)
        model = NADE(**NETWORK, random_state=split_seed("smoke-mixed", split))
        model.fit(Z[train, :0], Z[train])
        found = of(frame, split)
        assert found[NLL] == pytest.approx(-model.score(None, Z[test]), rel=1e-6)
        of_y = model.factor_log_density(None, Z[test])[:, -1]
        assert found[NLL_CONDITIONAL] == pytest.approx(-of_y.mean(), rel=1e-6)
        assert found[NLL] == pytest.approx(found[NLL_X] + found[NLL_CONDITIONAL], rel=1e-9)


@pytest.mark.parametrize("grouped", [False, True])
def test_larger_sets_have_their_own_splits_and_groups(launch, data, monkeypatch, grouped):
    groups = np.arange(len(data.Y)) % 7 if grouped else None
    opened = replace(data, rows=forward(len(data.Y)), groups=groups)
    monkeypatch.setattr(r_benchmark, "open_larger", lambda *_: opened)
    frame, arrays, *_ = launch(LargerSets, "smoke-linear", "LSCDE", splits=2)
    train, test = opened.rows(1)
    model = Standardised(LSCDE(random_state=split_seed("smoke-linear", 1)))
    model.fit(data.X[train], data.Y[train], groups=groups[train] if grouped else None)
    expected = -model.score(data.X[test], data.Y[test]) - model.log_scale_
    assert of(frame, 1)[NLL] == pytest.approx(expected, rel=1e-8)
    found = arrays["test_rows"][1]
    np.testing.assert_array_equal(found[found >= 0], test)


def test_a_set_with_more_rows_than_a_method_takes_is_left_out(launch, data, monkeypatch):
    opened = replace(data, rows=forward(len(data.Y)))
    monkeypatch.setattr(r_benchmark, "open_larger", lambda *_: opened)
    sizes = [len(opened.rows(split)[0]) for split in range(2)]
    for most, fitted in ((10, False), (max(sizes), True), (max(sizes) - 1, False)):
        monkeypatch.setitem(r_benchmark._MOST_ROWS, "LSCDE", most)
        frame, *_ = launch(LargerSets, "smoke-linear", "LSCDE", options=QUICK, splits=2)
        assert (NLL in set(frame["metric"])) is fitted
        if not fitted:
            assert set(frame["metric"]) == {NEEDED_SECONDS}
            np.testing.assert_allclose(frame["value"], [60.0 * (n / most) ** 3 for n in sizes])


def test_a_reading_is_a_fit_with_its_grid_and_folds(launch, smoke, monkeypatch):
    other = Reading((0.5, 5.0), (1e-4, 1.0), 10)
    monkeypatch.setattr(table1_readings, "READINGS", (other, DRAWN))
    frame, *_ = launch(Table1Readings, "smoke-mixed", "KCEF", splits=1)
    data = load("smoke-mixed", smoke[0], catalogue=smoke[1])
    train, test = half_split("smoke-mixed", 0, len(data.Y))
    for reading in (DRAWN, other):
        grid = reading.grid()
        if reading is other:
            monkeypatch.setattr(KCEF, "_score_grids", grid[:2])
        model = KCEF(folds=grid.folds, random_state=split_seed("smoke-mixed", 0))
        fitted = Standardised(model).fit(data.X[train], data.Y[train])
        expected = -fitted.score(data.X[test], data.Y[test]) - fitted.log_scale_
        under = frame[frame["setting"] == scores.setting(**reading._asdict())]
        assert of(under, 0)[NLL_QUADRATURE] == pytest.approx(expected, rel=1e-8)
