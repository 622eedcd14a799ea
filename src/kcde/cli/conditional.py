"""Commands for the donut and the terrain of cdo: `run donut`, `run terrain`."""

from pathlib import Path
from typing import Annotated

import typer

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
    Settings,
    Shard,
    Variant,
    constructor_arguments,
    cut,
)

app = typer.Typer()


@app.command("donut")
def run_donut_command(
    method: Method,
    out: Out,
    estimator: Estimator = None,
    options: Options = "{}",
    settings: Settings = "chosen",
    variant: Variant = "as-published",
    repetitions: Annotated[int, typer.Option(help="How often points are drawn and fitted.")] = 10,
    points: Annotated[int, typer.Option(help="Points around each of the 50 means.")] = 75,
    backend: Backend = "auto",
    shard: Shard = None,
    part: Parts = None,
) -> None:
    """Estimate the density of the Gaussian donut at x = 0 and x = 1 (cdo figure 4). Needs no data.

    The error as published is that to the joint density, the corrected one that to the conditional.
    The last three examples do in three jobs, the first two at once, what one would.

    \b
    python -m kcde run donut --method CDO --settings authors --out donut.csv
    python -m kcde run donut --method CDO-clipped --estimator CDO --settings authors \\
        --options '{"weights": "clipped"}' --repetitions 2 --out clipped.csv
    python -m kcde run donut --method LSCDE --shard 1/2 --out 1.joblib
    python -m kcde run donut --method LSCDE --shard 2/2 --out 2.joblib
    python -m kcde run donut --method LSCDE --part 1.joblib --part 2.joblib --out LSCDE.csv
    """  # noqa: D301
    import logging

    from kcde.experiments.donut import Job, run

    logging.basicConfig(level=logging.INFO, format="%(message)s")
    job = Job(
        method=method,
        estimator=estimator or method,
        variant=variant,
        options=constructor_arguments(options),
        settings=settings,
        repetitions=repetitions,
        points=points,
        backend=backend,
    )
    run(job, out, cut(shard, part))
    typer.echo(f"wrote {out}")


@app.command("terrain")
def run_terrain_command(
    dataset: Dataset,
    method: Method,
    out: Out,
    estimator: Estimator = None,
    options: Options = "{}",
    settings: Settings = "chosen",
    variant: Variant = "as-published",
    folds: Annotated[
        int, typer.Option(help="How many of ten shuffled folds are held out, the first ones.")
    ] = 10,
    splits: Annotated[
        int, typer.Option(help="Random splits into 80% training and 20% test rows, as for flows.")
    ] = 0,
    data_dir: DataDir = Path("data"),
    catalogue: Catalogue = None,
    record: Record = None,
    backend: Backend = "auto",
    shard: Shard = None,
    part: Parts = None,
) -> None:
    """Predict elevation from coordinates, with scaled absolute errors (cdo table 3).

    All 14040 points take 1.3 GB for each matrix of kernel values, and half a minute a fold. Shards
    count the folds and then the random splits as repetitions; `run donut --help` has an example.

    \b
    python -m kcde fetch rough-terrain
    python -m kcde run terrain --dataset rough-terrain --method CDO --settings authors \\
        --folds 1 --out terrain.csv
    """  # noqa: D301
    import logging

    from kcde.experiments.terrain import Job, run

    logging.basicConfig(level=logging.INFO, format="%(message)s")
    job = Job(
        dataset=dataset,
        method=method,
        estimator=estimator or method,
        variant=variant,
        options=constructor_arguments(options),
        settings=settings,
        folds=folds,
        splits=splits,
        backend=backend,
    )
    run(job, out, data_dir, catalogue=catalogue, record=record, cut=cut(shard, part))
    typer.echo(f"wrote {out}")
