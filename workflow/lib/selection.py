"""The data sets and methods of an experiment, of an artefact, and of the chosen papers."""

from collections.abc import Iterable, Mapping

from kcde.artefacts.core import listing
from kcde.data import names
from lib.jobs import LAPTOP, at_scale, chosen, differs_in_readings, is_single


def selected(config: Mapping, artefact: str, scale: str) -> list[tuple[str, str, str]]:
    """Return (experiment, data set, method) of all that an artefact shows, in its own order.

    These are the data sets and methods that the artefact lists and their experiment selects. At the
    scale `smoke` made-up data sets stand for them, grid data for grid data. An experiment without
    data sets adds nothing.

    Parameters
    ----------
    config
        The configuration.
    artefact
        `paper/name`.
    scale
        `smoke`, `laptop` or `paper`.
    """
    return [
        (experiment, *pair)
        for experiment, wanted in listing.artefacts()[artefact].shows.items()
        for pair in pairs(config, experiment, scale, wanted)
    ]


def pairs(
    config: Mapping, experiment: str, scale: str, wanted: Mapping | None = None
) -> list[tuple[str, str]]:
    """Return the (data set, method) pairs that an experiment fits, or those wanted of them.

    Parameters
    ----------
    config
        The configuration.
    experiment
        A key of `experiments`.
    scale
        At `smoke` made-up data sets stand for the others of their kind, grid or not, with every
        method fitted on any of them; elsewhere Gaussian pairs have at most the scale's number of
        rows.
    wanted
        `datasets` and `methods` in the order wanted, `but`: methods that are left out, and `scale`:
        `readings` if they are selected as for these.
    """
    if is_single(experiment):
        return []
    wanted = wanted or {}
    have = chosen(config, experiment, wanted.get("scale", ""))
    datasets = [d for d in wanted.get("datasets", have["datasets"]) if d in have["datasets"]]
    listed = [m for m in wanted.get("methods", have["methods"]) if m in have["methods"]]
    methods = [m for m in listed if m not in wanted.get("but", ())]
    only = have.get("only", {})
    fitted = [(d, m) for d in datasets for m in methods if d in only.get(m, datasets)]
    if scale != "smoke":
        return [(d, m) for d, m in fitted if is_within(config, d, scale)]
    kinds = {_kind(dataset) for dataset in datasets}
    made_up = [d for d in config["smoke_datasets"][experiment] if _kind(d) in kinds]
    # Data that are drawn at every scale have at every scale the methods that are fitted on them.
    drawn = [d for d in made_up if d in have["datasets"]]
    return [
        (d, m)
        for d in made_up
        for m in dict.fromkeys(m for real, m in fitted if _kind(real) == _kind(d))
        if d not in drawn or d in only.get(m, drawn)
    ]


def _kind(dataset: str) -> tuple[bool, str]:
    """Return what made-up data must have in common with those that they stand for."""
    is_sized = names.GAUSSIAN.has(dataset)
    return names.is_grid(dataset), names.GAUSSIAN.variation(dataset) if is_sized else ""


def is_within(config: Mapping, dataset: str, scale: str) -> bool:
    """Return whether a data set has no more rows than a scale allows Gaussian pairs."""
    if not names.GAUSSIAN.has(dataset):
        return True
    dim, rows = names.GAUSSIAN.sizes(dataset)
    return rows <= at_scale(config["scales"][f"moments_rows_{dim}"], scale)


def scale_of(
    config: Mapping,
    scale: str,
    wanted: Mapping,
    experiment: str,
    dataset: str = "",
    method: str = "",
) -> str:
    """Return the scale of scores that an artefact shows.

    That is the scale of the run, but `readings` in place of `laptop` where the artefact wants it
    and the parameters of the job differ.

    Parameters
    ----------
    config
        The configuration.
    scale
        Of the run.
    wanted
        What the artefact shows of the experiment.
    experiment, dataset, method
        What is fitted; "" where it has none.
    """
    if scale != LAPTOP or "scale" not in wanted:
        return scale
    differs = differs_in_readings(config, experiment, dataset, method)
    return wanted["scale"] if differs else scale


def artefacts(
    config: Mapping, papers: Iterable[str], stages: Iterable[str] = (listing.RUN,)
) -> list[str]:
    """Return the artefacts of papers that show something which the experiments select.

    Parameters
    ----------
    config
        The configuration.
    papers
        Names of papers, and `across`.
    stages
        Those of the artefacts.
    """
    return [
        key
        for paper in papers
        for key, listed in listing.artefacts().items()
        if listed.paper == paper
        and listed.stage in stages
        and (any(map(is_single, listed.shows)) or selected(config, key, config["scale"]))
    ]


def made_up(config: Mapping) -> list[str]:
    """Return the names of all data sets of the scale `smoke`."""
    listed = (name for chosen in config["smoke_datasets"].values() for name in chosen)
    return sorted({*listed, *names.MADE_UP_RETURNS.values()})
