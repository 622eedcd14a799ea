"""What importing the package and its estimators imports, and where jax computes."""

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
# What jax itself makes of the variables, read where it reads them when it starts on a GPU.
_ASK = """
import kcde.estimators._networks.flows
import jax
from jaxlib.xla_client import generate_pjrt_gpu_plugin_options
print(jax.config.jax_platforms)
print(generate_pjrt_gpu_plugin_options().get("preallocate"))
print(jax.config.jax_default_matmul_precision)
print(jax._src.xla_bridge.backends_are_initialized())
"""
_LEARN = """
import os, sys
from kcde.estimators import estimator_class
[estimator_class(name) for name in ("NADE", "DDE", "ConditionalMAF", "KCEF")]
print(*sys.modules)
import jax
jax.numpy.ones(3).sum().block_until_ready()
names = [open(f"/proc/self/task/{task}/comm").read() for task in os.listdir("/proc/self/task")]
print(sum("XLAEigen" in name for name in names))
"""


def said(code, **variables):
    """Return the words that a process of its own prints."""
    environment = {"PYTHONPATH": os.pathsep.join(sys.path)} | variables
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_importing_every_estimator_imports_no_heavy_package():
    found = set(said(f"{IMPORT_ALL}\nprint(*sys.modules)"))
    assert set(kcde.LAZY.values()) <= found
    assert not found & HEAVY


def test_a_wrong_name_of_an_estimator_is_answered_with_the_nearest():
    with pytest.raises(ValueError, match=r"did you mean `KCEF`\?"):
        estimators.estimator_class("KCFE")
    for module in (kcde, estimators):
        with pytest.raises(AttributeError, match="no attribute 'kcfe'"):
            module.kcfe  # noqa: B018


@pytest.mark.nightly
def test_training_is_on_the_cpu_or_shares_the_gpu_in_float32_and_the_user_decides():
    assert said(_ASK) == ["cpu", "False", "None", "False"]
    assert said(_ASK, JAX_PLATFORMS="cuda") == ["cuda", "False", "float32", "False"]
    own = {"XLA_PYTHON_CLIENT_PREALLOCATE": "true", "JAX_DEFAULT_MATMUL_PRECISION": "tensorfloat32"}
    assert said(_ASK, JAX_PLATFORMS="cuda", **own)[1:3] == ["True", "tensorfloat32"]


@pytest.mark.skipif(sys.platform != "linux", reason="counts threads in /proc")
def test_a_class_has_all_that_its_fits_import_and_xla_the_threads_of_other_numerics():
    """Experiments time fits and measure their memory; imports are no part of either."""
    *found, threads = said(_LEARN, OMP_NUM_THREADS="3")
    assert {"jax", "optax", "flowjax", "numba", "scipy.optimize"} <= set(found)
    assert threads == "3"
