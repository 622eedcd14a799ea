"""Commands that carry results to another machine: `results pack`, `results unpack`."""

from pathlib import Path
from typing import Annotated

import typer

results_app = typer.Typer(
    help="Carry the results of a stopped run to another machine.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app = typer.Typer()
app.add_typer(results_app, name="results")

Project = Annotated[Path, typer.Option(help="The checkout, in which Snakemake is started.")]


@results_app.command("pack")
def pack_command(
    archive: Annotated[Path, typer.Argument(help="The file to write, such as paper.tar.gz.")],
    project: Project = Path(),
) -> None:
    """Pack the results of a stopped run into one file, with the SHA-256 of each.

    All of results/ goes in but what an unfinished job has left. What Snakemake remembers of the
    jobs goes along, so that the other machine runs no finished job again, and every job whose code
    or options differ there. Not packed: raw data, and the records of artefacts that are drawn into
    figures/, which the other machine draws again in seconds.

    End the run first (Ctrl-C); finished jobs are kept. On the other machine, in a checkout of the
    same commit:

    \b
    python -m kcde results pack paper.tar.gz
    python -m kcde results unpack paper.tar.gz      on the other machine
    snakemake -n --config scale=paper               there: what is left to do
    """  # noqa: D301
    from kcde.carrying.archive import pack

    manifest, left = pack(archive, project)
    files = manifest["files"]
    size = sum(each["size"] for each in files) / 1e6
    typer.echo(
        f"packed {len(files)} files, {size:.1f} MB, into {archive}: results of "
        f"{', '.join(manifest['scales']) or 'no scale'}, commit {manifest['commit']}"
    )
    if left.unfinished:
        typer.echo(f"left out {len(left.unfinished)} files of jobs that are not finished")
    if left.drawn_elsewhere:
        typer.echo(
            f"left out {len(left.drawn_elsewhere)} records of artefacts drawn outside results/: "
            "the other machine draws them again"
        )


@results_app.command("unpack")
def unpack_command(
    archive: Annotated[Path, typer.Argument(help="The file that `results pack` wrote.")],
    project: Project = Path(),
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace files that are here and differ.")
    ] = False,
) -> None:
    """Unpack results that `results pack` packed, into results/ of this checkout.

    All files or none: each is compared with its SHA-256 before any is moved to its place, and an
    archive that is damaged, or names anything outside results/, is refused. So is one whose files
    differ from those that are here, unless --overwrite is given. Files keep their times, so that
    Snakemake goes on where the other machine stopped.

    Raw data do not come along. If they are missing here, the last line says so; fetch them before
    Snakemake runs, which otherwise takes their absence for a change.

    \b
    python -m kcde results unpack paper.tar.gz
    python -m kcde results unpack paper.tar.gz --overwrite
    """  # noqa: D301
    from kcde.artefacts.judging.checkout import commit
    from kcde.carrying.archive import unpack

    done = unpack(archive, project, overwrite=overwrite)
    count = len(done.manifest["files"])
    there = count - len(done.new) - len(done.replaced)
    typer.echo(
        f"unpacked {count} files of {', '.join(done.manifest['scales']) or 'no scale'}: "
        f"{len(done.new)} new, {len(done.replaced)} replaced, {there} were here"
    )
    if (packed := done.manifest["commit"]) != (here := commit()):
        typer.echo(
            f"they are of commit {packed}, this checkout is of {here}: jobs whose code differs "
            "run again",
            err=True,
        )
    if done.missing_data:
        typer.echo(
            f"raw data of {len(done.missing_data)} data sets are not here: `python -m kcde fetch "
            "all` before Snakemake, or it computes again what they are for",
            err=True,
        )
