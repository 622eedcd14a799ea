"""GPUs, and the two libraries that compute on them, cupy and JAX."""

import importlib.metadata
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kcde.doctor.findings import HINT, OK, PROBLEM, Finding
from kcde.doctor.machine import gigabytes

GPU_FILES = (
    "KCDE_ENV=gpu envs/run COMMAND (CUDA 12, NVIDIA driver 525 or newer), or in an environment of "
    "your own pip install -r envs/gpu.txt; for CUDA 13 (driver 580 or newer) gpu-cuda13 instead"
)
_QUERY = "name,memory.total,memory.free,driver_version"


@dataclass(frozen=True)
class Card:
    """A GPU as NVIDIA's driver describes it; memory in bytes, None if unknown."""

    name: str
    total: int | None
    free: int | None
    driver: str


def cards(query: str) -> list[Card]:
    """Read the answer of `nvidia-smi --query-gpu=name,memory.total,memory.free,driver_version`.

    Parameters
    ----------
    query
        A line for each card, as CSV without units; memory in MiB.
    """
    found = []
    for line in query.splitlines():
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) == 4:
            found.append(Card(cells[0], _bytes(cells[1]), _bytes(cells[2]), cells[3]))
    return found


def ask_driver() -> tuple[list[Card], str | None, str]:
    """Return the cards, the newest CUDA that the driver supports, and why there are none."""
    if shutil.which("nvidia-smi") is None:
        return [], None, "there is no nvidia-smi, which comes with NVIDIA's driver"
    listed, refused = _run("nvidia-smi", f"--query-gpu={_QUERY}", "--format=csv,noheader,nounits")
    found = cards(listed)
    if not found:
        return [], None, refused or "nvidia-smi lists no card"
    newest = re.search(r"CUDA(?: \w+)? Version:\s*([\d.]+)", _run("nvidia-smi")[0])
    return found, newest.group(1) if newest else None, ""


def gpus(
    found: list[Card],
    newest_cuda: str | None,
    reason: str,
    environment: Mapping[str, str] = os.environ,
) -> list[Finding]:
    """Return one finding for each card, or one with the reason why there is none.

    Parameters
    ----------
    found, newest_cuda, reason
        What `ask_driver` returned.
    environment
        Environment variables, among which CUDA_VISIBLE_DEVICES may be.
    """
    if not found:
        return [Finding("GPU", f"none: {reason}", facts={"driver": None})]
    visible = environment.get("CUDA_VISIBLE_DEVICES")
    chosen = "" if visible is None else f", CUDA_VISIBLE_DEVICES={visible}"
    return [
        Finding(
            f"GPU {number}",
            f"{card.name}, {_size(card.total)}, {_size(card.free)} free; driver {card.driver}"
            f" (CUDA up to {newest_cuda or 'unknown'}){chosen}",
            facts={
                "name": card.name,
                "bytes": card.total,
                "free_bytes": card.free,
                "driver": card.driver,
                "cuda": newest_cuda,
            },
        )
        for number, card in enumerate(found)
    ]


def installed(prefix: str) -> dict[str, str]:
    """Return the versions of all installed packages whose names start with a prefix."""
    names = (
        (each.metadata["Name"] or "", each.version) for each in importlib.metadata.distributions()
    )
    return {name: version for name, version in names if name.lower().startswith(prefix)}


def cupy(found: Mapping[str, str], runtime: Mapping[str, str], said: Mapping) -> Finding:
    """Return which cupy is installed and whether it computes; two of them conflict.

    Parameters
    ----------
    found, runtime
        Installed packages of cupy and of the CUDA runtime: names and versions.
    said
        The answer of `probe.about_cupy`.
    """
    obstacle = said.get("error") or said.get("obstacle")
    facts = {"packages": dict(found), "cuda_runtime": dict(runtime), "obstacle": obstacle}
    names = ", ".join(f"{name} {version}" for name, version in found.items())
    libraries = ", ".join(f"{name} {version}" for name, version in runtime.items())
    if len(found) > 1:
        remedy = f"pip uninstall {' '.join(found)}, then {GPU_FILES}"
        return Finding("cupy", f"several: {names}", PROBLEM, remedy, facts)
    if not found and said.get("auto") == "numpy":
        return Finding("cupy", obstacle.removeprefix("cupy is "), facts=facts)
    value = f"{names or 'of unknown origin'}, CUDA runtime {libraries or 'of the system'}"
    return Finding("cupy", f"{value}; {obstacle or 'computes'}", facts=facts)


def jax(said: Mapping) -> Finding:
    """Return JAX's version and devices; NADE, DDE and the flows need it.

    Parameters
    ----------
    said
        The answer of `probe.about_jax`.
    """
    if "error" in said:
        remedy = "NADE, DDE and the flows need JAX: envs/run COMMAND has it"
        value = f"cannot be used ({said['error']})"
        return Finding("JAX", value, PROBLEM, remedy, dict(said))
    devices = ", ".join(dict.fromkeys(said["devices"]))
    return Finding("JAX", f"{said['version']}; devices {devices}", facts=dict(said))


def backend(wanted: str, said: Mapping, any_card: bool) -> Finding:
    """Return which backend the kernel methods will use, and why.

    Parameters
    ----------
    wanted
        "auto", "numpy" or "cupy".
    said
        The answer of `probe.about_cupy`.
    any_card
        Whether the driver lists a GPU.
    """
    obstacle = said.get("error") or said.get("obstacle")
    facts = {"wanted": wanted}
    if wanted == "numpy":
        return Finding("backend", "numpy, as asked for", facts=facts | {"backend": "numpy"})
    if not obstacle:
        free = gigabytes(said["free_bytes"])
        value = f"cupy on {said['device']}, {free} free"
        return Finding("backend", value, facts=facts | {"backend": "cupy"})
    if wanted == "cupy" or said.get("auto") != "numpy":
        value = f"{wanted} was asked for, but {obstacle}"
        remedy = f"{_remedy(any_card, wanted)}; or set backend: numpy"
        return Finding("backend", value, PROBLEM, remedy, facts | {"backend": None})
    facts |= {"backend": "numpy"}
    if any_card:
        value = f"numpy although there is a GPU, because {obstacle}"
        return Finding("backend", value, HINT, _remedy(any_card, wanted), facts)
    return Finding("backend", f"numpy, because {obstacle}", OK, facts=facts)


def jax_platform(said: Mapping, environment: Mapping[str, str] = os.environ) -> Finding:
    """Return where NADE, DDE and the flows will train.

    The workflow trains on the CPU and ignores JAX_PLATFORMS. Commands run by hand use it, and train
    on the CPU if it is not set.

    Parameters
    ----------
    said
        The answer of `probe.about_jax`.
    environment
        Environment variables, among which JAX_PLATFORMS may be.
    """
    has_gpu = bool({"gpu", "cuda"} & set(said.get("platforms", ())))
    chosen = environment.get("JAX_PLATFORMS")
    value, facts = "cpu", {"platform": "cpu", "by_hand": chosen or "cpu"}
    if not chosen:
        value += "; with JAX_PLATFORMS=cuda commands run by hand train on the GPU" * has_gpu
        return Finding("JAX", value, facts=facts)
    value += f" in the workflow, {chosen} in commands run by hand, from JAX_PLATFORMS"
    if {"gpu", "cuda"} & set(chosen.split(",")) and not has_gpu:
        remedy = "unset JAX_PLATFORMS: JAX finds no GPU"
        return Finding("JAX", value, HINT, remedy, facts)
    return Finding("JAX", value, facts=facts)


def _remedy(any_card: bool, wanted: str) -> str:
    if any_card:
        return f"{GPU_FILES}, in a fresh environment"
    if wanted == "auto":
        return "uninstall cupy: there is no GPU for it"
    return f"use a machine with an NVIDIA GPU and its driver: {GPU_FILES}"


def _bytes(mebibytes: str) -> int | None:
    return int(mebibytes) << 20 if mebibytes.isdecimal() else None


def _size(size: int | None) -> str:
    return "memory unknown" if size is None else gigabytes(size)


def _run(*command: Iterable[str]) -> tuple[str, str]:
    """Return the output of a command, and why it failed."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=15)
    except (OSError, subprocess.TimeoutExpired) as error:
        return "", f"{command[0]} does not answer ({error})"
    if done.returncode:
        said = " ".join((done.stdout + done.stderr).split())
        return "", f"{command[0]} answers {said[:200] or done.returncode}"
    return done.stdout, ""
