"""Commands that fetch or generate data: `fetch`, `smoke-data`."""

from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer
from typer import Argument, Option

from kcde.cli.options import Catalogue, DataDir

app = typer.Typer()


@app.command("fetch")
def fetch_command(
    name: Annotated[str | None, Argument(help="A data set, or `all`.")] = None,
    list_: Annotated[bool, Option("--list", help="Show them with their licences.")] = False,
    data_dir: DataDir = Path("data"),
    mirror: Annotated[
        str | None, Option(envvar="KCDE_DATA_MIRROR", help="Folder or URL that is tried first.")
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
def smoke_data_command(
    folder: Annotated[Path, Argument(help="What they are written into.")],
) -> None:
    """Generate small made-up data sets in the real file formats, with their own catalogue.

    The folder is a raw data folder: nothing of it has to be fetched.

    \b
    python -m kcde smoke-data raw
    """  # noqa: D301
    from kcde.data.smoke import write_smoke_data

    typer.echo(write_smoke_data(folder))
