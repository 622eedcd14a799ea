"""Paths of files: scores and their parts, records, drawn tables and figures."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from types import SimpleNamespace

from snakemake.exceptions import WorkflowError

from kcde.artefacts.core import listing
from kcde.data.catalogue import Entry
from kcde.files import finished
from kcde.names import fitted
from lib import division, jobs, selection
from lib.config import figures_folder

SMOKE_MIRROR = "results/smoke/mirror"
"""Folder of the made-up raw data, with their catalogue."""

_STEMS = {
    "factors": "factors/{dataset}/{method}/{nodes}",
    "joint_network": "joint/{dataset}/{method}",
    "exact": f"joint/{{dataset}}/{jobs.EXACT}",
}
"""Paths of experiments that differ from `<experiment>/<dataset>/<method>`."""


def stem(experiment: str, method: str = "{method}") -> str:
    """Return the path of an experiment's files below its scale, without suffix.

    Parameters
    ----------
    experiment
        Its name.
    method
        A method, where one job fits several; by default a wildcard in braces, as the others are.
    """
    if jobs.is_single(experiment):
        return experiment
    path = _STEMS.get(experiment, f"{experiment}/{{dataset}}/{{method}}")
    return path.replace("{method}", method)


def part(experiment: str, method: str = "{method}", *, root: str = "results/{scale}/parts") -> str:
    """Return the path of a part without suffix, with wildcards in braces.

    Parameters
    ----------
    experiment
        One of `division.SHARDABLE`.
    method
        The first method, where one job fits several.
    root
        Folder of all parts, or of their logs.
    """
    return f"{root}/{stem(experiment, method)}/{{shard}}-of-{{shards}}"


def scores(scale: str, experiment: str, dataset: str = "", method: str = "") -> str:
    """Return the score table of a data set and a method, or of an experiment without them."""
    path = stem(experiment).format(dataset=dataset, method=method)
    return f"results/{scale}/{path}.csv"


def factors(
    config: Mapping, catalogue: Mapping[str, Entry], wildcards: object, method: str
) -> list[str]:
    """Return the score tables of all factors of a method's joint density.

    A method that is named after another and how that is sampled has those of the other.

    Parameters
    ----------
    config
        The configuration.
    catalogue
        Entries by name and alias.
    wildcards
        With `scale` and `dataset`.
    method
        Its name.
    """
    count = division.columns(config, catalogue, wildcards.dataset)
    ranges = division.node_ranges(count, config["experiments"]["joint"]["nodes_per_job"])
    path = f"results/{wildcards.scale}/{stem('factors', fitted(method))}.csv"
    return [path.format(dataset=wildcards.dataset, nodes=nodes) for nodes in ranges]


def scores_of(config: Mapping, scale: str, artefact: str) -> list[str]:
    """Return the score tables that an artefact shows.

    Parameters
    ----------
    config
        The configuration.
    scale
        `smoke`, `laptop` or `paper`.
    artefact
        `paper/name`.

    Raises
    ------
    WorkflowError
        If there is no such artefact, or the configuration selects nothing of it.
    """
    known = listing.artefacts()
    if artefact not in known:
        raise WorkflowError(f"kcde: there is no artefact {artefact}; known: {', '.join(known)}")
    shows = known[artefact].shows
    experiments = list(shows)
    single = [(experiment,) for experiment in experiments if jobs.is_single(experiment)]
    wanted = [*single, *selection.selected(config, artefact, scale)]
    shown = [
        scores(selection.scale_of(config, scale, shows[each[0]], *each), *each) for each in wanted
    ]
    if not shown:
        named = "` or `experiments.".join(experiments)
        raise WorkflowError(
            f"kcde: nothing that {artefact} shows is selected by `experiments.{named}`: "
            "add some of its data sets and methods"
        )
    return shown


def all_scores(config: Mapping, scale: str, stages: Iterable[str] = (listing.RUN,)) -> list[str]:
    """Return every score table that the chosen papers show at some stages."""
    shown = selection.artefacts(config, config["papers"], stages)
    return list(dict.fromkeys(path for key in shown for path in scores_of(config, scale, key)))


def data_record(catalogue: Mapping[str, Entry], scale: str, dataset: str) -> str:
    """Return the record of the raw data of a data set; its aliases have the same."""
    if scale == "smoke":
        return f"results/smoke/data/{dataset}.json"
    return f"results/data/{catalogue[dataset].name}.json"


def record(scale: str, artefact: str) -> str:
    """Return the record of an artefact."""
    return f"results/{scale}/artefacts/{artefact}.json"


def records(
    config: Mapping, scale: str, papers: Iterable[str], stages: Iterable[str] = (listing.RUN,)
) -> list[str]:
    """Return the records of the artefacts of some papers at some stages."""
    return [record(scale, artefact) for artefact in selection.artefacts(config, papers, stages)]


def drawn_files(config: Mapping, root: Path) -> list[SimpleNamespace]:
    """Return every drawn file that is a target, with the record that it needs."""
    own = figures_folder(config, root, config["scale"])
    return [
        SimpleNamespace(
            path=f"{folder}/{listing.place(listed.paper, listed.name)}.{suffix}",
            artefact=artefact,
            folder=folder,
            record=record(config["scale"], artefact)
            if folder == own
            else _refusal(own, config["scale"]),
        )
        for folder in dict.fromkeys([own, "figures"])
        for artefact, listed in listing.artefacts().items()
        for suffix in listing.suffixes(listed.kind)
    ]


def _refusal(own: str, scale: str):
    """Return an input function for files that this configuration does not write."""
    made_up = scale == listing.SCALES[0]
    copied = "" if made_up else "; `snakemake publish` copies what it drew into figures/"

    def refuse(wildcards):
        raise WorkflowError(
            f"kcde: this configuration draws into {own}/: ask for the file there{copied}"
        )

    return refuse


def drawn_now(folder: str) -> list[str]:
    """Return the tables, pages and pictures that are drawn.

    Parameters
    ----------
    folder
        Where the artefacts of a scale are drawn, from where Snakemake is started.
    """
    suffixes = (".csv", ".gz", ".json", ".md", ".png")
    found = finished(folder, "**/*.*")
    return [path.as_posix() for path in found if path.suffix in suffixes]


def published_scale(config: Mapping, root: Path) -> str:
    """Return the scale that `publish` copies from.

    Raises
    ------
    WorkflowError
        If it is `smoke`, or this configuration draws into figures/ itself.
    """
    if config["scale"] == "smoke":
        raise WorkflowError("kcde: publish copies no made-up data: use --config scale=paper")
    if figures_folder(config, root, config["scale"]) == "figures":
        raise WorkflowError(
            "kcde: publish copies what another scale drew, and this configuration draws into "
            "figures/ itself: use --config scale=paper, after `snakemake --config scale=paper`"
        )
    return config["scale"]
