"""Jobs: the parameters of one experiment, each declared once.

A job is a dataclass in `kcde.experiments.jobs`. Its fields, with default, help and limits, make the
command line for people and the JSON in which the workflow hands a job over. Nothing here imports
numerics: planning a run and `--help` read it.
"""

import dataclasses
import types
import typing
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from kcde.names import AS_PUBLISHED

SETTINGS = ("authors", "chosen")
SAMPLERS = ("auto", "hmc", "adapted", "direct")
MOST_GRID_COLUMNS = 20

METHOD_FIELDS = ("method", "estimator", "variant", "options")
"""Fields in which jobs may differ that run together to share bases."""


def parameter(default: Any = MISSING, help: str = "", **more: Any) -> Any:
    """Return a field of a job.

    Parameters
    ----------
    default
        Default value, or a function that makes it for each job.
    help
        Help text of the option.
    **more
        `at_least`, `at_most` and `choices`, which every job checks; `is_file=True`: names files
        and is no part of what the job is; `kw_only=False`: may be given by place.
    """
    kw_only = more.pop("kw_only", True)
    metadata = {"help": help, **more}
    given = {"default_factory": default} if callable(default) else {"default": default}
    return dataclasses.field(metadata=metadata, kw_only=kw_only, **given)


@dataclass(frozen=True)
class Job:
    """Base class of the jobs of all experiments.

    Raises
    ------
    ValueError
        If a parameter is beyond its limits.
    """

    experiment: ClassVar[str] = ""
    """The module in `kcde.experiments`, and with hyphens its command."""

    repeated: ClassVar[tuple[str, ...]] = ()
    """The parameters that state the number of repetitions, which shards divide."""

    reads_files: ClassVar[bool] = False
    """Whether it reads raw data, which may be unavailable."""

    shares: ClassVar[bool] = False
    """Whether jobs that differ only in the method can run together."""

    def __post_init__(self):
        for each in dataclasses.fields(self):
            check(each.name, getattr(self, each.name), each.metadata)

    @classmethod
    def parameters(cls) -> dict[str, dataclasses.Field]:
        """Return the fields by name; those of a field that is a group of its own stand for it."""
        return {name: each for name, (each, _) in _flat(cls).items()}

    @classmethod
    def make(cls, given: Mapping[str, Any]) -> "Job":
        """Return the job that plain values describe, as JSON has them.

        Parameters
        ----------
        given
            Values by the names of `parameters`; lists stand for tuples.

        Raises
        ------
        ValueError
            If a name is unknown, a value is of another kind, or a parameter without default is
            missing.
        """
        if unknown := sorted(set(given) - set(cls.parameters())):
            known = ", ".join(cls.parameters())
            raise ValueError(
                f"{cls.experiment} has no parameter {', '.join(unknown)}; it has {known}"
            )
        grouped: dict[str, Any] = {}
        for name, value in given.items():
            each, group = _flat(cls)[name]
            place = grouped if group is None else grouped.setdefault(group, {})
            place[name] = as_declared(name, each.type, value)
        kinds = typing.get_type_hints(cls)
        own = {
            name: kinds[name](**value) if dataclasses.is_dataclass(kinds[name]) else value
            for name, value in grouped.items()
        }
        if missing := [each.name for each in dataclasses.fields(cls) if _lacks(each, own)]:
            raise ValueError(f"{cls.experiment} needs {', '.join(missing)}")
        return cls(**own)

    def identity(self) -> dict:
        """Return what identifies it among jobs: all parameters except files, ready for JSON."""
        values = dataclasses.asdict(self)
        files = [each.name for each in dataclasses.fields(self) if each.metadata.get("is_file")]
        return {name: value for name, value in values.items() if name not in files}

    @property
    def title(self) -> str:
        """Name of the job in progress messages."""
        return self.experiment

    def row(self, split: int, **more: Any) -> dict:
        """Return the columns that all score rows of a repetition share."""
        row = {"experiment": self.experiment, "setting": "{}", "split": split}
        return row | {"status": "ok", "detail": "", "dtype": "float64"} | more


@dataclass(frozen=True)
class MethodJob(Job):
    """One method on one data set."""

    dataset: str = parameter(help="A data set of the catalogue.", kw_only=False)
    method: str = parameter(help="What the method is called in the scores.", kw_only=False)
    estimator: str | None = parameter(
        None, "Class in kcde.estimators; the method's name by default.", kw_only=False
    )
    variant: str = parameter(AS_PUBLISHED, "as-published, or ours.")
    options: Mapping[str, Any] = parameter(dict, "Constructor arguments as a JSON object.")

    def __post_init__(self):
        if self.estimator is None:
            object.__setattr__(self, "estimator", self.method)
        super().__post_init__()

    @property
    def title(self) -> str:
        """Name of the job in progress messages."""
        return f"{self.dataset} {self.method}"

    def row(self, split: int, **more: Any) -> dict:
        """Return the columns that all score rows of a repetition share."""
        named = {"dataset": self.dataset, "method": self.method, "variant": self.variant}
        return super().row(split) | named | more


@dataclass(frozen=True)
class ArrayJob(MethodJob):
    """One method on one data set, with arrays on the host or on a device."""

    backend: str = parameter("auto", "auto, numpy or cupy.")


@dataclass
class Outcome:
    """Result of one repetition of a job, on the host.

    Attributes
    ----------
    rows
        Rows of the score table.
    chosen
        Hyper-parameters of its fits, ready for JSON.
    arrays
        Samples, curves and per-point log densities.
    """

    rows: list[dict]
    chosen: list[dict] = field(default_factory=list)
    arrays: dict[str, Any] = field(default_factory=dict)


def check(name: str, value: Any, limits: Mapping[str, Any]) -> None:
    """Raise `ValueError` if a value is beyond its limits; None is within.

    Raises
    ------
    ValueError
        Naming the parameter, its value and what is allowed.
    """
    if value is None:
        return
    least, most = limits.get("at_least"), limits.get("at_most")
    if least is not None and most is not None and not least <= value <= most:
        raise ValueError(f"{name} must be from {least} to {most}; got {value}")
    if least is not None and not value >= least:
        raise ValueError(f"{name} must be at least {least}; got {value}")
    if most is not None and not value <= most:
        raise ValueError(f"{name} must be at most {most}; got {value}")
    if limits.get("choices") and value not in limits["choices"]:
        known = ", ".join(limits["choices"])
        raise ValueError(f"{name} must be one of {known}; got {value!r}")


def as_declared(name: str, kind: Any, value: Any) -> Any:
    """Return a plain value as a field has it: a list as a tuple, a text as a path.

    Parameters
    ----------
    name
        Name of the field, for the error.
    kind
        Type of the field.
    value
        As JSON has it, or as the field has it already.

    Raises
    ------
    ValueError
        If it is of another kind.
    """
    if typing.get_origin(kind) is tuple and isinstance(value, list):
        return tuple(as_declared(name, typing.get_args(kind)[0], one) for one in value)
    kinds = typing.get_args(kind) if isinstance(kind, types.UnionType) else (kind,)
    plain = tuple(typing.get_origin(each) or each for each in kinds)
    if isinstance(value, plain) and (type(value) is not bool or bool in plain):
        return value
    # JSON may write a number without a fraction.
    for made, text in ((float, int), (Path, str)):
        if made in plain and type(value) is text:
            return made(value)
    names = " or ".join(each.__name__ for each in plain)
    raise ValueError(f"{name} must be of the kind {names}; got {value!r}")


@cache
def _flat(cls: type) -> dict[str, tuple[dataclasses.Field, str | None]]:
    """Return fields by name, each with the name of the group that it stands in, or None."""
    found: dict[str, tuple[dataclasses.Field, str | None]] = {}
    for each in dataclasses.fields(cls):
        if dataclasses.is_dataclass(each.type):
            # Its own defaults are those of the job.
            made = each.default_factory()
            for inner in dataclasses.fields(each.type):
                known = parameter(getattr(made, inner.name), **inner.metadata)
                known.name, known.type = inner.name, inner.type
                found[inner.name] = (known, each.name)
        else:
            found[each.name] = (each, None)
    return found


def _lacks(each: dataclasses.Field, given: Mapping[str, Any]) -> bool:
    optional = each.default is not MISSING or each.default_factory is not MISSING
    return not optional and each.name not in given
