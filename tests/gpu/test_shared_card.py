"""JAX and cupy on one card, in one process: neither takes the memory of the other."""

import importlib.util
import os
import subprocess
import sys

import pytest

from devices import ON_GPU

pytestmark = ON_GPU

# A process of its own: which platform JAX computes on is settled once for all in the first.
_PROGRAM = """
import cupy, jax, numpy as np
from kcde.arrays import asarray, to_numpy
from kcde.estimators._networks.flows import configure

configure()
values = np.random.default_rng(0).standard_normal((2000, 2000))
ours, theirs = asarray(values, "cupy"), jax.numpy.asarray(values)
before, product = to_numpy(ours @ ours), np.asarray(theirs @ theirs)
assert {device.platform for device in theirs.devices()} == {"gpu"}
np.testing.assert_allclose(product, before, rtol=1e-3, atol=1e-2)
free, total = cupy.cuda.runtime.memGetInfo()
assert free > 0.5 * total, f"{free / total:.0%} of the card is free"
assert float(asarray(np.ones((4000, 4000)), "cupy").sum()) == 16e6
np.testing.assert_array_equal(to_numpy(ours @ ours), before)
"""


def test_jax_and_cupy_share_the_card():
    if not any(importlib.util.find_spec(f"jax_cuda{n}_plugin") for n in (12, 13)):
        pytest.skip("JAX sees no GPU: it has no plugin")
    environment = os.environ | {"JAX_PLATFORMS": "cuda"}
    subprocess.run([sys.executable, "-c", _PROGRAM], check=True, env=environment)
