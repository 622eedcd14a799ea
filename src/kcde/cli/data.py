"""Commands that fetch or generate data: `fetch`, `smoke-data`."""

from pathlib import Path
from typing import Annotated

import typer

from kcde.cli.options import Catalogue, DataDir

app = typer.Typer()


@app.command("fetch")
def fetch_command(
    name: Annotated[str | None, typer.Argument(help="A data set, or `all`.")] = None,
    list_: Annotated[
        bool, typer.Option("--list", help="Show the data sets with their licences and stop.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Check whether the original addresses answer.")
    ] = False,
    data_dir: DataDir = Path("data"),
    mirror: Annotated[
        str | None,
        typer.Option(envvar="KCDE_DATA_MIRROR", help="Folder or URL that is tried first."),
    ] = None,
    catalogue: Catalogue = None,
    record: Annotated[
        Path | None,
        typer.Option(help="Write the result as JSON; unavailable data are then not an error."),
    ] = None,
) -> None:
    """Fetch the raw data of one data set, or of all, into --data-dir and check them.

    A file that is already there with the right checksum is not downloaded again. Others are looked
    for at the mirror, the original addresses, and in the copies that come with the repository. The
    exit code is 1 if a data set is unavailable, or with --check if none of its addresses answers;
    with --record the result is written to the record instead (exit code 0).

    \b
    python -m kcde fetch --list
    python -m kcde fetch --check
    python -m kcde fetch geyser
    python -m kcde fetch all --mirror /path/to/copies
    """  # noqa: D301
    from kcde.data import addresses, hosts, overview
    from kcde.data import catalogue as catalogues
    from kcde.data import fetch as fetching

    if list_:
        typer.echo(overview.overview(data_dir, catalogue))
        return
    if check:
        report, well = addresses.check(None if name == "all" else name, catalogue, progress=True)
        typer.echo(report)
        raise typer.Exit(0 if well else 1)
    if name is None:
        raise ValueError("fetch needs the name of a data set, or `all`; --list shows the names")
    if name == "all" and record is not None:
        raise ValueError("--record belongs to one data set: name it instead of `all`")
    if record is None:
        # The user may have connected the machine a moment ago.
        hosts.forget(data_dir)
    records = []
    for each in fetching.pinned(catalogue) if name == "all" else [name]:
        records.append(fetching.fetch(each, data_dir, mirror, catalogue, progress=True))
        typer.echo(fetching.describe(records[-1]), err=records[-1]["status"] != "available")
    if record is not None:
        without = name in catalogues.optional(catalogues.read(catalogue))
        fetching.write_record(records[0] | {"optional": without}, record)
        return
    if any(each["status"] != "available" for each in records):
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
    from kcde.data.synthetic import write_smoke_data

    typer.echo(write_smoke_data(folder))
