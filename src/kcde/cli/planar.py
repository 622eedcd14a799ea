"""The command for densities of points of the plane: `run planar`."""

from typing import Annotated

import typer

from kcde.cli.options import (
    Backend,
    Estimator,
    Method,
    Options,
    Out,
    Parts,
    Shard,
    Variant,
    constructor_arguments,
    cut,
)

app = typer.Typer()


@app.command("planar")
def run_planar_command(
    dataset: Annotated[str, typer.Option(help="two-moons, ring, grid; two-moons-code, ring-code.")],
    method: Method,
    out: Out,
    estimator: Estimator = None,
    options: Options = "{}",
    variant: Variant = "as-published",
    seeds: Annotated[int, typer.Option(help="How often points are drawn and fitted.")] = 10,
    iterations: Annotated[
        int, typer.Option(help="Of estimators that are trained by iterations.")
    ] = 20_000,
    samples: Annotated[
        int | None, typer.Option(help="Of each seed; by default as many as test points.")
    ] = None,
    backend: Backend = "auto",
    shard: Shard = None,
    part: Parts = None,
) -> None:
    """Fit a density to points of the plane and draw from it (dde table 1). Needs no data.

    DDE trains all seeds in one program: its job cannot be cut into shards.

    \b
    python -m kcde run planar --dataset grid --method KEF --seeds 2 --out planar.csv
    """  # noqa: D301
    import logging

    from kcde.experiments.planar import Job, run

    logging.basicConfig(level=logging.INFO, format="%(message)s")
    job = Job(
        dataset=dataset,
        method=method,
        estimator=estimator or method,
        variant=variant,
        options=constructor_arguments(options),
        seeds=seeds,
        iterations=iterations,
        samples=samples,
        backend=backend,
    )
    run(job, out, cut=cut(shard, part))
    typer.echo(f"wrote {out}")
