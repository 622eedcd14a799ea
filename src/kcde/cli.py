"""`python -m kcde`: every step of the workflow as a command that also works on its own.

A command imports numpy, pandas or scipy inside, so that
`--help` and short commands do not wait for them.
"""

import importlib.metadata
import json
import math
import os
import platform
import re
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer
from typer import Argument, Option

from kcde import __version__
from kcde.names import composed

_EPILOG = "Example: python -m kcde fetch geyser. Each command explains itself: COMMAND --help."
_PLAIN = {"add_completion": False, "rich_markup_mode": None, "pretty_exceptions_enable": False}
app = typer.Typer(name="kcde", epilog=_EPILOG, no_args_is_help=True, **_PLAIN)


def _say_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"kcde {__version__}")
        raise typer.Exit


_VERSION = typer.Option("--version", callback=_say_version, is_eager=True, help="Show the version.")


@app.callback()
def _kcde(version: Annotated[bool, _VERSION] = False) -> None:
    """Kernel conditional density estimation: fetch data, fit methods, draw tables and figures."""


DataDir = Annotated[Path, Option(help="Folder of the raw data.")]
Catalogue = Annotated[Path | None, Option(help="Another catalogue (CSV) than the built-in one.")]
Backend = Annotated[str, Option(help="auto, numpy or cupy.")]


def numbers(text: str, option: str) -> tuple[float, ...]:
    """Return the numbers of an option such as `0.5,1e-3`.

    Raises
    ------
    ValueError
        If the text is not a list of numbers, each once.
    """
    with suppress(ValueError):
        found = tuple(map(float, names(text, option)))
        if all(map(math.isfinite, found)):
            return found
    raise ValueError(f"{option} must list numbers, each once, as 0.5,1e-3; got {text}")


def json_object(text: str, option: str, example: str) -> dict:
    """Return the object of an option in JSON, or raise `ValueError`."""
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"{option} is not JSON ({error}): {text}") from None
    if not isinstance(found, dict):
        raise ValueError(f"{option} must be a JSON object such as {example}; got {text}")
    return found


Data = Annotated[Path, Argument(help="A .csv, .tsv, .parquet or .feather file.")]
Y = Annotated[str, Option("--y", parser=composed, help="The column that is predicted.")]
X = Annotated[str | None, Option("--x", parser=composed, help="Columns given it, a,b,c; else all.")]
Drop = Annotated[str | None, Option(parser=composed, help="Columns that are not used, a,b,c.")]
_GROUPS = "Column whose rows of one value stay together, in splits and in folds of a method."
Groups = Annotated[str | None, Option(parser=composed, help=_GROUPS)]
Levels = Annotated[str | None, Option(parser=composed, help="Numbers that are categories, a,b,c.")]
_MISSING = "Missing values: refuse; drop their rows; or indicate in a column where x is missing."
Missing = Annotated[str, Option(help=_MISSING)]
Na = Annotated[list[str], Option(help="Words or numbers for missing values, '?,-999'; repeatable.")]
LogY = Annotated[bool, Option("--log-y", help="Model log y, of y > 0: --lower 0.")]
_LOWER = "A bound below all y: log(y - LOWER) is modelled, answers are in units of y and above it."
Lower = Annotated[float | None, Option(help=_LOWER)]
_TIME = "Of time: splits train on the past, and the latest rows calibrate --conformal."
TimeColumn = Annotated[str | None, Option(parser=composed, help=_TIME)]
_WEIGHT = "Column of how often a row counts, as the weights of a survey."
Delimiter = Annotated[str | None, Option(help="Of a CSV, or `tab`; by default what fits.")]
Decimal = Annotated[str, Option(help="Decimal mark of a CSV, . or ,")]

_KEPT = "Columns to carry to the predictions, as a key; repeatable."

_FORMULA = re.compile(r"[=@\t\r]|[+-](?![\d.,]*(e[+-]?\d+)?$)", re.IGNORECASE)

_SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


@app.command("compare")
def compare_command(
    data: Data,
    y: Y,
    x: X = None,
    methods: Annotated[str | None, Option(help="a,b,c, or all; by default eight.")] = None,
    splits: Annotated[int, Option(help="Splits into training and test rows.")] = 10,
    groups: Groups = None,
    time_column: TimeColumn = None,
    budget: Annotated[str, Option(help="Time for all of it: 90s, 10m or 2h.")] = "10m",
    out: Annotated[
        Path | None, Option("--out", "-o", help="Folder; by default FILE-comparison.")
    ] = None,
    drop: Drop = None,
    levels: Levels = None,
    missing: Missing = "refuse",
    na: Na = (),
    log_y: LogY = False,
    lower: Lower = None,
    rows: Annotated[int, Option(min=0, help="Most rows to train, at random; 0: all.")] = 50_000,
    delimiter: Delimiter = None,
    decimal: Decimal = ".",
    seed: Annotated[int, Option(help="Of the splits.")] = 0,
    jobs: Annotated[int, Option(min=1, help="Processes at once; scores do not change.")] = 1,
    shard: Annotated[str, Option(help="i/k, on one of k machines: scores its part alone.")] = "",
) -> None:
    """Say which conditional density of a column to use: one page, a table, and advice.

    Checks the file column by column, scores methods on held-out rows within --budget, first on 500
    rows, then on more, and writes comparison.html, comparison.csv, splits.csv and comparison.png
    into --out. Stopped, the same command goes on where it was; with a larger --budget it does what
    was skipped. Random splits mislead where rows belong together (--groups) or new rows will be
    later ones (--time-column). With --shard, a part of the splits is scored on all rows, and
    nothing is advised; after all parts, the same command without it goes on from their scores.

    \b
    kcde compare houses.csv --y price
    kcde compare houses.csv --y price --x income,age,rooms --methods LSCDE-exact,NGBoost --budget 2m
    kcde compare visits.parquet --y cost --groups patient
    kcde compare load.csv --y megawatts --time-column date
    sbatch --array=1-8 --wrap 'kcde compare load.csv --y megawatts --shard $SLURM_ARRAY_TASK_ID/8'
    """  # noqa: D301
    from kcde import comparison, tabular

    coded = names(levels, "--levels") or []
    reading = _reading(delimiter, decimal, [*coded, *([groups] if groups else [])], na)
    frame = tabular.read(data, **reading)
    folder = out or data.with_name(f"{data.stem}-comparison")
    for table in ("comparison.csv", "splits.csv"):
        _require_apart(folder / table, data)
    given = {"methods": names(methods, "--methods"), "drop": names(drop, "--drop") or ()}
    given |= {"splits": splits, "seed": seed, "groups": groups, "time_column": time_column}
    given |= {"levels": coded, "lower": _bound(lower, log_y)}
    given |= {"budget": duration(budget, "--budget"), "jobs": jobs, "rows": rows or None}
    given |= {"missing": missing, "source": data.name, "reading": reading, "out": folder}
    given["shard"] = _shard(shard)
    found = comparison.compare(
        frame, y, names(x, "--x"), say=partial(typer.echo, err=True), **given
    )
    if found is not None:
        typer.echo(str(found))
        typer.echo(f"wrote {folder / comparison.PAGE}")


@app.command("fit")
def fit_command(
    data: Data,
    y: Y,
    out: Annotated[Path, Option("--out", "-o", help="The model file, NAME.kcde.")],
    method: Annotated[str, Option(help="As `kcde compare` advises one.")] = "LikelihoodKCEF",
    x: X = None,
    drop: Drop = None,
    groups: Groups = None,
    time_column: TimeColumn = None,
    levels: Levels = None,
    missing: Missing = "refuse",
    na: Na = (),
    log_y: LogY = False,
    lower: Lower = None,
    weight: Annotated[str | None, Option(parser=composed, help=_WEIGHT)] = None,
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
    kcde fit houses.csv --y price --out price.kcde
    kcde fit houses.csv --y price --method LSCDE-exact --conformal 0.25 --out price.kcde
    """  # noqa: D301
    from kcde import tabular
    from kcde.table_model import TableModel

    arguments = json_object(options, "--options", '{"folds": 5}')
    _require_apart(out, data)
    coded = names(levels, "--levels") or []
    given = {"drop": names(drop, "--drop") or (), "groups": groups, "levels": coded}
    given |= {"time_column": time_column, "missing": missing, "weight": weight}
    given |= {"lower": _bound(lower, log_y), "conformal": conformal}
    given |= {"options": arguments, "seed": seed}
    model = TableModel(method, y, names(x, "--x"), **given)
    reading = _reading(delimiter, decimal, [*coded, *([groups] if groups else [])], na)
    try:
        model.fit(tabular.read(data, **reading))
    except TypeError as error:
        if not arguments:
            raise
        raise ValueError(f"--options {options}: {error}") from None
    for line in model.notes_:
        typer.echo(line, err=True)
    model.about_["na"] = list(reading.get("na", ()))
    model.save(out)
    typer.echo(f"wrote {out}: {method}, {y} given {len(model.columns_.x)} columns")


@app.command("predict")
def predict_command(
    model: Annotated[Path, Argument(help="A file that `kcde fit` has written.")],
    data: Data,
    out: Annotated[Path, Option("--out", "-o", help="The CSV of the predictions.")],
    quantiles: Annotated[str, Option(help="Of y, as .05,.5,.95")] = "0.05,0.5,0.95",
    interval: Annotated[float | None, Option(help="Its probability, e.g. 0.9.")] = None,
    density: Annotated[str | None, Option(help="`grid`: at 101 y; or these, 1,2,3.")] = None,
    keep: Annotated[list[str], Option(parser=composed, help=_KEPT)] = (),
    na: Na = (),
    delimiter: Delimiter = None,
    decimal: Decimal = ".",
) -> None:
    """Predict y for the rows of a file: quantiles, mean, intervals and densities.

    The columns must be those of the training data, and those to --keep. Rows with missing values,
    text in numbers or unseen levels have empty predictions, and are counted; so are rows outside
    the range of the training rows. Where the file has y, the log density of each row is added.
    Intervals are calibrated if the fit was --conformal. Kept text that begins like a formula of a
    spreadsheet (= + - @) has an apostrophe before it; numbers stay.

    \b
    kcde predict price.kcde new.csv --out predictions.csv
    kcde predict price.kcde new.csv --quantiles .05,.5,.95 --density grid --out predictions.csv
    kcde predict price.kcde new.csv --interval 0.9 --keep order_id --out predictions.csv
    """  # noqa: D301
    from kcde import tabular
    from kcde.files import atomic
    from kcde.table_model import TableModel

    levels = numbers(quantiles, "--quantiles")
    at = density if density in (None, "grid") else numbers(density, "--density")
    _require_apart(out, data, model)
    fitted = TableModel.load(model)
    kept = _listed(keep, "--keep")
    words = [*fitted.about_.get("na", ()), *na]
    reading = _reading(delimiter, decimal, fitted.columns_.text, words)
    used = {fitted.columns_.y, *(column.name for column in fitted.columns_.x)}
    frame = tabular.read(data, **reading, verbatim=set(kept) - used)
    asked = {"interval": interval, "density": at, "keep": kept}
    table = fitted.predictions(frame, levels, **asked, say=partial(typer.echo, err=True))
    table = table.assign(**{name: table[name].map(_inert) for name in kept})
    table = table.rename(columns=_inert)
    with atomic(out) as temporary:
        table.to_csv(temporary, index=False, lineterminator="\n")
    typer.echo(f"wrote {out}: {len(table)} rows")


def _inert(cell: object) -> object:
    """Return a cell that no spreadsheet runs: an apostrophe precedes text like a formula."""
    runs = isinstance(cell, str) and _FORMULA.match(cell)
    return f"'{cell}" if runs else cell


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


def _listed(given: Sequence[str], option: str) -> list[str]:
    """Return the names of an option that may be repeated, each with one or more."""
    return [name for text in given for name in names(text, option)]


def _reading(delimiter: str | None, decimal: str, text: list[str], na: Sequence[str]) -> dict:
    """Return the arguments of `kcde.tabular.read` that are not as by default."""
    given = {"delimiter": delimiter, "text": text, "na": _listed(na, "--na")}
    given["decimal"] = decimal if decimal != "." else None
    return {name: value for name, value in given.items() if value}


def _shard(text: str) -> tuple[int, int] | None:
    """Return the part and the number of parts of an option such as `2/4`, None for all."""
    if not text:
        return None
    found = re.fullmatch(r"(\d+)/(\d+)", text)
    part, parts = map(int, found.groups() if found else (0, 0))
    if not 1 <= part <= parts:
        raise ValueError(f"--shard is i/k with 1 ≤ i ≤ k, as 2/4; got {text!r}")
    return part, parts


def _bound(lower: float | None, log_y: bool) -> float | None:
    if log_y and lower is not None:
        raise ValueError("give --lower or --log-y, which is --lower 0, not both")
    return 0.0 if log_y else lower


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


_MIRROR = "KCDE_DATA_MIRROR"
PACKAGES = ("kcde", "numpy", "scipy", "pandas", "snakemake", "cupy", "jax", "numba")


@app.command("fetch")
def fetch_command(
    name: Annotated[str | None, Argument(help="A data set, or `all`.")] = None,
    list_: Annotated[bool, Option("--list", help="Show them with their licences.")] = False,
    data_dir: DataDir = Path("data"),
    mirror: Annotated[str | None, Option(envvar=_MIRROR, help="It is tried first.")] = None,
    catalogue: Catalogue = None,
) -> None:
    """Fetch the raw data of one data set, or of all, into --data-dir and check them.

    A file that is already there with the right checksum is not downloaded again. Others are looked
    for at the mirror, the original addresses, and in the copies that come with the repository. The
    exit code is 1 if a data set is unavailable.

    \b
    python -m kcde fetch --list
    python -m kcde fetch geyser
    python -m kcde fetch all --mirror /path/to/copies
    """  # noqa: D301
    from kcde.data import catalogue as catalogues
    from kcde.data.fetch import UnavailableError, fetch

    entries = catalogues.read(catalogue)
    if list_:
        for each in entries.values():
            origin = urlsplit(each.urls[0].url).netloc if each.urls else "-"
            typer.echo(f"{each.name:<30}{each.rows or '-':>6}  {each.licence}; {origin}")
        return
    if name is None:
        raise ValueError("fetch needs the name of a data set, or `all`; --list shows the names")
    pinned = [each.name for each in entries.values() if each.sha256]
    unavailable, copies = [], []
    for each in pinned if name == "all" else [name]:
        try:
            found = fetch(each, data_dir, mirror, catalogue)
        except UnavailableError as error:
            unavailable.append(each)
            typer.echo(f"kcde: {error}", err=True)
            continue
        typer.echo(found)
        copies += [found] * (found.origin == "bundled")
    if copies and (why := "; ".join(copies[0].failed)):
        typer.echo(f"kcde: {len(copies)} from bundled copies, since no other came: {why}", err=True)
    if unavailable:
        raise typer.Exit(1)


@app.command("smoke-data")
def smoke_data_command(folder: Annotated[Path, Argument(help="Written into.")]) -> None:
    """Generate small made-up data sets in the real file formats, with their own catalogue.

    The folder is a raw data folder: nothing of it has to be fetched.

    \b
    python -m kcde smoke-data raw
    """  # noqa: D301
    from kcde.data.smoke import write_smoke_data

    typer.echo(write_smoke_data(folder))


@app.command("info")
def info_command(backend: Backend = "auto") -> None:
    """Show versions, GPUs and the backend that is used here; for reports of problems.

    With --backend cupy the exit code is 2 where cupy cannot compute.

    \b
    python -m kcde info
    python -m kcde info --backend cupy    can the kernel methods compute on the GPU?
    """  # noqa: D301
    from kcde import arrays

    typer.echo(f"python     {platform.python_version()} on {platform.platform()}")
    for package in PACKAGES:
        typer.echo(f"{package:<10} {_versions(package)}")
    obstacle = arrays.cupy_obstacle()
    typer.echo(f"GPUs       {f'none: {obstacle}' if obstacle else ', '.join(arrays.devices())}")
    used = arrays.resolve_backend(backend)
    typer.echo(f"backend    {backend} is {used}, on {arrays.device_description(used)}")


def _versions(package: str) -> str:
    """Return the installed version; wheels of cupy are named after their CUDA."""
    names = (package, "cupy-cuda12x", "cupy-cuda13x") if package == "cupy" else (package,)
    found = []
    for name in names:
        with suppress(importlib.metadata.PackageNotFoundError):
            found.append(importlib.metadata.version(name) + f" ({name})" * (name != package))
    return ", ".join(found) or "not installed"


def _scale(scale: str | None) -> str | None:
    from kcde.experiments.base import SCALES

    if scale not in (None, *SCALES):
        raise ValueError(f"--scale must be one of {', '.join(SCALES)}; got {scale!r}")
    return scale


Scale = Annotated[str, Option(help="smoke, laptop or paper.", callback=_scale)]


@app.command("run")
def run_command(
    name: Annotated[str, Argument(metavar="EXPERIMENT", help="By default their list.")] = "",
    dataset: Annotated[str, Argument(help="One of its data sets.")] = "",
    methods: Annotated[list[str], Argument(help="A method, or several that share bases.")] = (),
    out: Annotated[list[Path], Option("--out", "-o", help="The score CSV of each method.")] = (),
    scale: Scale = "laptop",
    changes: Annotated[list[str], Option("--set", help="NAME=VALUE of a parameter.")] = (),
    define: Annotated[list[str], Option(help="JSON: {NAME: {estimator, options}}.")] = (),
    backend: Backend = "auto",
    files: Annotated[list[Path], Option(help="A score CSV that this job reads.")] = (),
    shard: Annotated[str, Option(help="i/k: every k-th repetition from the i-th on.")] = "",
    part: Annotated[list[Path], Option(help="What each shard wrote: collects.")] = (),
    data_dir: DataDir = Path("data"),
    catalogue: Catalogue = None,
) -> None:
    """Run one job of an experiment, a method on a data set, and write its scores.

    Beside each score CSV it writes .json and .npz; with --shard --out is one .npz for all methods.
    --out, --set, --define (methods of your own), --files and --part may be repeated.

    Without a data set it shows the parameters of the experiment with their sizes at every scale,
    its data sets and its methods.

    \b
    python -m kcde run                                           the experiments
    python -m kcde run terrain                                   one of them
    python -m kcde fetch rough-terrain
    python -m kcde run terrain rough-terrain CDO --set folds=2 -o out.csv
    python -m kcde run moments gaussian-1-1000 JDL CME -o JDL.csv -o CME.csv
    """  # noqa: D301
    import logging

    from kcde.experiments import experiment, experiments
    from kcde.experiments.runner import run
    from kcde.methods import define as add
    from kcde.methods import key_of

    if not name:
        for each, cls in experiments().items():
            typer.echo(f"{each:16} {(cls.__doc__ or '').splitlines()[0]}")
        return
    cls = experiment(name)
    if not (methods or out):
        typer.echo(_described(cls))
        return
    if not out or {bool(dataset), bool(methods)} != {bool(cls.datasets)}:
        raise ValueError(f"{name}: give {'data, method and' if cls.datasets else 'only'} --out")
    for each in out:  # .json and .npz are written beside it
        _require_apart(each.with_suffix(""), *(path.with_suffix("") for path in (*files, *part)))
    for text in define:
        add(json_object(text, "--define", '{"Mine": {"estimator": "LSCDE"}}'))
    if dataset:
        fitting = [method for method in cls.methods if dataset in cls.only.get(method, [dataset])]
        # A factor's method is followed by its columns: KCEF-F/01-03.
        named = [each.partition("/") for each in methods]
        keys = [first if first in cls.beside else key_of(first, fitting) for first, _, _ in named]
        methods = [key + slash + of for key, (_, slash, of) in zip(keys, named, strict=True)]
    given = {"data_dir": data_dir, "catalogue": catalogue, "files": tuple(files)}
    given |= {"backend": backend} if "backend" in cls.parameters() else {}
    given |= map(_assigned, changes)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    jobs = [cls.at(scale, dataset, method, **given) for method in methods or [""]]
    run(jobs, out, shard=_shard(shard), parts=part)
    typer.echo(f"wrote {', '.join(map(str, out))}")


def _described(cls) -> str:
    """Return what an experiment is, for a person who wants to run it."""
    from kcde.methods import shown

    lines = [f"{cls.name}: {cls.__doc__}", "", "parameters (smoke, laptop, paper):"]
    for each in cls.parameters().values():
        if each.metadata.get("help") and not each.metadata.get("is_file"):
            sizes = each.metadata.get("sizes")
            said = f" ({', '.join(map(str, sizes.values()))})" if sizes else ""
            lines.append(f"  {each.name}{said}: {each.metadata['help']}")
    sets, methods = ", ".join(cls.datasets), ", ".join(map(shown, cls.methods))
    return "\n".join([*lines, f"data sets: {sets}", f"methods: {methods}"])


def _assigned(text: str) -> tuple[str, object]:
    """Return the name and the value of NAME=VALUE; the value is JSON where it can be."""
    name, _, value = text.partition("=")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; an error is one line on stderr and exit code 2.

    Parameters
    ----------
    arguments
        The words after `python -m kcde`; by default those of this process.
    """
    # SIGTERM ends a job as Ctrl-C does, so that it cleans up.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        called = "kcde" if Path(sys.argv[0]).stem == "kcde" else "python -m kcde"
        app(args=arguments, prog_name=called)
    except (ValueError, OSError, RuntimeError, MemoryError, ModuleNotFoundError) as error:
        if os.environ.get("KCDE_TRACEBACK"):
            raise
        message = " ".join(str(error).split())
        if isinstance(error, ModuleNotFoundError) and "pip install" not in message:
            message += ": `envs/run` has all that kcde needs, as has pip install -r envs/cpu.txt"
        print(f"kcde: {message} (KCDE_TRACEBACK=1 shows where)", file=sys.stderr)
        raise SystemExit(2) from None
    except Exception as error:
        # A library that was interrupted may fail while it closes its file.
        if isinstance(error.__context__, SystemExit | KeyboardInterrupt):
            raise error.__context__ from None
        raise


Target = Annotated[str, Argument(help="`all`, a paper (kcef) or one artefact.")]
Into = Annotated[Path, Option(help="Folder of the outputs.")]
_SCORES = "Score CSVs, or a folder of them; several may follow."
FIGURES, COMPUTED = Path("figures"), Path("results/laptop/figures")


@app.command("draw", context_settings={"allow_extra_args": True})
def draw_command(
    context: typer.Context,
    target: Target,
    scores: Annotated[list[Path] | None, Option(help=_SCORES)] = None,
    into: Into = FIGURES,
    scale: Annotated[
        str | None, Option(help="By default that of the scores.", callback=_scale)
    ] = None,
    judged: Annotated[Path | None, Option(help="The CSV for what it decides.")] = None,
) -> None:
    """Draw tables and figures: from their CSV, or with --scores from an experiment.

    \b
    python -m kcde draw all
    python -m kcde draw kcef/fig3 --scores results/laptop/scores/failure_case.csv --into mine
    python -m kcde draw dde/table2 --scores figures/scores.csv.gz --into judged-again
    python -m kcde draw kcef/table1 --scores results/laptop/scores --into so-far  # during a run
    """  # noqa: D301
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
        inside = {path: sorted(path.rglob("*.csv")) for path in given if path.is_dir()}
        if empty := [str(path) for path, files in inside.items() if not files]:
            raise ValueError(f"--scores: no CSV in {', '.join(empty)}; name a folder of a run")
        files = [each for path in given for each in inside.get(path, [path])]
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
    from kcde.evidence import tracked

    for path in tracked.write(scores, into, scale):
        typer.echo(f"wrote {path}")


@app.command("report")
def report_command(
    figures: Into = FIGURES,
    out: Annotated[Path, Option("--out", "-o", help="The file to write.")] = Path("report.html"),
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
    from kcde.evidence.scorecard import report

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
    from kcde.evidence.tracked import BEYOND, SAME, verify

    found = verify(computed, tracked, target)
    for each in found:
        if each.verdict != SAME:
            typer.echo(str(each))
    same = sum(each.verdict == SAME for each in found)
    typer.echo(f"{len(found)} tables were computed here; {same} are byte for byte as tracked")
    if any(each.verdict == BEYOND for each in found):
        raise typer.Exit(1)
