import json

import numpy as np
import pytest

from kcde import scores
from kcde.data import traffic
from kcde.data.traffic import Traffic
from kcde.estimators import CDO, LSCDE, Standardised
from kcde.experiments import _cdo_settings, _measured_fit, _traffic_cost
from kcde.experiments.runner import run
from kcde.experiments.traffic import TrafficByTime


@pytest.fixture
def launch(smoke, tmp_path):
    """Return a function that runs a job on made-up hours: frame, arrays and info."""

    def go(method="CDO", **given):
        out = tmp_path / f"{method}.csv"
        own = {"dataset": "smoke-traffic", "splits": 2, "thinned": 0, "settings": "authors"}
        places = {"data_dir": smoke[0], "catalogue": smoke[1]}
        run(TrafficByTime(**own | {"method": method} | given, **places), out)
        with np.load(out.with_suffix(".npz")) as stored:
            arrays = dict(stored)
        return scores.read([out]), arrays, json.loads(out.with_suffix(".json").read_text())

    return go


@pytest.fixture
def data(smoke):
    return traffic.open_traffic("smoke-traffic", *smoke)


def values(frame, metric):
    return frame.loc[frame["metric"] == metric, "value"].to_numpy()


def test_scores_are_those_of_a_fit_by_hand(launch, data):
    frame, arrays, info = launch()
    for number in range(2):
        split = data.split(number)
        options = _cdo_settings.authors("traffic", "CDO", split.X, split.Y)
        model = CDO(**options).fit(split.X, split.Y)
        errors = {"mean": [], "std": [], "training": []}
        for place, x in enumerate(data.inputs):
            outputs = split.Y_test[(split.X_test == x).all(axis=1)]
            own = split.Y[(x == split.X).all(axis=1)]
            if len(outputs) < 2:
                assert np.isnan(arrays["test_mean"][number, place])
                continue
            errors["mean"].append(abs(model.mean(x[None])[0, 0] / outputs.mean() - 1))
            spread = np.sqrt(model.variance(x[None])[0, 0])
            errors["std"].append(abs(spread / outputs.std() - 1))
            errors["training"].append(abs(own.mean() / outputs.mean() - 1))
        assert 0 < len(errors["mean"]) < len(data.inputs)
        here = frame[frame["split"] == number]
        np.testing.assert_allclose(values(here, "mean_error"), np.median(errors["mean"]))
        np.testing.assert_allclose(values(here, "std_error"), np.median(errors["std"]))
        np.testing.assert_allclose(
            values(here, "mean_error_of_training"), np.median(errors["training"])
        )
        assert (here["n_train"] == len(split.Y)).all()
        assert (here["n_test"] == len(split.Y_test)).all()
    assert values(frame, "negative_variance_share").tolist() == [0.0, 0.0]
    assert set(frame["status"]) == {"ok"}
    assert info["data_sha256"] == data.sha256
    assert set(info["chosen"][0]) >= {"bandwidth_x", "regularization"}
    assert "reference" not in info["chosen"][0]


def test_arrays_hold_all_that_the_figure_shows(launch, data):
    _, arrays, _ = launch()
    for whose in ("", "test_", "overlapping_"):
        for name in ("mean", "std"):
            assert arrays[f"{whose}{name}"].shape == (2, len(data.inputs))
    np.testing.assert_array_equal(arrays["inputs"], np.stack([data.inputs] * 2))
    np.testing.assert_array_equal(arrays["histogram"].sum(axis=1), arrays["test_count"][0])
    assert arrays["histogram"].shape == (len(data.inputs), len(arrays["edges"]) - 1)
    assert arrays["edges"][0] == data.split(0).Y_test.min()
    assert np.isfinite(arrays["mean"]).all()


def test_what_the_authors_did_not_fix_is_standardised(launch, data):
    options = {"bandwidth_x": 0.5, "bandwidth_y": 0.5, "regularization": 0.1}
    frame, arrays, _ = launch("LSCDE", settings="chosen", options=options, splits=1)
    split = data.split(0)
    seed = frame["seed"].iloc[0]
    model = Standardised(LSCDE(**options, random_state=int(seed))).fit(split.X, split.Y)
    np.testing.assert_allclose(arrays["mean"][0], model.mean(data.inputs)[:, 0])
    np.testing.assert_allclose(arrays["std"][0] ** 2, model.variance(data.inputs)[:, 0])


def test_a_negative_variance_is_counted_and_worse_than_any_error(launch, monkeypatch):
    def variance(self, X):
        return np.where(X[:, :1] == 2, -1.0, 400.0)

    monkeypatch.setattr(CDO, "variance", variance)
    frame, arrays, _ = launch()
    wednesday = arrays["inputs"][0][:, 0] == 2
    np.testing.assert_array_equal(np.isnan(arrays["std"][0]), wednesday)
    assert values(frame, "negative_variance_share")[0] == pytest.approx(wednesday.mean())
    tested = ~np.isnan(arrays["test_std"][0])
    errors = abs(20.0 / arrays["test_std"][0, tested] - 1)
    expected = np.median(np.where(wednesday[tested], 1e9, errors))
    assert expected > np.median(errors[~wednesday[tested]])
    row = frame[(frame["metric"] == "std_error") & (frame["split"] == 0)].iloc[0]
    assert row["value"] == pytest.approx(expected)
    said = "no standard deviation at {} inputs of negative variance"
    assert row["detail"] == said.format(wednesday.sum())
    monkeypatch.setattr(CDO, "variance", lambda self, X: np.full((len(X), 1), -1.0))
    frame, *_ = launch()
    row = frame[frame["metric"] == "std_error"].iloc[0]
    assert (row["status"], row["detail"]) == ("failed", said.format(56))


def test_days_may_overlap_as_in_the_notebook(launch, data):
    frame, arrays, _ = launch(splits=1)
    split = data.split(0)
    X, Y = np.vstack([split.X, split.X_test]), np.vstack([split.Y, split.Y_test])
    tested = np.flatnonzero(~np.isnan(arrays["test_mean"][0]))
    errors = []
    for place in tested:
        outputs = Y[(arrays["inputs"][0, place] == X).all(axis=1)]
        assert arrays["overlapping_std"][0, place] == pytest.approx(outputs.std())
        errors.append(abs(arrays["mean"][0, place] / outputs.mean() - 1))
    found = values(frame, "mean_error_overlapping")
    np.testing.assert_allclose(found, [np.median(errors)])


def test_thinned_splits_follow_under_a_setting_of_their_own(launch, data):
    frame, arrays, _ = launch(splits=1, thinned=2)
    assert arrays["thinned"].tolist() == [False, True, True]
    thinned = frame[frame["setting"] == scores.setting(days="thinned")]
    assert sorted(set(thinned["split"])) == [0, 1]
    whole = frame[frame["setting"] == "{}"]
    assert set(whole["split"]) == {0}
    split = data.split(1, thinned=True)
    assert set(thinned.loc[thinned["split"] == 1, "n_train"]) == {len(split.Y)}


def test_the_closed_form_of_cdo_is_a_mixture_of_tables_of_slots(launch, data):
    _, arrays, _ = launch("Nadaraya-Watson-CDO", splits=1)
    split = data.split(0)
    days = np.unique(arrays["inputs"][0][:, 0])
    every = arrays["inputs"][0][:, 0].tolist()
    gaps = [abs(a - b) for i, a in enumerate(every) for b in every[:i]]
    scale = np.sqrt(np.median(gaps)) / 4
    for place in (0, 17, 40):
        day, slot = arrays["inputs"][0, place]
        number = total = squares = 0.0
        for other in days:
            outputs = split.Y[np.equal(split.X, [other, slot]).all(axis=1), 0]
            weight = np.exp(-abs(day - other) / scale)
            number += weight * len(outputs)
            total += weight * outputs.sum()
            squares += weight * (outputs**2).sum()
        assert arrays["mean"][0, place] == pytest.approx(total / number, rel=1e-6)
        spread = squares / number - (total / number) ** 2
        assert arrays["std"][0, place] ** 2 == pytest.approx(spread, rel=1e-5)


def test_a_failed_fit_is_a_row_and_the_test_data_are_kept(launch, monkeypatch):
    fit = CDO.fit

    def broken(self, X, Y):
        if self.random_state == seeds[1]:
            raise np.linalg.LinAlgError("singular")
        return fit(self, X, Y)

    seeds = launch()[0].groupby("split")["seed"].first()
    monkeypatch.setattr(CDO, "fit", broken)
    frame, arrays, _ = launch()
    (row,) = (row for _, row in frame[frame["split"] == 1].iterrows())
    assert (row["status"], row["detail"]) == ("failed", "LinAlgError: singular")
    assert np.isnan(arrays["mean"][1]).all()
    assert np.isfinite(arrays["test_mean"][1]).any()
    assert np.isfinite(arrays["mean"][0]).all()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"method": "Clough-Tocher"}, "no estimator 'Clough-Tocher'"),
        ({"splits": 0}, "splits must be at least 1"),
        ({"options": {"bandwith_x": 1.0}}, "CDO has no option bandwith_x"),
        ({"dataset": "smoke-linear"}, "smoke-linear has no times"),
        ({"dataset": "simulated-traffic", "settings": "chosen"}, "is for CDO"),
        ({"dataset": "simulated-traffic", "method": "LSCDE"}, "is for CDO"),
    ],
)
def test_a_wrong_job_is_refused(launch, given, said):
    with pytest.raises(ValueError, match=said):
        launch(**given)


def test_simulated_traffic_measures_a_fit(launch, monkeypatch):
    small = traffic.simulated(weeks=3, slots=12)
    monkeypatch.setattr(traffic, "simulated", lambda: small)
    monkeypatch.setattr(
        _measured_fit, "in_own_process", lambda job, module: _traffic_cost.measure(job)
    )
    frame, arrays, _ = launch(dataset="simulated-traffic")
    measured = ["fit_seconds", "predict_seconds", "peak_memory", "grouping_difference"]
    assert frame["metric"].tolist() == measured
    assert (frame["n_train"] == 7 * 12 * 3).all()
    assert values(frame, "grouping_difference")[0] < 1e-8
    assert values(frame, "fit_seconds")[0] > 0
    assert (arrays, set(frame["split"])) == ({}, {0})


def test_another_process_measures_the_same_module(monkeypatch):
    asked = {}

    class Done:
        returncode = 0
        stdout = '{"fit_seconds": 1.0, "predict_seconds": 1.0, "peak_memory": 1.0}'

    def start(command, **more):
        asked["command"] = command
        return Done()

    monkeypatch.setattr(_measured_fit.subprocess, "run", start)
    monkeypatch.setattr(_traffic_cost, "grouping_difference", lambda options: 0.0)
    _traffic_cost.measured({"reference": 9})
    assert asked["command"][1:] == ["-m", "kcde.experiments._traffic_cost", '{"reference": 9}']


def small_traffic(counts):
    """Return traffic with so many outputs of each of some inputs, around different levels."""
    rng = np.random.default_rng(2)
    inputs = np.column_stack([np.arange(len(counts)) % 3, 600.0 * (np.arange(len(counts)) // 3)])
    X = np.repeat(inputs, counts, axis=0)
    Y = 0.1 + 0.02 * X[:, :1] + 0.01 * rng.standard_normal((len(X), 1))
    return Traffic("small", X, Y, np.zeros(len(X), dtype=int), "")


@pytest.mark.parametrize("scaling", ["published", "corrected"])
@pytest.mark.parametrize("counts", [[4] * 9, [1, 7, 2, 5, 3, 9, 1, 4, 6]])
def test_the_factorisation_over_distinct_inputs_is_exact(counts, scaling):
    data = small_traffic(counts)
    options = {"scaling": scaling, "reference": 40}
    difference = _traffic_cost.grouping_difference(options, data)
    assert difference < 1e-9


def test_the_plain_solve_notices_a_wrong_factorisation():
    data = small_traffic([1, 7, 2, 5, 3, 9, 1, 4, 6])
    options = _cdo_settings.authors("traffic", "CDO", data.X, data.Y)
    model = CDO(**options).fit(data.X, data.Y)
    fewer = data.X[:-1], data.Y[:-1]
    right, wrong = (
        _traffic_cost.ungrouped_moments(model, *pairs, data.inputs)[0]
        for pairs in ((data.X, data.Y), fewer)
    )
    np.testing.assert_allclose(model.mean(data.inputs)[:, 0], right, rtol=1e-9)
    assert np.max(np.abs(wrong - right)) > 1e-4
