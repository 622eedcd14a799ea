"""r_benchmark: scores by hand, what failed, and arrays that are not on the host."""

import json
from dataclasses import replace

import numpy as np
import pytest
import scoringrules
from scipy.stats import norm

from kcde import scores
from kcde.data.loaders import load
from kcde.estimators import KCEF, LSCDE, NADE, Standardised
from kcde.experiments import r_benchmark
from kcde.experiments.r_benchmark import RBenchmark, half_split
from kcde.experiments.runner import run
from kcde.metrics.names import CRPS, NLL, NLL_CONDITIONAL, NLL_QUADRATURE, NLL_X
from kcde.seeding import rng_of, split_seed

QUICK = {"bandwidth_x": 1.0, "bandwidth_y": 1.0, "regularization": 0.01}
NETWORK = {"hidden_units": 4, "components": 2, "epochs": 4}


@pytest.fixture
def launch(smoke, tmp_path):
    """Run a job on smoke data; return the score frame, the info and the arrays."""
    folder, catalogue = smoke

    def run_job(method="KCEF", options=QUICK, name="out", dataset="smoke-linear", **axes):
        out, axes = tmp_path / f"{name}.csv", {"splits": 3, **axes}
        made = RBenchmark(
            dataset, method, options=options, data_dir=folder, catalogue=catalogue, **axes
        )
        run(made, out)
        info = json.loads(out.with_suffix(".json").read_text())
        return scores.read([out]), info, np.load(out.with_suffix(".npz"))

    return run_job


@pytest.fixture
def by_hand(smoke):
    """Rows of split 1 of the smoke data, and standardised: train, test, X, Y, data."""
    data = load("smoke-linear", smoke[0], catalogue=smoke[1])
    train, test = half_split("smoke-linear", 1, len(data.Y))
    X, Y = ((z - z[train].mean(axis=0)) / z[train].std(axis=0) for z in (data.X, data.Y))
    return train, test, X, Y, data


def test_halves_depend_on_data_set_and_split_alone():
    train, test = half_split("geyser", 3, 9)
    assert len(train) == 4
    np.testing.assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(9))
    np.testing.assert_array_equal(train, half_split("geyser", 3, 9)[0])
    assert not np.array_equal(train, half_split("geyser", 4, 9)[0])
    assert not np.array_equal(train, half_split("caution", 3, 9)[0])


def test_scores_are_those_of_a_standardised_fit_by_hand(launch, by_hand):
    frame, info, arrays = launch()
    train, test, X, Y, data = by_hand
    values = frame.pivot(index="split", columns="metric", values="value")
    np.testing.assert_allclose(values[NLL], -arrays["log_density"].mean(axis=1), rtol=1e-9)
    expected = -KCEF(**QUICK).fit(X[train], Y[train]).score(X[test], Y[test])
    assert values.loc[1, NLL_QUADRATURE] == pytest.approx(expected, rel=1e-8)
    error = frame[frame.metric == "importance_error"]
    apart = (values[NLL] - values[NLL_QUADRATURE]).to_numpy()
    np.testing.assert_allclose(apart, error["value"], atol=1e-8)
    assert (error["value"].abs() < 5 * error["stderr"]).all()
    model = Standardised(KCEF(**QUICK)).fit(data.X[train], data.Y[train])
    pit = arrays["pit"][1]
    np.testing.assert_allclose(pit, model.cdf(data.X[test], data.Y[test]), atol=1e-6)
    ends = model.interval(data.X[test], 0.5)
    inside = (ends[:, 0] <= data.Y[test, 0]) & (data.Y[test, 0] <= ends[:, 1])
    assert values.loc[1, "coverage_50"] == pytest.approx(inside.mean(), abs=1e-9)
    assert values.loc[1, "coverage_90"] == np.mean(np.abs(pit - 0.5) <= 0.45)
    assert {"bandwidth_x", "regularization"} <= set(info["chosen"][0])
    assert info["data_sha256"] == data.sha256


def test_crps_is_the_mean_over_test_rows_of_standardised_y(launch, by_hand):
    options = {"bandwidth_x": 0.5, "bandwidth_y": 0.3, "regularization": 0.1}
    frame, *_ = launch("LSCDE", options)
    train, test, X, Y, _ = by_hand
    draws = LSCDE(**options).fit(X[train], Y[train]).sample(X[test], 4000, np.random.default_rng(0))
    expected = scoringrules.crps_ensemble(Y[test, 0], draws[:, :, 0]).mean()
    found = frame[(frame.metric == CRPS) & (frame.split == 1)]["value"].item()
    assert found == pytest.approx(expected, rel=0.01)


def test_the_evaluation_of_dde_draws_like_the_test_half(launch, by_hand):
    found, usual = (
        launch(name=name, evaluation=name)[0].query("split == 1").set_index("metric")["value"]
        for name in ("test-half", "training-half")
    )
    train, test, X, Y, _ = by_hand
    model = KCEF(**QUICK).fit(X[train], Y[train])
    centre, spread = Y[test].mean(), Y[test].std()
    draws = centre + spread * rng_of("importance", "smoke-linear", 1).standard_normal((1000, 1))
    log_f = [model.log_unnormalized(np.repeat(x[None], 1000, axis=0), draws) for x in X[test]]
    log_z = np.log(np.mean(np.exp(log_f) / norm.pdf(draws[:, 0], centre, spread), axis=1))
    expected = np.mean(log_z - model.log_unnormalized(X[test], Y[test]))
    assert found[NLL] == pytest.approx(expected, rel=1e-8)
    assert found["importance_samples"] == 1000
    assert found[NLL_QUADRATURE] == usual[NLL_QUADRATURE]


@pytest.mark.nightly
@pytest.mark.data
@pytest.mark.parametrize("dataset", RBenchmark.datasets)
def test_both_normalisers_agree_within_the_stated_error(dataset, raw_data):
    job = RBenchmark(dataset, "KCEF", importance_samples=4000, backend="numpy", data_dir=raw_data)
    rows = {row["metric"]: row for row in job.begin([0])(0).rows}
    error = rows["importance_error"]
    assert 0 < error["stderr"] < 1
    assert abs(error["value"]) < 4 * error["stderr"]
    assert rows[NLL_QUADRATURE]["stderr"] < 1e-5


def test_a_joint_density_is_scored_on_x_and_y_and_on_its_parts(launch, smoke):
    """By hand: columns x, then y, standardised by the training half, one column after the other."""
    frame, _, arrays = launch("NADE", NETWORK, dataset="smoke-mixed", splits=2, target="joint")
    values = frame.pivot(index="split", columns="metric", values="value")
    data = load("smoke-mixed", smoke[0], catalogue=smoke[1])
    columns = np.hstack([data.X, data.Y])
    halves = [half_split("smoke-mixed", split, len(columns)) for split in range(2)]
    scaled = [(columns - columns[k].mean(axis=0)) / columns[k].std(axis=0) for k, _ in halves]
    models = [NADE(**NETWORK, random_state=split_seed("smoke-mixed", k)) for k in range(2)]
    trainings = [Z[train] for Z, (train, _) in zip(scaled, halves, strict=True)]
    NADE.fit_many(models, [Z[:, :0] for Z in trainings], trainings)
    for split, (model, Z, (_, test)) in enumerate(zip(models, scaled, halves, strict=True)):
        found = values.loc[split]
        assert found[NLL] == pytest.approx(-model.score(None, Z[test]), rel=1e-6)
        of_y = model.factor_log_density(None, Z[test])[:, -1]
        assert found[NLL_CONDITIONAL] == pytest.approx(-of_y.mean(), rel=1e-6)
        assert found[NLL] == pytest.approx(found[NLL_X] + found[NLL_CONDITIONAL], rel=1e-9)
    np.testing.assert_allclose(values[NLL], -arrays["log_density"].mean(axis=1), rtol=1e-9)
    np.testing.assert_allclose(values[NLL_X], -arrays["log_density_x"].mean(axis=1), rtol=1e-9)


def test_columns_of_x_that_are_constant_in_training_are_no_part_of_the_joint(smoke, monkeypatch):
    data = load("smoke-mixed", smoke[0], catalogue=smoke[1])
    train, test = half_split("smoke-mixed", 0, len(data.X))
    X = data.X.copy()
    X[train, 1] = 3.0
    monkeypatch.setattr(r_benchmark, "load", lambda *_, **__: replace(data, X=X))
    job = RBenchmark("smoke-mixed", "NADE", target="joint")
    (no_x, Z), (_, tested) = job.halves(0)
    assert no_x.shape == (len(train), 0)
    expected = np.hstack([np.delete(X, 1, axis=1), data.Y])
    np.testing.assert_array_equal(Z, expected[train])
    np.testing.assert_array_equal(tested, expected[test])


def test_failure_of_one_split_leaves_the_others_alone(launch, monkeypatch):
    learn_scales = Standardised._learn_scales

    def fail(self, X, Y):
        if self.estimator.random_state == split_seed("smoke-linear", 1):
            raise ValueError("no luck")
        return learn_scales(self, X, Y)

    monkeypatch.setattr(Standardised, "_learn_scales", fail)
    frame = launch("NADE", NETWORK)[0].query(f"metric == '{NLL}'").set_index("split")
    assert frame["status"].tolist() == ["ok", "failed", "ok"]
    assert frame["detail"][1] == "ValueError: no luck"
    diverging, *_ = launch("NADE", NETWORK | {"learning_rate": 1e30}, name="diverging")
    assert diverging["status"].tolist() == ["failed"] * 3
    assert diverging["detail"][0].startswith("FloatingPointError")


def test_programming_errors_are_not_hidden_as_failed_splits(launch, monkeypatch):
    monkeypatch.setattr(LSCDE, "_fit", lambda self, X, Y: self.nonsense)
    with pytest.raises(AttributeError):
        launch("LSCDE", {})
