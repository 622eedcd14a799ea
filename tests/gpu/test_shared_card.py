"""JAX and cupy on one card, in one process: neither takes the memory of the other."""

import importlib.util
import os
import subprocess
import sys

import pytest

from devices import ON_GPU

pytestmark = ON_GPU

_PLUGINS = ("jax_cuda12_plugin", "jax_cuda13_plugin")

# A process of its own: which platform JAX computes on is settled once for all in the first.
_PROGRAM = """
import cupy, jax, numpy as np
from kcde.arrays import asarray, to_numpy
from kcde.estimators._shared.batch_fit import configure

configure()
values = np.random.default_rng(0).standard_normal((2000, 2000))
ours = asarray(values, "cupy")
before = to_numpy(ours @ ours)
theirs = jax.numpy.asarray(values)
product = np.asarray(theirs @ theirs)
platform, = {device.platform for device in theirs.devices()}
assert platform == "gpu", platform
np.testing.assert_allclose(product, before, rtol=1e-3, atol=1e-2)
free, total = cupy.cuda.runtime.memGetInfo()
assert free > 0.5 * total, f"{free / total:.0%} of the card is free"
more = asarray(np.ones((4000, 4000)), "cupy")
assert float(more.sum()) == 16e6
np.testing.assert_array_equal(to_numpy(ours @ ours), before)
"""


def test_jax_and_cupy_share_the_card():
    if not any(importlib.util.find_spec(name) for name in _PLUGINS):
        pytest.skip(f"JAX sees no GPU: none of {', '.join(_PLUGINS)} is installed")
    environment = os.environ | {"JAX_PLATFORMS": "cuda"}
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
