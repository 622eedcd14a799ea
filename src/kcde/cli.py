"""`python -m kcde`: every step of the workflow as a command that also works on its own.

One section a command. What a command needs is imported inside it, so that `--help` and the short
commands do not wait for numpy, pandas or scipy.
"""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    name="kcde",
    help="Kernel conditional density estimation: fetch data, fit methods, draw tables and figures.",
    epilog="Example: python -m kcde fetch geyser. Each command explains itself: COMMAND --help.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; an error is one line on stderr and exit code 2.

    Parameters
    ----------
    arguments
        What stands after `python -m kcde`; those of this process when None.
    """
    try:
        app(args=arguments, prog_name="python -m kcde")
    except (ValueError, OSError, RuntimeError) as error:
        if os.environ.get("KCDE_TRACEBACK"):
            raise
        message = " ".join(str(error).split())
        print(f"kcde: {message} (KCDE_TRACEBACK=1 shows where)", file=sys.stderr)
        raise SystemExit(2) from None


# Options that several commands share.
DataDir = Annotated[Path, typer.Option(help="Folder of the raw data.")]
Catalogue = Annotated[
    Path | None, typer.Option(help="Another catalogue (CSV) than the built-in one.")
]


# ---- fetch ---------------------------------------------------------------------------------------


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
            fetching.write_record(result, record)
    if unavailable and record is None:
        raise typer.Exit(1)


# ---- smoke-data ----------------------------------------------------------------------------------


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


# ---- run -----------------------------------------------------------------------------------------

run_app = typer.Typer(
    help="Run one job of an experiment and write its scores.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(run_app, name="run")


@run_app.command("r-benchmark")
def run_r_benchmark_command(
    dataset: Annotated[str, typer.Option(help="A data set of the catalogue.")],
    method: Annotated[str, typer.Option(help="What the method is called in the scores.")],
    out: Annotated[Path, typer.Option(help="The score CSV; .json and .npz go beside it.")],
    estimator: Annotated[
        str | None, typer.Option(help="Class in kcde.estimators; the method's name by default.")
    ] = None,
    options: Annotated[str, typer.Option(help="Constructor arguments as a JSON object.")] = "{}",
    variant: Annotated[str, typer.Option(help="as-published, or ours.")] = "as-published",
    splits: Annotated[int, typer.Option(help="Random half/half splits.")] = 20,
    importance_samples: Annotated[int, typer.Option(help="Draws for log Z.")] = 10_000,
    tuning_rows: Annotated[
        int | None, typer.Option(help="Rows that take part in a likelihood selection, at most.")
    ] = 500,
    backend: Annotated[str, typer.Option(help="auto, numpy or cupy.")] = "auto",
    data_dir: DataDir = Path("data"),
    catalogue: Catalogue = None,
    record: Annotated[
        Path | None, typer.Option(help="What `fetch --record` wrote; unavailable is not run.")
    ] = None,
) -> None:
    """Fit and score one method on one data set, over random half/half splits.

    \b
    python -m kcde fetch geyser
    python -m kcde run r-benchmark --dataset geyser --method KCEF --out geyser.csv
    """  # noqa: D301
    import json
    import logging

    from kcde.experiments.r_benchmark import Job, run

    logging.basicConfig(level=logging.INFO, format="%(message)s")
    try:
        parsed = json.loads(options)
    except json.JSONDecodeError as error:
        raise ValueError(f"--options is not JSON ({error}): {options}") from None
    if not isinstance(parsed, dict):
        raise ValueError(f'--options must be a JSON object such as {{"folds": 5}}; got {options}')
    job = Job(
        dataset=dataset,
        method=method,
        estimator=estimator or method,
        variant=variant,
        options=parsed,
        splits=splits,
        importance_samples=importance_samples,
        tuning_rows=tuning_rows,
        backend=backend,
    )
    run(job, out, data_dir, catalogue=catalogue, record=record)
    typer.echo(f"wrote {out}")


@run_app.command("failure-case")
def run_failure_case_command(
    out: Annotated[Path, typer.Option(help="The score CSV; .json and .npz go beside it.")],
) -> None:
    """Compute where conditional score matching is blind (kcef figure 3). Needs no data.

    \b
    python -m kcde run failure-case --out results/failure_case.csv
    """  # noqa: D301
    from kcde.experiments import failure_case

    failure_case.run(out)
    typer.echo(f"wrote {out}")


# ---- draw, scorecard -----------------------------------------------------------------------------

Into = Annotated[Path, typer.Option(help="Folder of the outputs.")]


@app.command("draw", context_settings={"allow_extra_args": True})
def draw_command(
    context: typer.Context,
    target: Annotated[str, typer.Argument(help="`all`, a paper (kcef) or one artefact.")],
    scores: Annotated[
        list[Path] | None, typer.Option(help="Score CSVs; several may follow one --scores.")
    ] = None,
    into: Into = Path("figures"),
    record: Annotated[
        Path | None, typer.Option(help="Write whether it was regenerated, as JSON.")
    ] = None,
) -> None:
    """Draw tables and figures: from their tracked CSV, or with --scores from an experiment.

    With --scores the CSV is made first and the claims are decided. Scores that say `not-run` leave
    all files as they are; --record then says why and what helps (exit code 0).

    \b
    python -m kcde draw all
    python -m kcde draw kcef/fig3 --scores results/failure_case.csv
    """  # noqa: D301
    from kcde.artefacts import drawing, registry

    selected = registry.select(target)
    if scores is None:
        if context.args or record is not None:
            raise ValueError("draw: --record and score files need --scores FILE...")
        for path in drawing.redraw_all(selected, into):
            typer.echo(f"drew {path}")
        return
    if len(selected) > 1:
        raise ValueError(f"--scores belong to one artefact, {target!r} names {len(selected)}")
    result = drawing.make(selected[0], [*scores, *map(Path, context.args)], into)
    if record is not None:
        drawing.write_record(result, record)
    for path in result["files"]:
        typer.echo(f"drew {path}")
    if result["status"] != drawing.REGENERATED:
        typer.echo(f"{target} not regenerated: {result['reason']}; {result['remedy']}", err=True)


@app.command("scorecard")
def scorecard_command(
    into: Into = Path("figures"),
    records: Annotated[
        Path | None,
        typer.Option(help="Artefact records of a run, results/<scale>/artefacts."),
    ] = None,
) -> None:
    """Hold every published number and claim against the tracked outputs.

    \b
    python -m kcde scorecard
    python -m kcde scorecard --records results/laptop/artefacts
    """  # noqa: D301
    from kcde.artefacts import scorecard

    for path in scorecard.write(scorecard.build(into, records), into):
        typer.echo(f"wrote {path}")


# ---- summary, publish ----------------------------------------------------------------------------

Results = Annotated[Path, typer.Option(help="Folder of a scale.")]


@app.command("summary")
def summary_command(
    results: Results = Path("results/laptop"),
    into: Into = Path("figures"),
    expected: Annotated[
        list[str] | None, typer.Option(help="An artefact that should be there; repeatable.")
    ] = None,
    strict: Annotated[bool, typer.Option(help="Exit code 1 if anything is amiss.")] = False,
) -> None:
    """Say what the last run regenerated, what not, why, and what helps.

    \b
    python -m kcde summary
    python -m kcde summary --results results/smoke --into results/smoke/figures
    python -m kcde summary --expected kcef/table1 --strict
    """  # noqa: D301
    from kcde.summary import summarise

    # Asked for some artefacts only, jobs that none of them needs do not matter.
    closing = summarise(results, into, expected or None, jobs=[] if expected else None)
    typer.echo(closing.text)
    if strict and closing.problems:
        raise typer.Exit(1)


@app.command("publish")
def publish_command(results: Results = Path("results/paper"), into: Into = Path("figures")) -> None:
    """Copy what another scale drew into the tracked outputs, and judge them anew.

    \b
    python -m kcde publish --results results/paper
    """  # noqa: D301
    from kcde.artefacts import scorecard
    from kcde.publish import publish

    written = publish(results, into)
    for path in [*written, *scorecard.write(scorecard.build(into, results / "artefacts"), into)]:
        typer.echo(f"wrote {path}")
