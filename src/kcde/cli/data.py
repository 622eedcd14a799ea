"""Commands about what is here: data (`fetch`, `smoke-data`) and the machine (`info`)."""

import importlib.metadata
import platform
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer
from typer import Argument, Option

from kcde.cli.options import Backend, Catalogue, DataDir

app = typer.Typer()

PACKAGES = ("kcde", "numpy", "scipy", "pandas", "snakemake", "cupy", "jax", "numba")


@app.command("fetch")
def fetch_command(
    name: Annotated[str | None, Argument(help="A data set, or `all`.")] = None,
    list_: Annotated[bool, Option("--list", help="Show them with their licences.")] = False,
    data_dir: DataDir = Path("data"),
    mirror: Annotated[
        str | None, Option(envvar="KCDE_DATA_MIRROR", help="It is tried first.")
    ] = None,
    catalogue: Catalogue = None,
) -> None:
    """Fetch the raw data of one data set, or of all, into --data-dir and check them.

    A file that is already there with the right checksum is not downloaded again. Others are looked
    for at the mirror, the original addresses, and in the copies that come with the repository. The
    exit code is 1 if a data set is unavailable.

    \b
    python -m kcde fetch --list
    python -m kcde fetch geyser
    python -m kcde fetch all --mirror /path/to/copies
    """  # noqa: D301
    from kcde.data import catalogue as catalogues
    from kcde.data.fetch import UnavailableError, fetch

    entries = catalogues.read(catalogue)
    if list_:
        for each in entries.values():
            origin = urlsplit(each.urls[0].url).netloc if each.urls else "-"
            typer.echo(f"{each.name:<30}{each.rows or '-':>6}  {each.licence}; {origin}")
        return
    if name is None:
        raise ValueError("fetch needs the name of a data set, or `all`; --list shows the names")
    pinned = [each.name for each in entries.values() if each.sha256]
    unavailable, copies = [], []
    for each in pinned if name == "all" else [name]:
        try:
            found = fetch(each, data_dir, mirror, catalogue)
        except UnavailableError as error:
            unavailable.append(each)
            typer.echo(f"kcde: {error}", err=True)
            continue
        typer.echo(found)
        copies += [found] * (found.origin == "bundled")
    if copies and (why := "; ".join(copies[0].failed)):
        typer.echo(f"kcde: {len(copies)} from bundled copies, since no other came: {why}", err=True)
    if unavailable:
        raise typer.Exit(1)


@app.command("smoke-data")
def smoke_data_command(folder: Annotated[Path, Argument(help="Written into.")]) -> None:
    """Generate small made-up data sets in the real file formats, with their own catalogue.

    The folder is a raw data folder: nothing of it has to be fetched.

    \b
    python -m kcde smoke-data raw
    """  # noqa: D301
    from kcde.data.smoke import write_smoke_data

    typer.echo(write_smoke_data(folder))


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
