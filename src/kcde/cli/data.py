"""Commands that bring data: `fetch`, `smoke-data`."""

from pathlib import Path
from typing import Annotated

import typer

from kcde.cli.options import Catalogue, DataDir

app = typer.Typer()


@app.command("fetch")
def fetch_command(
    name: Annotated[str | None, typer.Argument(help="A data set, or `all`.")] = None,
    list_: Annotated[bool, typer.Option("--list", help="Show the data sets and stop.")] = False,
    data_dir: DataDir = Path("data"),
    mirror: Annotated[
        str | None,
        typer.Option(envvar="KCDE_DATA_MIRROR", help="Folder or URL that is tried first."),
    ] = None,
    catalogue: Catalogue = None,
    record: Annotated[
        Path | None,
        typer.Option(help="Write what happened as JSON; unavailable data are then no failure."),
    ] = None,
    optional: Annotated[
        bool,
        typer.Option(help="With --record: note that a run may do without these data."),
    ] = False,
) -> None:
    """Bring the raw data of one data set, or of all, into --data-dir and check them.

    A file that is already there and has the right checksum costs no network. Exit code 1 says
    that something could not be had; with --record that is written down instead (exit code 0).

    \b
    python -m kcde fetch --list
    python -m kcde fetch geyser
    python -m kcde fetch all --mirror /path/to/copies
    """  # noqa: D301
    from kcde.datasets import fetch as fetching

    if list_:
        typer.echo(fetching.overview(data_dir, catalogue))
        return
    if name is None:
        raise ValueError("fetch needs the name of a data set, or `all`; --list shows the names")
    if name == "all" and record is not None:
        raise ValueError("--record belongs to one data set: name it instead of `all`")
    names = fetching.pinned(catalogue) if name == "all" else [name]
    unavailable = 0
    for each in names:
        result = fetching.fetch(each, data_dir, mirror, catalogue, progress=True)
        typer.echo(fetching.describe(result), err=result["status"] != "available")
        unavailable += result["status"] != "available"
        if record is not None:
            fetching.write_record(result | {"optional": optional}, record)
    if unavailable and record is None:
        raise typer.Exit(1)


@app.command("smoke-data")
def smoke_data_command(
    folder: Annotated[Path, typer.Argument(help="Where the files and catalogue.csv go.")],
) -> None:
    """Generate small made-up data sets in the real file formats, with their own catalogue.

    \b
    python -m kcde smoke-data mirror
    python -m kcde fetch smoke-linear --catalogue mirror/catalogue.csv --mirror mirror
    """  # noqa: D301
    from kcde.datasets.synthetic import write_smoke_data

    typer.echo(write_smoke_data(folder))
