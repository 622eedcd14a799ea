"""Examination of cupy and JAX, each in a process of its own.

Their libraries may be incomplete, crash, or hang in a driver; then only that process ends.
`python -m kcde.doctor.probe cupy` writes a line of JSON.
"""

import json
import logging
import os
import subprocess
import sys

PATIENCE = 60
"""Seconds to wait for a process: the first computation on a GPU compiles its kernels."""


def start(topic: str) -> subprocess.Popen:
    """Start the process that examines "cupy" or "jax", which may use all its platforms."""
    own = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false", "TF_CPP_MIN_LOG_LEVEL": "3"}
    inherited = {key: value for key, value in os.environ.items() if key != "JAX_PLATFORMS"}
    return subprocess.Popen(
        [sys.executable, "-m", __name__, topic],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=inherited | own,
    )


def answer(process: subprocess.Popen, patience: float = PATIENCE) -> dict:
    """Return what a process has found; `error` if it failed."""
    try:
        out, err = process.communicate(timeout=patience)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return {"error": f"no answer within {patience:g} s"}
    lines = out.splitlines()
    if process.returncode == 0 and lines:
        return json.loads(lines[-1])
    said = err.strip().splitlines()
    return {"error": said[-1] if said else f"the process ended with code {process.returncode}"}


def about_cupy() -> dict:
    """Return which backend `backend: auto` selects and why, and whether the device computes.

    Returns
    -------
    dict
        `auto`, the backend; `obstacle`, why cupy cannot be used, None if it can; then also
        `device` and `free_bytes`.
    """
    from kcde import arrays
    from kcde.memory import free_bytes

    said = _Said()
    logging.getLogger(arrays.__name__).addHandler(said)
    logging.getLogger(arrays.__name__).setLevel(logging.INFO)
    auto = arrays.resolve_backend("auto")
    if auto != "cupy":
        return {"auto": auto, "obstacle": said.reason or "cupy cannot be used here"}
    try:
        _compute(arrays)
        return {
            "auto": auto,
            "obstacle": None,
            "device": arrays.device_description("cupy"),
            "free_bytes": free_bytes(arrays.asarray([0.0], "cupy")),
        }
    except Exception as error:
        return {"auto": auto, "obstacle": f"a small computation fails ({_in_a_line(error)})"}


def about_jax() -> dict:
    """Return JAX's version and every device that it finds."""
    import jax

    devices = jax.devices()
    return {
        "version": jax.__version__,
        "devices": [device.device_kind for device in devices],
        "platforms": sorted({device.platform for device in devices}),
    }


def _compute(arrays) -> None:
    """Solve a small system on the device, which needs its compiler, its BLAS and its LAPACK."""
    import numpy as np

    distances = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
    solutions = []
    for backend in ("numpy", "cupy"):
        gram = arrays.exp_of_negative(arrays.asarray(-distances, backend))
        lower = arrays.cholesky(gram, 1.0)
        right = arrays.asarray(np.ones(4), backend)
        solutions.append(arrays.to_numpy(arrays.solve_triangular(lower, right)))
    if not np.allclose(*solutions, rtol=1e-12):
        raise ArithmeticError("its result is not the CPU's")


class _Said(logging.Handler):
    """Keeps the reason that `resolve_backend` logs if it does not select cupy."""

    reason = ""

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the text after `because`."""
        self.reason = record.getMessage().partition("because ")[2] or self.reason


def _in_a_line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]


if __name__ == "__main__":
    found = {"cupy": about_cupy, "jax": about_jax}[sys.argv[1]]()
    print(json.dumps(found))
