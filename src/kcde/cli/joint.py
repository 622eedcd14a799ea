"""Commands for joint densities: `run factors`, `joint`, `joint-network`, `exact`."""

from pathlib import Path
from typing import Annotated

import typer

from kcde.cli.options import (
    Backend,
    Catalogue,
    DataDir,
    Dataset,
    Estimator,
    MaxDim,
    Method,
    Options,
    Out,
    Parts,
    Record,
    Shard,
    TuningRows,
    Variant,
    constructor_arguments,
    cut,
    graph,
    whole_numbers,
)

app = typer.Typer()

Runs = Annotated[int, typer.Option(help="Random splits, or repetitions of the grid data.")]


@app.command("factors")
def run_factors_command(
    dataset: Dataset,
    method: Method,
    nodes: Annotated[str, typer.Option(help="Which factors, from 1: `1-4`, or `2,5`.")],
    out: Out,
    graph_: Annotated[
        str, typer.Option("--graph", help="full, markov, or JSON parents from 0: [[],[0],[0,1]].")
    ] = "full",
    estimator: Estimator = None,
    options: Options = "{}",
    variant: Variant = "as-published",
    runs: Runs = 5,
    tuning_rows: TuningRows = 500,
    importance_samples: Annotated[
        int | None, typer.Option(help="Draws for a second estimate of log Z; none by default.")
    ] = None,
    max_dim: MaxDim = 20,
    backend: Backend = "auto",
    cache: Annotated[
        Path | None, typer.Option(help="Keep fitted factors here, to resume an interrupted job.")
    ] = None,
    data_dir: DataDir = Path("data"),
    catalogue: Catalogue = None,
    record: Record = None,
    shard: Shard = None,
    part: Parts = None,
) -> None:
    """Fit and score some factors of a joint density, for all runs.

    \b
    python -m kcde run factors --dataset grid-200 --method LSCDE-F --estimator LSCDE \\
        --nodes 1-3 --out factors/01-03.csv

    The same, a run a job (--runs is 5), and one job that collects what they found:

    \b
    python -m kcde run factors --dataset grid-200 --method LSCDE-F --estimator LSCDE \\
        --nodes 1-3 --shard 1/5 --out 1.joblib
    ...
    python -m kcde run factors --dataset grid-200 --method LSCDE-F --estimator LSCDE \\
        --nodes 1-3 --part 1.joblib ... --part 5.joblib --out factors/01-03.csv
    """  # noqa: D301
    import logging

    from kcde.experiments.factors import Job, run

    logging.basicConfig(level=logging.INFO, format="%(message)s")
    job = Job(
        dataset=dataset,
        method=method,
        estimator=estimator or method,
        nodes=whole_numbers(nodes, "--nodes"),
        graph=graph(graph_),
        variant=variant,
        options=constructor_arguments(options),
        runs=runs,
        tuning_rows=tuning_rows,
        importance_samples=importance_samples,
        max_dim=max_dim,
        backend=backend,
    )
    run(
        job,
        out,
        data_dir,
        catalogue=catalogue,
        record=record,
        cache=cache,
        cut=cut(shard, part),
    )
    typer.echo(f"wrote {out}")


@app.command("joint", context_settings={"allow_extra_args": True})
def run_joint_command(
    context: typer.Context,
    factors: Annotated[
        list[Path], typer.Option(help="What `run factors` wrote; several may follow one --factors.")
    ],
    out: Out,
) -> None:
    """Sum the factors of a joint density.

    \b
    python -m kcde run joint --out joint.csv --factors factors/*.csv
    """  # noqa: D301
    from kcde.experiments import joint

    joint.run([*factors, *map(Path, context.args)], out)
    typer.echo(f"wrote {out}")


@app.command("joint-network")
def run_joint_network_command(
    dataset: Dataset,
    method: Method,
    out: Out,
    estimator: Estimator = None,
    options: Options = "{}",
    variant: Variant = "as-published",
    runs: Runs = 5,
    dims: Annotated[
        str | None,
        typer.Option(help="Of the grid data with 2000 rows: train on so many columns: `2,5,20`."),
    ] = None,
    tuning_rows: TuningRows = 500,
    max_dim: MaxDim = 20,
    data_dir: DataDir = Path("data"),
    catalogue: Catalogue = None,
    record: Record = None,
) -> None:
    """Train one network for all columns, all runs at once, and score it over orders.

    \b
    python -m kcde run joint-network --dataset grid-200 --method NADE --out joint.csv \\
        --options '{"hidden_units": 100, "components": 10}'
    """  # noqa: D301
    from kcde.experiments.joint_network import Job, run

    job = Job(
        dataset=dataset,
        method=method,
        estimator=estimator or method,
        variant=variant,
        options=constructor_arguments(options),
        runs=runs,
        dims=whole_numbers(dims, "--dims") if dims else (),
        tuning_rows=tuning_rows,
        max_dim=max_dim,
    )
    run(job, out, data_dir, catalogue=catalogue, record=record)
    typer.echo(f"wrote {out}")


@app.command("exact")
def run_exact_command(
    dataset: Annotated[str, typer.Option(help="Grid data: grid-200, ...")],
    out: Out,
    runs: Runs = 5,
    max_dim: MaxDim = 20,
) -> None:
    """Score the true density of the grid data, its entropy and independence. Needs no data.

    \b
    python -m kcde run exact --dataset grid-200 --out exact.csv
    """  # noqa: D301
    from kcde.experiments import exact

    exact.run(dataset, out, runs=runs, max_dim=max_dim)
    typer.echo(f"wrote {out}")
