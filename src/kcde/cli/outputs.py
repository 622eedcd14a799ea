"""Commands that turn scores into outputs: `draw`, `scorecard`, `publish`, and what a run was."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer()

Into = Annotated[Path, typer.Option(help="Folder of the outputs.")]
Results = Annotated[Path, typer.Option(help="Folder of a scale.")]


@app.command("draw", context_settings={"allow_extra_args": True})
def draw_command(
    context: typer.Context,
    target: Annotated[str, typer.Argument(help="`all`, a paper (kcef) or one artefact.")],
    scores: Annotated[
        list[Path] | None, typer.Option(help="Score CSVs; several may follow one --scores.")
    ] = None,
    into: Into = Path("figures"),
    record: Annotated[
        Path | None, typer.Option(help="Write as JSON whether it was regenerated.")
    ] = None,
) -> None:
    """Draw tables and figures: from their tracked CSV, or with --scores from an experiment.

    With --scores the CSV is made first and the claims are decided. Scores with the status `not-run`
    leave all files unchanged; --record then has the reason and the remedy (exit code 0).

    \b
    python -m kcde draw all
    python -m kcde draw kcef/fig3 --scores results/failure_case.csv
    """  # noqa: D301
    from kcde.artefacts.core import drawing, registry

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
    """Compare every published number and claim with the tracked outputs.

    \b
    python -m kcde scorecard
    python -m kcde scorecard --records results/laptop/artefacts
    """  # noqa: D301
    from kcde.artefacts.judging import scorecard

    for path in scorecard.write(scorecard.build(into, records), into):
        typer.echo(f"wrote {path}")


@app.command("scores")
def scores_command(
    scores: Annotated[list[Path], typer.Argument(help="Score CSVs of a finished run.")],
    into: Into = Path("figures"),
    scale: Annotated[str, typer.Option(help="Of the run.")] = "laptop",
    record: Annotated[
        Path | None, typer.Option(help="Write as JSON which files were written.")
    ] = None,
) -> None:
    """Write the scores of every split as one compressed table, with which others judge again.

    Beside scores.csv.gz it writes scores.json: versions, checksums of the data, and how long the
    fits took. The table must not be larger than 5 MB. Where data could not be had, both stay as
    they are.

    \b
    python -m kcde scores results/laptop/r_benchmark/*/*.csv --into results/laptop/figures
    python -m kcde draw dde/table2 --scores figures/scores.csv.gz --into judged-again
    """  # noqa: D301
    from kcde import split_scores
    from kcde.artefacts.core import drawing

    written = split_scores.write(scores, into, scale)
    for path in written:
        typer.echo(f"wrote {path}")
    if record is not None:
        drawing.write_record({"files": [f"{path}" for path in written]}, record)
    if not written:
        typer.echo(f"{into / split_scores.TABLE} stays as it is: some data could not be had")


@app.command("report")
def report_command(
    figures: Annotated[Path, typer.Option(help="Folder of the outputs.")] = Path("figures"),
    out: Annotated[Path, typer.Option(help="The file to write.")] = Path("report.html"),
    paper: Annotated[
        str | None, typer.Option(help="Only this paper; `across`: all methods.")
    ] = None,
) -> None:
    """Write one HTML page of all outputs: scorecard, claims, figures, methods, provenance.

    It is made of the outputs alone, without data or fits, and needs no network to be read.

    \b
    python -m kcde report
    python -m kcde report --figures results/smoke/figures --out smoke.html
    python -m kcde report --paper jdl --out jdl.html
    """  # noqa: D301
    from kcde.report import write

    path = write(figures, out, paper)
    typer.echo(f"wrote {path}, {path.stat().st_size / 1e6:.1f} MB")


@app.command("summary")
def summary_command(
    results: Results = Path("results/laptop"),
    into: Into = Path("figures"),
    expected: Annotated[
        list[str] | None, typer.Option(help="An artefact that should be there; repeatable.")
    ] = None,
    strict: Annotated[bool, typer.Option(help="Exit with code 1 if anything is missing.")] = False,
) -> None:
    """Summarise what the last run regenerated, what it did not, why, and the remedy.

    \b
    python -m kcde summary
    python -m kcde summary --results results/smoke --into results/smoke/figures
    python -m kcde summary --expected kcef/table1 --strict
    """  # noqa: D301
    from kcde.summary import summarise

    # For given artefacts, jobs that none of them needs do not count.
    closing = summarise(results, into, expected or None, jobs=[] if expected else None)
    typer.echo(closing.text)
    if strict and closing.problems:
        raise typer.Exit(1)


@app.command("publish")
def publish_command(
    results: Results = Path("results/paper"),
    into: Into = Path("figures"),
    papers: Annotated[
        list[str] | None, typer.Option(help="Only this paper, or `across`; repeatable.")
    ] = None,
) -> None:
    """Copy the outputs of another scale to the tracked ones, and update the scorecard.

    \b
    python -m kcde publish --results results/paper
    python -m kcde publish --results results/paper --papers cdo
    """  # noqa: D301
    from kcde.artefacts.judging import scorecard
    from kcde.publish import publish

    written = publish(results, into, papers)
    for path in [*written, *scorecard.write(scorecard.build(into, results / "artefacts"), into)]:
        typer.echo(f"wrote {path}")


@app.command("verify")
def verify_command(
    target: Annotated[str, typer.Argument(help="`all`, a paper (kcef) or one artefact.")] = "all",
    into: Into = Path("figures"),
    against: Annotated[
        Path | None,
        typer.Option(help="A folder like it; without, the last commit (git's HEAD)."),
    ] = None,
) -> None:
    """Compare the tables that a run made with those that are tracked, number by number.

    Run it after `snakemake --cores all`, which writes into figures/. Of each table that differs
    it prints how many cells are beyond their tolerance, the largest difference and where it is.
    Exit code 1: a cell is beyond, or a tracked table is missing.

    Numbers may differ by 1e-6 of the largest of their row (table) or curve (figure), and by one
    in the sixth digit, the last that is printed. Where a method is trained in float32 (NADE, DDE,
    the flows) they may by 5%, and ranks and p-values among methods are not compared: its digits
    repeat on one kind of machine alone. Of samples of Markov chains and of what is trained long
    only the verdicts of claims are compared, and seconds and memory never. Tables of another scale
    (other repetitions) are named and skipped.

    \b
    python -m kcde verify
    python -m kcde verify kcef/table1
    python -m kcde verify --against ../another-machine/figures
    """  # noqa: D301
    from kcde.verify import BEYOND, MISSING, report, verify

    found = verify(into, against, target)
    typer.echo(report(found))
    if any(each.verdict in (BEYOND, MISSING) for each in found):
        raise typer.Exit(1)


@app.command("runtime")
def runtime_command(
    benchmarks: Annotated[
        Path, typer.Option(help="What Snakemake measured of the jobs of a scale.")
    ] = Path("results/benchmarks/laptop"),
    into: Into = Path("figures"),
) -> None:
    """Write what the last run took, by rule and method: figures/runtime.*.

    \b
    python -m kcde runtime
    """  # noqa: D301
    from kcde import runtime
    from kcde.doctor import machine

    found = runtime.read(benchmarks)
    for path in runtime.write(found, benchmarks.name, machine.processor().value, into):
        typer.echo(f"wrote {path}")
