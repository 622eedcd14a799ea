"""`run`: a command for each experiment, made of the parameters of its jobs."""

import dataclasses
import inspect
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import typer

from kcde.cli.options import Catalogue, DataDir, constructor_arguments, graph, numbers, sharding
from kcde.cli.options import whole_numbers as whole
from kcde.experiments.job import METHOD_FIELDS, Job
from kcde.experiments.jobs import EXPERIMENTS, job_class

run_app = typer.Typer(
    help="Run one job of an experiment and write its scores.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app = typer.Typer()
app.add_typer(run_app, name="run")

PLACES = {
    "data_dir": (DataDir, Path("data")),
    "catalogue": (Catalogue, None),
    "record": (
        Annotated[
            list[Path] | None,
            typer.Option(help="Written by `fetch --record`; jobs without their data are not run."),
        ],
        None,
    ),
}
SHARDING = {
    "shard": (
        Annotated[
            str | None,
            typer.Option(
                help="i/k: compute every k-th repetition from the i-th on; --out is its part."
            ),
        ],
        None,
    ),
    "part": (
        Annotated[
            list[Path] | None,
            typer.Option(help="The part of a shard, once for each of the k: collects scores only."),
        ],
        None,
    ),
}
JOB = Annotated[
    str | None,
    typer.Option(
        "--job",
        help="All parameters as a JSON object, instead of the options below; for several methods "
        "a list of objects.",
    ),
]
OUT = Annotated[
    list[Path],
    typer.Option(
        help="The score CSV, one for each method in order; .json and .npz are written beside it. "
        "With --shard one file for all methods."
    ),
]


def command_of(cls: type[Job]):
    """Return the command of an experiment, a function with its parameters as options."""
    more = (PLACES if cls.reads_files else {}) | (SHARDING if cls.repeated else {})
    own = {name: _option(cls, each) for name, each in cls.parameters().items()}

    def command(**given: Any) -> None:
        import logging

        from kcde.experiments.runner import run

        logging.basicConfig(level=logging.INFO, format="%(message)s")
        context, outs, text = (given.pop(name) for name in ("context", "out", "job"))
        given = {name: value for name, value in given.items() if value is not None}
        how = {"sharding": sharding(given.pop("shard", None), given.pop("part", None))}
        how |= {name: given.pop(name) for name in PLACES if name in given}
        jobs = (
            _from_json(cls, text, given, context)
            if text
            else _from_options(cls, given, context.args)
        )
        run(jobs, outs, **how)
        typer.echo(f"wrote {', '.join(map(str, outs))}")

    options = {"out": (OUT, inspect.Parameter.empty), **more, "job": (JOB, None), **own}
    command.__doc__ = cls.__doc__
    command.__annotations__ = {"context": typer.Context} | {
        name: kind for name, (kind, _) in options.items()
    }
    command.__signature__ = inspect.Signature(
        [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                annotation=kind,
                default=options[name][1] if name in options else inspect.Parameter.empty,
            )
            for name, kind in command.__annotations__.items()
        ]
    )
    return command


def _option(cls: type[Job], each: dataclasses.Field) -> tuple[Any, None]:
    """Return the annotation of a parameter's option, and its default, None."""
    kinds = get_args(each.type) or (each.type,)
    plain = next((kind for kind in (int, float, Path) if kind in kinds), str)
    if get_origin(each.type) is tuple:
        plain = list[Path] if plain is Path else str
    if cls.shares and each.name in METHOD_FIELDS:
        plain = list[plain]
    option = typer.Option(help=each.metadata["help"] + _default(each), show_default=False)
    return Annotated[plain | None, option], None


def _default(each: dataclasses.Field) -> str:
    """Return the end of the help of a parameter: its default, or that it is required."""
    if each.default is dataclasses.MISSING:
        return " [required]" if each.default_factory is dataclasses.MISSING else ""
    if isinstance(each.default, tuple) and each.default:
        listed = (f"{value:g}" if isinstance(value, float) else value for value in each.default)
        return f" [default: {','.join(listed)}]"
    return "" if each.default in (None, ()) else f" [default: {each.default}]"


def _from_json(cls: type[Job], text: str, given: Mapping, context: typer.Context) -> list[Job]:
    """Return the jobs of --job.

    Raises
    ------
    ValueError
        If it is not JSON of jobs, or other parameters are given as well.
    """
    if given or context.args:
        named = ", ".join(f"--{name.replace('_', '-')}" for name in given) or str(context.args)
        raise ValueError(f"--job has all parameters: leave out {named}")
    try:
        told = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"--job is not JSON ({error}): {text}") from None
    told = told if isinstance(told, list) else [told]
    if not told or not all(isinstance(each, dict) for each in told):
        raise ValueError(f'--job must be a JSON object such as {{"dataset": "geyser"}}; got {text}')
    return [cls.make(each) for each in told]


def _from_options(cls: type[Job], given: dict, following: list[str]) -> list[Job]:
    """Return the jobs of the options, one for each method.

    Raises
    ------
    ValueError
        If an option cannot be read, or is given for some of the methods only.
    """
    listed = [name for name in given if name in METHOD_FIELDS] if cls.shares else []
    each = {name: given.pop(name) for name in listed}
    values = {name: _read(cls, name, value) for name, value in given.items()}
    lists = [name for name in values if _is_files(cls, name)]
    if following and not lists:
        raise ValueError(f"unexpected arguments {following}{_hint(cls)}")
    for name in lists:
        values[name] += tuple(Path(path) for path in following)
    methods = each.get("method", [])
    for name, several in each.items():
        if len(several) != len(methods):
            raise ValueError(
                f"--{name} must be given once for each --method, in order, or not at all; got "
                f"{len(several)} for {len(methods)}"
            )
    if not each:
        return [cls.make(values)]
    rows = zip(*each.values(), strict=True)
    return [
        cls.make(values | {k: _read(cls, k, v) for k, v in zip(each, row, strict=True)})
        for row in rows
    ]


def _kind(cls: type[Job], name: str) -> Any:
    return cls.parameters()[name].type


def _is_files(cls: type[Job], name: str) -> bool:
    """Return whether several files may follow the option of a parameter."""
    return get_origin(_kind(cls, name)) is tuple and Path in get_args(_kind(cls, name))


def _hint(cls: type[Job]) -> str:
    files = [name for name in cls.parameters() if _is_files(cls, name)]
    return f"; score files need --{files[0]} FILE..." if files else ""


def _read(cls: type[Job], name: str, value: Any) -> Any:
    """Return the value of a parameter from its option."""
    kind, option = _kind(cls, name), f"--{name.replace('_', '-')}"
    if get_origin(kind) is tuple:
        read = {int: whole, float: numbers, str: _words}.get(get_args(kind)[0])
        return read(value, option) if read else tuple(value)
    if get_origin(kind) is not None and issubclass(get_origin(kind), Mapping):
        return constructor_arguments(value)
    return graph(value) if list in get_args(kind) else value


def _words(text: str, option: str) -> tuple[str, ...]:
    """Return names that commas separate; of any text."""
    return tuple(text.split(","))


for _name in EXPERIMENTS:
    run_app.command(
        _name.replace("_", "-"),
        context_settings={"allow_extra_args": True},
    )(command_of(job_class(_name)))
