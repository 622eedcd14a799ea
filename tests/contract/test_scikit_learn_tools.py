"""Densities inside scikit-learn's tools: pipelines, searches, cross-validation."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from contracted import QUICK
from kcde.estimators import LSCDE, Conformal, Standardised, estimator_class
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
    search = GridSearchCV(
        Standardised(LSCDE(0.6, 0.5, 0.1)), {"estimator__bandwidth_y": [0.05, 0.5]}, cv=3
    ).fit(X, Y)
    means = search.cv_results_["mean_test_score"]
    assert search.best_params_["estimator__bandwidth_y"] == [0.05, 0.5][np.argmax(means)]
    assert search.best_estimator_.log_density(X, Y).shape == (30,)


def test_a_pipeline_scores_and_its_last_step_has_the_density(pairs):
    X, Y = pairs
    pipeline = make_pipeline(StandardScaler(), LSCDE(0.6, 0.5, 0.1)).fit(X, Y)
    scaled = pipeline[:-1].transform(X)
    log_density = pipeline[-1].log_density(scaled, Y)
    alone = LSCDE(0.6, 0.5, 0.1).fit(StandardScaler().fit_transform(X), Y)
    np.testing.assert_array_equal(log_density, alone.log_density(scaled, Y))
    assert pipeline.score(X, Y) == pytest.approx(log_density.mean())
    grid = {"lscde__bandwidth_x": [0.3, 0.6]}
    assert GridSearchCV(pipeline, grid, cv=2).fit(X, Y).best_estimator_.score(X, Y) < 0


@pytest.mark.parametrize("wrapper", [Standardised, Conformal])
def test_wrappers_are_cloned_pickled_and_shown(wrapper, pairs):
    model = wrapper(estimator_class("LSCDE")(**QUICK["LSCDE"]))
    assert clone(model).get_params()["estimator__bandwidth_y"] == 0.5
    assert repr(model).startswith(f"{wrapper.__name__}(estimator=LSCDE(")
    model.fit(*pairs)
    kept = pickle.loads(pickle.dumps(model))  # noqa: S301
    np.testing.assert_array_equal(kept.log_density(*pairs), model.log_density(*pairs))
