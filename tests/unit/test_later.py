"""Modules that are imported on first use."""

import subprocess
import sys

import pytest

from kcde.later import later


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module that is not imported yet, by name."""
    (tmp_path / "kcde_test_module.py").write_text("value = 3\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield "kcde_test_module"
    sys.modules.pop("kcde_test_module", None)


def test_a_module_is_imported_when_something_of_it_is_used(module):
    with later(module):
        import kcde_test_module as bound
    assert module not in sys.modules
    assert bound.value == 3
    assert sys.modules[module].value == 3


def test_it_may_be_used_within_the_block(module):
    with later(module):
        import kcde_test_module as bound

        assert bound.value == 3
    assert sys.modules[module].value == 3


def test_an_imported_module_stays(module):
    import kcde_test_module as before

    with later(module):
        import kcde_test_module as within
    assert within is before is sys.modules[module]


def test_a_job_imports_no_scipy_stats():
    code = (
        "import sys; from kcde import estimators; estimators.Standardised; "
        "estimators.estimator_class('LSCDE')(); "
        "print(*({'scipy.stats', 'sklearn.cluster'} & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not ran.stdout.strip()


def test_scikit_learn_still_has_scipy_stats():
    code = (
        "import kcde.scikit_learn, sys; from sklearn.utils import fixes; assert "
        "'scipy.stats' not in sys.modules; fixes.scipy.stats.norm; import scipy.stats; assert "
        "fixes.scipy.stats is scipy.stats is sys.modules['scipy.stats']"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
