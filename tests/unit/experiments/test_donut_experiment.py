import json

import numpy as np
import pytest
from scipy.stats import norm

from kcde import scores
from kcde.cli import main
from kcde.data import made_up
from kcde.estimators import CDO, LSCDE, GaussianProcess, Standardised
from kcde.experiments import _cdo_settings, _conditional_models, donut
from kcde.experiments.donut import Job
from kcde.experiments.runner import run

LSCDE_JOB = {
    "method": "LSCDE",
    "estimator": "LSCDE",
    "options": {"bandwidth_x": 0.4, "bandwidth_y": 0.4, "regularization": 0.01},
}


def launch(folder, name, **axes):
    """Scores, arrays and info of a job with 2 repetitions of 3 points a mean."""
    out = folder / f"{name}.csv"
    run(Job(**{"repetitions": 2, "points": 3} | axes), out)
    with np.load(out.with_suffix(".npz")) as stored:
        arrays = dict(stored)
    return scores.read([out]), arrays, json.loads(out.with_suffix(".json").read_text())


@pytest.fixture(scope="module")
def by_lscde(tmp_path_factory):
    return launch(tmp_path_factory.mktemp("donut"), "LSCDE", **LSCDE_JOB)


@pytest.fixture(scope="module")
def by_cdo(tmp_path_factory):
    return launch(
        tmp_path_factory.mktemp("donut"), "CDO", method="CDO", estimator="CDO", settings="authors"
    )


def value(frame, metric, x, split=0):
    chosen = frame[(frame["metric"] == metric) & (frame["split"] == split)]
    return chosen[chosen["setting"] == scores.setting(x=x)]["value"].item()


@pytest.mark.parametrize(("variant", "spread"), [("as-published", 1.0), ("ours", None)])
def test_the_published_process_has_a_spread_of_one(tmp_path, variant, spread):
    job = {"method": "GP", "estimator": "GaussianProcess", "settings": "authors"}
    frame, *_ = launch(tmp_path, "GP", variant=variant, **job)
    drawn = donut.repetition(1, 3)
    model = GaussianProcess(**_cdo_settings.authors("donut", "GaussianProcess", drawn.X, drawn.Y))
    model.fit(drawn.X, drawn.Y)
    x = np.array([[1.0]])
    std = np.sqrt(model.variance(x)) if spread is None else spread
    density = norm.pdf(drawn.evaluated, model.mean(x), std).prod(axis=1)
    expected = np.abs(density - made_up.donut_joint_density(1, drawn.evaluated)).mean()
    assert value(frame, "joint_error", 1, split=1) == pytest.approx(expected, rel=1e-8)


def test_a_repetition_depends_on_its_number_alone():
    first, again, other = (donut.repetition(number, 4) for number in (0, 0, 1))
    for name in ("X", "Y", "evaluated"):
        np.testing.assert_array_equal(getattr(first, name), getattr(again, name))
        assert not np.isin(getattr(first, name), getattr(other, name)).any()
    assert first.X.shape == (200, 1)
    assert first.evaluated.shape == (3000, 2)
    np.testing.assert_array_equal(np.floor(np.abs(first.evaluated) / 2), 0)


def test_scores_are_those_of_a_fit_by_hand(by_lscde):
    frame, arrays, _ = by_lscde
    drawn = donut.repetition(1, 3)
    seed = int(frame[frame["split"] == 1]["seed"].iloc[0])
    model = Standardised(LSCDE(**LSCDE_JOB["options"], random_state=seed)).fit(drawn.X, drawn.Y)
    for x in (0, 1):
        inputs = np.full((3000, 1), float(x))
        density = np.exp(model.log_density(inputs, drawn.evaluated))
        joint = made_up.donut_joint_density(x, drawn.evaluated)
        expected = np.abs(density - joint).mean()
        assert value(frame, "joint_error", x, 1) == pytest.approx(expected)
        expected = np.abs(density - joint / made_up.donut_marginal_density(x)).mean()
        assert value(frame, "conditional_error", x, 1) == pytest.approx(expected)
    assert arrays["density_x0"].shape == arrays["exact_x1"].shape == (62, 62)


def test_what_depends_on_the_points_alone_is_the_same_for_all(by_lscde, by_cdo):
    for metric in ("joint_error_of_zero", "conditional_error_of_zero", "joint_error_of_exact"):
        for x in (0, 1):
            assert value(by_lscde[0], metric, x) == value(by_cdo[0], metric, x)
    # Over the box: the mean of a density is its integral over 16.
    exact = [value(by_cdo[0], "joint_error_of_zero", x) for x in (0, 1)]
    assert exact == pytest.approx([made_up.donut_marginal_density(x) / 16 for x in (0, 1)], rel=0.4)
    np.testing.assert_array_equal(by_lscde[1]["exact_x0"], by_cdo[1]["exact_x0"])


def test_pictures_are_densities_on_the_grid(by_lscde, by_cdo):
    for _, arrays, _ in (by_lscde, by_cdo):
        i, j = 40, 23
        y = arrays["grid"][[i, j]][None]
        assert arrays["exact_x0"][i, j] == pytest.approx(
            made_up.donut_conditional_density(0, y).item()
        )
    cell = (4 / 61) ** 2
    assert by_lscde[1]["density_x0"].sum() * cell == pytest.approx(1.0, abs=0.1)
    # As published the weights have both signs, and so does the estimate.
    assert by_cdo[1]["density_x0"].min() < 0 < by_cdo[1]["density_x0"].max()
    assert value(by_cdo[0], "nonpositive_share", 0) > 0.1
    assert value(by_lscde[0], "nonpositive_share", 0) == 0.0
    assert "turned_over" not in set(by_lscde[0]["metric"])
    drawn = donut.repetition(1, 3)
    model = CDO(**_cdo_settings.authors("donut", "CDO", drawn.X, drawn.Y)).fit(drawn.X, drawn.Y)
    sums = model._raw_weights(np.array([[0.0], [1.0]])).sum(axis=1)
    for x in (0, 1):
        assert value(by_cdo[0], "turned_over", x, split=1) == float(sums[x] < 0.0)


def test_densities_that_underflow_are_positive():
    X, Y = made_up.donut_draw(2, np.random.default_rng(1))
    model = LSCDE(0.1, 0.01, 0.01).fit(X, Y)
    far = np.full((5, 2), 1.9)
    assert (donut.densities(model, far) == 0).all()
    assert (donut.nonpositive(model, far) == 0).all()
    signed = CDO(**_cdo_settings.authors("donut", "CDO", X, Y)).fit(X, Y)
    points = donut.repetition(0, 2).evaluated
    expected = (donut.densities(signed, points) <= 0).mean(axis=1)
    np.testing.assert_array_equal(donut.nonpositive(signed, points), expected)


def test_cdo_has_the_authors_settings_in_the_units_of_the_data(by_cdo):
    drawn = donut.repetition(0, 3)
    chosen = by_cdo[2]["chosen"][0]
    expected = _cdo_settings.authors("donut", "CDO", drawn.X, drawn.Y)
    assert chosen["regularization"] == pytest.approx(expected["regularization"])
    assert chosen["bandwidth_x"] == pytest.approx([expected["bandwidth_x"]])
    assert "reference" not in chosen
    model = CDO(**expected).fit(drawn.X, drawn.Y)
    density = model.density_at(drawn.evaluated)(np.array([[0.0], [1.0]]))
    for x in (0, 1):
        expected = np.abs(density[x] - made_up.donut_joint_density(x, drawn.evaluated)).mean()
        assert value(by_cdo[0], "joint_error", x) == pytest.approx(expected)


def test_a_density_that_underflows_is_not_called_negative(tmp_path):
    narrow = {"bandwidth_x": 0.4, "bandwidth_y": 0.01, "regularization": 0.01}
    frame, arrays, _ = launch(tmp_path, "narrow", **LSCDE_JOB | {"options": narrow})
    assert (arrays["density_x0"] == 0.0).any()
    assert value(frame, "nonpositive_share", 0) == 0.0


def test_a_failed_fit_is_rows_that_say_why(tmp_path):
    broken = {"method": "LSCDE", "estimator": "LSCDE", "options": {"bandwidth_x": -1.0}}
    frame, arrays, info = launch(tmp_path, "broken", **broken)
    failed = frame[frame["status"] == "failed"]
    assert set(failed["metric"]) == set(donut.METRICS)
    assert len(failed) == 2 * 2 * 2
    assert failed["detail"].str.contains("bandwidth_x must be positive").all()
    assert np.isnan(arrays["density_x0"]).all()
    assert np.isfinite(arrays["exact_x0"]).all()
    assert info["chosen"] == [{}, {}]
    assert value(frame, "joint_error_of_zero", 0) > 0


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        ({"repetitions": 0}, "repetitions must be at least 1; got 0"),
        ({"points": 0}, "points must be at least 1; got 0"),
        ({"options": {"sigma": 1}}, "LSCDE has no option sigma"),
        ({"settings": "theirs"}, "settings must be one of authors, chosen; got 'theirs'"),
        ({"estimator": "LSCDF"}, "there is no estimator 'LSCDF'"),
    ],
)
def test_wrong_jobs_are_refused(tmp_path, axes, message):
    with pytest.raises(ValueError, match=message):
        run(Job(**LSCDE_JOB | axes), tmp_path / "out.csv")
    assert not list(tmp_path.iterdir())


def test_models_of_several_splits_are_fitted_together_where_their_class_can():
    X = np.random.default_rng(0).standard_normal((60, 2))
    job = Job("NADE", "NADE", options={"hidden_units": 2, "components": 1}, settings="chosen")
    trainings = [_conditional_models.Training(X[:, :1], X[:, 1:] + i, 5 + i) for i in range(2)]
    fitted = _conditional_models.fits(job, range(2), trainings.__getitem__).model
    for i, training in enumerate(trainings):
        model, seconds = fitted(i)
        assert seconds > 0
        alone = _conditional_models.make(job, training).fit(training.X, training.Y)
        at = alone.log_density(training.X, training.Y)
        np.testing.assert_allclose(model.log_density(training.X, training.Y), at, atol=1e-2)


def test_from_the_command_line(tmp_path):
    out = tmp_path / "cli.csv"
    options = json.dumps(LSCDE_JOB["options"])
    words = ["--method", "mine", "--estimator", "LSCDE", "--options", options, "--out", str(out)]
    with pytest.raises(SystemExit) as caught:
        main(["run", "donut", *words, "--repetitions", "1", "--points", "2"])
    assert not caught.value.code
    frame = scores.read([out])
    assert set(frame["method"]) == {"mine"}
    assert set(frame["n_train"]) == {100}
