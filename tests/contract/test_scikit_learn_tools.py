"""Densities inside scikit-learn's tools: pipelines, searches, cross-validation."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_regressor
from sklearn.compose import TransformedTargetRegressor
from sklearn.inspection import partial_dependence
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from contracted import make
from kcde.estimators import LSCDE, Conformal, Standardised
from kcde.selection import complement, contiguous_folds


def test_cross_val_score_is_the_held_out_mean_log_density(pairs):
    X, Y = pairs
    model = LSCDE(0.6, 0.5, 0.1)
    expected = []
    for held in contiguous_folds(30, 3):
        rest = complement(held, 30)
        expected.append(clone(model).fit(X[rest], Y[rest]).log_density(X[held], Y[held]).mean())
    np.testing.assert_allclose(cross_val_score(model, X, Y, cv=3), expected)


def test_a_search_reaches_parameters_inside_and_the_density_of_the_best(pairs):
    X, Y = pairs
    given = {"estimator__bandwidth_y": [0.05, 0.5]}
    search = GridSearchCV(Standardised(LSCDE(0.6, 0.5, 0.1)), given, cv=3).fit(X, Y)
    means = search.cv_results_["mean_test_score"]
    assert search.best_params_["estimator__bandwidth_y"] == [0.05, 0.5][np.argmax(means)]
    assert search.best_estimator_.log_density(X, Y).shape == (30,)


def test_a_pipeline_of_frames_predicts_and_its_last_step_has_the_density(pairs):
    X, Y = pd.DataFrame(pairs[0], columns=["a", "b"]), pd.Series(pairs[1][:, 0])
    model = make("LikelihoodKCEF")
    pipeline = make_pipeline(StandardScaler(), model).set_output(transform="pandas").fit(X, Y)
    alone, scaled = clone(model).fit(X, Y), pipeline[:-1].transform(X)
    np.testing.assert_allclose(pipeline.predict(X), alone.predict(X), atol=1e-7)
    log_density = pipeline[-1].log_density(scaled, Y)
    np.testing.assert_allclose(log_density, alone.log_density(X, Y), atol=1e-5)
    assert pipeline.score(X, Y) == pytest.approx(log_density.mean())
    assert is_regressor(pipeline)
    assert list(pipeline[-1].feature_names_in_) == ["a", "b"]


def test_regressors_are_scored_by_the_mean_and_drawn_by_partial_dependence(pairs):
    X, Y = pd.DataFrame(pairs[0], columns=["a", "b"]), pd.Series(pairs[1][:, 0])
    model = LSCDE(0.6, 0.5, 0.1)
    expected = [
        r2_score(Y[held], clone(model).fit(X.drop(held), Y.drop(held)).predict(X.loc[held]))
        for held in contiguous_folds(30, 3)
    ]
    np.testing.assert_allclose(cross_val_score(model, X, Y, cv=3, scoring="r2"), expected)
    model.fit(X, Y)
    found = partial_dependence(model, X, ["a"], grid_resolution=5)
    at = X.assign(a=found["grid_values"][0][2])
    assert found["average"][0, 2] == pytest.approx(model.predict(at).mean())
    logs = TransformedTargetRegressor(LSCDE(0.6, 0.5, 0.1), func=np.log, inverse_func=np.exp)
    assert logs.fit(X, np.exp(Y)).predict(X).shape == (30,)


@pytest.mark.parametrize("wrapper", [Standardised, Conformal])
def test_wrappers_are_cloned_pickled_and_shown(wrapper, pairs):
    model = wrapper(make("LSCDE"))
    assert clone(model).get_params()["estimator__bandwidth_y"] == 0.5
    assert repr(model).startswith(f"{wrapper.__name__}(estimator=LSCDE(")
    model.fit(*pairs)
    kept = pickle.loads(pickle.dumps(model))  # noqa: S301
    np.testing.assert_array_equal(kept.log_density(*pairs), model.log_density(*pairs))
