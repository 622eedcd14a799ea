"""Where jax computes, and what it takes there; each in a process that has not used jax."""

import json
import os
import subprocess
import sys

# What jax itself makes of the variables, read where it reads them when it starts on a GPU.
_ASK = """
import json
import kcde.estimators._nade.training
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


def test_training_is_on_the_cpu_and_its_programs_are_as_ever():
    assert settings() == ["cpu", False, None, False]


def test_on_a_gpu_memory_is_shared_and_float32_is_float32():
    assert settings(JAX_PLATFORMS="cuda") == ["cuda", False, "float32", False]


def test_the_user_decides():
    variables = {
        "JAX_PLATFORMS": "cuda",
        "XLA_PYTHON_CLIENT_PREALLOCATE": "true",
        "JAX_DEFAULT_MATMUL_PRECISION": "tensorfloat32",
    }
    assert settings(**variables)[1:3] == [True, "tensorfloat32"]
