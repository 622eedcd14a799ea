"""Commands that turn scores into outputs: `draw`, `scorecard`, `scores`, `report`, `verify`."""

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from kcde.cli.options import importing

app = typer.Typer()

Target = Annotated[str, Argument(help="`all`, a paper (kcef) or one artefact.")]
Into = Annotated[Path, Option(help="Folder of the outputs.")]
Scale = Annotated[str, Option(help="That of the outputs.")]
FIGURES, COMPUTED = Path("figures"), Path("results/laptop/figures")


@app.command("draw", context_settings={"allow_extra_args": True})
def draw_command(
    context: typer.Context,
    target: Target,
    scores: Annotated[
        list[Path] | None, Option(help="Score CSVs, or a folder of them; several may follow.")
    ] = None,
    into: Into = FIGURES,
    scale: Annotated[str | None, Option(help="By default that of the scores.")] = None,
    judged: Annotated[Path | None, Option(help="The CSV for what it decides.")] = None,
) -> None:
    """Draw tables and figures: from their CSV, or with --scores from an experiment.

    \b
    python -m kcde draw all
    python -m kcde draw kcef/fig3 --scores results/laptop/scores/failure_case.csv --into mine
    python -m kcde draw dde/table2 --scores figures/scores.csv.gz --into judged-again
    python -m kcde draw kcef/table1 --scores results/laptop/scores --into so-far  # during a run
    """  # noqa: D301
    with importing():
        from kcde.papers import drawing, registry

    selected = registry.select(target)
    if scores is None:
        if context.args or judged:
            raise ValueError("draw: --judged and score files need --scores FILE...")
        paths = drawing.redraw_all(selected, into)
    elif len(selected) > 1:
        raise ValueError(f"--scores belong to one artefact, {target!r} names {len(selected)}")
    else:
        given = [*scores, *map(Path, context.args)]
        files = [each for path in given for each in (sorted(path.rglob("*.csv")) or [path])]
        paths = drawing.make(selected[0], files, into, scale, judged)
    for path in paths:
        typer.echo(f"drew {path}")


@app.command("scorecard", context_settings={"allow_extra_args": True})
def scorecard_command(
    context: typer.Context,
    into: Into = FIGURES,
    scale: Scale = "laptop",
    judged: Annotated[list[Path] | None, Option(help="What `draw --judged` wrote.")] = None,
    tracked: Annotated[Path | None, Option(help="Outputs with the readings not made.")] = None,
) -> None:
    """Compare every published number and claim with the outputs in a folder.

    Several files may follow one --judged. Readings that were not made are those of --tracked.

    \b
    python -m kcde scorecard
    python -m kcde scorecard --into results/laptop/figures --judged results/laptop/judged/*/*.csv
    """  # noqa: D301
    from kcde.evidence import scorecard

    if judged:
        typer.echo(f"wrote {scorecard.collect([*judged, *map(Path, context.args)], into, tracked)}")
    for path in scorecard.write(scorecard.build(into, scale), into, scale):
        typer.echo(f"wrote {path}")


@app.command("scores")
def scores_command(
    scores: Annotated[list[Path], Argument(help="Score CSVs of a finished run.")],
    into: Into = FIGURES,
    scale: Scale = "laptop",
) -> None:
    """Write the scores of every split as one compressed table, with which others judge again.

    Beside scores.csv.gz it writes scores.json: versions, checksums of the data, and how long the
    fits took. The table must not be larger than 5 MB.

    \b
    python -m kcde scores results/laptop/scores/r_benchmark/*/*.csv --into mine
    """  # noqa: D301
    from kcde import split_scores

    for path in split_scores.write(scores, into, scale):
        typer.echo(f"wrote {path}")


@app.command("report")
def report_command(
    figures: Into = FIGURES,
    out: Annotated[Path, Option(help="The file to write.")] = Path("report.html"),
    paper: Annotated[str | None, Option(help="Only it; `across`: all methods.")] = None,
    scale: Scale = "laptop",
) -> None:
    """Write one HTML page: the scorecard, and every figure beside what its paper says.

    It is made of the outputs alone, without data or fits, and needs no network to be read.

    \b
    python -m kcde report
    python -m kcde report --figures results/smoke/figures --out smoke.html
    python -m kcde report --paper jdl --out jdl.html
    """  # noqa: D301
    from kcde.pages.scorecard_page import report

    path = report(figures, out, scale, paper)
    typer.echo(f"wrote {path}, {path.stat().st_size / 1e6:.1f} MB")


@app.command("verify")
def verify_command(
    computed: Annotated[Path, Argument(help="What this checkout computed.")] = COMPUTED,
    target: Target = "all",
    tracked: Annotated[Path, Option(help="A folder that git tracks, or any other.")] = FIGURES,
) -> None:
    """Compare the tables that were computed here with those that are tracked, number by number.

    Compared is with the last commit of --tracked; of a folder that git does not track, its files.

    Numbers may differ by 1e-6 of the largest of their row (table) or curve (figure), and by one
    in the sixth digit, the last that is printed. Where a method is trained in float32 (NADE, DDE,
    the flows) they may by 5%, and ranks and p-values among methods are not compared: its digits
    repeat on one kind of machine alone. Of samples of Markov chains, of what is trained long and
    of claims only the verdicts are compared, and seconds and memory never.

    Exit code 1: a cell is beyond its tolerance; 2: nothing was computed here.

    \b
    python -m kcde verify
    python -m kcde verify results/laptop/figures kcef/table1
    python -m kcde verify results/laptop/figures --tracked ../another-machine/figures
    """  # noqa: D301
    from kcde.verify import BEYOND, SAME, verify

    found = verify(computed, tracked, target)
    for each in found:
        if each.verdict != SAME:
            typer.echo(str(each))
    same = sum(each.verdict == SAME for each in found)
    typer.echo(f"{len(found)} tables were computed here; {same} are byte for byte as tracked")
    if any(each.verdict == BEYOND for each in found):
        raise typer.Exit(1)
