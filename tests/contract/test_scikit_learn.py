"""scikit-learn's own checks of every class, and its tools: pipelines, searches, cross-validation.

`JointDensity` is not checked: it takes no x, and every check gives one.
"""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_regressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from contracted import everything, make
from kcde.estimators import Conformal, Stacked, Standardised

EXCEPTIONS = {
    "check_n_features_in_after_fitting": "the error is in words that all methods have",
    "check_complex_data": "refused as `X must be numbers; got an array of complex128`",
    "check_dtype_object": "a dictionary among numbers is a ValueError, as all input that is wrong",
    "check_sample_weight_equivalence_on_dense_data": "y is Y; what is equal is in test_weights.py",
    "check_estimators_empty_data_messages": "X without columns is no error: a density of y alone",
}
"""Checks that every class may fail, with the reason."""

ONE_COLUMN = {"check_supervised_y_2d": "y of one column is y, as everywhere, without a warning"}
OF_CLASSIFIERS = {
    "check_classifiers_regression_target": "a continuous y is refused by its number of classes",
    "check_classifier_not_supporting_multiclass": "three classes are refused in other words",
    "check_fit2d_1sample": "one row is refused as y of one class",
    "check_requires_y_none": "a missing y is refused by its shape",
}
OF_A_CLASS = {
    "KernelLogisticRegression": ONE_COLUMN | OF_CLASSIFIERS,
    "LikelihoodKCEF": ONE_COLUMN,
    "NGBoost": ONE_COLUMN,
    "Conformal": {"check_regressor_multioutput": "intervals are of one y"},
    "Defensive": {"check_regressor_multioutput": "the estimator it has by default is of one y"},
    "QuantileForest": ONE_COLUMN,
    "Stacked": ONE_COLUMN,
}
"""Further checks that a class may fail, with the reason."""
BY_DRAWS = dict.fromkeys(
    ("check_methods_sample_order_invariance", "check_methods_subset_invariance"),
    "the mean is that of draws, which follow on those of the rows before",
)
OF_A_CLASS |= dict.fromkeys(("ConditionalMAF", "ConditionalRealNVP"), BY_DRAWS)

SLOW = ("CDO", "Defensive", "NADE")
"""Many shapes to compile, or many fits; others are slow in every file, see conftest.py."""

OTHERS = {
    "Standardised": Standardised(make("LinearGaussian")),
    "Conformal": Conformal(make("LSCDE")),
    "Stacked": Stacked([make("LSCDE"), make("LinearGaussian")], weights=[0.5, 0.5]),
}
OTHERS["JPDL"] = make("JPDL", degree=1)


@pytest.mark.usefixtures("quickly_compiled")
@pytest.mark.parametrize("estimator", everything(OTHERS, SLOW))
def test_checks_pass_but_for_declared_exceptions(estimator):
    known = EXCEPTIONS | OF_A_CLASS.get(type(estimator).__name__, {})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(estimator, on_fail=None, on_skip=None)
    assert len(results) > 30
    failed = {
        each["check_name"]: str(each["exception"])
        for each in results
        if each["status"] == "failed" and each["check_name"] not in known
    }
    if estimator.tags.unconditional:
        # Every check has an x, which such a density refuses.
        refused = re.compile("must be None|raised ValueError unexpectedly")
        failed = {name: said for name, said in failed.items() if not refused.search(said)}
    assert not failed


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
