"""A table of one's own: `experiments.own` as the commands and files of `snakemake own`.

The steps are those of `kcde compare`, without its budget of time: a plan, a job for each method, or
for each share of its splits, and the page.
"""

import csv
import io
import shlex
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from snakemake.exceptions import WorkflowError

from kcde.methods import BASELINE, METHODS
from lib.references import unknown

NAME = "own"
"""The key of `experiments`, and the target."""

SPLITS = 10
"""Unless the configuration says another number: that of `kcde compare`."""

FOLDER = f"results/{{scale}}/{NAME}"

_NEEDED = ("file", "y", "methods")
_COLUMNS = ("y", "x", "groups", "time_column", "drop")
TEXTS = ("file", *_COLUMNS, "missing", "delimiter", "decimal")
"""Keys whose values are text, also where it looks like a number."""
_NOTHING = (
    f"kcde: `experiments.{NAME}` names no table: write `{NAME}: {{file: houses.csv, y: price, "
    "methods: [LinearGaussian, LSCDE-exact, KCEF-LL]}` under `experiments:` in config.yaml, or in "
    "a file for --configfile; config.yaml says what else it may have"
)


def section(config: Mapping) -> Mapping:
    """Return what the configuration says of the table; empty by default."""
    return config["experiments"].get(NAME) or {}


def mistakes(config: Mapping) -> Iterable[str]:
    """Yield a sentence for each mistake that is seen without the table.

    Parameters
    ----------
    config
        A configuration that its schema allows.
    """
    own = section(config)
    if own and (missing := [name for name in _NEEDED if name not in own]):
        yield f"`experiments.{NAME}` lacks the key `{'`, `'.join(missing)}`"
    if "groups" in own and "time_column" in own:
        yield (
            f"`experiments.{NAME}` has both `groups` and `time_column`: rows that belong together "
            "are kept together, or the future is kept apart; give one"
        )
    if own and (changed := merged_otherwise(config, methods(config))):
        yield (
            f"`experiments.{NAME}.methods` names {', '.join(changed)}, which `methods` defines or "
            "changes: a table is compared by the methods of src/kcde/methods.py as they are there"
        )
    yield from _unusable(own.get("methods", ()))


def _unusable(names: Iterable[str]) -> Iterable[str]:
    """Yield a sentence for each method that has no density of one y given x."""
    known = [name for name in names if name in METHODS]
    if not known:
        return
    from kcde.table_model import usable

    for name in known:
        if why := usable(name):
            yield f"`experiments.{NAME}.methods` names {name}, which cannot be compared: {why}"


def merged_otherwise(config: Mapping, names: Iterable[str]) -> list[str]:
    """Return those of some methods that the configuration does not have as the package has them."""
    known = config["methods"]
    return [
        name
        for name in names
        if name in known and (name not in METHODS or known[name] != METHODS[name].plain())
    ]


def table(config: Mapping) -> str:
    """Return the file, with the columns that are named in it.

    Parameters
    ----------
    config
        The configuration.

    Raises
    ------
    WorkflowError
        If the configuration names none, there is none, or it lacks a column.
    """
    own = section(config)
    if not own:
        raise WorkflowError(_NOTHING)
    if wrong := list(_of_file(own)):
        raise WorkflowError("\n".join(f"configuration: {each}" for each in wrong))
    return own["file"]


def page(config: Mapping) -> str:
    """Return the page of the configuration's scale.

    Parameters
    ----------
    config
        The configuration.

    Raises
    ------
    WorkflowError
        As `table`.
    """
    table(config)
    return f"{FOLDER}/comparison.html".format(scale=config["scale"])


def _of_file(own: Mapping) -> Iterable[str]:
    """Yield the mistakes that the file shows; of others than CSV the first job reads the names."""
    from kcde import tabular

    key, path = f"experiments.{NAME}", Path(own["file"])
    if not path.is_file():
        yield f"`{key}.file`: there is no file {path} (in {Path.cwd()})"
        return
    if path.suffix.lower() not in tabular.TEXT:
        return
    try:
        names, _ = tabular.header(path, own.get("delimiter"))
    except ValueError as error:
        yield f"`{key}.file`: {error}"
        return
    for column in _COLUMNS:
        named = own.get(column, ())
        named = [named] if isinstance(named, str) else named
        yield from unknown(f"{key}.{column}", named, names, f"the columns of {path}")


def methods(config: Mapping) -> list[str]:
    """Return the methods that are compared: those that are listed, and the one that ignores x."""
    return list(dict.fromkeys([BASELINE, *section(config).get("methods", ())]))


def shards(config: Mapping) -> int:
    """Return into how many jobs the splits of a method are divided."""
    return min(config["shards"][NAME], _splits(config))


def _splits(config: Mapping) -> int:
    return section(config).get("splits", SPLITS)


def seconds(config: Mapping, method: str) -> float | None:
    """Return what the splits of a method may take together, by its declared cost.

    Parameters
    ----------
    config
        The configuration.
    method
        Its name.

    Returns
    -------
    float or None
        None where the configuration names no table, or one that is not there.
    """
    own = section(config)
    if not own or not Path(own["file"]).is_file():
        return None
    from kcde.comparison import costs
    from kcde.comparison.plan import TRAIN_ROWS
    from kcde.comparison.splits import TEST_SHARE

    rows = int((1.0 - TEST_SHARE) * _rows(own["file"]))
    train = min(rows, own.get("rows", TRAIN_ROWS) or rows)
    return costs.start_seconds() + _splits(config) * costs.cost(method).at(train)


@cache
def _rows(file: str) -> int:
    """Return the rows of a table; those of text are its lines, less the header."""
    from kcde import tabular

    if Path(file).suffix.lower() not in tabular.TEXT:
        return len(tabular.read(file))
    with Path(file).open("rb") as lines:
        return max(1, sum(block.count(b"\n") for block in iter(lambda: lines.read(2**20), b"")) - 1)


def scored(config: Mapping) -> list[str]:
    """Return the marks that the jobs of all methods leave, with the wildcard `scale`."""
    count = shards(config)
    return [
        f"{FOLDER}/splits/{method}/{shard}-of-{count}.done"
        for method in methods(config)
        for shard in range(1, count + 1)
    ]


def numbers(config: Mapping, wildcards: object) -> str:
    """Return the splits of a shard, from 0, as words of a command."""
    every = range(int(wildcards.shard) - 1, _splits(config), int(wildcards.shards))
    return " ".join(map(str, every))


def flags(config: Mapping) -> str:
    """Return what `kcde compare` is told of the table and its splits, quoted for the shell."""
    own = section(config)
    words = []
    for name, value in own.items():
        if name not in ("file", "methods"):
            words.append(f"--{name.replace('_', '-')}={_listed(value)}")
    return shlex.join([own["file"], *words]) if own else ""


def method_flags(config: Mapping) -> str:
    """Return the flag of `kcde compare` with the methods."""
    return shlex.join([f"--methods={_listed(methods(config))}"])


def _listed(value: object) -> str:
    """Return a value as an option has it: names divided by commas, in quotes if they have some."""
    if not isinstance(value, list):
        return str(value)
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(value)
    return line.getvalue()
