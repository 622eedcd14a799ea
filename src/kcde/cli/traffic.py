"""The command for traffic of cdo: `run traffic`."""

from pathlib import Path
from typing import Annotated

import typer

from kcde.cli.options import (
    Backend,
    Catalogue,
    DataDir,
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


@app.command("traffic")
def run_traffic_command(
    dataset: Annotated[
        str,
        typer.Option(
            help="pems-sf, simulated-traffic, or a table of hours as metro-traffic-substitute."
        ),
    ],
    method: Method,
    out: Out,
    estimator: Estimator = None,
    options: Options = "{}",
    settings: Settings = "chosen",
    variant: Variant = "as-published",
    splits: Annotated[
        int, typer.Option(help="Random splits by days, at most; pems-sf has one of its own.")
    ] = 10,
    tuning_rows: Annotated[
        int, typer.Option(help="Training rows that choose parameters, at most.")
    ] = 2000,
    data_dir: DataDir = Path("data"),
    catalogue: Catalogue = None,
    record: Record = None,
    backend: Backend = "auto",
    shard: Shard = None,
    part: Parts = None,
) -> None:
    """Predict mean and spread of traffic by day of the week and time of day (cdo figure 5).

    Days that test are others than those that train. pems-sf is a download of 250 MB; where it
    cannot be had, metro-traffic-substitute goes the same way, with 168 inputs instead of 1008. On
    simulated-traffic, which needs no data, seconds and memory of a fit of 32256 pairs are measured.
    Shards count splits as repetitions; `run donut --help` has an example.

    \b
    python -m kcde fetch metro-traffic-substitute
    python -m kcde run traffic --dataset metro-traffic-substitute --method CDO \\
        --settings authors --splits 3 --out traffic.csv
    python -m kcde run traffic --dataset simulated-traffic --method CDO --settings authors \\
        --out cost.csv
    """  # noqa: D301
    import logging

    from kcde.experiments.traffic import Job, run

    logging.basicConfig(level=logging.INFO, format="%(message)s")
    job = Job(
        dataset=dataset,
        method=method,
        estimator=estimator or method,
        variant=variant,
        options=constructor_arguments(options),
        settings=settings,
        splits=splits,
        tuning_rows=tuning_rows,
        backend=backend,
    )
    run(job, out, data_dir, catalogue=catalogue, record=record, cut=cut(shard, part))
    typer.echo(f"wrote {out}")
