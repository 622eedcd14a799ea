"""What importing the package and its estimators imports, and where jax computes."""

import json
import os
import subprocess
import sys

import pytest

import kcde
from kcde import estimators

HEAVY = {"jax", "optax", "flowjax", "equinox", "cupy", "ngboost", "quantile_forest", "clarabel"}
HEAVY |= {"numba"}
IMPORT_ALL = """
import importlib, sys, kcde, kcde.methods
assert "numpy" not in sys.modules
for module in kcde.LAZY.values():
    importlib.import_module(module)
"""


def loaded(code):
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nprint(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())


def test_importing_every_estimator_imports_no_heavy_package():
    found = loaded(IMPORT_ALL)
    assert set(kcde.LAZY.values()) <= found
    assert not found & HEAVY


def test_a_class_by_its_name_has_all_that_its_fits_import():
    """Experiments time fits and measure their memory; imports are no part of either."""
    found = loaded(
        "import sys; from kcde.estimators import estimator_class as by_name\n"
        "[by_name(name) for name in ('NADE', 'DDE', 'ConditionalMAF', 'KCEF')]"
    )
    assert {"jax", "optax", "flowjax", "numba", "scipy.optimize"} <= found


def test_a_wrong_name_of_an_estimator_is_answered_with_the_nearest():
    with pytest.raises(ValueError, match=r"no estimator 'KCFE' \(did you mean `KCEF`\?\); known: "):
        estimators.estimator_class("KCFE")
    for module in (kcde, estimators):
        with pytest.raises(AttributeError, match="no attribute 'kcfe'"):
            module.kcfe  # noqa: B018


# What jax itself makes of the variables, read where it reads them when it starts on a GPU.
_ASK = """
import json
import kcde.estimators._networks.flows
import jax
from jaxlib.xla_client import generate_pjrt_gpu_plugin_options
print(json.dumps([
    jax.config.jax_platforms,
    generate_pjrt_gpu_plugin_options().get("preallocate"),
    jax.config.jax_default_matmul_precision,
    jax._src.xla_bridge.backends_are_initialized(),
]))
"""


def settings(**variables):
    """Platform, preallocation, precision of products, and whether jax has started, of a process."""
    environment = {"PYTHONPATH": os.pathsep.join(sys.path)} | variables
    command = [sys.executable, "-c", _ASK]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.nightly
def test_training_is_on_the_cpu_or_shares_the_gpu_in_float32_and_the_user_decides():
    assert settings() == ["cpu", False, None, False]
    assert settings(JAX_PLATFORMS="cuda") == ["cuda", False, "float32", False]
    own = {"XLA_PYTHON_CLIENT_PREALLOCATE": "true", "JAX_DEFAULT_MATMUL_PRECISION": "tensorfloat32"}
    assert settings(JAX_PLATFORMS="cuda", **own)[1:3] == [True, "tensorfloat32"]


_COUNT_THREADS = """
import os, kcde.estimators
kcde.estimators.estimator_class("ConditionalMAF")
import jax
jax.numpy.ones(3).sum().block_until_ready()
names = [open(f"/proc/self/task/{task}/comm").read() for task in os.listdir("/proc/self/task")]
print(sum("XLAEigen" in name for name in names))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="counts threads in /proc")
def test_xla_takes_as_many_threads_as_other_numerics():
    environment = {"PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "3"}
    command = [sys.executable, "-c", _COUNT_THREADS]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["3"]
