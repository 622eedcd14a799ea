"""How jax computes here: on the CPU, with as many threads as numerical libraries may take.

XLA takes as many threads as there are processors, whatever OMP_NUM_THREADS says; on the CPU it
obeys NPROC. Here NPROC is what OMP_NUM_THREADS says, 1 by default, unless it is set itself; it
must be set before the first computation on jax. Unless JAX_PLATFORMS says otherwise training is on
the CPU, so that results do not depend on whether there is a GPU that jax can use.
"""

import os

import jax


def configure() -> None:
    """Settle threads and platform; call it before the first computation on jax."""
    os.environ.setdefault("NPROC", os.environ.get("OMP_NUM_THREADS", "1"))
    if jax.config.jax_platforms is None:
        jax.config.update("jax_platforms", "cpu")
