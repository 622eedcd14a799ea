"""Commands that run one job, each with its own families of `run` beside."""

from pathlib import Path
from typing import Annotated

import typer

from kcde.cli import conditional, embeddings, joint, planar, samples, traffic
from kcde.cli.options import (
    Backend,
    Catalogue,
    DataDir,
    Dataset,
    Estimator,
    Method,
    Options,
    Out,
    Parts,
    Record,
    Shard,
    Variant,
    constructor_arguments,
    cut,
)

run_app = typer.Typer(
    help="Run one job of an experiment and write its scores.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app = typer.Typer()
app.add_typer(run_app, name="run")
for family in (joint, samples, planar, embeddings, conditional, traffic):
    run_app.add_typer(family.app)


@run_app.command("r-benchmark")
def run_r_benchmark_command(
    dataset: Dataset,
    method: Method,
    out: Out,
    estimator: Estimator = None,
    options: Options = "{}",
    variant: Variant = "as-published",
    splits: Annotated[int, typer.Option(help="Random half/half splits.")] = 20,
    importance_samples: Annotated[int, typer.Option(help="Draws for log Z.")] = 10_000,
    tuning_rows: Annotated[
        int | None, typer.Option(help="Rows that take part in a likelihood selection, at most.")
    ] = 500,
    evaluation: Annotated[
        str,
        typer.Option(help="Whose y the draws for log Z are made like: training-half or test-half."),
    ] = "training-half",
    backend: Backend = "auto",
    data_dir: DataDir = Path("data"),
    catalogue: Catalogue = None,
    record: Record = None,
    shard: Shard = None,
    part: Parts = None,
) -> None:
    """Fit and score one method on one data set, over random half/half splits.

    \b
    python -m kcde fetch geyser
    python -m kcde run r-benchmark --dataset geyser --method KCEF --out geyser.csv

    The same in two jobs, and one that collects what they found:

    \b
    python -m kcde run r-benchmark --dataset geyser --method KCEF --shard 1/2 --out 1.joblib
    python -m kcde run r-benchmark --dataset geyser --method KCEF --shard 2/2 --out 2.joblib
    python -m kcde run r-benchmark --dataset geyser --method KCEF \\
        --part 1.joblib --part 2.joblib --out geyser.csv
    """  # noqa: D301
    import logging

    from kcde.experiments.r_benchmark import Job, run

    logging.basicConfig(level=logging.INFO, format="%(message)s")
    job = Job(
        dataset=dataset,
        method=method,
        estimator=estimator or method,
        variant=variant,
        options=constructor_arguments(options),
        splits=splits,
        importance_samples=importance_samples,
        tuning_rows=tuning_rows,
        evaluation=evaluation,
        backend=backend,
    )
    run(job, out, data_dir, catalogue=catalogue, record=record, cut=cut(shard, part))
    typer.echo(f"wrote {out}")


@run_app.command("failure-case")
def run_failure_case_command(
    out: Out,
) -> None:
    """Compute where conditional score matching is blind (kcef figure 3). Needs no data.

    \b
    python -m kcde run failure-case --out results/failure_case.csv
    """  # noqa: D301
    from kcde.experiments import failure_case

    failure_case.run(out)
    typer.echo(f"wrote {out}")


@run_app.command("consistency")
def run_consistency_command(
    out: Out,
    repetitions: Annotated[int, typer.Option(help="Independent streams of data.")] = 40,
    largest: Annotated[int, typer.Option(help="Most training pairs; n doubles up to it.")] = 3200,
    backend: Backend = "auto",
    shard: Shard = None,
    part: Parts = None,
) -> None:
    """Fit KCEF to growing samples of a well-specified target (kcef theorem 2). Needs no data.

    \b
    python -m kcde run consistency --out results/consistency.csv

    The same in two jobs, and one that collects what they found:

    \b
    python -m kcde run consistency --shard 1/2 --out 1.joblib
    python -m kcde run consistency --shard 2/2 --out 2.joblib
    python -m kcde run consistency --part 1.joblib --part 2.joblib --out results/consistency.csv
    """  # noqa: D301
    import logging

    from kcde.experiments import consistency

    logging.basicConfig(level=logging.INFO, format="%(message)s")
    consistency.run(out, repetitions, largest, backend=backend, cut=cut(shard, part))
    typer.echo(f"wrote {out}")


@run_app.command("estimation-cost")
def run_estimation_cost_command(
    out: Out,
    rows: Annotated[int, typer.Option(help="Most points, from 500.")] = 10_000,
    dims: Annotated[int, typer.Option(help="Most dimensions, from 2.")] = 20,
    iterations: Annotated[
        int, typer.Option(help="Of DDE that are timed; the seconds stated are those of 5000.")
    ] = 100,
) -> None:
    """Measure memory and seconds of fitting DDE and KEF (dde, section 4). Needs no data.

    \b
    python -m kcde run estimation-cost --rows 1000 --dims 2 --out results/estimation_cost.csv
    """  # noqa: D301
    import logging

    from kcde.experiments import estimation_cost

    logging.basicConfig(level=logging.INFO, format="%(message)s")
    estimation_cost.run(out, rows, dims, iterations)
    typer.echo(f"wrote {out}")
