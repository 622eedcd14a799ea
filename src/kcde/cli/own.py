"""Commands for a table of one's own: `compare`, `fit`, `predict`, and `houses` to try them on."""

import re
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from kcde.cli.options import json_object, numbers

app = typer.Typer()

Data = Annotated[Path, Argument(help="A .csv, .tsv, .parquet or .feather file.")]
Y = Annotated[str, Option("--y", help="The column that is predicted.")]
X = Annotated[str | None, Option("--x", help="Columns given it, a,b,c; by default all others.")]
Drop = Annotated[str | None, Option(help="Columns that are not used, a,b,c.")]
_GROUPS = "Column whose rows of one value stay together, in splits and in folds of a method."
Groups = Annotated[str | None, Option(help=_GROUPS)]
Missing = Annotated[str, Option(help="Rows with missing values: refuse, or drop them.")]
Delimiter = Annotated[str | None, Option(help="Of a CSV, or `tab`; by default what fits.")]
Decimal = Annotated[str, Option(help="Decimal mark of a CSV, . or ,")]

_SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


@app.command("compare")
def compare_command(
    data: Data,
    y: Y,
    x: X = None,
    methods: Annotated[str | None, Option(help="a,b,c; by default all that apply.")] = None,
    splits: Annotated[int, Option(help="Splits into training and test rows.")] = 10,
    groups: Groups = None,
    time_column: Annotated[str | None, Option(help="Of time: splits train on the past.")] = None,
    budget: Annotated[str, Option(help="Time for all of it: 90s, 10m or 2h.")] = "10m",
    out: Annotated[Path | None, Option(help="Folder; by default FILE-comparison.")] = None,
    drop: Drop = None,
    missing: Missing = "refuse",
    rows: Annotated[int, Option(min=0, help="Most rows to train, at random; 0: all.")] = 50_000,
    delimiter: Delimiter = None,
    decimal: Decimal = ".",
    seed: Annotated[int, Option(help="Of the splits.")] = 0,
    jobs: Annotated[int, Option(min=1, help="Processes at once; scores do not change.")] = 1,
) -> None:
    """Say which conditional density of a column to use: one page, a table, and advice.

    Checks the file column by column, scores every method on held-out rows within --budget, quick
    ones first, and writes comparison.html, comparison.csv, splits.csv and comparison.png into
    --out. Stopped, the same command goes on where it was; with a larger --budget it does what was
    skipped. Random splits mislead where rows belong together (--groups) or new rows will be later
    ones (--time-column).

    \b
    kcde compare houses.csv --y price
    kcde compare houses.csv --y price --x income,age,rooms --methods LSCDE-exact,NGBoost --budget 2m
    kcde compare visits.parquet --y cost --groups patient
    kcde compare load.csv --y megawatts --time-column date
    """  # noqa: D301
    from kcde import comparison, tabular

    frame = tabular.read(data, delimiter, decimal)
    folder = out or data.with_name(f"{data.stem}-comparison")
    reading = {"delimiter": delimiter} if delimiter else {}
    reading |= {"decimal": decimal} if decimal != "." else {}
    given = {"methods": names(methods, "--methods"), "drop": names(drop, "--drop") or ()}
    given |= {"splits": splits, "seed": seed, "groups": groups, "time_column": time_column}
    given |= {"budget": duration(budget, "--budget"), "jobs": jobs, "rows": rows or None}
    given |= {"missing": missing, "source": data.name, "reading": reading, "out": folder}
    say = partial(typer.echo, err=True)
    typer.echo(str(comparison.compare(frame, y, names(x, "--x"), say=say, **given)))
    typer.echo(f"wrote {folder / comparison.PAGE}")


@app.command("fit")
def fit_command(
    data: Data,
    y: Y,
    method: Annotated[str, Option(help="A method, as `kcde compare` advises one.")],
    out: Annotated[Path, Option(help="The model file, NAME.kcde.")],
    x: X = None,
    drop: Drop = None,
    groups: Groups = None,
    missing: Missing = "refuse",
    conformal: Annotated[float | None, Option(help="Share of rows that calibrate instead.")] = None,
    options: Annotated[str, Option(help="Constructor arguments as a JSON object.")] = "{}",
    delimiter: Delimiter = None,
    decimal: Decimal = ".",
    seed: Annotated[int, Option(help="Of what is random in the fit.")] = 0,
) -> None:
    """Fit a method to all rows of a file and write the model, safe to load from anywhere.

    The model file is a zip of arrays and JSON; reading one runs no code of it. It has the names of
    the columns, versions and the SHA-256 of the training data. With --conformal that share of the
    rows is not fitted, but calibrates intervals.

    \b
    kcde fit houses.csv --y price --method LikelihoodKCEF --out price.kcde
    kcde fit houses.csv --y price --method LSCDE-exact --conformal 0.25 --out price.kcde
    """  # noqa: D301
    from kcde import tabular
    from kcde.table_model import TableModel, require_savable

    require_savable(method)
    _require_apart(out, data)
    arguments = json_object(options, "--options", '{"folds": 5}')
    given = {"drop": names(drop, "--drop") or (), "groups": groups, "missing": missing}
    given |= {"conformal": conformal, "options": arguments, "seed": seed}
    model = TableModel(method, y, names(x, "--x"), **given)
    try:
        model.fit(tabular.read(data, delimiter, decimal))
    except TypeError as error:
        if not arguments:
            raise
        raise ValueError(f"--options {options}: {error}") from None
    for line in model.notes_:
        typer.echo(line, err=True)
    model.save(out)
    typer.echo(f"wrote {out}: {method}, {y} given {len(model.columns_.x)} columns")


@app.command("predict")
def predict_command(
    model: Annotated[Path, Argument(help="A file that `kcde fit` has written.")],
    data: Data,
    out: Annotated[Path, Option(help="The CSV of the predictions.")],
    quantiles: Annotated[str, Option(help="Of y, as .05,.5,.95")] = "0.05,0.5,0.95",
    interval: Annotated[float | None, Option(help="Its probability, e.g. 0.9.")] = None,
    density: Annotated[str | None, Option(help="`grid`: at 101 y; or these, 1,2,3.")] = None,
    delimiter: Delimiter = None,
    decimal: Decimal = ".",
) -> None:
    """Predict y for the rows of a file: quantiles, mean, intervals and densities.

    The columns must be those of the training data; new or missing ones, text in numbers and unseen
    levels are refused by name. Where the file has y, the log density of each row is added.
    Intervals are calibrated if the fit was --conformal.

    \b
    kcde predict price.kcde new.csv --out predictions.csv
    kcde predict price.kcde new.csv --quantiles .05,.5,.95 --density grid --out predictions.csv
    kcde predict price.kcde new.csv --interval 0.9 --out predictions.csv
    """  # noqa: D301
    from kcde import tabular
    from kcde.files import atomic
    from kcde.table_model import TableModel

    levels = numbers(quantiles, "--quantiles")
    at = density if density in (None, "grid") else numbers(density, "--density")
    _require_apart(out, data, model)
    fitted = TableModel.load(model)
    frame = tabular.read(data, delimiter, decimal, text=fitted.columns_.text)
    table = fitted.predictions(frame, levels, interval=interval, density=at)
    with atomic(out) as temporary:
        table.to_csv(temporary, index=False, lineterminator="\n")
    typer.echo(f"wrote {out}: {len(table)} rows")


@app.command("houses")
def houses_command(
    out: Annotated[Path, Argument(help="The CSV that is written.")],
    rows: Annotated[int, Option(min=1, help="Number of rows.")] = 20_640,
) -> None:
    """Write a made-up table of house prices to try `kcde compare` on, the same each time.

    Eight columns and a price that is cut off above, of the shape of the California housing data.

    \b
    kcde houses houses.csv
    kcde compare houses.csv --y price --budget 5m
    """  # noqa: D301
    from kcde.data.made_up import houses
    from kcde.files import atomic

    with atomic(out) as temporary:
        houses(rows).to_csv(temporary, index=False, lineterminator="\n")
    typer.echo(f"wrote {out}: {rows} rows")


def _require_apart(out: Path, *read: Path) -> None:
    """Raise `ValueError` if what is written would replace a file that is read."""
    if out.resolve() in [path.resolve() for path in read]:
        raise ValueError(f"--out {out} is a file that is read, and would be lost: name another")


def names(text: str | None, option: str) -> list[str] | None:
    """Return the names of an option such as `area,rooms`; quotes hold commas together.

    Raises
    ------
    ValueError
        If a name is empty or stands twice.
    """
    import csv

    if text is None:
        return None
    try:
        found = [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [])]
    except csv.Error:  # as of a line break outside quotes
        found = []
    if not found or not all(found) or len(set(found)) < len(found):
        raise ValueError(f"{option} must list names, each once, as a,b,c; got {text!r}")
    return found


def duration(text: str, option: str) -> float:
    """Return the seconds of a text such as `90s`, `10m` or `2h`.

    Raises
    ------
    ValueError
        If it is none.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smh]?)", text.strip())
    if not match or float(match[1]) == 0:
        raise ValueError(f"{option} must be a time as 90s, 10m or 2h; got {text!r}")
    return float(match[1]) * _SECONDS[match[2]]
