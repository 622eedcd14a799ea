"""Installed software: the packages that kcde needs, numerical libraries, Snakemake, Slurm."""

import importlib.metadata
import os
import re
import shutil
import sys
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path

from kcde.doctor.findings import HINT, OK, PROBLEM, Finding

INSTALL = (
    "run it as `envs/run COMMAND` (KCDE_ENV=gpu envs/run with an NVIDIA GPU), or pip install -r "
    "envs/cpu.txt (envs/gpu.txt) in an environment of your own, from the checkout"
)
SLURM_COMMANDS = ("sbatch", "squeue", "scancel", "sinfo")


def version_of(package: str) -> str | None:
    """Return the version of an installed package, or None."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def required(project: Path = Path(__file__).parents[3] / "pyproject.toml") -> list[str]:
    """Return the packages that kcde needs, read in its checkout or where it is installed.

    Parameters
    ----------
    project
        File of the checkout, if there is one: an installed copy may be older.
    """
    if project.is_file():
        named = tomllib.loads(project.read_text(encoding="utf-8"))["project"]["dependencies"]
    else:
        named = importlib.metadata.requires("kcde") or []
    return [re.match(r"[\w.-]+", each).group() for each in named if "extra ==" not in each]


def environment(
    prefixes: tuple[str, str] = (sys.prefix, sys.base_prefix),
    variables: Mapping[str, str] = os.environ,
) -> Finding:
    """Return the Python environment, a hint if it is that of the whole system.

    Parameters
    ----------
    prefixes
        Of this Python and of the one that its virtual environment was made from; equal if there is
        none.
    variables
        Environment variables, among which conda's may be.
    """
    prefix, base = prefixes
    conda = variables.get("CONDA_PREFIX", "")
    own = prefix != base or (bool(conda) and Path(prefix) == Path(conda))
    return Finding(
        "environment",
        prefix if own else f"none: the Python of {prefix}, which other software shares",
        OK if own else HINT,
        "" if own else "envs/run COMMAND makes and uses an environment for this project",
        {"prefix": prefix, "own": own},
    )


def packages(version: Callable[[str], str | None] = version_of) -> Finding:
    """Return whether all packages that kcde needs are installed.

    Parameters
    ----------
    version
        Returns the version of a package, None if it is missing.
    """
    names = required()
    missing = [name for name in names if version(name) is None]
    return Finding(
        "packages",
        f"missing: {', '.join(missing)}" if missing else f"all {len(names)} that kcde needs",
        PROBLEM if missing else OK,
        INSTALL if missing else "",
        {"missing": missing, "versions": {name: version(name) for name in names}},
    )


def blas(cores: int, environment: Mapping[str, str] = os.environ) -> Finding:
    """Return the linear algebra libraries of numpy and scipy, and the threads that they use.

    Parameters
    ----------
    cores
        Cores that this process may use.
    environment
        Environment variables, among which OMP_NUM_THREADS and its like may be.
    """
    import scipy.linalg  # noqa: F401  (loads its library, which is then seen)
    from threadpoolctl import threadpool_info

    libraries = [each for each in threadpool_info() if each["user_api"] == "blas"]
    names = {
        f"{each['internal_api']} {each['version']} ({each.get('architecture') or 'generic'})"
        for each in libraries
    }
    named = ", ".join(sorted(names)) or "unknown"
    threads = max((each["num_threads"] for each in libraries), default=1)
    set_by = [f"{key}={environment[key]}" for key in _THREAD_VARIABLES if key in environment]
    said = f" ({', '.join(set_by)})" if set_by else ""
    many = threads > cores
    return Finding(
        "BLAS",
        f"{named}, {threads} thread{'s' * (threads > 1)} here{said}",
        HINT if many else OK,
        f"more threads than the {cores} usable cores slow each other: OMP_NUM_THREADS={cores}"
        if many
        else "",
        {"libraries": libraries, "threads": threads},
    )


_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def snakemake(version: Callable[[str], str | None] = version_of) -> Finding:
    """Return the version of Snakemake, a problem if there is none."""
    found = version("snakemake")
    return Finding(
        "Snakemake",
        found or "not installed",
        OK if found else PROBLEM,
        "" if found else f"{INSTALL}; python -m kcde works without it",
        {"version": found},
    )


def slurm(
    version: Callable[[str], str | None] = version_of,
    which: Callable[[str], str | None] = shutil.which,
    environment: Mapping[str, str] = os.environ,
) -> Finding:
    """Return whether jobs can be submitted to Slurm, and the Slurm job that runs this process.

    Parameters
    ----------
    version, which
        Return the version of a package and the path of a command, None where it is missing.
    environment
        Environment variables, among which Slurm's may be.
    """
    plugin = version("snakemake-executor-plugin-slurm")
    here = [name for name in SLURM_COMMANDS if which(name)]
    missing = [name for name in SLURM_COMMANDS if name not in here]
    value = f"commands {', '.join(here)}" if here else "no commands"
    value += f"; Snakemake's plugin {plugin or 'not installed'}"
    if "SLURM_JOB_ID" in environment:
        value += f"; inside job {environment['SLURM_JOB_ID']}"
    remedy = ""
    if here and missing:
        remedy = f"profiles/slurm needs {', '.join(missing)} on PATH: load the cluster's module"
    elif here and not plugin:
        remedy = f"profiles/slurm needs the plugin: {INSTALL}"
    facts = {"plugin": plugin, "commands": here, "job": environment.get("SLURM_JOB_ID")}
    return Finding("Slurm", value, HINT if remedy else OK, remedy, facts)
