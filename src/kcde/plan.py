"""From artefacts to jobs: what is fitted, which files it needs, and what it costs.

A job is an experiment with a data set and a method at a scale. Its scores are
`results/<scale>/scores/<experiment>/<data set>/<method>.csv`, those of an experiment without data
sets `results/<scale>/scores/<experiment>.csv`; `.json` and `.npz` lie beside them.
"""

import csv
import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from kcde import estimators
from kcde.data import names
from kcde.experiments import experiment
from kcde.experiments.base import LAPTOP, SMOKE, Experiment
from kcde.methods import METHODS
from kcde.names import OURS, fitted
from kcde.papers import published
from kcde.papers.artefact import READINGS, RUN, Artefact
from kcde.papers.registry import ARTEFACTS
from kcde.provenance import digest, estimator_module

PAPERS, ACROSS = published.PAPERS, "across"
# A download of 250 MB, which a run asks for with `pems: true` alone.
LARGEST_OPTIONAL = "pems-sf"

# Experiment, data set and method; the latter two are "" where an experiment has none.
Job = tuple[str, str, str]


def artefacts(papers: Iterable[str], stages: Iterable[str]) -> list[Artefact]:
    """Return the artefacts of papers in the order of work: tables first, readings last."""
    papers = list(papers)
    found = [a for a in ARTEFACTS.values() if a.paper in papers and a.stage in stages]
    return sorted(
        found, key=lambda a: (a.stage == READINGS, papers.index(a.paper), a.kind != "table")
    )


def jobs(artefact: Artefact, scale: str, *, pems: bool = False) -> list[Job]:
    """Return the jobs that an artefact shows, in its order.

    At smoke made-up data sets stand for the others of their kind, with every method that is fitted
    on any of them.
    """
    shown = artefact.shows.items()
    return [job for each in shown for job in _jobs(artefact.key, *each, scale, pems)]


def _jobs(key: str, name: str, wanted: Mapping, scale: str, pems: bool) -> list[Job]:
    cls = experiment(name)
    if not cls.datasets:
        return [(name, "", "")]
    only = {**cls.only, **wanted.get("only", {})}
    added = [method for method, defined in METHODS.items() if key in defined.shown]
    listed = [*wanted.get("methods", cls.methods), *added]
    methods = [method for method in listed if method not in wanted.get("but", ())]
    datasets = wanted.get("datasets", cls.datasets)
    fitted = [(d, m) for d in datasets for m in methods if d in only.get(m, [d])]
    if scale != SMOKE:
        small = {d for d in datasets if cls.within(scale, d) and (pems or d != LARGEST_OPTIONAL)}
        return [(name, d, m) for d, m in fitted if d in small]
    kinds = {_kind(dataset) for dataset in datasets}
    made_up = [dataset for dataset in cls.smoke if _kind(dataset) in kinds]
    # Data that are drawn at every scale have at every scale the methods that are fitted on them.
    drawn = [dataset for dataset in made_up if dataset in cls.datasets]
    return [
        (name, d, m)
        for d in made_up
        for m in dict.fromkeys(m for real, m in fitted if _kind(real) == _kind(d))
        if d not in drawn or d in only.get(m, drawn)
    ]


def _kind(dataset: str) -> tuple[bool, str]:
    """Return what made-up data must have in common with those that they stand for."""
    is_sized = names.GAUSSIAN.has(dataset)
    return names.is_grid(dataset), names.GAUSSIAN.variation(dataset) if is_sized else ""


def path(scale: str, job: Job) -> str:
    """Return the score CSV of a job."""
    return f"results/{scale}/scores/{'/'.join(filter(None, job))}.csv"


def scores(artefact: Artefact, scale: str, *, pems: bool = False) -> list[str]:
    """Return the score CSVs that an artefact shows.

    One that shows an experiment at the scale paper takes at laptop the scores of paper where the
    parameters differ.
    """
    found = jobs(artefact, scale, pems=pems)
    return [path(_scale_of(artefact.shows[job[0]], scale, job), job) for job in found]


def _scale_of(wanted: Mapping, scale: str, job: Job) -> str:
    other = wanted.get("scale", scale) if scale == LAPTOP else scale
    return other if parameters(other, job) != parameters(scale, job) else scale


@cache
def _made(scale: str, job: Job, changes: str = "{}") -> Experiment:
    name, dataset, method = job
    return experiment(name).at(scale, dataset, method, **json.loads(changes))


@cache
def parameters(scale: str, job: Job, changes: str = "{}") -> str:
    """Return the parameters of a job as JSON, with changes as JSON."""
    return json.dumps(_made(scale, job, changes).identity(), sort_keys=True)


def needs(scale: str, job: Job) -> list[str]:
    """Return the score CSVs of other jobs that a job reads."""
    name, dataset, method = job
    return [path(scale, each) for each in experiment(name).needs(dataset, method)]


def together(job: Job) -> list[str]:
    """Return the methods that one job fits, the first names it; one alone is itself."""
    name, _, method = job
    return next((list(each) for each in experiment(name).together if method in each), [method])


def raw_data(scale: str, job: Job) -> list[str]:
    """Return the data sets that a job reads from files."""
    return _made(scale, job).raw_data()


def shards(scale: str, job: Job, wanted: int) -> int:
    """Return into how many shards a job is divided, at most one a repetition."""
    # As many as its parameters say: what the data say would have to be read.
    return min(wanted, Experiment.count(_made(scale, job)))


def _is_network(job: Job) -> bool:
    """Return whether a job trains networks, as the extra says that its estimator needs."""
    used = experiment(job[0]).estimators(job[2])
    return any("networks" in getattr(getattr(estimators, name), "_needs", ()) for name in used)


def code(job: Job) -> str:
    """Return a digest of the code that a job runs, of all methods that share its bases."""
    cls = experiment(job[0])
    used = {each for method in together(job) for each in cls.estimators(method)}
    return digest(cls.__module__, *map(estimator_module, sorted(used)))


LONG = 30
"""Minutes: of local jobs that ask for more at `laptop`, at most every second core runs one."""


@cache
def _order(papers: tuple[str, ...]) -> dict[Job, int]:
    """Return the place of each job of the scale laptop, the higher the earlier.

    That is the place of the first artefact that shows it; in an artefact what its paper prints
    comes first, then LikelihoodKCEF, and networks last.
    """
    found: dict[Job, int] = {}
    shown = artefacts([*papers, ACROSS], [RUN, READINGS])
    for place, artefact in enumerate(shown):
        for job in jobs(artefact, LAPTOP):
            ours = job[2] in METHODS and METHODS[job[2]].variant == OURS
            late = 3 if _is_network(job) else ours * (1 + (job[2] != "LikelihoodKCEF"))
            found.setdefault(job, 4 * (len(shown) - place) - late)
    return found


def priority(papers: Iterable[str], job: Job, minutes: int = 0) -> int:
    """Return the priority of a job: the earlier the first artefact that shows it, the higher.

    Jobs that may take long begin as soon as the first artefact has its jobs, so that none of them
    is left over at the end.
    """
    name, dataset, method = job
    # Factors and samples serve what artefacts show.
    shown = {"factors": "joint", "samples": "similarity"}.get(name, name)
    known, wanted = _order(tuple(papers)), fitted(method.partition("/")[0])
    place = max(known.get((name, dataset, method), 0), known.get((shown, dataset, wanted), 0))
    return max(place, max(known.values()) - 4) if minutes > LONG else place


def on_gpu(job: Job) -> bool:
    """Return whether a job can compute on a GPU; networks stay on the CPU."""
    return "backend" in experiment(job[0]).parameters() and not _is_network(job)


def resources(table: list[dict], scale: str, job: Job) -> tuple[int, int]:
    """Return MiB and minutes to ask for, by the most specific row of `resources.csv`."""
    name, dataset, method = job
    if scale == SMOKE:
        return 1500, 15
    job = {"experiment": name, "dataset": dataset, "method": method.partition("/")[0]}
    fits = [row for row in table if all(row[key] in ("", job[key]) for key in job)]
    row = max(fits, key=lambda row: sum(row[key] != "" for key in job))
    return int(row[f"mem_mb_{scale}"]), int(row[f"minutes_{scale}"])


def resource_table(file: str | Path) -> list[dict]:
    """Return the rows of `resources.csv`."""
    return list(csv.DictReader(Path(file).read_text(encoding="utf-8").splitlines()))
