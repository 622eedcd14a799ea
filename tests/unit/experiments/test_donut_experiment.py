import json

import numpy as np
import pytest
from scipy.stats import norm

from kcde import scores
from kcde.data import made_up
from kcde.estimators import CDO, LSCDE, GaussianProcess, Standardised
from kcde.experiments import _cdo_settings, donut
from kcde.experiments.donut import Donut
from kcde.experiments.runner import run

OPTIONS = {"bandwidth_x": 0.4, "bandwidth_y": 0.4, "regularization": 0.01}
AT = np.array([[0.0], [1.0]])


def launch(folder, method, **given):
    """Scores, arrays and info of a job with 2 repetitions of 3 points a mean."""
    out = folder / f"{method}.csv"
    run(Donut(**{"method": method, "repetitions": 2, "points": 3} | given), out)
    with np.load(out.with_suffix(".npz")) as stored:
        arrays = dict(stored)
    return scores.read([out]), arrays, json.loads(out.with_suffix(".json").read_text())


@pytest.fixture(scope="module")
def by_lscde(tmp_path_factory):
    return launch(tmp_path_factory.mktemp("donut"), "LSCDE", options=OPTIONS)


@pytest.fixture(scope="module")
def by_cdo(tmp_path_factory):
    return launch(tmp_path_factory.mktemp("donut"), "CDO", settings="authors")


def value(frame, metric, x, split=0):
    chosen = frame[(frame["metric"] == metric) & (frame["split"] == split)]
    return chosen[chosen["setting"] == scores.setting(x=x)]["value"].item()


@pytest.mark.parametrize(("variant", "spread"), [("as-published", 1.0), ("ours", None)])
def test_the_published_process_has_a_spread_of_one(tmp_path, variant, spread):
    frame, *_ = launch(tmp_path, "GaussianProcess", variant=variant, settings="authors")
    drawn = donut.repetition(1, 3)
    model = GaussianProcess(**_cdo_settings.authors("donut", "GaussianProcess", drawn.X, drawn.Y))
    model.fit(drawn.X, drawn.Y)
    std = np.sqrt(model.variance(AT[1:])) if spread is None else spread
    density = norm.pdf(drawn.evaluated, model.mean(AT[1:]), std).prod(axis=1)
    expected = np.abs(density - made_up.donut_joint_density(1, drawn.evaluated)).mean()
    assert value(frame, "joint_error", 1, split=1) == pytest.approx(expected, rel=1e-8)


def test_a_repetition_depends_on_its_number_alone():
    first, again, other = (donut.repetition(number, 4) for number in (0, 0, 1))
    for one, same, another in zip(first, again, other, strict=True):
        np.testing.assert_array_equal(one, same)
        assert not np.isin(one, another).any()
    assert (first.X.shape, first.evaluated.shape) == ((200, 1), (3000, 2))
    np.testing.assert_array_equal(np.floor(np.abs(first.evaluated) / 2), 0)


def test_scores_are_those_of_a_fit_by_hand(by_lscde):
    frame, arrays, _ = by_lscde
    drawn = donut.repetition(1, 3)
    seed = int(frame[frame["split"] == 1]["seed"].iloc[0])
    model = Standardised(LSCDE(**OPTIONS, random_state=seed)).fit(drawn.X, drawn.Y)
    for x in (0, 1):
        density = np.exp(model.log_density(np.full((3000, 1), float(x)), drawn.evaluated))
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


def test_pictures_are_densities_on_the_grid(by_lscde, by_cdo):
    i, j = 40, 23
    y = by_cdo[1]["grid"][[i, j]][None]
    assert by_cdo[1]["exact_x0"][i, j] == pytest.approx(
        made_up.donut_conditional_density(0, y).item()
    )
    assert by_lscde[1]["density_x0"].sum() * (4 / 61) ** 2 == pytest.approx(1.0, abs=0.1)


def test_signed_weights_may_give_negative_densities(by_lscde, by_cdo):
    assert by_cdo[1]["density_x0"].min() < 0 < by_cdo[1]["density_x0"].max()
    assert value(by_lscde[0], "nonpositive_share", 0) == 0.0
    assert "turned_over" not in set(by_lscde[0]["metric"])
    drawn = donut.repetition(1, 3)
    model = CDO(**_cdo_settings.authors("donut", "CDO", drawn.X, drawn.Y)).fit(drawn.X, drawn.Y)
    sums, densities = model._raw_weights(AT).sum(axis=1), model.density_at(drawn.evaluated)(AT)
    for x in (0, 1):
        assert value(by_cdo[0], "turned_over", x, split=1) == float(sums[x] < 0.0)
        share = value(by_cdo[0], "nonpositive_share", x, split=1)
        assert share == pytest.approx((densities[x] <= 0).mean())


def test_cdo_has_the_authors_settings_in_the_units_of_the_data(by_cdo):
    drawn = donut.repetition(0, 3)
    chosen = by_cdo[2]["chosen"][0]
    expected = _cdo_settings.authors("donut", "CDO", drawn.X, drawn.Y)
    assert chosen["regularization"] == pytest.approx(expected["regularization"])
    assert chosen["bandwidth_x"] == pytest.approx([expected["bandwidth_x"]])
    assert "reference" not in chosen
    density = CDO(**expected).fit(drawn.X, drawn.Y).density_at(drawn.evaluated)(AT)
    for x in (0, 1):
        expected = np.abs(density[x] - made_up.donut_joint_density(x, drawn.evaluated)).mean()
        assert value(by_cdo[0], "joint_error", x) == pytest.approx(expected)


def test_a_density_that_underflows_is_not_called_negative(tmp_path):
    frame, arrays, _ = launch(tmp_path, "LSCDE", options=OPTIONS | {"bandwidth_y": 0.01})
    assert (arrays["density_x0"] == 0.0).any()
    assert value(frame, "nonpositive_share", 0) == 0.0


def test_a_failed_fit_is_rows_that_say_why(tmp_path):
    frame, arrays, info = launch(tmp_path, "LSCDE", options={"bandwidth_x": -1.0})
    failed = frame[frame["status"] == "failed"]
    assert set(failed["metric"]) == set(donut.METRICS)
    assert len(failed) == 2 * 2 * 2
    assert failed["detail"].str.contains("bandwidth_x must be positive").all()
    assert np.isnan(arrays["density_x0"]).all()
    assert np.isfinite(arrays["exact_x0"]).all()
    assert info["chosen"] == [{}, {}]
    assert value(frame, "joint_error_of_zero", 0) > 0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"repetitions": 0}, "repetitions must be at least 1"),
        ({"dataset": "ring"}, "dataset must be one of donut"),
        ({"options": {"sigma": 1}}, "LSCDE has no option sigma"),
        ({"settings": "theirs"}, "settings must be one of"),
        ({"estimator": "LSCDF"}, "there is no estimator 'LSCDF'"),
    ],
)
def test_wrong_jobs_are_refused(tmp_path, given, message):
    with pytest.raises(ValueError, match=message):
        launch(tmp_path, "LSCDE", **given)
    assert not list(tmp_path.iterdir())
