"""Fixtures that several test files share."""

import gc
import os
import sys

import array_api_strict
import numpy as np
import pytest
import threadpoolctl

import kcde
from contracted import some_pairs
from kcde import cli
from kcde.arrays import cupy_obstacle, to_numpy
from kcde.data import catalogue, fetch
from kcde.data.smoke import write_smoke_data
from kcde.estimators import estimator_names

_GPU = pytest.param("cupy", marks=pytest.mark.gpu)

# As the jobs of the workflow: with `-n` there are as many processes as cores.
threadpoolctl.threadpool_limits(1)


def pytest_configure(config):
    """Keep what XLA compiles, for other workers and the next run: the same program, the same bits.

    JAX knows a program by itself, its version and its flags; `--cache-clear` forgets all.
    """
    gc.disable()  # till all is imported, which leaves no garbage
    if config.pluginmanager.hasplugin("cacheprovider"):
        os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(config.cache.mkdir("xla")))
        os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.3")


def pytest_collection_modifyitems(items):
    """Begin with the files that take longest, those that run Snakemake: few wait for the last."""
    items.sort(key=lambda item: item.get_closest_marker("workflow") is None)
    gc.freeze()
    gc.enable()


OWN_UNITS = {"estimators", "experiments", "numerics", "gpu"}
"""Folders whose tests know formulas and arrays of the rows that they give."""


def pytest_runtest_setup(item):
    """Let estimators of these tests see rows as they are, all others as a user's do.

    What needs a GPU is skipped where there is none.
    """
    obstacle = cupy_obstacle() if item.get_closest_marker("gpu") else None
    if obstacle:
        pytest.skip(obstacle)
    for name in (*estimator_names(), "Stacked"):
        defaults = getattr(kcde, name).__init__.__kwdefaults__
        defaults["standardize"] = item.path.parent.name not in OWN_UNITS


def _refuse(array, *_args, **_keywords):
    """Refuse what cupy refuses: to become a numpy array unless `to_numpy` asks."""
    if sys._getframe(1).f_code is to_numpy.__code__:
        return array._array
    raise TypeError("implicit conversion to a numpy array is not allowed: use to_numpy")


@pytest.fixture
def strict(monkeypatch):
    """The strict namespace, whose arrays stay off the host as those on a device do."""
    kind = type(array_api_strict.zeros(1))
    monkeypatch.setattr(kind, "__array__", _refuse)
    # Since Python 3.12 numpy asks for a buffer first, and falls back on `__array__`.
    monkeypatch.delattr(kind, "__buffer__")
    return array_api_strict


def _namespace(request):
    is_strict = request.param == "strict"
    return request.getfixturevalue("strict") if is_strict else pytest.importorskip(request.param)


@pytest.fixture(params=["numpy", "strict", _GPU])
def xp(request):
    return _namespace(request)


@pytest.fixture(params=["strict", _GPU])
def other_xp(request):
    return _namespace(request)


@pytest.fixture(scope="session")
def raw_data():
    """A folder with the real raw data but PEMS-SF, from the bundled copies: no network is asked."""
    bundled = [entry.name for entry in catalogue.read().values() if entry.bundled]
    with fetch.bundled_files(*bundled) as folder:
        yield folder


@pytest.fixture(scope="session")
def smoke(tmp_path_factory):
    """The folder of the smoke data, with its catalogue."""
    folder = tmp_path_factory.mktemp("smoke")
    return folder, write_smoke_data(folder)


@pytest.fixture
def call(capsys):
    """Return a function that runs a command: its exit code, what it says, and its error."""

    def run(*words):
        with pytest.raises(SystemExit) as finished:
            cli.main([str(word) for word in words])
        said = capsys.readouterr()
        return finished.value.code, said.out, said.err

    return run


@pytest.fixture(scope="module")
def quickly_compiled():
    """XLA leaves out optimisations: what is fitted takes longer to compile than to run."""
    import jax

    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


@pytest.fixture
def rng():
    return np.random.default_rng(20180416)


@pytest.fixture
def pairs(rng):
    return some_pairs(rng)


@pytest.fixture
def many(rng):
    """The rows of jdl's estimators and of the embeddings that they are compared with."""
    X = rng.standard_normal((600, 2))
    return X, np.hstack([X[:, :1] * X[:, 1:], X[:, :1]]) + 0.5 * rng.standard_normal((600, 2))
