"""Settings of jax: the CPU, with as many threads as numerical libraries may use.

XLA takes as many threads as there are processors, regardless of OMP_NUM_THREADS; on the CPU it
obeys NPROC. Here NPROC is what OMP_NUM_THREADS says, 1 by default, unless it is set itself; it
must be set before the first computation on jax. Unless JAX_PLATFORMS says otherwise training is on
the CPU, so that results do not depend on whether there is a GPU that jax can use.

With JAX_PLATFORMS=cuda it is on the GPU, which cupy may want too: jax then takes memory as it needs
it, not three quarters of the card at once, and multiplies float32 in float32, where its own default
is the card's TensorFloat-32 with 10 of the 23 bits. Both can be set otherwise in jax's own
variables, XLA_PYTHON_CLIENT_PREALLOCATE and JAX_DEFAULT_MATMUL_PRECISION.
"""

import os

import jax

CPU = "cpu"


def configure() -> None:
    """Set threads, platform, memory and precision; call it before the first computation."""
    os.environ.setdefault("NPROC", os.environ.get("OMP_NUM_THREADS", "1"))
    # jax reads it with the first computation, not when it is imported.
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    if jax.config.jax_platforms is None:
        jax.config.update("jax_platforms", CPU)
    # The CPU has no TensorFloat-32; without the setting its programs stay identical.
    if jax.config.jax_platforms != CPU and jax.config.jax_default_matmul_precision is None:
        jax.config.update("jax_default_matmul_precision", "float32")
