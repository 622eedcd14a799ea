import json

import numpy as np
import pandas as pd
import pytest

from kcde import scores
from kcde.cli import main
from kcde.data.french import excess_returns
from kcde.estimators import CME, JDL, KernelLogisticRegression
from kcde.experiments import portfolio
from kcde.experiments._low_rank import Grid
from kcde.experiments._shared_bases import Bases
from kcde.experiments.portfolio import Job
from kcde.experiments.runner import run
from kcde.metrics import names

FILES = {"portfolios": "smoke-portfolios", "risk_free": "smoke-risk-free"}
SMALL = {"repetitions": 2, "test_rows": 90, "max_rank": 30, "grid": Grid((1.0, 2.0), (1e-3, 1.0))}
METHODS = {"JDL": JDL, "CME": CME, "KLR": KernelLogisticRegression}


def job_of(method, **axes):
    named = {"dataset": "portfolios-2-300", "method": method, "estimator": METHODS[method].__name__}
    return Job(**named | FILES | SMALL | axes)


def launch(smoke, folder, method, records=(), **axes):
    """Scores, arrays and info of a job."""
    job, out = job_of(method, **axes), folder / f"{method}.csv"
    run([job], [out], smoke[0], catalogue=smoke[1], record=records)
    with np.load(out.with_suffix(".npz")) as stored:
        arrays = dict(stored)
    return scores.read([out]), arrays, json.loads(out.with_suffix(".json").read_text())


@pytest.fixture(scope="module", params=METHODS)
def done(request, smoke, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    return request.param, *launch(smoke, folder, request.param)


def given(smoke, method="JDL", number=0, **axes):
    """What the first repetition is given."""
    data = excess_returns(*FILES.values(), *smoke)
    return portfolio.repetition(job_of(method, **axes), data.pairs(2), number)


def of(frame, metric, constrained=False):
    chosen = scores.setting(tolerance=1e-3, constrained=constrained)
    rows = frame[frame["metric"].eq(metric) & frame["setting"].eq(chosen)]
    return rows.sort_values("split")["value"].to_numpy()


def loss_by_hand(probability, event):
    """Equation (41), a day at a time."""
    terms = []
    for p, happens in zip(probability, event, strict=True):
        terms.append(np.log(min(1, max(p, 1e-12)) if happens else max(1e-12, min(1 - p, 1))))
    return -sum(terms) / len(terms)


def test_the_loss_is_that_of_the_paper_outside_the_unit_interval_too():
    probability = np.array([0.3, 0.3, -0.2, -0.2, 1.4, 1.4, 0.0, 1.0])
    event = np.array([0, 1, 0, 1, 0, 1, 1, 0])
    found = portfolio.logistic_loss(probability, event)
    assert found == pytest.approx(loss_by_hand(probability, event))
    assert np.isfinite(found)


def test_the_event_is_one_day_in_a_hundred(smoke):
    here = given(smoke)
    sums = np.sort(here.days.Y[:, 0])
    assert here.threshold == sums[2]  # of 300: the third smallest
    assert here.event(here.days.Y).sum() == 3
    np.testing.assert_array_equal(here.event(np.array([[here.threshold], [0.0]])), [[1], [0]])


def test_every_method_is_given_the_same_days(smoke):
    first, second = (given(smoke, method) for method in ("JDL", "KLR"))
    np.testing.assert_array_equal(first.days.X, second.days.X)
    np.testing.assert_array_equal(first.days.Y_test, second.days.Y_test)
    assert first.threshold == second.threshold
    assert not np.array_equal(given(smoke, number=1).days.X, first.days.X)


def test_metrics_by_hand_from_a_model_fitted_anew(done, smoke):
    method, frame, arrays, info = done
    here = given(smoke, method)
    days, options = here.days, info["chosen"][0]["chosen"]["options"]
    assert info["chosen"][0]["constrained"] is False
    model = METHODS[method](**options, max_rank=30)
    labels = here.event(days.Y)[:240, 0]
    if method == "KLR":
        probability = model.fit(days.X[:240], labels).predict_proba(days.X_test)[:, 1]
    else:
        model.fit(days.X[:240], days.Y[:240])
        probability = model.conditional_probability(here.event, days.X_test)
    event = here.event(days.Y_test)[:, 0]
    assert of(frame, names.LOGISTIC_LOSS)[0] == pytest.approx(
        loss_by_hand(probability, event), rel=1e-6
    )
    assert of(frame, names.NEGATIVE_PROBABILITY_RATE)[0] == pytest.approx(np.mean(probability < 0))
    np.testing.assert_allclose(arrays["probability"][0, 0], probability, rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(arrays["label"][0], event == 1)
    assert arrays["threshold"][0] == here.threshold


def test_rows_of_every_setting(done):
    method, frame, arrays, info = done
    both = [False] if method == "KLR" else [False, True]
    assert info["constraints"] == both
    assert arrays["probability"].shape == (2, len(both), 90)
    assert (frame["status"] == "ok").all()
    assert set(frame["setting"]) == {
        scores.setting(tolerance=1e-3, constrained=constrained) for constrained in both
    }
    assert (frame.groupby(["setting", "metric"]).size() == 2).all()
    assert set(frame["dim"]) == {2}
    assert set(frame["n_train"]) == {240}
    assert (frame[frame["metric"].eq("rank_x")]["value"] <= 30).all()
    assert info["days"] == 400
    assert info["days_with_missing_returns"] == 1
    if method == "JDL":
        assert (of(frame, names.NEGATIVE_PROBABILITY_RATE, constrained=True) == 0).all()


def test_methods_that_run_together_have_the_scores_of_each_alone(done, smoke, tmp_path):
    """The classifier has the same basis of x and none of y."""
    method, frame, arrays, info = done
    outs = [tmp_path / f"{name}.csv" for name in METHODS]
    jobs = [job_of(name) for name in METHODS]
    run(jobs, outs, smoke[0], catalogue=smoke[1])
    out = tmp_path / f"{method}.csv"
    again = json.loads(out.with_suffix(".json").read_text())
    assert (again["chosen"], again["job"]) == (info["chosen"], info["job"])
    with np.load(out.with_suffix(".npz")) as stored:
        for name, values in arrays.items():
            np.testing.assert_array_equal(stored[name], values)
    costly = frame["metric"].str.startswith("seconds_") | frame["metric"].eq("peak_memory")
    keys = ["split", "setting", "metric", "value", "status"]
    pd.testing.assert_frame_equal(scores.read([out])[~costly][keys], frame[~costly][keys])


def test_the_penalty_of_a_summed_loss_grows_with_the_rows(smoke, tmp_path, monkeypatch):
    fitted = []
    plain = Bases.fit_classifier

    def recorded(self, model, labels):
        fitted.append(model.regularization)
        return plain(self, model, labels)

    monkeypatch.setattr(Bases, "fit_classifier", recorded)
    _, _, info = launch(smoke, tmp_path, "KLR", repetitions=1, tuning_rows=200)
    chosen = info["chosen"][0]["chosen"]["options"]["regularization"]
    assert fitted == [pytest.approx(1.5 * chosen)]
    launch(smoke, tmp_path, "KLR", repetitions=1, tuning_rows=1000)
    assert fitted[1] in SMALL["grid"].regularizations


def test_a_rank_above_the_rows_is_as_many_as_there_are(smoke, tmp_path):
    frame, _, _ = launch(smoke, tmp_path, "JDL", repetitions=1, max_rank=10_000, tuning_rows=100)
    assert (frame["status"] == "ok").all()


def test_unavailable_files_are_not_run(smoke, tmp_path):
    records = []
    for name, status in (("p", "available"), ("f", "unavailable")):
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps({"status": status, "remedy": "set KCDE_DATA_MIRROR"}))
        records.append(path)
    frame, arrays, info = launch(smoke, tmp_path, "JDL", records=tuple(records))
    assert (frame["status"] == "not-run").all()
    assert len(frame) == 4
    expected = "data set smoke-risk-free is unavailable; set KCDE_DATA_MIRROR"
    assert set(frame["detail"]) == {expected}
    assert not arrays
    assert info["data_sha256"] is None


def test_a_fit_that_fails_is_a_row_and_leaves_the_others(smoke, tmp_path, monkeypatch):
    def failing(self, X):
        raise np.linalg.LinAlgError("singular")

    plain = CME.make_basis_x
    with monkeypatch.context() as patched:
        patched.setattr(CME, "make_basis_x", failing)
        frame, arrays, _ = launch(smoke, tmp_path, "CME")
    assert frame["status"].tolist() == ["failed"] * 4
    assert set(frame["metric"]) == {names.LOGISTIC_LOSS}
    assert frame["detail"].str.contains("LinAlgError: singular").all()
    assert np.isnan(arrays["probability"]).all()
    assert CME.make_basis_x is plain


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dataset": "portfolios-2"}, "no portfolio data 'portfolios-2'"),
        ({"dataset": "portfolios-9-100"}, "there are 3 portfolios; got d = 9"),
        ({"dataset": "portfolios-2-390"}, "397 pairs of days; 390 to train and 90 to test"),
        ({"repetitions": 0}, "repetitions must be at least 1"),
        ({"max_rank": 0}, "max_rank must be at least 1"),
        ({"tolerance": 0.0}, "tolerance must be above 0 and below 1; got 0.0"),
        ({"tolerance": 1.0}, "tolerance must be above 0 and below 1; got 1.0"),
        ({"options": {"sigma": 1}}, "method JDL: JDL has no option sigma"),
        ({"portfolios": "smoke-joint"}, "must have the date as its only x"),
    ],
)
def test_wrong_settings_stop_the_job(smoke, tmp_path, change, message):
    with pytest.raises(ValueError, match=message):
        launch(smoke, tmp_path, "JDL", **change)
    assert not list(tmp_path.iterdir())


def test_the_command_writes_scores(smoke, tmp_path, capsys):
    out = tmp_path / "out.csv"
    words = ["run", "portfolio", "--dataset", "portfolios-1-100", "--method", "JDL"]
    words += ["--portfolios", "smoke-portfolios", "--risk-free", "smoke-risk-free"]
    words += ["--repetitions", "1", "--test-rows", "20", "--bandwidth-factors", "1"]
    words += ["--regularizations", "1e-3", "--max-rank", "10"]
    words += ["--data-dir", str(smoke[0]), "--catalogue", str(smoke[1]), "--out", str(out)]
    with pytest.raises(SystemExit) as finished:
        main(words)
    assert finished.value.code == 0
    frame = scores.read([out])
    assert (frame["status"] == "ok").all()
    assert set(frame["dataset"]) == {"portfolios-1-100"}
    capsys.readouterr()


@pytest.mark.data
def test_the_real_returns(raw_data, tmp_path):
    small = SMALL | {"repetitions": 1, "test_rows": 5000}
    job = Job("portfolios-25-1000", "JDL", "JDL", **small)
    run([job], [tmp_path / "JDL.csv"], raw_data)
    frame = scores.read([tmp_path / "JDL.csv"])
    assert (frame["status"] == "ok").all()
    # Without any x the loss would be near the entropy of one day in a hundred.
    entropy = -(0.01 * np.log(0.01) + 0.99 * np.log(0.99))
    assert of(frame, names.LOGISTIC_LOSS, constrained=True)[0] == pytest.approx(entropy, rel=0.5)
