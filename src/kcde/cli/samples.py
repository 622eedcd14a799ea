"""Commands for samples of joint densities: `run samples`, `run similarity`."""

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
)

app = typer.Typer()


@app.command("samples", context_settings={"allow_extra_args": True})
def run_samples_command(
    context: typer.Context,
    dataset: Dataset,
    method: Method,
    out: Out,
    graph_: Annotated[
        str | None,
        typer.Option(
            "--graph", help="full, markov, or JSON parents from 0; one model of all by default."
        ),
    ] = None,
    estimator: Estimator = None,
    options: Options = "{}",
    variant: Variant = "as-published",
    seeds: Annotated[int, typer.Option(help="How often 2000 samples are drawn.")] = 10,
    samples: Annotated[int, typer.Option(help="Samples of each seed.")] = 2000,
    sampler: Annotated[
        str,
        typer.Option(
            help="hmc, direct, or auto: hmc where the estimator has it, unless METHOD ends in "
            "-inverse."
        ),
    ] = "auto",
    factors: Annotated[
        list[Path] | None,
        typer.Option(
            help="What `run factors` wrote: take its hyper-parameters; several may follow."
        ),
    ] = None,
    tuning_rows: TuningRows = 500,
    max_dim: MaxDim = 20,
    backend: Backend = "auto",
    data_dir: DataDir = Path("data"),
    catalogue: Catalogue = None,
    record: Record = None,
    shard: Shard = None,
    part: Parts = None,
) -> None:
    """Fit a joint density to the rows of run 0 and draw from it, once a seed.

    A shard draws under some of the seeds, from the model that it fits itself.

    \b
    python -m kcde run samples --dataset grid-200 --method LSCDE-F --estimator LSCDE \\
        --graph full --out samples.csv
    """  # noqa: D301
    import logging

    from kcde.experiments.samples import Job, run

    logging.basicConfig(level=logging.INFO, format="%(message)s")
    if context.args and factors is None:
        raise ValueError(f"unexpected arguments {context.args}; score files need --factors FILE...")
    job = Job(
        dataset=dataset,
        method=method,
        estimator=estimator or method,
        variant=variant,
        options=constructor_arguments(options),
        graph=None if graph_ is None else graph(graph_),
        seeds=seeds,
        sampler=sampler,
        samples=samples,
        tuning_rows=tuning_rows,
        max_dim=max_dim,
        backend=backend,
    )
    run(
        job,
        out,
        data_dir,
        factors=[*(factors or []), *map(Path, context.args)],
        catalogue=catalogue,
        record=record,
        cut=cut(shard, part),
    )
    typer.echo(f"wrote {out}")


@app.command("similarity")
def run_similarity_command(
    ours: Annotated[Path, typer.Option(help="Samples of KCEF, as `run samples` wrote them.")],
    rival: Annotated[Path, typer.Option(help="Samples of the method compared with.")],
    rival_name: Annotated[str, typer.Option(help="What it is called in the hypothesis.")],
    out: Out,
    backend: Backend = "auto",
) -> None:
    """Test, for each seed, whether KCEF's samples are closer to the data than a rival's.

    \b
    python -m kcde run similarity --ours samples/red-wine/KCEF-F.npz \\
        --rival samples/red-wine/KEF.npz --rival-name KEF --out similarity.csv
    """  # noqa: D301
    from kcde.experiments import similarity

    similarity.run(ours, rival, rival_name, out, backend=backend)
    typer.echo(f"wrote {out}")
