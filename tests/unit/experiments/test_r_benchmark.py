import json
import sys
from dataclasses import replace

import numpy as np
import pytest
import scoringrules

from kcde import scores
from kcde.data import fetch
from kcde.data.loaders import Dataset, load
from kcde.estimators import KCEF, LSCDE, NADE, Standardised
from kcde.experiments import runner
from kcde.experiments.r_benchmark import Job, half_split, halves, inner_rows, make_estimator
from kcde.experiments.runner import run
from kcde.metrics.names import CRPS, INNER_LOG_LIKELIHOOD, NLL, NLL_CONDITIONAL, NLL_X
from kcde.seeding import rng_of, split_seed

QUICK = {"bandwidth_x": 1.0, "bandwidth_y": 1.0, "regularization": 0.01}


@pytest.fixture
def launch(smoke, tmp_path):
    """Run a job on smoke data; return the score frame and the info."""
    folder, catalogue = smoke

    def run_job(method="KCEF", estimator="KCEF", options=QUICK, name="out", **axes):
        out = tmp_path / f"{name}.csv"
        job = Job("smoke-linear", method, estimator, options=options, **{"splits": 3, **axes})
        run(job, out, folder, catalogue=catalogue)
        return scores.read([out]), json.loads(out.with_suffix(".json").read_text())

    return run_job


def test_halves_depend_on_data_set_and_split_alone():
    train, test = half_split("geyser", 3, 9)
    assert len(train) == 4
    np.testing.assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(9))
    np.testing.assert_array_equal(train, half_split("geyser", 3, 9)[0])
    assert not np.array_equal(train, half_split("geyser", 4, 9)[0])
    assert not np.array_equal(train, half_split("caution", 3, 9)[0])


def test_scores_say_what_the_arrays_hold(launch, tmp_path):
    frame, _ = launch()
    arrays = np.load(tmp_path / "out.npz")
    values = frame[frame.metric == NLL].sort_values("split")["value"]
    np.testing.assert_allclose(values, -arrays["log_density"].mean(axis=1), rtol=1e-9)
    error = frame[frame.metric == "importance_error"]
    exact = frame[frame.metric == f"{NLL}_quadrature"]["value"].to_numpy()
    np.testing.assert_allclose(values.to_numpy() - exact, error["value"], atol=1e-8)
    assert (error["value"].abs() < 5 * error["stderr"]).all()
    assert (frame[frame.metric == "effective_sample_size"]["value"] > 100).all()


def test_score_is_that_of_a_standardised_fit_by_hand(launch, smoke):
    folder, catalogue = smoke
    frame, _ = launch()
    data = load("smoke-linear", folder, catalogue=catalogue)
    train, test = half_split("smoke-linear", 1, len(data.Y))
    X = (data.X - data.X[train].mean(axis=0)) / data.X[train].std(axis=0)
    Y = (data.Y - data.Y[train].mean(axis=0)) / data.Y[train].std(axis=0)
    expected = -KCEF(**QUICK).fit(X[train], Y[train]).score(X[test], Y[test])
    found = frame[(frame.metric == f"{NLL}_quadrature") & (frame.split == 1)]["value"].item()
    assert found == pytest.approx(expected, rel=1e-8)


def test_every_method_sees_the_same_splits(launch):
    seeds = [
        launch(method, method, {}, name=method)[0].groupby("split")["seed"].first().tolist()
        for method in ("LSCDE", "EpsilonKDE")
    ]
    assert seeds[0] == seeds[1]
    assert len(set(seeds[0])) == 3


def test_same_job_same_bytes(launch, tmp_path):
    launch("LSCDE", "LSCDE", {}, name="a")
    launch("LSCDE", "LSCDE", {}, name="b")
    frames = [scores.read([tmp_path / f"{name}.csv"]).drop(columns="seconds") for name in "ab"]
    assert frames[0].equals(frames[1])
    first, second = (np.load(tmp_path / f"{name}.npz") for name in "ab")
    np.testing.assert_array_equal(first["log_density"], second["log_density"])


def test_chosen_hyperparameters_and_provenance_are_recorded(launch):
    _, info = launch("LSCDE", "LSCDE", {})
    assert len(info["chosen"]) == 3
    assert {"bandwidth_x", "regularization", "dropped"} <= set(info["chosen"][0])
    assert info["data_sha256"]
    assert info["code"]
    assert info["versions"]["numpy"] == np.__version__


def test_numerical_failure_is_a_row_that_says_why(launch, monkeypatch):
    def fail(self, X, Y):
        raise np.linalg.LinAlgError("no luck")

    monkeypatch.setattr(LSCDE, "_fit", fail)
    frame, _ = launch("LSCDE", "LSCDE", {})
    assert frame["status"].tolist() == ["failed"] * 3
    assert frame["value"].isna().all()
    assert set(frame["detail"]) == {"LinAlgError: no luck"}


def test_density_that_is_not_finite_is_a_failed_split(launch, monkeypatch):
    monkeypatch.setattr(LSCDE, "log_density", lambda self, X, Y: np.full(len(Y), -np.inf))
    frame, _ = launch("LSCDE", "LSCDE", {})
    frame = frame[frame.metric == NLL]
    assert frame["status"].tolist() == ["failed"] * 3
    assert "negative_log_likelihood is inf" in frame["detail"][0]


def test_a_missing_library_is_a_failed_split_with_the_remedy(launch, monkeypatch):
    monkeypatch.setitem(sys.modules, "ngboost", None)
    frame, _ = launch("NGBoost", "NGBoost", {})
    assert frame["status"].tolist() == ["failed"] * 3
    said = "NGBoost needs the library ngboost: pip install 'kcde[compare]'"
    assert frame["detail"].tolist() == [f"MissingLibraryError: {said}"] * 3


def test_programming_errors_are_not_hidden_as_failed_splits(launch, monkeypatch):
    monkeypatch.setattr(LSCDE, "_fit", lambda self, X, Y: self.nonsense)
    with pytest.raises(AttributeError):
        launch("LSCDE", "LSCDE", {})


@pytest.mark.slow
def test_splits_fitted_together_are_those_fitted_in_turn(launch, monkeypatch):
    quick = {"hidden_units": 4, "components": 2, "epochs": 4}
    together, info = launch("NADE", "NADE", quick, name="together")
    together = together[together["metric"] == NLL]
    assert [chosen["hidden_units"] for chosen in info["chosen"]] == [4] * 3
    assert all(1 <= chosen["epochs"] <= 4 for chosen in info["chosen"])
    monkeypatch.setattr(runner, "is_batch_fitted", lambda estimator: False)
    in_turn, _ = launch("NADE", "NADE", quick, name="in-turn")
    in_turn = in_turn[in_turn["metric"] == NLL]
    assert together["split"].tolist() == in_turn["split"].tolist() == [0, 1, 2]
    assert together["seed"].tolist() == in_turn["seed"].tolist()
    np.testing.assert_allclose(together["value"], in_turn["value"], atol=1e-3)
    assert (together["seconds"] > 0).all()


def test_a_joint_density_is_scored_on_x_and_y_and_on_its_parts(smoke, tmp_path):
    """By hand: columns x, then y, standardised by the training half, one column after the other."""
    folder, catalogue = smoke
    quick, out = {"hidden_units": 4, "components": 2, "epochs": 4}, tmp_path / "out.csv"
    job = Job("smoke-mixed", "NADE-joint", "NADE", options=quick, splits=2, target="joint")
    run(job, out, folder, catalogue=catalogue)
    values = scores.read([out]).pivot(index="split", columns="metric", values="value")
    data = load("smoke-mixed", folder, catalogue=catalogue)
    columns = np.hstack([data.X, data.Y])
    states = [split_seed("smoke-mixed", split) for split in range(2)]
    models = [NADE(**quick, random_state=state) for state in states]
    halves = [half_split("smoke-mixed", split, len(columns)) for split in range(2)]
    scaled = [
        (columns - columns[train].mean(axis=0)) / columns[train].std(axis=0) for train, _ in halves
    ]
    trainings = [Z[train] for Z, (train, _) in zip(scaled, halves, strict=True)]
    NADE.fit_many(models, [Z[:, :0] for Z in trainings], trainings)
    for split, (model, Z, (_, test)) in enumerate(zip(models, scaled, halves, strict=True)):
        found = values.loc[split]
        assert found[NLL] == pytest.approx(-model.score(None, Z[test]), rel=1e-6)
        of_y = model.factor_log_density(None, Z[test])[:, -1]
        assert found[NLL_CONDITIONAL] == pytest.approx(-of_y.mean(), rel=1e-6)
        assert found[NLL] == pytest.approx(found[NLL_X] + found[NLL_CONDITIONAL], rel=1e-9)
    arrays = np.load(tmp_path / "out.npz")
    np.testing.assert_allclose(values[NLL], -arrays["log_density"].mean(axis=1), rtol=1e-9)
    np.testing.assert_allclose(values[NLL_X], -arrays["log_density_x"].mean(axis=1), rtol=1e-9)


def test_columns_of_x_that_are_constant_in_training_are_no_part_of_the_joint(smoke):
    folder, catalogue = smoke
    data = load("smoke-mixed", folder, catalogue=catalogue)
    job = Job("smoke-mixed", "NADE-joint", "NADE", target="joint")
    train, test = half_split(job.dataset, 0, len(data.X))
    X = data.X.copy()
    X[train, 1] = 3.0
    (no_x, Z), (_, tested) = halves(job, replace(data, X=X), 0)
    assert no_x.shape == (len(train), 0)
    np.testing.assert_array_equal(Z, np.hstack([np.delete(X, 1, axis=1), data.Y])[train])
    np.testing.assert_array_equal(tested, np.hstack([np.delete(X, 1, axis=1), data.Y])[test])


def test_failure_of_one_split_leaves_the_others_alone(launch, monkeypatch):
    learn_scales = Standardised._learn_scales

    def fail(self, X, Y):
        if self.estimator.random_state == split_seed("smoke-linear", 1):
            raise ValueError("no luck")
        return learn_scales(self, X, Y)

    monkeypatch.setattr(Standardised, "_learn_scales", fail)
    quick = {"hidden_units": 4, "components": 2, "epochs": 4}
    frame, _ = launch("NADE", "NADE", quick)
    frame = frame[frame.metric == NLL].set_index("split")
    assert frame["status"].tolist() == ["ok", "failed", "ok"]
    assert frame["detail"][1] == "ValueError: no luck"
    diverging, _ = launch("NADE", "NADE", quick | {"learning_rate": 1e30}, name="diverging")
    assert diverging["status"].tolist() == ["failed"] * 3
    assert "FloatingPointError: the training of NADE diverged" in diverging["detail"][0]


def test_unavailable_data_give_rows_that_were_not_run(smoke, tmp_path):
    folder, catalogue = smoke
    record = tmp_path / "record.json"
    fetch.write_record(fetch.fetch("smoke-linear", tmp_path / "empty", None, catalogue), record)
    out = tmp_path / "out.csv"
    run(Job("smoke-linear", "LSCDE", "LSCDE", splits=2), out, folder, record=record)
    frame = scores.read([out])
    assert frame["status"].tolist() == ["not-run"] * 2
    assert "smoke-linear is unavailable" in frame["detail"][0]


def test_the_evaluation_of_dde_draws_like_the_test_half(launch, smoke):
    from scipy.stats import norm

    folder, catalogue = smoke
    frame, _ = launch(evaluation="test-half")
    usual, _ = launch(name="usual")
    of = {
        name: one[one.split == 1].set_index("metric") for name, one in [("a", frame), ("b", usual)]
    }
    assert of["a"]["value"]["importance_samples"] == 1000
    data = load("smoke-linear", folder, catalogue=catalogue)
    train, test = half_split("smoke-linear", 1, len(data.Y))
    X = (data.X - data.X[train].mean(axis=0)) / data.X[train].std(axis=0)
    Y = (data.Y - data.Y[train].mean(axis=0)) / data.Y[train].std(axis=0)
    model = KCEF(**QUICK).fit(X[train], Y[train])
    centre, spread = Y[test].mean(), Y[test].std()
    draws = centre + spread * rng_of("importance", "smoke-linear", 1).standard_normal((1000, 1))
    log_z = [
        np.log(
            np.mean(
                np.exp(model.log_unnormalized(np.repeat(x[None], 1000, axis=0), draws))
                / norm.pdf(draws[:, 0], centre, spread)
            )
        )
        for x in X[test]
    ]
    expected = np.mean(log_z - model.log_unnormalized(X[test], Y[test]))
    assert of["a"]["value"][NLL] == pytest.approx(expected, rel=1e-8)
    # All else is as it is without.
    exact = f"{NLL}_quadrature"
    assert of["a"]["value"][exact] == of["b"]["value"][exact]
    error = of["a"]["value"][NLL] - of["a"]["value"][exact]
    assert of["a"]["value"]["importance_error"] == pytest.approx(error, abs=1e-8)


def test_rows_held_out_are_a_fifth_of_the_training_half():
    job, one = Job("geyser", "LSCDE"), np.zeros((43, 1))
    data = Dataset("geyser", one, one, ("x",), ("y",), "")
    fitted, held = inner_rows(job, data, 3)
    assert len(held) == 4
    train, _ = half_split("geyser", 3, 43)
    np.testing.assert_array_equal(np.sort([*fitted, *held]), np.sort(train))
    np.testing.assert_array_equal(held, inner_rows(job, data, 3)[1])
    assert set(held) != set(inner_rows(job, data, 4)[1])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("estimator", "options"),
    [("KCEF", QUICK), ("NADE", {"hidden_units": 4, "components": 2, "epochs": 4})],
)
def test_inner_log_likelihood_is_that_of_a_fit_by_hand(launch, smoke, estimator, options):
    frame, _ = launch(estimator, estimator, options, inner_splits=2)
    inner = frame[frame.metric == INNER_LOG_LIKELIHOOD]
    assert inner["split"].tolist() == [0, 1]
    folder, catalogue = smoke
    data = load("smoke-linear", folder, catalogue=catalogue)
    train, _ = half_split("smoke-linear", 1, len(data.Y))
    fitted, held = inner_rows(Job("smoke-linear", "LSCDE"), data, 1)
    X = (data.X - data.X[fitted].mean(axis=0)) / data.X[fitted].std(axis=0)
    Y = (data.Y - data.Y[fitted].mean(axis=0)) / data.Y[fitted].std(axis=0)
    one = {"KCEF": KCEF, "NADE": NADE}[estimator](
        **options, random_state=split_seed("smoke-linear", 1)
    )
    log_density = one.fit(X[fitted], Y[fitted]).log_density(X[held], Y[held])
    # From standard deviations of the rows fitted to, to those of the training half.
    expected = np.mean(log_density) + np.log(data.Y[train].std() / data.Y[fitted].std())
    row = inner[inner.split == 1].iloc[0]
    assert row["value"] == pytest.approx(expected, abs=1e-3 if estimator == "NADE" else 1e-9)
    assert row["stderr"] == pytest.approx(np.std(log_density) / np.sqrt(len(held)), rel=1e-2)
    assert (row["n_train"], row["n_test"]) == (len(fitted), len(held))


@pytest.mark.parametrize("estimator", ["LSCDE", "NADE"])
def test_inner_fits_change_nothing_else(launch, tmp_path, estimator):
    options = {} if estimator == "LSCDE" else {"hidden_units": 4, "components": 2, "epochs": 4}
    alone, _ = launch(estimator, estimator, options, name="alone")
    beside, info = launch(estimator, estimator, options, name="beside", inner_splits=2)
    same = beside[beside.metric != INNER_LOG_LIKELIHOOD].reset_index(drop=True)
    assert same.drop(columns="seconds").equals(alone.drop(columns="seconds"))
    assert len(info["chosen"]) == 3
    first, second = (np.load(tmp_path / f"{name}.npz") for name in ("alone", "beside"))
    for name in ("log_density", "pit", "test_rows"):
        np.testing.assert_array_equal(first[name], second[name])


def test_inner_fit_that_fails_leaves_the_split_alone(launch, smoke, monkeypatch):
    fit, n = LSCDE._fit, len(load("smoke-linear", smoke[0], catalogue=smoke[1]).Y)

    def fail(self, X, Y):
        if len(Y) < n // 2:
            raise np.linalg.LinAlgError("too few")
        return fit(self, X, Y)

    monkeypatch.setattr(LSCDE, "_fit", fail)
    frame, _ = launch("LSCDE", "LSCDE", {}, inner_splits=1)
    assert set(frame[frame.metric != INNER_LOG_LIKELIHOOD]["status"]) == {"ok"}
    (row,) = frame[frame.metric == INNER_LOG_LIKELIHOOD].itertuples()
    assert (row.status, row.detail) == ("failed", "LinAlgError: too few")


def test_coverage_is_the_share_of_the_transform_within_the_interval(launch, tmp_path, smoke):
    frame, _ = launch()
    pit = np.load(tmp_path / "out.npz")["pit"]
    data = load("smoke-linear", smoke[0], catalogue=smoke[1])
    train, test = half_split("smoke-linear", 1, len(data.Y))
    model = Standardised(KCEF(**QUICK)).fit(data.X[train], data.Y[train])
    ends = model.interval(data.X[test], 0.5)
    inside = (ends[:, 0] <= data.Y[test, 0]) & (data.Y[test, 0] <= ends[:, 1])
    found = frame[frame.split == 1].set_index("metric")["value"]
    assert found["coverage_50"] == pytest.approx(inside.mean(), abs=1e-9)
    assert found["coverage_50"] < found["coverage_90"] == np.mean(np.abs(pit[1] - 0.5) <= 0.45)
    np.testing.assert_allclose(pit[1], model.cdf(data.X[test], data.Y[test]), atol=1e-6)


def test_crps_is_the_mean_over_test_rows_of_standardised_y(launch, smoke):
    options = {"bandwidth_x": 0.5, "bandwidth_y": 0.3, "regularization": 0.1}
    frame, _ = launch("LSCDE", "LSCDE", options)
    folder, catalogue = smoke
    data = load("smoke-linear", folder, catalogue=catalogue)
    train, test = half_split("smoke-linear", 1, len(data.Y))
    model = Standardised(LSCDE(**options)).fit(data.X[train], data.Y[train])
    draws = model.sample(data.X[test], 4000, np.random.default_rng(0))[:, :, 0]
    expected = scoringrules.crps_ensemble(data.Y[test, 0], draws).mean() / data.Y[train].std()
    found = frame[(frame.metric == CRPS) & (frame.split == 1)]["value"].item()
    assert found == pytest.approx(expected, rel=0.01)


def test_estimator_without_distribution_function_has_no_coverage(launch, monkeypatch, tmp_path):
    monkeypatch.setattr(LSCDE, "cdf", property(lambda self: self.no_cdf))
    frame, _ = launch("LSCDE", "LSCDE", {})
    assert set(frame["metric"]) == {NLL}
    assert "pit" not in np.load(tmp_path / "out.npz")


@pytest.mark.slow
def test_how_a_training_went_is_scored(launch):
    options = {"iterations": 100, "hidden_units": 4, "latent": 2, "validation": 0, "batch_size": 9}
    frame, info = launch("DDE", "DDE", options, splits=2, evaluation="test-half")
    first = frame[frame.split == 0].set_index("metric")["value"]
    assert first["iterations"] == info["chosen"][0]["iterations"] == 100
    assert 1 <= first["sampler_effective_sample_size"] <= 1000
    assert first["mmd2_biased"] > 0
    assert np.isfinite(first["objective"])
    assert info["job"]["evaluation"] == "test-half"
    assert first["trained_penalised_loss"] > first["optimum_penalised_loss"]
    assert first["optimum_penalty"] > 0
    assert np.isfinite(first["stopped_negative_log_likelihood_trained"])
    # Without a weight of its own the trained density is the one that is scored.
    assert first["trained_negative_log_likelihood_trained"] == pytest.approx(
        first[f"{NLL}_quadrature"], abs=1e-5
    )


def test_tuning_rows_concern_the_likelihood_selection_alone():
    job = Job("d", "KCEF-LL", "KCEF", options={"selection": "likelihood"}, tuning_rows=50)
    assert make_estimator(job, 0).tuning_rows == 50
    published = Job("d", "KCEF", "KCEF", options={"selection": "score"}, tuning_rows=50)
    assert make_estimator(published, 0).tuning_rows is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"options": {"sigma": 1}}, "KCEF has no option sigma; it has bandwidth_x"),
        ({"splits": 0}, "splits must be at least 1"),
        ({"estimator": "Nothing"}, "there is no estimator 'Nothing'"),
        ({"backend": "torch"}, "backend must be one of"),
        ({"evaluation": "test"}, "evaluation must be one of training-half, test-half; got 'test'"),
        (
            {"estimator": "LSCDE", "options": {}, "evaluation": "test-half"},
            "LSCDE has no normaliser to draw for",
        ),
        (
            {"estimator": "LSCDE", "options": {}, "target": "joint"},
            "LSCDE has no factor_log_density: target 'joint' is for",
        ),
        (
            {"estimator": "NADE", "options": {}, "target": "joint", "inner_splits": 1},
            "inner_splits must be 0 for target 'joint'; got 1",
        ),
    ],
)
def test_wrong_settings_stop_the_job_before_it_starts(launch, tmp_path, change, message):
    with pytest.raises(ValueError, match=message):
        launch(**change)
    assert not list(tmp_path.iterdir())
