"""The command that examines a machine: `doctor`."""

from pathlib import Path
from typing import Annotated

import typer

from kcde.cli.options import DataDir

app = typer.Typer()


@app.command("doctor")
def doctor_command(
    backend: Annotated[
        str | None,
        typer.Option(help="auto, numpy or cupy; by default that of --config."),
    ] = None,
    config: Annotated[Path, typer.Option(help="Configuration of the workflow.")] = Path(
        "config.yaml"
    ),
    data_dir: DataDir = Path("data"),
    json_: Annotated[bool, typer.Option("--json", help="The same as JSON.")] = False,
) -> None:
    """Report what this machine has, what kcde will use, and how to fix problems.

    Looks at Python, processor, memory, packages, BLAS, GPUs, cupy, JAX, Snakemake, Slurm, data
    folder and mirror. Changes nothing and uses no network. A hint is marked with ~, a problem with
    !, and its remedy is below it. The exit code is 1 if the workflow cannot run with these
    settings, for example with --backend cupy where cupy cannot be used.

    \b
    python -m kcde doctor
    python -m kcde doctor --backend cupy    can the kernel methods compute on the GPU?
    python -m kcde doctor --json            for bug reports
    """  # noqa: D301
    from kcde.arrays import BACKENDS
    from kcde.doctor import examine, text

    if backend not in (None, *BACKENDS):
        raise ValueError(f"--backend must be one of {', '.join(BACKENDS)}; got {backend!r}")
    report = examine(config, backend, data_dir)
    typer.echo(text.as_json(report) if json_ else text.render(report))
    if report.problems:
        raise typer.Exit(1)
