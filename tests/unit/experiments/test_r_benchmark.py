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
from kcde.experiments import methods, r_benchmark, runner
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


def test_every_method_sees_the_same_splits(launch):
    frames = [launch(method, {}, name=method)[0] for method in ("LSCDE", "EpsilonKDE")]
    first, second = (frame.groupby("split")["seed"].first() for frame in frames)
    assert first.equals(second)
    assert first.nunique() == 3


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


@pytest.mark.nightly
def test_splits_fitted_together_are_those_fitted_in_turn(launch, monkeypatch):
    together, *_ = launch("NADE", NETWORK, name="together")
    monkeypatch.setattr(runner, "is_batch_fitted", lambda estimator: False)
    in_turn, *_ = launch("NADE", NETWORK, name="in-turn")
    pair = [frame[frame["metric"] == NLL] for frame in (together, in_turn)]
    assert pair[0][["split", "seed"]].equals(pair[1][["split", "seed"]])
    np.testing.assert_allclose(pair[0]["value"], pair[1]["value"], atol=1e-3)
    assert (together["seconds"] > 0).all()


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


def test_density_that_is_not_finite_is_a_failed_split(launch, monkeypatch):
    monkeypatch.setattr(LSCDE, "log_density", lambda self, X, Y: np.full(len(Y), -np.inf))
    frame, *_ = launch("LSCDE", {})
    assert frame[frame.metric == NLL]["status"].tolist() == ["failed"] * 3


def test_programming_errors_are_not_hidden_as_failed_splits(launch, monkeypatch):
    monkeypatch.setattr(LSCDE, "_fit", lambda self, X, Y: self.nonsense)
    with pytest.raises(AttributeError):
        launch("LSCDE", {})


def test_estimator_without_distribution_function_has_no_coverage(launch, monkeypatch):
    monkeypatch.setattr(LSCDE, "cdf", property(lambda self: self.no_cdf))
    frame, _, arrays = launch("LSCDE", {})
    assert set(frame["metric"]) == {NLL}
    assert "pit" not in arrays


@pytest.mark.nightly
def test_how_a_training_went_is_scored(launch):
    options = {"iterations": 100, "hidden_units": 4, "latent": 2, "validation": 0, "batch_size": 9}
    frame, *_ = launch("DDE", options, splits=2, evaluation="test-half")
    first = frame[frame.split == 0].set_index("metric")["value"]
    assert first["iterations"] == 100
    assert 1 <= first["sampler_effective_sample_size"] <= 1000
    assert first["mmd2_biased"] > 0
    assert np.isfinite(first["objective"])
    assert first["trained_penalised_loss"] > first["optimum_penalised_loss"]
    assert first["optimum_penalty"] > 0
    assert np.isfinite(first["stopped_negative_log_likelihood_trained"])
    # Without a weight of its own the trained density is the one that is scored.
    trained = first["trained_negative_log_likelihood_trained"]
    assert trained == pytest.approx(first[NLL_QUADRATURE], abs=1e-5)


def test_tuning_rows_concern_the_likelihood_selection_alone():
    job = RBenchmark("d", "KCEF", options={"selection": "likelihood"}, tuning_rows=50)
    assert job.unfitted(0).tuning_rows == 50
    published = RBenchmark("d", "KCEF", options={"selection": "score"}, tuning_rows=50)
    assert published.unfitted(0).tuning_rows is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"options": {"sigma": 1}}, "KCEF has no option sigma"),
        ({"splits": 0}, "splits must be at least 1"),
        ({"method": "Nothing"}, "there is no estimator 'Nothing'"),
        ({"backend": "torch"}, "backend must be one of"),
        ({"evaluation": "test"}, "evaluation must be one of"),
    ],
)
def test_wrong_settings_stop_the_job_before_it_starts(launch, tmp_path, change, message):
    with pytest.raises(ValueError, match=message):
        launch(**change)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("method", "axes"),
    [
        ("KCEF", {}),
        ("KCEF", {"evaluation": "test-half"}),
        ("LSCDE", {"options": {}}),
        ("EpsilonKDE", {"options": {}}),
        ("GaussianProcess", {"options": {}}),
    ],
)
def test_scores_of_arrays_elsewhere_are_those_of_numpy(launch, strict, monkeypatch, method, axes):
    """The strict namespace stands in for cupy: its arrays refuse to become those of numpy."""
    sent = []

    def asarray(values, backend="numpy"):
        sent.append(values)
        return strict.asarray(values) if backend == "cupy" else values

    monkeypatch.setattr(r_benchmark, "asarray", asarray)
    found = []
    for backend in ("numpy", "cupy"):
        monkeypatch.setattr(methods, "resolve_backend", lambda name, backend=backend: backend)
        frame, _, arrays = launch(method, **{"name": backend, "splits": 2} | axes)
        assert set(frame["status"]) == {"ok"}
        assert set(frame["backend"]) == {backend}
        found.append((frame, arrays))
    assert len(sent) == 4  # once a job
    (ours, these), (theirs, those) = found
    assert ours["metric"].equals(theirs["metric"])
    for column in ("value", "stderr"):
        np.testing.assert_allclose(ours[column], theirs[column], rtol=1e-7, atol=1e-9)
    for name in these:
        np.testing.assert_allclose(these[name], those[name], rtol=1e-6, atol=1e-8)
