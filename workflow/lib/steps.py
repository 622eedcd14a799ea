"""The rules that fit: their files, inputs and parameters."""

import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from kcde import provenance
from kcde.data import names
from kcde.data.catalogue import Entry
from kcde.experiments.jobs import EXPERIMENTS, estimation_cost, job_class
from kcde.experiments.jobs.samples import SHOWN_PAIR
from lib import division, jobs, paths, references

_OURS = {"KEF-pair": "KCEF-F-pair", "NADE-pair": "KCEF-F-pair"}
_BETTER = {"KEF": "KEF-adapted", "KEF-pair": "KEF-pair-adapted"}
_COMPARED: dict[str, Callable[[str], str]] = {
    "ours": lambda rival: _OURS.get(rival, "KCEF-F"),
    "rival": lambda rival: rival,
    "ours_exact": lambda rival: f"{_OURS.get(rival, 'KCEF-F')}-inverse",
    "rival_exact": lambda rival: _BETTER.get(rival, rival),
}
"""What is compared with a rival: KCEF-F with it, of the same columns, and both sampled exactly or
better."""

# On made-up data XLA would compile the networks for longer than they are trained.
_LIGHT_COMPILATION = "XLA_FLAGS='--xla_backend_optimization_level=1'"


@dataclass(frozen=True, eq=False)
class Step:
    """A rule that fits.

    Attributes
    ----------
    config
        The configuration.
    catalogue
        Entries by name and alias.
    experiment
        One of `EXPERIMENTS`.
    methods
        Those that one job fits; none where the wildcard `method` says which.
    is_part
        Whether a job is a shard, which computes some of the repetitions.
    """

    config: Mapping[str, Any]
    catalogue: Mapping[str, Entry]
    experiment: str
    methods: tuple[str, ...]
    is_part: bool

    @property
    def name(self) -> str:
        """What the rule is called."""
        step = f"{self.experiment}_part" if self.is_part else self.experiment
        return "+".join([step, *self.methods])

    @property
    def command(self) -> str:
        """The command of `python -m kcde run`."""
        return self.experiment.replace("_", "-")

    def inputs(self) -> dict[str, Any]:
        """Return the inputs: records of raw data, parts to collect, files of other jobs."""
        cls, found = job_class(self.experiment), {}
        if self.experiment in ("joint", "samples"):
            found["factors"] = self._factors
        if self.experiment == "similarity":
            found |= {name: partial(_samples, name) for name in _COMPARED}
        if cls.reads_files:
            found["record"] = self._records
        if cls.repeated:
            found["parts"] = self._parts
        return found

    def outputs(self, temporary: Callable[[str], str]) -> dict[str, list[str]]:
        """Return the files of a job: those that each method alone would write; of a part one file.

        Parameters
        ----------
        temporary
            Marks a file that is deleted when it has been read: Snakemake's `temp`.
        """
        if self.is_part:
            return {"scores": [temporary(f"{self._part()}.npz")]}
        each = self.methods or ("{method}",)
        stems = [f"results/{{scale}}/{paths.stem(self.experiment, method)}" for method in each]
        return {
            name: [f"{stem}.{suffix}" for stem in stems]
            for name, suffix in (("scores", "csv"), ("info", "json"), ("arrays", "npz"))
        }

    def beside(self, kind: str, suffix: str) -> str:
        """Return where the log or the benchmark of a job is: under its first method.

        Parameters
        ----------
        kind
            Folder of `results`.
        suffix
            Of the file, with its dot.
        """
        if self.is_part:
            return self._part(root=f"results/{kind}/parts/{{scale}}") + suffix
        return f"results/{kind}/{{scale}}/{paths.stem(self.experiment, *self.methods[:1])}{suffix}"

    def constraints(self) -> dict[str, str]:
        """Return the constraints of wildcards that are stricter than those of all rules."""
        methods = self.config["methods"]
        graphs = [name for name, method in methods.items() if "graph" in method]
        others = [name for name in methods if name not in graphs]
        of_method = {"factors": graphs, "joint": graphs, "joint_network": others, "planar": others}
        for name in ("large_n", "terrain", "traffic"):
            of_method[name] = [*others, *references.BESIDE[name]]
        found = {}
        if pattern := references.generated(self.experiment):
            found["dataset"] = pattern
        if self.experiment == "samples" and not self.methods:
            groups = division.groups(self.config, self.experiment)
            grouped = {name for group in groups for name in group if len(group) > 1}
            of_method["samples"] = [name for name in methods if name not in grouped]
        if self.experiment in of_method:
            found["method"] = references.any_of(of_method[self.experiment])
        return found

    def job(self, wildcards: Any) -> str:
        """Return the parameters of a job as JSON, quoted for the shell.

        They depend on wildcards alone: Snakemake does not notice a change of params that depend on
        inputs.
        """
        scale, dataset = wildcards.scale, getattr(wildcards, "dataset", "")
        asked = self.config, scale, self.experiment, dataset
        method, files = getattr(wildcards, "method", ""), {}
        if self.experiment in ("joint", "samples"):
            files["factors"] = self._factors(wildcards)
        if self.methods:
            each = [jobs.job(*asked, method, **files) for method in self.methods]
            return shlex.quote(jobs.text(each))
        if self.experiment == "similarity":
            files = {name: _samples(name, wildcards) for name in _COMPARED}
            files["rival_name"] = method
        if self.experiment == "factors":
            files["nodes"] = division.nodes(wildcards.nodes)
        return shlex.quote(jobs.text(jobs.job(*asked, method, **files)))

    def code(self, wildcards: Any) -> str:
        """Return a digest of the code of the experiment and of the job's estimators."""
        if self.experiment == "estimation_cost":
            return _code(self.experiment, *estimation_cost.ESTIMATORS)
        if "estimator" not in job_class(self.experiment).parameters():
            return _code(self.experiment)
        known = self.config["methods"]
        methods = [name for name in self.methods or [wildcards.method] if name in known]
        return _code(self.experiment, *(known[name]["estimator"] for name in methods))

    def data(self, wildcards: Any) -> str | list[str]:
        """Return digests of a job's data; those of generated data are of their generator's code."""
        if not job_class(self.experiment).reads_files:
            return ""
        read = self._raw_data(wildcards)
        if not read:
            generator = "made_up" if names.is_grid(wildcards.dataset) else "traffic"
            return provenance.digest(f"kcde.data.{generator}")
        if wildcards.scale == "smoke":
            return provenance.digest("kcde.data.smoke")
        return [self.catalogue[name].load_digest() for name in read]

    def environment(self, wildcards: Any) -> str:
        """Return the environment variables of a job, in addition to those of all jobs."""
        return _LIGHT_COMPILATION if wildcards.scale == "smoke" else ""

    def _part(self, **root: str) -> str:
        return paths.part(self.experiment, *self.methods[:1], **root)

    def _parts(self, wildcards: Any) -> list[str]:
        """Return the parts that a job collects: none if it is not sharded, or itself a part."""
        methods = self.methods or [*filter(None, [getattr(wildcards, "method", None)])]
        dataset = getattr(wildcards, "dataset", "")
        asked = self.config, self.catalogue, self.experiment, wildcards.scale, dataset, methods
        if self.is_part or (count := division.shards(*asked)) == 1:
            return []
        path = f"{self._part()}.npz"
        return [path.format(**dict(wildcards), shard=i + 1, shards=count) for i in range(count)]

    def _raw_data(self, wildcards: Any) -> list[str]:
        return jobs.raw_data(self.config, wildcards.scale, self.experiment, wildcards.dataset)

    def _records(self, wildcards: Any) -> list[str]:
        read = self._raw_data(wildcards)
        return [paths.data_record(self.catalogue, wildcards.scale, name) for name in read]

    def _factors(self, wildcards: Any) -> list[str]:
        """Return the score tables of all factors.

        There are none of one model of all columns, nor of the shown pair, whose own factors are
        not those of all columns.
        """
        method = self.methods[0] if self.methods else wildcards.method
        defined = self.config["methods"][method]
        if "graph" not in defined or defined.get("columns") == SHOWN_PAIR:
            return []
        return paths.factors(self.config, self.catalogue, wildcards, method)


def steps(config: Mapping, catalogue: Mapping[str, Entry]) -> Iterator[Step]:
    """Yield each rule that fits: of an experiment, of methods that one job fits, of parts."""
    for experiment in EXPERIMENTS:
        cls = job_class(experiment)
        groups = division.groups(config, experiment) if cls.shares else [()]
        if experiment == "samples":  # also of methods that are asked for by name alone
            groups = [(), *(group for group in groups if len(group) > 1)]
        for methods in groups:
            for is_part in (False, True) if cls.repeated else (False,):
                yield Step(config, catalogue, experiment, methods, is_part)


def place_flags(wildcards: Any, input: Any) -> str:
    """Return the flags with the location and the records of a job's raw data."""
    records = list(input.get("record", []))
    words = [word for path in records for word in ("--record", path)]
    if wildcards.scale == "smoke" and records:
        catalogue = f"{paths.SMOKE_MIRROR}/catalogue.csv"
        words += ["--data-dir", "results/smoke/raw", "--catalogue", catalogue]
    return shlex.join(words)


def shard_flags(wildcards: Any, input: Any) -> str:
    """Return the flags with the shard that a job computes, or the parts that it collects."""
    if hasattr(wildcards, "shard"):
        return f"--shard {wildcards.shard}/{wildcards.shards}"
    return shlex.join(word for path in input.get("parts", []) for word in ("--part", path))


def out_flags(wildcards: Any, output: Any) -> str:
    """Return the flags with the outputs of a job, one for each method, in order."""
    return shlex.join(word for path in output.scores for word in ("--out", path))


def _samples(name: str, wildcards: Any) -> str:
    """Return the samples that `_COMPARED` names."""
    stem = paths.stem("samples", _COMPARED[name](wildcards.method))
    return f"results/{wildcards.scale}/{stem}.npz".format(dataset=wildcards.dataset)


@cache
def _code(experiment: str, *estimators: str) -> str:
    modules = map(provenance.estimator_module, estimators)
    return provenance.digest(f"kcde.experiments.{experiment}", *modules)
