"""What each job needs: memory, time and a GPU, from the table `workflow/resources.csv`.

A row is for a rule, for one of its methods, or for a method on a data set; the most specific row is
used. Methods that one job fits are joined by +.

`memory_*`   MiB of the process at its largest, with a margin: the largest `max_rss` that Snakemake
             measured over all data sets of the last run at that scale (its `benchmark:` files),
             times 1.5, rounded up to hundreds, at least 400; sizes that only `paper` has are
             extrapolated with the largest matrix. `sizes`: computed here from the data's sizes.
`seconds_*`  typical wall time on an idle core: the mean over the data sets. For jobs that have not
             run at `paper`: that of `laptop`, scaled by the repetitions and the exponents of the
             fits. A cluster is asked for `MARGIN` times that, at least `FEWEST_MINUTES`: the
             slowest data set of a method took up to three times the mean. `seconds_readings`
             is that of `laptop` where it is empty. A method on a table of one's own takes what
             its size and the method's cost say (`lib.own.seconds`).
`gpu`        whether jobs of the rule can compute on a GPU.
`group`      small jobs of a group are submitted to a cluster many at a time.
"""

import csv
import ctypes
import importlib.util
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from kcde.artefacts.core.listing import READINGS
from kcde.data import names
from kcde.data.catalogue import Entry
from kcde.experiments.jobs.terrain import FLOWS, FOLD_COUNT
from lib import division, own
from lib.jobs import LAPTOP, at_scale

MARGIN = 4
FEWEST_MINUTES = 15
"""Asked of a cluster for the shortest jobs: nodes and their file systems are sometimes slow."""

GPU_MEMORY = 500
"""MiB on the host for the libraries of CUDA: 280 on an H200 (a job of kcef's table 2 with small
matrices), times 1.5, rounded up."""

CLUSTER_MEMORY = 600
"""MiB of the Snakemake processes that start a job on a cluster, inside its allocation."""

NO_GPU = (
    "backend: cupy was asked for, but the driver shows no CUDA device: `python -m kcde info` "
    "says what was found and what is missing; `--config backend=numpy` runs without a GPU"
)

_START = 4  # seconds until a job has imported what it needs
_COLLECT = 5  # seconds to write scores from parts
_BY_SIZES = "sizes"
_OWN = "own_score"

_MIB = 2**20
_LIBRARIES, _NETWORKS = 300, 900  # MiB
_SQUARE = ("CDO", "GaussianProcess")  # they hold matrices of training rows by training rows
_SQUARE_MATRICES = {"donut": 8, "terrain": 2}
_MADE_UP_TERRAIN_ROWS = 300


class Work(NamedTuple):
    """A job as the table knows it."""

    rule: str
    scale: str
    dataset: str = ""
    methods: tuple[str, ...] = ()
    of: int = 1
    """Number of shards, of which this is one."""
    collects: bool = False
    """Whether it writes scores from the parts of shards."""


class ResourceTable:
    """The needs of the jobs of one configuration.

    Parameters
    ----------
    config
        The configuration.
    root
        Folder of the project.
    catalogue
        Entries by name and alias.
    cluster
        Whether jobs are submitted to nodes.
    """

    def __init__(
        self, config: Mapping, root: Path, catalogue: Mapping[str, Entry], *, cluster: bool = False
    ):
        self._config, self._catalogue, self._cluster = config, catalogue, cluster
        self._rows = {
            (rule, _joined(methods.split("+")), dataset): row
            for (rule, methods, dataset), row in table(root).items()
        }
        self._device = config["backend"] == "cupy" or finds_gpu(config["backend"])

    def resources(self, rule: str, methods: Sequence[str] = ()) -> dict[str, Callable]:
        """Return the `resources` of a rule, as functions of wildcards.

        A job that is tried again asks for twice the memory and time.

        Parameters
        ----------
        rule
            A name in the table.
        methods
            Those that one job fits; by default the wildcard `method`.
        """

        def asked(wildcards):
            return self.work(rule, wildcards, methods)

        return {
            "mem_mb": lambda wildcards, attempt: self.memory(asked(wildcards)) << attempt - 1,
            "runtime": lambda wildcards, attempt: self.minutes(asked(wildcards)) << attempt - 1,
            "gpu": lambda wildcards: self.gpu(asked(wildcards)),
        }

    def group_of(self, rule: str, methods: Sequence[str] = ()) -> Callable:
        """Return the `group` of a rule, a function of wildcards."""
        return lambda wildcards: self.group(self.work(rule, wildcards, methods))

    def work(self, rule: str, wildcards: object, methods: Sequence[str] = ()) -> Work:
        """Return a job by its rule and wildcards.

        Parameters
        ----------
        rule
            A name in the table.
        wildcards
            Of which `scale`, `dataset`, `method` and `shards` are used, where present.
        methods
            Those that one job fits; by default the wildcard `method`.
        """
        scale = getattr(wildcards, "scale", self._config["scale"])
        dataset = getattr(wildcards, "dataset", "")
        methods = tuple(methods) or tuple(filter(None, [getattr(wildcards, "method", "")]))
        of = int(getattr(wildcards, "shards", 1))
        known = [name for name in methods if name in self._config["methods"]]
        whole = rule in division.SHARDABLE and of == 1
        job = (self._config, self._catalogue, rule, scale, dataset, known)
        return Work(rule, scale, dataset, methods, of, whole and division.shards(*job) > 1)

    def memory(self, work: Work) -> int:
        """Return MiB to ask for at a first attempt."""
        stated = self._row(work)[f"memory_{_column(work.scale)}"]
        needed = self._memory_by_sizes(work) if stated == _BY_SIZES else int(stated)
        return needed + GPU_MEMORY * self.gpu(work) + CLUSTER_MEMORY * self._cluster

    def seconds(self, work: Work) -> float | None:
        """Return the typical wall time in seconds; None for a rule without a row."""
        row = self.find(work)
        if row is None:
            return None
        if work.collects:
            return float(_COLLECT)
        stated = row.get(f"seconds_{work.scale}") or row[f"seconds_{_column(work.scale)}"]
        on_table = work.rule == _OWN and work.methods
        computed = own.seconds(self._config, work.methods[0]) if on_table else None
        whole = float(stated) if computed is None else computed
        return whole if work.of == 1 else _START + max(whole - _START, 0.0) / work.of

    def minutes(self, work: Work) -> int:
        """Return the minutes after which a cluster may end a first attempt."""
        self._row(work)
        return max(FEWEST_MINUTES, math.ceil(MARGIN * self.seconds(work) / 60))

    def gpu(self, work: Work) -> int:
        """Return how many GPUs a job claims, 0 or 1.

        Estimators that JAX trains stay on the CPU, and a job that collects parts needs none.
        """
        if work.collects or not self._device or self._row(work)["gpu"] == "0":
            return 0
        by_jax = any(self._estimator(name) in division.batch_fitted() for name in work.methods)
        return int(not by_jax)

    def group(self, work: Work) -> str | None:
        """Return the group of a small job on a cluster; None for a sharded job."""
        alone = not self._cluster or work.of > 1 or work.collects
        return None if alone else self._row(work)["group"] or None

    def find(self, work: Work) -> Mapping[str, str] | None:
        """Return the row of a job, None if there is none."""
        method = _joined(work.methods)
        keys = ((work.rule, method, work.dataset), (work.rule, method, ""), (work.rule, "", ""))
        return next((self._rows[key] for key in keys if key in self._rows), None)

    def _row(self, work: Work) -> Mapping[str, str]:
        row = self.find(work)
        if row is None:
            raise LookupError(f"workflow/resources.csv has no rule {work.rule}: add a row")
        return row

    def _estimator(self, method: str) -> str:
        return self._config["methods"].get(method, {}).get("estimator", "")

    def _memory_by_sizes(self, work: Work) -> int:
        """Return MiB of a job that follow from the sizes of its data."""
        if work.rule == "moments":
            return _moments_memory(work.dataset)
        if work.rule == "portfolio":
            return self._portfolio_memory(work)
        estimator = self._estimator(work.methods[0])
        if estimator in FLOWS:
            return _NETWORKS
        matrices = _SQUARE_MATRICES[work.rule] if estimator in _SQUARE else 0
        return _LIBRARIES + matrices * 8 * self._training_rows(work) ** 2 // _MIB

    def _portfolio_memory(self, work: Work) -> int:
        """Return MiB of libraries, and of matrices of rows by pivots."""
        _, rows = names.PORTFOLIOS.sizes(work.dataset)
        rank = min(rows, self._size("portfolio_max_rank", work) or rows)
        # The factor, its coefficients, their Gram matrix, its eigenvectors, and two temporaries.
        return 500 + 6 * rows * 8 * rank // _MIB

    def _size(self, key: str, work: Work) -> int | None:
        return at_scale(self._config["scales"][key], work.scale)

    def _training_rows(self, work: Work) -> int:
        """Return the training rows of the donut or of a terrain."""
        if work.rule == "donut":
            return names.DONUT_MEANS * self._size("donut_points", work)
        if work.dataset not in self._catalogue:
            return _MADE_UP_TERRAIN_ROWS
        return self._catalogue[work.dataset].rows * (FOLD_COUNT - 1) // FOLD_COUNT


def _column(scale: str) -> str:
    """Return the scale whose columns of the table a job at a scale has."""
    return LAPTOP if scale == READINGS else scale


def _moments_memory(dataset: str) -> int:
    """Return MiB of a job on Gaussian pairs: libraries, rows, and factors of them."""
    dim, rows = names.GAUSSIAN.sizes(dataset)
    # Of a factor where the tolerance is not loosened; the largest measured process had 0.4 to 0.9
    # of what this says.
    columns = {1: 10, 2: 112}.get(dim, 384)
    # Fits of several methods and tolerances hold up to five factors, of x where methods choose
    # different bandwidths, and of y; one beyond 1.5 GiB is not kept.
    return 700 + min(5 * 1536, rows * 8 * (4 * dim + 5 * columns) // _MIB)


def table(root: Path) -> dict[tuple[str, str, str], Mapping[str, str]]:
    """Return the rows of the table by rule, method and data set, "" where a row is for all."""
    with (root / "workflow/resources.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {(row["rule"], row["method"], row["dataset"]): row for row in rows}


def _joined(methods: Sequence[str]) -> str:
    """Return the methods that one job fits as one name, whatever their order."""
    return "+".join(sorted(methods))


def finds_gpu(backend: str) -> bool:
    """Return whether jobs with the backend `auto` will find a GPU, and cupy to use it."""
    return backend == "auto" and importlib.util.find_spec("cupy") is not None and devices() > 0


def devices() -> int:
    """Return how many CUDA devices the driver shows, 0 where there is no driver."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0
    count = ctypes.c_int()
    failed = driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count))
    return 0 if failed else count.value
