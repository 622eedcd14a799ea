"""Joint densities: factors, their sums, a network for all columns, and the exact ones."""

import itertools

import numpy as np
import pytest

from kcde.data import made_up
from kcde.estimators import KCEF, LSCDE, NADE
from kcde.experiments import factors
from kcde.experiments.factors import Factors, open_problem
from kcde.experiments.joint import Exact, Joint, JointNetwork, metrics
from kcde.joint import JointDensity
from kcde.metrics import NLL

QUICK = {"bandwidth_x": 1.0, "bandwidth_y": 1.0, "regularization": 0.1}
FACTORS = {"dataset": "smoke-joint", "method": "LSCDE-F", "estimator": "LSCDE", "options": QUICK}
FACTORS |= {"runs": 2}


@pytest.fixture
def fit(launch):
    """Return a function that fits some nodes."""
    return lambda *nodes, **changes: launch(Factors, nodes=nodes, **FACTORS | changes)


@pytest.fixture
def summed(launch):
    """Return a function that sums factors."""
    return lambda *jobs: launch(Joint, "smoke-joint", "LSCDE-F", files=tuple(j.out for j in jobs))


def test_a_factor_is_scored_by_a_standardised_fit_by_hand(fit, smoke):
    frame, arrays, *_ = fit(3, 2, method="KCEF-F", estimator="KCEF")
    split = open_problem("smoke-joint", *smoke).split(1)
    assert abs(split.train.mean(axis=0)).max() < 1e-12
    np.testing.assert_allclose(split.train.std(axis=0), 1.0)
    model = KCEF(**QUICK).fit(split.train[:, :2], split.train[:, 2:])
    expected = model.log_density(split.test[:, :2], split.test[:, 2:])
    label = '{"graph":"full","node":3,"parents":[1,2]}'
    row = frame[(frame["setting"] == label) & (frame["split"] == 1)].iloc[0]
    assert row["value"] == pytest.approx(-expected.mean(), rel=1e-8)
    np.testing.assert_allclose(arrays["log_density"][1, 0], expected, rtol=1e-9)
    assert arrays["nodes"].tolist() == [3, 2]


def test_joint_scores_are_those_of_a_joint_density(fit, summed, smoke):
    dag = [[], [0], [0]]
    frame, *_ = summed(fit(3, graph=dag), fit(1, 2, graph=dag))
    problem = open_problem("smoke-joint", *smoke)
    split = problem.split(0)
    model = JointDensity(Factors(**FACTORS).unfitted(problem.seed(0)), dag).fit(None, split.train)
    assert frame["value"][0] == pytest.approx(-model.score(None, split.test), rel=1e-9)


def test_every_dimension_that_has_its_parents_has_its_score(fit, summed, monkeypatch):
    axes = {"dataset": "grid-2000", "runs": 1}
    monkeypatch.setattr(factors, "MOST_GRID_COLUMNS", 3)
    frame, arrays, *_ = summed(fit(**axes))
    assert frame["setting"].tolist() == [f'{{"dim":{d}}}' for d in (1, 2, 3)]
    terms = arrays["factor_log_density"][0].mean(axis=1)
    np.testing.assert_allclose(frame["value"], -np.cumsum(terms), rtol=1e-9)
    frame, *_ = summed(fit(1, 2, 3, graph=[[1], [], [1]], **axes))
    assert frame["dim"].tolist() == [2, 3]


def test_a_factor_that_fails_fails_its_run_with_the_reason(fit, summed, monkeypatch):
    plain, fits = LSCDE._fit, []

    def fail_once(self, X, Y):
        fits.append(X.shape[1])
        if fits == [0, 1]:
            raise np.linalg.LinAlgError("no luck")
        plain(self, X, Y)

    monkeypatch.setattr(LSCDE, "_fit", fail_once)
    done = fit(1, 2, 3)
    assert done.frame["status"].tolist() == ["ok", "failed", *["ok"] * 4]
    frame, arrays, *_ = summed(done)
    assert frame["status"].tolist() == ["failed", "ok"]
    assert frame["detail"][0] == "node 2: LinAlgError: no luck"
    assert np.isnan(arrays["log_density"][0]).all()


def test_factors_that_do_not_belong_together_are_refused(fit, summed):
    first = fit(1, 2)
    for others in ([], [fit(2, 3)], [fit(3, runs=1)]):
        with pytest.raises(ValueError, match="not all factors"):
            summed(first, *others)


def test_exact_scores_are_the_bounds_of_the_grid_data(launch):
    frame, arrays, *_ = launch(Exact, "grid-400", "exact", runs=2)
    wide = frame.pivot(index="split", columns="metric", values="value")
    gain = wide["independence"] - wide["entropy"]
    np.testing.assert_allclose(gain, -made_up.grid_entropy(3).sum(), rtol=1e-8)
    terms = arrays["factor_log_density"]
    error = terms.sum(axis=1).std(axis=1) / np.sqrt(terms.shape[2])
    assert np.all(np.abs(wide[NLL] - wide["entropy"]) < 4 * error)
    # In standardised units independent uniforms have the density Π s_i on their box.
    split = open_problem("grid-400", "").split(1)
    assert wide["independence"][1] == pytest.approx(-np.log(split.std).sum(), rel=1e-8)
    volume = np.ptp(split.train, axis=0).prod()
    assert wide["independence"][1] == pytest.approx(np.log(volume), abs=0.05)


def test_metrics_of_orders_by_hand():
    by_order = np.log([[0.5, 0.5], [0.2, 0.8], [0.4, 0.1]])
    found = metrics(by_order)
    assert found[NLL] == pytest.approx(-np.log(0.2 * 0.8 * 0.4 * 0.1) / 4)
    assert found[f"{NLL}_fixed_order"] == pytest.approx(np.log(2))
    assert found[f"{NLL}_ensemble"] == pytest.approx(-(np.log(0.3) + np.log(0.45)) / 2)


@pytest.mark.nightly
def test_each_run_and_dimension_is_a_network_scored_in_all_orders(launch, monkeypatch):
    monkeypatch.setattr(factors, "MOST_GRID_COLUMNS", 3)
    options = {"hidden_units": 4, "components": 2, "epochs": 2}
    job = {"dataset": "grid-2000", "method": "NADE", "runs": 2, "dims": (2, 3)}
    frame, arrays, *_ = launch(JointNetwork, **job, options=options)
    for dim, run in itertools.product((2, 3), (0, 1)):
        by_order = arrays[f"log_density_by_order_{dim}"][run]
        rows = frame[frame["split"].eq(run) & frame["dim"].eq(dim)].set_index("metric")["value"]
        for name, value in metrics(by_order).items():
            assert rows[name] == pytest.approx(value, rel=1e-9)
        problem = open_problem("grid-2000", "")
        split = problem.split(run)
        model = NADE(**options, random_state=problem.seed(run))
        train, test = split.train[:, :dim], split.test[:, :dim]
        found = model.fit(train[:, :0], train).log_density(test[:, :0], test)
        # Networks trained together differ by rounding.
        np.testing.assert_allclose(by_order[0], found, atol=0.05)
