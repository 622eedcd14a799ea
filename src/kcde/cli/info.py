"""The command that says what this machine has: `info`."""

import importlib.metadata
import platform

import typer

from kcde.cli.options import Backend

app = typer.Typer()

PACKAGES = ("kcde", "numpy", "scipy", "pandas", "snakemake", "cupy", "jax")


@app.command("info")
def info_command(backend: Backend = "auto") -> None:
    """Show versions, GPUs and the backend that is used here; for reports of problems.

    With --backend cupy the exit code is 2 where cupy cannot compute.

    \b
    python -m kcde info
    python -m kcde info --backend cupy    can the kernel methods compute on the GPU?
    """  # noqa: D301
    from kcde import arrays

    typer.echo(f"python     {platform.python_version()} on {platform.platform()}")
    for package in PACKAGES:
        typer.echo(f"{package:<10} {_versions(package)}")
    obstacle = arrays.cupy_obstacle()
    typer.echo(f"GPUs       {f'none: {obstacle}' if obstacle else ', '.join(arrays.devices())}")
    used = arrays.resolve_backend(backend)
    typer.echo(f"backend    {backend} is {used}, on {arrays.device_description(used)}")


def _versions(package: str) -> str:
    """Return the installed version; wheels of cupy are named after their CUDA."""
    names = (package, "cupy-cuda12x", "cupy-cuda13x") if package == "cupy" else (package,)
    found = []
    for name in names:
        try:
            found.append(importlib.metadata.version(name) + f" ({name})" * (name != package))
        except importlib.metadata.PackageNotFoundError:
            continue
    return ", ".join(found) or "not installed"
