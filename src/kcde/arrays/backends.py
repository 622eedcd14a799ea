"""The backends numpy and cupy, transfers between host and device, and the type of numbers."""

import importlib.util
import logging

import numpy as np
from array_api_compat import array_namespace, is_cupy_array

BACKENDS = ("auto", "numpy", "cupy")

log = logging.getLogger(__name__)


def resolve_backend(name: str = "auto") -> str:
    """Return the backend that a setting stands for: "numpy" or "cupy".

    Parameters
    ----------
    name
        "numpy"; "cupy", which insists on a GPU; or "auto", which takes cupy where cupy and a
        CUDA device are there and numpy otherwise, and logs which and why.

    Returns
    -------
    str
        "numpy" or "cupy".

    Raises
    ------
    ValueError
        If `name` is not one of `BACKENDS`.
    RuntimeError
        If "cupy" is asked for and there is no cupy or no CUDA device. There is no fallback.
    """
    if name not in BACKENDS:
        raise ValueError(f"backend must be one of {', '.join(BACKENDS)}; got {name!r}")
    if name == "numpy":
        return name
    obstacle = cupy_obstacle()
    if name == "cupy":
        if obstacle:
            raise RuntimeError(
                f"backend 'cupy' was asked for, but {obstacle}; on a machine with an NVIDIA GPU "
                "run it with `KCDE_ENV=gpu envs/run` (CUDA 12; gpu-cuda13 for 13), and `python -m "
                "kcde info` says what is installed; or set backend: numpy"
            )
        return name
    log.info("backend auto: %s", f"numpy, because {obstacle}" if obstacle else "cupy")
    return "numpy" if obstacle else "cupy"


def asarray(values, backend: str = "numpy"):
    """Return `values` as a float64 array of the backend ("numpy" or "cupy")."""
    if backend == "numpy":
        return np.asarray(values, dtype=np.float64)
    import cupy

    return cupy.asarray(values, dtype=cupy.float64)


def as_floating(array):
    """Return an array of floating-point numbers as it is, one of other numbers in float64."""
    xp = array_namespace(array)
    return array if xp.isdtype(array.dtype, "real floating") else xp.astype(array, xp.float64)


def to_numpy(array) -> np.ndarray:
    """Return an array of any namespace as a numpy array on the host."""
    if is_cupy_array(array):
        return array.get()
    return np.asarray(array)


def device_description(backend: str) -> str:
    """Return the device a backend computes on, in words."""
    if backend == "numpy":
        return "CPU"
    import cupy

    return cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)["name"].decode()


def devices() -> list[str]:
    """Return the names of the CUDA devices that cupy sees."""
    import cupy

    runtime = cupy.cuda.runtime
    numbers = range(runtime.getDeviceCount())
    return [runtime.getDeviceProperties(number)["name"].decode() for number in numbers]


def on_device(array) -> bool:
    """Return whether an array is on a device: each number that the host reads is waited for."""
    return is_cupy_array(array)


def free_device_bytes() -> int:
    """Return the bytes that cupy can still give out on the current device.

    Memory that its pool holds free counts as free; a limit set on the pool applies.
    """
    import cupy

    pool = cupy.get_default_memory_pool()
    free = cupy.cuda.runtime.memGetInfo()[0] + pool.free_bytes()
    limit = pool.get_limit()
    return min(free, limit - pool.used_bytes()) if limit else free


def cupy_obstacle() -> str | None:
    """Return why cupy cannot be used, or None where it can."""
    if importlib.util.find_spec("cupy") is None:
        return "cupy is not installed"
    try:
        import cupy
    except Exception as error:
        # A partial installation may raise any error from its compiled libraries.
        return f"cupy cannot be imported ({type(error).__name__}: {error})"
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return f"CUDA answers {error}"
    return None if count else "there is no CUDA device"
