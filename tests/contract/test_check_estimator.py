"""scikit-learn's own checks of every class, with what they ask for and is refused on purpose.

`JointDensity` is not among them: it takes no x, and every check gives one.
"""

import re
import warnings

import pytest
from sklearn.utils.estimator_checks import check_estimator

from contracted import make
from kcde.estimators import Conformal, Standardised, estimator_names

EXCEPTIONS = {
    "check_n_features_in_after_fitting": "the error names X, its shape and what fit had, in words "
    "that all methods of all estimators have",
    "check_complex_data": "refused as `X must be numbers; got an array of complex128`",
    "check_dtype_object": "a dictionary among numbers is a ValueError with the name of the "
    "argument, as all input that is wrong, not a TypeError",
    "check_estimators_empty_data_messages": "X without columns is no error: a density of y alone",
}
"""Checks that every class may fail, with the reason."""

ONE_COLUMN = {"check_supervised_y_2d": "y of one column is y, as everywhere, without a warning"}
OF_A_CLASS = {
    "KernelLogisticRegression": ONE_COLUMN
    | {
        "check_classifiers_regression_target": "a continuous y is refused by the number of its "
        "classes",
        "check_classifier_not_supporting_multiclass": "three classes are refused in other words",
        "check_fit2d_1sample": "one row is refused as y of one class",
        "check_requires_y_none": "a missing y is refused by its shape",
    },
    "DDE": {
        "check_estimators_pickle": "its networks hold functions that JAX makes, which have no name",
    },
    "LikelihoodKCEF": ONE_COLUMN,
    "NGBoost": ONE_COLUMN,
    "Conformal": {"check_regressor_multioutput": "intervals are of one y"},
    "Defensive": {"check_regressor_multioutput": "the estimator it has by default is of one y"},
    "QuantileForest": ONE_COLUMN
    | {"check_estimators_pickle": "the library's trees cannot be read from read-only memory"},
}
"""Further checks that a class may fail, with the reason."""
BY_DRAWS = dict.fromkeys(
    ("check_methods_sample_order_invariance", "check_methods_subset_invariance"),
    "the mean is that of draws, which follow on those of the rows before",
)
OF_A_CLASS |= dict.fromkeys(("ConditionalMAF", "ConditionalRealNVP"), BY_DRAWS)

SLOW = ("CDO", "Defensive", "NADE")
"""Many shapes to compile, or many fits; others are slow in every file, see conftest.py."""


def everything():
    every = {name: make(name, fewer=True) for name in estimator_names()}
    every["JPDL"] = make("JPDL", degree=1)
    every |= {kind.__name__: kind(make("LSCDE")) for kind in (Standardised, Conformal)}
    return [
        pytest.param(estimator, id=name, marks=[pytest.mark.nightly] * (name in SLOW))
        for name, estimator in every.items()
    ]


@pytest.mark.usefixtures("quickly_compiled")
@pytest.mark.parametrize("estimator", everything())
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
