"""Estimators are scikit-learn's, although importing them does not import scikit-learn."""

import subprocess
import sys

import pytest

HEAVY = {"sklearn", "pandas", "joblib", "scipy.stats", "scipy.optimize", "matplotlib", "jax"}

DEFINED = """
from kcde.estimators._shared.scikit_learn import Estimator
class Weighted(Estimator):
    def __init__(self, width=1.0):
        self.width = width
    def fit(self, X, Y, sample_weight=None):
        return self
"""


def run(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_an_estimator_imports_numpy_and_scipy_alone():
    loaded = run(
        f"import sys; from kcde.estimators import KCEF, KEF\nprint(*{HEAVY} & set(sys.modules))"
    )
    assert loaded.split() == []


PROMISES = (
    "isinstance(KCEF(), sklearn.base.BaseEstimator)",
    "KCEF() and issubclass(KCEF, sklearn.base.BaseEstimator)",
    "sklearn.base.clone(KCEF(tuning_rows=7)).tuning_rows == 7",
    "repr(KCEF(tuning_rows=7)) == 'KCEF(tuning_rows=7)'",
    "'folds' in KCEF._get_param_names()",
    "KCEF().set_params(folds=3).get_params()['folds'] == 3",
    "pickle.loads(pickle.dumps(KCEF(folds=3))).folds == 3",
    "copy.deepcopy(KCEF(folds=3)).folds == 3",
    "sklearn.utils.get_tags(KCEF()).requires_fit",
    "'<style' in KCEF()._repr_html_()",
    "Weighted().set_fit_request(sample_weight=True).get_metadata_routing().fit.requests"
    " == {'sample_weight': True}",
)

EACH_ALONE = f"""
import os, traceback
for promise in {PROMISES!r}:
    child = os.fork()
    if not child:
        try:
            assert eval(promise), promise
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, promise
"""
"""In processes of their own, since the first use of a class prepares it."""


@pytest.mark.parametrize("first", ["", "import sklearn.base\n"], ids=["kcde", "sklearn"])
def test_conventions_hold_whichever_is_imported_first(first):
    routing = "sklearn.set_config(enable_metadata_routing=True)\n"
    imported = "import copy, pickle, sklearn.base, sklearn.utils\n"
    known = "from kcde.estimators import KCEF\n" + DEFINED
    run(f"{first}{known}{imported}{routing}{EACH_ALONE}")


def test_an_instance_alone_brings_the_base_class():
    """What is unpickled elsewhere, or made before scikit-learn is imported, is an estimator too."""
    run(
        "import pickle; from kcde.estimators import KCEF\n"
        "kept = pickle.dumps(KCEF(folds=3)); model = pickle.loads(kept)\n"
        "from sklearn.base import BaseEstimator\n"
        "assert isinstance(model, BaseEstimator) and model.get_params()['folds'] == 3"
    )


def test_a_class_that_is_defined_later_is_prepared_as_well():
    run(
        "from kcde.estimators import KCEF; KCEF()\n" + DEFINED + "\n"
        "import sklearn; sklearn.set_config(enable_metadata_routing=True)\n"
        "assert Weighted().set_fit_request(sample_weight=True)"
    )


def test_a_class_by_its_name_has_all_that_its_fits_import():
    """Experiments time fits and measure their memory; imports are no part of either."""
    run(
        "import sys; from kcde.estimators import estimator_class; cls = estimator_class('KCEF')\n"
        "from sklearn.base import BaseEstimator\n"
        "assert issubclass(cls, BaseEstimator) and 'scipy.optimize' in sys.modules"
    )
