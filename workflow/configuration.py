"""What the configuration may say, and what follows from it.

Errors are `ConfigurationError`s of one line a mistake: they name the key, its value and what is
allowed. Nothing here imports numerics: it runs whenever a workflow is planned.
"""

import csv
import hashlib
import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

import jsonschema
import yaml
from embeddings import within
from joints import is_grid
from references import dangling

from kcde import methods
from kcde.artefacts.core import listing
from kcde.names import nearest

SCALES = ("smoke", "laptop", "paper")
_ANSWER_STAYS = ("data_mirror", "backend", "blas_threads", "shards")
_FETCHED_BY = ("file", "sha256")
_LOADED_BY = ("file", "sha256", "y", "x", "preprocessing", "format")


class ConfigurationError(ValueError):
    """A mistake in the configuration, in words for its writer."""


def complete(config: Mapping) -> dict:
    """Return a configuration with the methods of the package below its own."""
    own = config.get("methods")
    # What is no mapping is for the schema to refuse.
    return {**config, "methods": methods.merged(own) if isinstance(own, Mapping) else own}


def check(config: Mapping, root: Path) -> None:
    """Check a configuration against its schema, then names against what they refer to.

    Parameters
    ----------
    config
        As `complete` returns it.
    root
        Folder of the project.

    Raises
    ------
    ConfigurationError
        If a key or value is not allowed, or a name refers to nothing.
    """
    schema = yaml.safe_load((root / "workflow/schemas/config.schema.yaml").read_text("utf-8"))
    errors = jsonschema.Draft202012Validator(schema).iter_errors(config)
    ordered = sorted(errors, key=lambda error: list(map(str, error.path)))
    # One value can break two rules that one sentence describes.
    mistakes = list(dict.fromkeys(map(_in_words, ordered)))
    if not mistakes:
        mistakes = list(dangling(config, catalogue(root)))
    if mistakes:
        raise ConfigurationError("\n".join(f"configuration: {mistake}" for mistake in mistakes))


def typed(value: object) -> object:
    """Return a value of `--config` with numbers, true, false and null for text that says so.

    Snakemake reads what is nested in `--config 'shards={moments: 20}'` as text.
    """
    if isinstance(value, Mapping):
        return {key: typed(each) for key, each in value.items()}
    if isinstance(value, list):
        return [typed(each) for each in value]
    if not isinstance(value, str):
        return value
    for read in (json.loads, float):
        try:
            found = read(value)
        except ValueError:
            continue
        return value if isinstance(found, (str, list, dict)) else found
    return value


def catalogue(root: Path) -> dict[str, dict[str, str]]:
    """Return the catalogue's rows by data set and by alias."""
    path = root / "src/kcde/datasets/catalogue.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    names = ((row, [row["name"], *row["aliases"].split("|")]) for row in rows)
    return {name.strip(): row for row, several in names for name in several if name.strip()}


def fetch_digest(entry: Mapping[str, str]) -> str:
    """Return a hash of what makes a raw file another one; a new address does not."""
    return _digest(entry, _FETCHED_BY)


def load_digest(entry: Mapping[str, str]) -> str:
    """Return a hash of what makes a loaded data set another one."""
    return _digest(entry, _LOADED_BY)


def selected(config: Mapping, artefact: str, scale: str) -> list[tuple[str, str, str]]:
    """Return (experiment, data set, method) of all that an artefact shows, in its own order.

    Those that the artefact lists and their experiment selects; at the scale `smoke` made-up data
    sets stand for them, grid data for grid data. Nothing for an experiment without data sets.

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
        At `smoke` made-up data sets stand for the others, with every method fitted on any of them;
        elsewhere Gaussian pairs up to the scale's number of rows.
    wanted
        `datasets` and `methods` in an order of its own, or of all methods none of `but`.
    """
    have, wanted = config["experiments"][experiment], wanted or {}
    if "datasets" not in have:
        return []
    datasets = [d for d in wanted.get("datasets", have["datasets"]) if d in have["datasets"]]
    listed = [m for m in wanted.get("methods", have["methods"]) if m in have["methods"]]
    methods = [m for m in listed if m not in wanted.get("but", ())]
    only = have.get("only", {})
    fitted = [(d, m) for d in datasets for m in methods if d in only.get(m, datasets)]
    if scale != "smoke":
        return [(d, m) for d, m in fitted if within(config, d, scale)]
    kinds = {is_grid(dataset) for dataset in datasets}
    made_up = [d for d in config["smoke_datasets"][experiment] if is_grid(d) in kinds]
    # What is drawn at every scale has everywhere the methods that are fitted on it.
    drawn = [d for d in made_up if d in have["datasets"]]
    return [
        (d, m)
        for d in made_up
        for m in dict.fromkeys(method for _, method in fitted)
        if d not in drawn or d in only.get(m, drawn)
    ]


def artefacts(config: Mapping, papers: Iterable[str]) -> list[str]:
    """Return the artefacts of papers that the experiments' selection leaves something of."""
    without_datasets = {
        name for name, chosen in config["experiments"].items() if "datasets" not in chosen
    }
    return [
        key
        for paper in papers
        for key, listed in listing.artefacts().items()
        if listed.paper == paper
        and (without_datasets & set(listed.shows) or selected(config, key, config["scale"]))
    ]


def figures_folder(config: Mapping, root: Path, scale: str) -> str:
    """Return where artefacts of a scale are drawn.

    `figures` belongs to the configuration as it stands in config.yaml, at `laptop`; what cannot
    change an answer may differ. Everything else is drawn beside its scores.
    """
    standing = default(root)
    is_default = all(config[key] == standing.get(key) for key in config if key not in _ANSWER_STAYS)
    return "figures" if scale == "laptop" and is_default else f"results/{scale}/figures"


@cache
def default(root: Path) -> Mapping:
    """Return config.yaml as it stands, complete; read once, as every artefact asks for it."""
    return complete(yaml.safe_load((root / "config.yaml").read_text("utf-8")))


def _digest(entry: Mapping[str, str], fields: Iterable[str]) -> str:
    text = "\0".join(entry.get(field, "") for field in fields)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _in_words(error: jsonschema.ValidationError) -> str:
    where = ".".join(str(part) for part in error.path)
    if error.validator == "additionalProperties":
        known = list(error.schema.get("properties", ()))
        return "; ".join(
            f"unknown key `{'.'.join(filter(None, (where, key)))}`{nearest(key, known)}; "
            f"known: {', '.join(known) or 'none'}"
            for key in error.instance
            if key not in known
        )
    if error.validator == "required":
        missing = [key for key in error.validator_value if key not in error.instance]
        return f"{f'`{where}`' if where else 'it'} lacks the key `{'`, `'.join(missing)}`"
    if error.validator == "uniqueItems":
        names = error.instance
        twice = sorted({str(name) for name in names if names.count(name) > 1})
        return f"`{where}` names {', '.join(twice)} more than once"
    allowed = error.schema.get("description", error.message)
    key = f"`{where}` is" if where else "a key is"
    guess = nearest(error.instance, error.validator_value) if error.validator == "enum" else ""
    return f"{key} {error.instance!r}{guess}; allowed: {allowed}"
