"""What an experiment is: one dataclass with its sizes at every scale, and what it computes.

An experiment is a file with a class that extends `Experiment` or `MethodExperiment`. It says its
`name`, its data sets and methods, its parameters with their sizes, and in `outcome` what a
repetition gives. An instance is a job: a data set with a method, all repetitions.
"""

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from kcde.data.loaders import load
from kcde.data.names import is_generated
from kcde.declared import check, of_kind
from kcde.methods import METHODS, Method, key_of
from kcde.names import AS_PUBLISHED, OURS, nearest
from kcde.provenance import digest, estimator_module

# Errors that a fit or a score may raise; any other is a bug.
FAILURES = (ValueError, np.linalg.LinAlgError, FloatingPointError)

# From the smallest on.
SCALES = SMOKE, LAPTOP, PAPER = ("smoke", "laptop", "paper")


def parameter(default: Any = MISSING, help: str = "", **more: Any) -> Any:
    """Return a field of an experiment.

    `more`: `at_least`, `at_most` and `choices`, which every job checks; `is_file=True` where it
    names files and is no part of what the job is; `kw_only=False` where it may be given by place.
    """
    kw_only = more.pop("kw_only", True)
    given = {"default_factory": default} if callable(default) else {"default": default}
    return field(metadata={"help": help, **more}, kw_only=kw_only, **given)


def sized(smoke: Any, laptop: Any, paper: Any, help: str = "", **more: Any) -> Any:
    """Return a field with a value at each scale; that of laptop is its default."""
    sizes = dict(zip(SCALES, (smoke, laptop, paper), strict=True))
    return parameter(laptop, help, sizes=sizes, **more)


@dataclass
class Outcome:
    """What a repetition of a job gives, on the host: score rows, choices for JSON, and arrays."""

    rows: list[dict]
    chosen: list[dict] = field(default_factory=list)
    arrays: dict[str, Any] = field(default_factory=dict)


def attempt(function: Callable, *arguments: Any) -> tuple[Any, float]:
    """Return the value of a function, or the numerical error that it raises, and its seconds.

    If an argument is such an error, the function is not called and the error is returned.
    """
    if error := next((each for each in arguments if isinstance(each, Exception)), None):
        return error, 0.0
    started = time.perf_counter()
    try:
        found = function(*arguments)
    except FAILURES as error:
        found = error
    return found, time.perf_counter() - started


def clock(rows) -> float:
    """Return seconds, to take differences of: those of the wall where a device has the rows.

    Otherwise those of the processor, which other jobs of the machine affect little.
    """
    return time.process_time() if isinstance(rows, np.ndarray) else time.perf_counter()


@dataclass(frozen=True)
class Experiment:
    """A job of an experiment; its parameters are checked when it is made.

    Raises
    ------
    ValueError
        If a parameter is beyond its limits.
    """

    # As in the scores, and on the command line. A class without one is no experiment.
    name: ClassVar[str]

    datasets: ClassVar[Sequence[str]] = ()
    # What an artefact shows that lists none of its own; one without data sets is a single job.
    methods: ClassVar[Sequence[str]] = ()

    # Method to the data sets that it is fitted on, where these are not all.
    only: ClassVar[Mapping[str, Sequence[str]]] = {}

    # Made-up data sets that stand for `datasets` at the scale smoke.
    smoke: ClassVar[Sequence[str]] = ()

    # Methods that are of this experiment alone and no estimators.
    beside: ClassVar[Sequence[str]] = ()

    # Methods that one job fits, because they share bases.
    together: ClassVar[Sequence[Sequence[str]]] = ()

    # The parameters that state the number of repetitions, which shards divide.
    repeated: ClassVar[tuple[str, ...]] = ()

    reads_files: ClassVar[bool] = False

    data_dir: Path = parameter(Path("data"), "Folder of the raw data.", is_file=True)
    catalogue: Path | None = parameter(None, "Another catalogue.", is_file=True)
    files: tuple[Path, ...] = parameter((), "Score CSVs of the jobs in `needs`.", is_file=True)

    def __post_init__(self):
        for each in dataclasses.fields(self):
            check(f"{self.name}.{each.name}", getattr(self, each.name), each.metadata)

    @classmethod
    def parameters(cls) -> dict[str, dataclasses.Field]:
        """Return the fields by name."""
        return {each.name: each for each in dataclasses.fields(cls)}

    @classmethod
    def at(cls, scale: str, dataset: str = "", method: str = "", /, **changes: Any) -> Self:
        """Return the job of a data set and a method at a scale, with some parameters changed.

        These may be as JSON has them: lists stand for tuples.
        """
        known = cls.parameters()
        given = {n: f.metadata["sizes"][scale] for n, f in known.items() if "sizes" in f.metadata}
        given |= cls.named(dataset, method) | cls.sizes_of(scale, dataset, method)
        for name, value in changes.items():
            if name not in (others := [one for one in known if one not in ("dataset", "method")]):
                asked = f"{cls.name} has no parameter {name!r}{nearest(name, others)}"
                raise ValueError(f"{asked}; it has {', '.join(others)}")
            given[name] = of_kind(f"{cls.name}.{name}", known[name].type, value)
        return cls(**given)

    @classmethod
    def within(cls, scale: str, dataset: str) -> bool:
        """Return whether a data set is not too large for a scale."""
        return True

    @classmethod
    def named(cls, dataset: str, method: str) -> dict[str, Any]:
        """Return the parameters that data set and method state."""
        given = {"dataset": dataset, "method": method}
        return {name: given[name] for name in given if name in cls.parameters()}

    @classmethod
    def sizes_of(cls, scale: str, dataset: str, method: str) -> dict[str, Any]:
        """Return the sizes that depend on the data set or the method."""
        return {}

    def identity(self) -> dict:
        """Return what identifies it among jobs: all parameters except files, ready for JSON."""
        own = self.parameters().items()
        return {name: getattr(self, name) for name, each in own if not each.metadata.get("is_file")}

    def raw_data(self) -> list[str]:
        """Return the data sets of the catalogue that it reads."""
        return [self.dataset] if self.reads_files and not is_generated(self.dataset) else []

    @classmethod
    def needs(cls, dataset: str, method: str) -> list[tuple[str, str, str]]:
        """Return the (experiment, data set, method) of the jobs whose files it reads, in order."""
        return []

    def check(self) -> None:
        """Raise `ValueError` for what cannot be checked without making estimators."""

    @cached_property
    def data(self) -> Any:
        """What `open` returns, once."""
        return self.open()

    def open(self) -> Any:
        """Return the data: by default the data set, where there is one that is read."""
        return load(self.dataset, self.data_dir, self.catalogue) if self.reads_files else None

    def count(self) -> int:
        """Return the number of repetitions."""
        return sum(getattr(self, name) for name in self.repeated) or 1

    def outcome(self, unit: int) -> Outcome:
        """Return what a repetition gives."""
        raise NotImplementedError

    @classmethod
    def begin_together(cls, jobs: list[Self]) -> Callable[[int], list]:
        """Do the common work of jobs that differ in the method alone; return what fits them all.

        That maps a unit to an outcome for each.
        """
        return lambda unit: [jobs[0].outcome(unit)]

    def row(self, split: int, **more: Any) -> dict:
        """Return the columns that all score rows of a repetition share."""
        row = {"experiment": self.name, "setting": "{}", "split": split}
        return row | {"status": "ok", "detail": "", "dtype": "float64"} | more

    def info(self) -> dict:
        """Return the information on the job that is known before it runs."""
        read = {"data_sha256": self.data.sha256} if hasattr(self.data, "sha256") else {}
        return {"job": self.identity(), "code": self.code()} | read

    @classmethod
    def estimators(cls, method: str) -> list[str]:
        """Return the estimators whose code a job of a method runs."""
        return []

    def code(self) -> str:
        """Return a digest of the code of the experiment and of its estimators."""
        own = self.estimators(getattr(self, "method", ""))
        return digest(type(self).__module__, *map(estimator_module, own))

    def rows(self, outcomes: Sequence[Outcome]) -> list[dict]:
        """Return the rows of the score table."""
        return [row for outcome in outcomes for row in outcome.rows]

    def arrays(self, outcomes: Sequence[Outcome]) -> Mapping[str, np.ndarray]:
        """Return the `.npz`: a row a repetition, NaN, or -1 of row numbers, where it has none."""
        names = dict.fromkeys(name for each in outcomes for name in each.arrays)
        return {name: _rows_of([each.arrays.get(name) for each in outcomes]) for name in names}


@dataclass(frozen=True)
class MethodExperiment(Experiment):
    """One method on one data set."""

    # `joint` or `r_benchmark`: whose options of a method are added, see `Method.options_for`.
    options_key: ClassVar[str] = ""

    dataset: str = parameter(help="A data set of the catalogue.", kw_only=False)
    method: str = parameter(help="What the method is called in the scores.", kw_only=False)
    estimator: str | None = parameter(None, "Its class; by default the method's.", kw_only=False)
    variant: str = parameter(AS_PUBLISHED, "as-published, or ours.", choices=(AS_PUBLISHED, OURS))
    options: Mapping[str, Any] = parameter(dict, "Constructor arguments.")

    def __post_init__(self):
        if self.estimator is None:
            object.__setattr__(self, "estimator", self.method)
        super().__post_init__()

    @classmethod
    def named(cls, dataset: str, method: str) -> dict[str, Any]:
        """Return the parameters that data set and method state."""
        named = super().named(dataset, method)
        if method in cls.beside:
            return named
        defined = METHODS[key_of(method, cls.methods)]
        said = {name: value for name, value in defined.plain().items() if name in cls.parameters()}
        return named | said | {"options": cls.options_of(defined, dataset)}

    @classmethod
    def options_of(cls, method: Method, dataset: str) -> dict[str, Any]:
        """Return the constructor arguments of a method on a data set."""
        return method.options_for(cls.options_key, dataset)

    @classmethod
    def estimators(cls, method: str) -> list[str]:
        """Return the estimators whose code a job of a method runs."""
        return [] if method in cls.beside else [METHODS[method].estimator]

    def row(self, split: int, **more: Any) -> dict:
        """Return the columns that all score rows of a repetition share."""
        named = {"dataset": self.dataset, "method": self.method, "variant": self.variant}
        return super().row(split) | named | more


@dataclass(frozen=True)
class ArrayExperiment(MethodExperiment):
    """One method on one data set, with arrays on the host or on a device."""

    backend: str = parameter("auto", "auto, numpy or cupy.")


def _rows_of(arrays: Sequence[np.ndarray | None]) -> np.ndarray:
    """Return one array, a row each, filled up to the longest."""
    known = [array for array in arrays if array is not None]
    longest = np.max([array.shape for array in known], axis=0).astype(int)
    empty = -1 if known[0].dtype.kind == "i" else np.nan
    found = np.full((len(arrays), *longest), empty, dtype=known[0].dtype)
    for row, array in enumerate(arrays):
        if array is not None:
            found[row, *map(slice, array.shape)] = array
    return found
