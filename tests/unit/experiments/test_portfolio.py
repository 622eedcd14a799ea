import json

import numpy as np
import pytest

from kcde import scores
from kcde.estimators import CME, JDL, KernelLogisticRegression
from kcde.experiments._shared_bases import Bases
from kcde.experiments.portfolio import Portfolio
from kcde.experiments.runner import run
from kcde.metrics import low_rank, names

FILES = {"portfolios": "smoke-portfolios", "risk_free": "smoke-risk-free"}
SMALL = {"repetitions": 2, "test_rows": 90, "max_rank": 30, "most_trace": 1.0}
SMALL |= {"bandwidth_factors": (1.0, 2.0), "regularizations": (1e-3, 1.0)}
SMALL |= {"matched_repetitions": 0}
METHODS = {"JDL": JDL, "CME": CME, "KLR": KernelLogisticRegression}


def job_of(smoke, method, **axes):
    named = {"dataset": "portfolios-2-300", "method": method, "estimator": METHODS[method].__name__}
    places = {"data_dir": smoke[0], "catalogue": smoke[1]}
    return Portfolio(**named | FILES | SMALL | places | axes)


def launch(smoke, folder, method, **axes):
    """Scores, arrays and info of a job."""
    out = folder / f"{method}.csv"
    run(job_of(smoke, method, **axes), out)
    with np.load(out.with_suffix(".npz")) as stored:
        arrays = dict(stored)
    return scores.read([out]), arrays, json.loads(out.with_suffix(".json").read_text())


@pytest.fixture(scope="module", params=METHODS)
def done(request, smoke, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    return request.param, *launch(smoke, folder, request.param)


def given(smoke, method="JDL", number=0):
    return job_of(smoke, method).repetition(number)


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
    found = low_rank.logistic_loss(probability, event)
    assert found == pytest.approx(loss_by_hand(probability, event))
    assert np.isfinite(found)


def test_the_event_is_one_day_in_a_hundred(smoke):
    here = given(smoke)
    sums = np.sort(here.Y[:, 0])
    assert here.source == sums[2]  # of 300: the third smallest
    assert here.f(here.Y).sum() == 3
    np.testing.assert_array_equal(here.f(np.array([[here.source], [0.0]])), [[1], [0]])


def test_every_method_is_given_the_same_days(smoke):
    first, second = (given(smoke, method) for method in ("JDL", "KLR"))
    np.testing.assert_array_equal(first.X, second.X)
    np.testing.assert_array_equal(first.Y_test, second.Y_test)
    assert first.source == second.source
    assert not np.array_equal(given(smoke, number=1).X, first.X)


def test_metrics_by_hand_from_a_model_fitted_anew(done, smoke):
    method, frame, arrays, info = done
    here = given(smoke, method)
    options = info["chosen"][0]["chosen"]["options"]
    assert info["chosen"][0]["constrained"] is False
    model = METHODS[method](**options, max_rank=30)
    labels = here.f(here.Y)[:240, 0]
    if method == "KLR":
        probability = model.fit(here.X[:240], labels).predict_proba(here.X_test)[:, 1]
    else:
        model.fit(here.X[:240], here.Y[:240])
        probability = model.conditional_probability(here.f, here.X_test)
    event = here.f(here.Y_test)[:, 0]
    assert of(frame, names.LOGISTIC_LOSS)[0] == pytest.approx(
        loss_by_hand(probability, event), rel=1e-6
    )
    assert of(frame, names.NEGATIVE_PROBABILITY_RATE)[0] == pytest.approx(np.mean(probability < 0))
    np.testing.assert_allclose(arrays["probability"][0, 0], probability, rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(arrays["label"][0], event == 1)
    assert arrays["threshold"][0] == here.source


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
    assert fitted[1] in SMALL["regularizations"]


@pytest.mark.parametrize(
    "change",
    [
        {"dataset": "portfolios-2"},
        {"dataset": "portfolios-9-100"},
        {"dataset": "portfolios-2-390"},
        {"max_rank": 0},
        {"tolerance": 1.0},
        {"options": {"sigma": 1}},
        {"portfolios": "smoke-joint"},
    ],
)
def test_wrong_settings_stop_the_job(smoke, tmp_path, change):
    with pytest.raises(ValueError, match=r"."):
        launch(smoke, tmp_path, "JDL", **change)
    assert not list(tmp_path.iterdir())


@pytest.mark.data
def test_the_real_returns(raw_data, tmp_path):
    small = SMALL | {"repetitions": 1, "test_rows": 5000}
    job = Portfolio("portfolios-25-1000", "JDL", data_dir=raw_data, **small)
    run(job, tmp_path / "JDL.csv")
    frame = scores.read([tmp_path / "JDL.csv"])
    assert (frame["status"] == "ok").all()
    # Without any x the loss would be near the entropy of one day in a hundred.
    entropy = -(0.01 * np.log(0.01) + 0.99 * np.log(0.99))
    assert of(frame, names.LOGISTIC_LOSS, constrained=True)[0] == pytest.approx(entropy, rel=0.5)
