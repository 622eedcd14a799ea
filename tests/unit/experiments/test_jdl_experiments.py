"""Experiments of jdl: what a selection chooses, what is shared, and metrics by hand."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from sklearn.base import clone

from contracted import some_pairs
from kcde import metrics as names
from kcde import scores
from kcde.data import made_up
from kcde.data import names as names_of_data
from kcde.estimators import CME, JDL, KernelLogisticRegression
from kcde.estimators._low_rank import basis as jdl_gaussian
from kcde.experiments import _low_rank
from kcde.experiments._low_rank import Bases, Trials
from kcde.experiments.moments import Moments
from kcde.experiments.portfolio import Portfolio

GRID = {"bandwidth_factors": (0.5, 2.0), "regularizations": (1e-4, 1e-2, 1.0)}
SELECTION = SimpleNamespace(**GRID, validation_rows=None, most_trace=1.0)
LAW = {"law": names_of_data.DRAWN_LAW}
JOB = {"dataset": "gaussian-2-150", "repetitions": 2, "test_rows": 40, "matched_repetitions": 0}
JOB |= {"bandwidth_factors": (1.0, 4.0), "regularizations": (1e-4, 1e-2)}
FILES = {"portfolios": "smoke-portfolios", "risk_free": "smoke-risk-free"}
DAYS = {"dataset": "portfolios-2-300", "repetitions": 2, "test_rows": 90, "max_rank": 30}
DAYS |= {"most_trace": 1.0, "bandwidth_factors": (1.0, 2.0), "regularizations": (1e-3, 1.0)}
DAYS |= {"matched_repetitions": 0, **FILES}
CLASSES = {"JDL": JDL, "CME": CME, "KLR": KernelLogisticRegression}


def values(frame, metric, **setting):
    rows = frame[frame["metric"].eq(metric) & frame["setting"].eq(scores.setting(**setting))]
    return rows.sort_values("split")["value"].to_numpy()


@pytest.fixture
def rows(rng):
    return some_pairs(rng, 60)


def square(Y):
    return Y**2


def middle(rows):
    """The median distance over √2; of an even number the middle two are averaged as squares."""
    return np.sqrt(np.median(pdist(rows, "sqeuclidean")) / 2)


@pytest.mark.parametrize("held", [True, False])
@pytest.mark.parametrize("cls", [JDL, CME])
def test_the_best_of_a_grid_is_that_of_separate_fits(cls, held, rows, monkeypatch):
    """Whether or not factors of y fit into memory, and all rows of the last fifth count."""
    X, Y = rows
    last = 60 if held else 55
    if not held:
        monkeypatch.setattr(_low_rank, "MOST_HELD", 0)
        monkeypatch.setattr(SELECTION, "validation_rows", 7)

    def loss(values):
        return np.mean((values[:, 0] - Y[48:last, 0] ** 2) ** 2)

    models = {constrained: cls(constrained=constrained) for constrained in (False, True)}
    trials = _low_rank.select(models, X, Y, square, loss, SELECTION)
    factors = GRID["bandwidth_factors"]
    for constrained, model in models.items():
        found = []
        for a, b, value in itertools.product(factors, factors, GRID["regularizations"]):
            chosen = {"bandwidth_x": a * middle(X[:48]), "bandwidth_y": b * middle(Y[:48])}
            chosen["regularization"] = value
            one = clone(model).set_params(**chosen).fit(X[:48], Y[:48])
            found.append((loss(one.conditional_expectation(square, X[48:last])), chosen))
        expected, options = min(found, key=lambda each: each[0])
        best = trials[constrained].best()
        assert best.loss == pytest.approx(expected, rel=1e-8)
        assert best.options == pytest.approx(options)
        assert (best.tried, best.failures) == (12, ())


def test_a_classifier_is_chosen_as_by_separate_fits_but_those_that_fail(rows, monkeypatch):
    X, Y = rows
    labels = (Y[:, 0] > 0).astype(int)
    plain = KernelLogisticRegression.fit_path

    def failing(self, X, y, regularizations, basis=None):
        if min(regularizations) < 1e-3:
            raise FloatingPointError("stopped early")
        return plain(self, X, y, regularizations, basis)

    def loss(probability):
        probability = probability.reshape(-1)
        return -np.mean(np.log(np.where(labels[48:] == 1, probability, 1 - probability)))

    monkeypatch.setattr(KernelLogisticRegression, "fit_path", failing)
    models = {0: KernelLogisticRegression()}
    best = _low_rank.select(models, X, Y, lambda Y: (Y > 0) * 1.0, loss, SELECTION)[0].best()
    monkeypatch.undo()
    found = {}
    for a, value in itertools.product(GRID["bandwidth_factors"], GRID["regularizations"][1:]):
        one = KernelLogisticRegression(a * middle(X[:48]), value).fit(X[:48], labels[:48])
        found[a, value] = loss(one.predict_proba(X[48:])[:, 1])
    factor, value = min(found, key=found.get)
    assert best.loss == pytest.approx(found[factor, value], rel=1e-6)
    assert best.options["bandwidth_x"] == pytest.approx(factor * middle(X[:48]))
    assert (best.options["regularization"], best.tried) == (value, 6)
    assert best.failures[0].startswith("FloatingPointError: stopped early")


def test_rows_that_coincide_and_losses_that_are_not_finite_are_failures(rows):
    X, Y = rows
    for model in (JDL(), KernelLogisticRegression()):
        event = lambda Y: (Y > 0) * 1.0  # noqa: E731
        trials = _low_rank.select({0: model}, np.ones_like(X), Y, event, np.mean, SELECTION)
        with pytest.raises(FloatingPointError, match="coincide"):
            trials[0].best()
    trials = Trials()
    for a, loss in enumerate((np.nan, 0.5, 0.5, np.inf)):
        trials.add({"a": a}, loss)
    best = trials.best()
    assert (best.options, best.loss, best.tried) == ({"a": 1}, 0.5, 4)
    assert best.failures == ("the loss is nan", "the loss is inf")


@pytest.mark.parametrize("cls", [JDL, CME])
def test_a_looser_tolerance_is_fitted_with_columns_of_the_tightest(cls, rows, monkeypatch):
    looser = cls(1.0, 0.8, 1e-4, tolerance=1e-1, constrained=True)
    expected = clone(looser).fit(*rows)
    factors, plain = [], jdl_gaussian.pivoted_cholesky

    def counted(kernel, points, tolerance, **options):
        factors.append((len(points), tolerance))
        return plain(kernel, points, tolerance, **options)

    monkeypatch.setattr(jdl_gaussian, "pivoted_cholesky", counted)
    bases = Bases(*rows, tightest=1e-3)
    model, tight = bases.fit(looser).model, bases.fit(cls(1.0, 0.8, 1e-4, tolerance=1e-3)).model
    assert factors == [(60, 1e-3)] * 2
    assert (model.rank_x_, model.rank_y_) == (expected.rank_x_, expected.rank_y_)
    assert model.rank_x_ < tight.rank_x_
    np.testing.assert_allclose(model.objective_, expected.objective_, rtol=1e-9)
    np.testing.assert_allclose(model.weights(rows[0]), expected.weights(rows[0]), atol=1e-9)
    assert model.basis_x_.factor.trace_error == expected.basis_x_.factor.trace_error


@pytest.fixture(scope="module", params=["JDL", "CME"])
def done(request, launch):
    job = JOB | {"method": request.param, "tolerances": (1e-3, 1e-1)}
    done = launch(Moments, **job)
    return CLASSES[request.param], done.frame, done.info


@pytest.mark.parametrize("constrained", [False, True])
def test_moments_by_hand(constrained, done):
    """Point by point, from a model fitted anew with what was chosen."""
    cls, frame, info = done
    place = {"tolerance": 1e-3, "constrained": constrained}
    chosen = info["chosen"][int(constrained)]
    assert {name: chosen[name] for name in place} == place
    law = made_up.gaussian_random_pairs(2, 0)
    X, Y = (rows[:120] for rows in made_up.gaussian_training_pairs(law, 150, 0))
    model = cls(**chosen["chosen"]["options"], **place, random_state=0).fit(X, Y)
    losses, masses, violations, independent = [], [], [], []
    mean = np.mean([np.outer(y, y) for y in Y], axis=0)
    for x in made_up.gaussian_held_out_pairs(law, 0, 40)[0]:
        T = law.conditional_second_moment(x[None])[0]
        found = model.conditional_moments(x[None])[1][0]
        losses.append(np.sum((found - T) ** 2) / np.sum(T**2))
        independent.append(np.sum((mean - T) ** 2) / np.sum(T**2))
        one = model.conditional_expectation(lambda Y: np.ones((len(Y), 1)), x[None])
        masses.append(abs(one.item() - 1))
        violations.append(np.linalg.eigvalsh(found)[0] < 0)
    for metric, expected in (
        (names.SECOND_MOMENT_LOSS, np.mean(losses)),
        (names.PSD_VIOLATION_RATE, np.mean(violations)),
        (names.INDEPENDENCE_LOSS, np.mean(independent)),
        (names.CANONICAL_CORRELATION, law.canonical_correlation),
        ("rank_x", model.rank_x_),
    ):
        assert values(frame, metric, **place, **LAW)[0] == pytest.approx(expected, rel=1e-6)
    worst = values(frame, names.NORMALISATION_ERROR, **place, **LAW)
    assert worst[0] == pytest.approx(np.max(masses), rel=1e-5, abs=1e-12)
    # A joint distribution is normalised and an embedding is not.
    assert (worst.max() < 1e-10) == (cls is JDL) or constrained


def test_a_solver_that_stops_early_is_a_failed_row(launch, monkeypatch):
    plain = JDL._fit_summary

    def failing(self, *given):
        if self.constrained:
            raise FloatingPointError("the dual stopped early")
        return plain(self, *given)

    monkeypatch.setattr(JDL, "_fit_summary", failing)
    frame, _, info, _ = launch(Moments, **JOB, method="JDL")
    bad = frame[frame["status"] == "failed"]
    assert bad["split"].tolist() == [0, 1]
    assert set(bad["metric"]) == {names.SECOND_MOMENT_LOSS}
    assert all("the dual stopped early" in detail for detail in bad["detail"])
    place = {"tolerance": 1e-3, "constrained": False}
    assert len(values(frame, names.SECOND_MOMENT_LOSS, **place, **LAW)) == 2
    assert [each["chosen"] is None for each in info["chosen"]] == [False, True] * 2


def test_matrices_that_are_not_positive_semi_definite_are_counted():
    job = Moments(**JOB | {"test_rows": 4}, method="JDL")
    matrices = [[1, 0, 0, 1], [1, 2, 2, 1], [1, 1, 1, 1], [0, 0, 0, 0]]
    found = np.column_stack([matrices, [1.0, 0.5, 1.0, 1.2]])
    metrics = {name: value for name, value, _ in job.judged(job.repetition(0), found)}
    # The third is singular and the fourth is zero: rounding is not a violation.
    assert metrics[names.PSD_VIOLATION_RATE] == 0.25
    assert metrics[names.NORMALISATION_ERROR] == 0.5


def loss_by_hand(probability, event):
    """Equation (41)."""
    right = np.where(event, probability, 1.0 - probability)
    return -np.log(np.clip(right, 1e-12, 1.0)).mean()


def test_the_loss_is_that_of_the_paper_outside_the_unit_interval_too():
    probability = np.array([0.3, 0.3, -0.2, -0.2, 1.4, 1.4, 0.0, 1.0])
    event = np.array([0, 1, 0, 1, 0, 1, 1, 0])
    found = names.logistic_loss(probability, event)
    assert found == pytest.approx(loss_by_hand(probability, event))


@pytest.mark.parametrize("method", CLASSES)
def test_probabilities_by_hand(method, smoke, launch):
    job = DAYS | {"method": method, "estimator": CLASSES[method].__name__}
    frame, _, info, _ = launch(Portfolio, **job)
    here = Portfolio(**job, data_dir=smoke[0], catalogue=smoke[1]).repetition(0)
    # The event is one day in a hundred: of 300 the third smallest sum.
    assert here.source == np.sort(here.Y[:, 0])[2]
    assert here.f(here.Y).sum() == 3
    model = CLASSES[method](**info["chosen"][0]["chosen"]["options"], max_rank=30)
    if method == "KLR":
        labels = here.f(here.Y)[:240, 0]
        probability = model.fit(here.X[:240], labels).predict_proba(here.X_test)[:, 1]
    else:
        model.fit(here.X[:240], here.Y[:240])
        probability = model.conditional_probability(here.f, here.X_test)
    event = here.f(here.Y_test)[:, 0]
    place = {"tolerance": 1e-3, "constrained": False}
    for metric, expected in (
        (names.LOGISTIC_LOSS, loss_by_hand(probability, event)),
        (names.BASE_RATE_LOSS, loss_by_hand(np.full(90, 0.01), event)),
        (names.NEGATIVE_PROBABILITY_RATE, np.mean(probability < 0)),
    ):
        assert values(frame, metric, **place)[0] == pytest.approx(expected, rel=1e-6)
    if method == "JDL":
        tight = values(frame, names.NEGATIVE_PROBABILITY_RATE, **place | {"constrained": True})
        assert (tight == 0).all()


def test_the_penalty_of_a_summed_loss_grows_with_the_rows(launch, monkeypatch):
    fitted, plain = [], Bases.fit_classifier

    def recorded(self, model, labels):
        fitted.append(model.regularization)
        return plain(self, model, labels)

    monkeypatch.setattr(Bases, "fit_classifier", recorded)
    job = DAYS | {"method": "KLR", "estimator": "KernelLogisticRegression", "repetitions": 1}
    info = launch(Portfolio, **job, tuning_rows=200).info
    chosen = info["chosen"][0]["chosen"]["options"]["regularization"]
    assert fitted == [pytest.approx(1.5 * chosen)]
