"""What is measured on: its name, and keeping within its memory."""

import platform
from pathlib import Path

from kcde.arrays import asarray, device_description
from kcde.memory import free_bytes

_SHARE = 0.9
"""Of the memory free that may be taken."""


def device(backend: str) -> str:
    """Return what is measured on, in words."""
    if backend != "numpy":
        return device_description(backend)
    names = Path("/proc/cpuinfo")
    lines = names.read_text().splitlines() if names.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()


def allowance(backend: str) -> int:
    """Return the bytes that may be taken, and let an allocation beyond them fail on the host.

    Linux would grant it, and end the process when the memory is used. A device refuses by itself.
    """
    free = int(_SHARE * free_bytes(asarray([0.0], backend)))
    taken = Path("/proc/self/statm")
    if backend == "numpy" and taken.exists():
        import resource

        held = int(taken.read_text().split()[0]) * resource.getpagesize()
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        resource.setrlimit(resource.RLIMIT_AS, (held + free, hard))
    return free
