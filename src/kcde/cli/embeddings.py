"""Commands for low-rank embeddings: `run moments`, `run portfolio`."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from kcde.cli.options import (
    Backend,
    Catalogue,
    DataDir,
    Parts,
    Shard,
    constructor_arguments,
    cut,
    numbers,
)

app = typer.Typer()

Methods = Annotated[
    list[str],
    typer.Option(
        help="What the method is called in the scores. Several, each with an --out of its own, "
        "share what their fits have in common: JDL, CME and KLR have the same bases."
    ),
]
Outs = Annotated[
    list[Path],
    typer.Option(
        help="The score CSV, one a method in their order; .json and .npz go beside it. With "
        "--shard one for all methods."
    ),
]
Estimators = Annotated[
    list[str] | None,
    typer.Option(help="Class in kcde.estimators, one a method; the method's name by default."),
]
EachOptions = Annotated[
    list[str] | None,
    typer.Option(help="Constructor arguments as a JSON object, one a method; none by default."),
]
Variants = Annotated[
    list[str] | None,
    typer.Option(help="as-published, or ours, one a method; as-published by default."),
]
BandwidthFactors = Annotated[
    str, typer.Option(help="Bandwidths to try, over the median distance/√2.")
]
Regularizations = Annotated[str, typer.Option(help="Regularizations to try.")]
TestRows = Annotated[int, typer.Option(help="Points at which each fit is tested.")]
TuningRows = Annotated[
    int | None, typer.Option(help="Rows that choose the parameters, at most; all by default.")
]

FACTORS = "0.5,1,2,4"
LAMBDAS = "1e-8,1e-7,1e-6,1e-5,1e-4,1e-3,1e-2,1e-1,1,10"
MORE_LAMBDAS = f"1e-14,1e-13,1e-12,1e-11,1e-10,1e-9,{LAMBDAS}"


@app.command("moments")
def run_moments_command(
    dataset: Annotated[str, typer.Option(help="gaussian-<d>-<n>: d columns, n rows.")],
    method: Methods,
    out: Outs,
    estimator: Estimators = None,
    options: EachOptions = None,
    variant: Variants = None,
    repetitions: Annotated[int, typer.Option(help="Random correlation matrices.")] = 20,
    constrained_repetitions: Annotated[
        int | None,
        typer.Option(help="Also fitted with constraints: the first so many; all by default."),
    ] = None,
    choice: Annotated[
        str,
        typer.Option(
            help="Parameters of a fit with constraints: own, or shared with that without."
        ),
    ] = "own",
    tolerances: Annotated[
        str, typer.Option(help="Relative, of the factors; with constraints the first alone.")
    ] = "1e-3",
    tuning_rows: TuningRows = None,
    test_rows: TestRows = 5000,
    gamma_std: Annotated[
        float, typer.Option(help="Standard deviation of the elements of log C.")
    ] = 1.0,
    bandwidth_factors: BandwidthFactors = FACTORS,
    regularizations: Regularizations = MORE_LAMBDAS,
    backend: Backend = "auto",
    shard: Shard = None,
    part: Parts = None,
) -> None:
    """Estimate conditional second moments of Gaussian pairs (jdl figures 1 to 6). Needs no data.

    The last three examples do in three jobs, the first two at once, what the one before does.

    \b
    python -m kcde run moments --dataset gaussian-1-1000 --method JDL --repetitions 2 \\
        --out moments.csv
    python -m kcde run moments --dataset gaussian-1-1000 --method JDL --out JDL.csv \\
        --method CME --out CME.csv
    python -m kcde run moments --dataset gaussian-1-1000 --method JDL --method CME \\
        --shard 1/2 --out 1.joblib
    python -m kcde run moments --dataset gaussian-1-1000 --method JDL --method CME \\
        --shard 2/2 --out 2.joblib
    python -m kcde run moments --dataset gaussian-1-1000 --method JDL --out JDL.csv \\
        --method CME --out CME.csv --part 1.joblib --part 2.joblib
    """  # noqa: D301
    import logging

    from kcde.experiments.low_rank import Grid
    from kcde.experiments.moments import Job, run

    logging.basicConfig(level=logging.INFO, format="%(message)s")
    shared = Job(
        dataset=dataset,
        method="",
        estimator="",
        repetitions=repetitions,
        constrained_repetitions=constrained_repetitions,
        choice=choice,
        tolerances=numbers(tolerances, "--tolerances"),
        tuning_rows=tuning_rows,
        test_rows=test_rows,
        gamma_std=gamma_std,
        grid=Grid(
            numbers(bandwidth_factors, "--bandwidth-factors"),
            numbers(regularizations, "--regularizations"),
        ),
        backend=backend,
    )
    run(_each(shared, method, estimator, options, variant), out, cut(shard, part))
    typer.echo(f"wrote {', '.join(map(str, out))}")


@app.command("portfolio")
def run_portfolio_command(
    dataset: Annotated[str, typer.Option(help="portfolios-<d>-<n>: the first d, n days.")],
    method: Methods,
    out: Outs,
    estimator: Estimators = None,
    options: EachOptions = None,
    variant: Variants = None,
    portfolios: Annotated[
        str, typer.Option(help="The data set of returns.")
    ] = "fama-french-25-daily",
    risk_free: Annotated[
        str, typer.Option(help="The data set of risk-free returns.")
    ] = "fama-french-factors-daily",
    repetitions: Annotated[int, typer.Option(help="Random subsamples of days.")] = 20,
    tolerance: Annotated[float, typer.Option(help="Of the factors.")] = 1e-3,
    max_rank: Annotated[
        int | None, typer.Option(help="Pivots of a factor, at most; as many as needed by default.")
    ] = None,
    tuning_rows: TuningRows = None,
    test_rows: TestRows = 5000,
    bandwidth_factors: BandwidthFactors = FACTORS,
    regularizations: Regularizations = LAMBDAS,
    data_dir: DataDir = Path("data"),
    catalogue: Catalogue = None,
    record: Annotated[
        list[Path] | None,
        typer.Option(
            help="What `fetch --record` wrote of the returns, then of the risk-free ones."
        ),
    ] = None,
    backend: Backend = "auto",
    shard: Shard = None,
    part: Parts = None,
) -> None:
    """Estimate how likely portfolios lose much on the next day (jdl figures 7 to 9).

    Of several jobs, --shard and --part, `run moments --help` has an example.

    \b
    python -m kcde fetch fama-french-25-daily
    python -m kcde fetch fama-french-factors-daily
    python -m kcde run portfolio --dataset portfolios-5-1000 --method JDL --repetitions 2 \\
        --out portfolio.csv
    python -m kcde run portfolio --dataset portfolios-5-1000 --method JDL --out JDL.csv \\
        --method KLR --out KLR.csv
    """  # noqa: D301
    import logging

    from kcde.experiments.low_rank import Grid
    from kcde.experiments.portfolio import Job, run

    logging.basicConfig(level=logging.INFO, format="%(message)s")
    shared = Job(
        dataset=dataset,
        method="",
        estimator="",
        portfolios=portfolios,
        risk_free=risk_free,
        repetitions=repetitions,
        tolerance=tolerance,
        max_rank=max_rank,
        tuning_rows=tuning_rows,
        test_rows=test_rows,
        grid=Grid(
            numbers(bandwidth_factors, "--bandwidth-factors"),
            numbers(regularizations, "--regularizations"),
        ),
        backend=backend,
    )
    jobs = _each(shared, method, estimator, options, variant)
    records = tuple(record or ())
    run(jobs, out, data_dir, catalogue=catalogue, records=records, cut=cut(shard, part))
    typer.echo(f"wrote {', '.join(map(str, out))}")


def _each(shared, methods: Sequence[str], estimators, options, variants) -> list:
    """Return a job for each method; what was given of a method must have been given of all.

    Raises
    ------
    ValueError
        If an option stands neither once for each method nor not at all, or is no JSON object.
    """
    given = {"--estimator": estimators, "--options": options, "--variant": variants}
    for name, values in given.items():
        if values and len(values) != len(methods):
            raise ValueError(
                f"{name} must stand once for each --method, in their order, or not at all; got "
                f"{len(values)} for {len(methods)}"
            )
    n = len(methods)
    columns = (
        methods,
        estimators or methods,
        map(constructor_arguments, options or ["{}"] * n),
        variants or ["as-published"] * n,
    )
    names = ("method", "estimator", "options", "variant")
    return [
        replace(shared, **dict(zip(names, values, strict=True)))
        for values in zip(*columns, strict=True)
    ]
