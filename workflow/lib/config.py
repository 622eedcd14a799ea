"""What the configuration may contain, and the errors where it does not.

A `ConfigurationError` has one line for each mistake, with the key, its value and what is allowed.
Nothing here imports numerics: it runs whenever a workflow is planned.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import Field
from functools import cache
from pathlib import Path

import jsonschema
import yaml

from kcde import methods
from kcde.artefacts.core.listing import READINGS, SCALES
from kcde.data import names
from kcde.experiments.job import SETTINGS
from kcde.experiments.jobs import EXPERIMENTS, r_benchmark, samples
from kcde.names import AS_PUBLISHED, OURS, nearest
from lib import division, jobs, own
from lib.references import unresolved_names

_SIZED = ("smoke", "laptop", READINGS, "paper")
"""Columns of the table of scales; `readings` has the value of laptop where it is not listed."""

_SAME_RESULT = ("data_mirror", "backend", "gpu_jobs", "blas_threads", "shards")
_MOVED = {
    "artefacts": "what a table or figure shows is `shows` in src/kcde/artefacts/<paper>/<name>.py"
}
"""Keys that earlier configurations had, and what has their values now."""

_NO_CHOICES = "{} (it has no choices)"


class ConfigurationError(ValueError):
    """A mistake in the configuration; the message is for its author."""


def complete(config: Mapping) -> dict:
    """Return a configuration with the methods of the package below its own."""
    given = config.get("methods")
    # The schema refuses any other value.
    return {**config, "methods": methods.merged(given) if isinstance(given, Mapping) else given}


def check(config: Mapping, root: Path, known: Iterable[str]) -> None:
    """Check a configuration against its schema, then names against what they refer to.

    Parameters
    ----------
    config
        As `complete` returns it.
    root
        Folder of the project.
    known
        Names of the data sets in the catalogue.

    Raises
    ------
    ConfigurationError
        If a key or value is not allowed, or a name refers to nothing.
    """
    errors = jsonschema.Draft202012Validator(schema(root)).iter_errors(config)
    ordered = sorted(errors, key=lambda error: list(map(str, error.path)))
    # One value can break two rules of the schema that have the same description.
    mistakes = list(dict.fromkeys(map(_in_words, ordered)))
    if not mistakes:
        mistakes = [*unresolved_names(config, known), *own.mistakes(config), *_mirror(config)]
    if mistakes:
        raise ConfigurationError("\n".join(f"configuration: {mistake}" for mistake in mistakes))


def _mirror(config: Mapping) -> Iterable[str]:
    """Yield a sentence where the mirror is a folder that is not there."""
    named = config["data_mirror"]
    if named and "://" not in named and not Path(named).expanduser().is_dir():
        yield f"`data_mirror` is {named!r}; there is no such folder (in {Path.cwd()})"


def schema(root: Path) -> dict:
    """Return the schema of a configuration: that of the file, completed from the package's jobs.

    Parameters
    ----------
    root
        Folder of the project.
    """
    found = yaml.safe_load((root / "workflow/schemas/config.schema.yaml").read_text("utf-8"))
    parts, defs = found["properties"], found["$defs"]
    parts["scale"] = _one_of(SCALES)
    defs["law"]["pattern"] = f"^{names.LAW_PATTERN}$"
    parts["shards"]["properties"] = dict.fromkeys([*division.SHARDABLE, own.NAME], defs["size"])
    scales = jobs.scale_keys().items()
    parts["scales"]["properties"] = {key: _sizes(of) for key, of in scales}
    of_method = parts["methods"]["additionalProperties"]["properties"]
    of_method |= {
        "variant": _one_of((AS_PUBLISHED, OURS)),
        "evaluation": _one_of(r_benchmark.EVALUATIONS),
        "settings": _one_of(SETTINGS),
        "target": _one_of(r_benchmark.TARGETS),
        "columns": _one_of(samples.COLUMNS),
    }
    parts["methods"]["description"] = f"name to {{{', '.join(of_method)}}}"
    of_file = parts["experiments"]["properties"]
    sections = dict.fromkeys(map(jobs.section, EXPERIMENTS))
    parts["experiments"]["properties"] = {
        name: _section(of_file.get(name, {}), {} if jobs.is_single(name) else defs["crossed"])
        for name in sections
    }
    parts["readings"]["properties"] = {
        name: _of_readings(each) for name, each in parts["experiments"]["properties"].items()
    }
    parts["experiments"]["properties"][own.NAME] = of_file[own.NAME]
    with_data = [name for name in sections if not jobs.is_single(name)]
    parts["smoke_datasets"]["properties"] = dict.fromkeys(with_data, defs["names"])
    _close(found)
    return found


def _one_of(values: Sequence[str]) -> dict:
    """Return the schema of a choice."""
    return {"description": f"{', '.join(values[:-1])} or {values[-1]}", "enum": list(values)}


def _section(of_file: Mapping, crossed: Mapping) -> dict:
    """Return the schema of an experiment, with keys of its own after those of all."""
    properties = {**crossed, **of_file.get("properties", {})}
    return {"type": "object", "optional": ["only"], "properties": properties}


def _of_readings(section: Mapping) -> dict:
    """Return the schema of an experiment under `readings`: what it has is in place of the other."""
    properties = deepcopy(section["properties"])
    kept = {key: each for key, each in properties.items() if key not in division.OF_ALL_SCALES}
    return {**section, "properties": kept, "optional": list(kept)}


def _sizes(parameters: Sequence[Field]) -> dict:
    """Return the schema of a line of `scales`, which is the value of some parameters."""
    limits = [each.metadata for each in parameters]
    least = max((each.get("at_least", 1) for each in limits), default=1)
    most = min((each["at_most"] for each in limits if "at_most" in each), default=None)
    words = f"from {least}" + (f" to {most}" if most else "")
    size: dict[str, object] = {"type": "integer", "minimum": least}
    if most:
        size["maximum"] = most
    if parameters and all(each.default is None for each in parameters):
        words += ", or null for the default"
        size["type"] = ["integer", "null"]
    size["description"] = f"a whole number {words}"
    return {
        "type": "object",
        "description": f"{{{', '.join(SCALES)}}}, and {READINGS}, whole numbers {words}",
        "properties": dict.fromkeys(_SIZED, size),
        "optional": [READINGS],
    }


def _close(node: object) -> None:
    """Complete all objects below a node, in place: required keys, and no others than those listed.

    Parameters
    ----------
    node
        A part of a schema.
    """
    for each in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        _close(each)
    if isinstance(node, dict) and isinstance(keys := node.get("properties"), dict):
        node.setdefault("additionalProperties", False)
        node.setdefault("required", [key for key in keys if key not in node.get("optional", ())])
        node.setdefault("description", f"{{{', '.join(keys)}}}" if keys else _NO_CHOICES)


def typed(value: object) -> object:
    """Return a value of `--config` in which text such as `20` or `true` has the type it looks like.

    Snakemake reads nested values, as in `--config 'shards={moments: 20}'`, as text. What is text of
    one's own table, as names of columns, stays so.
    """
    if isinstance(value, Mapping):
        return {key: each if key in own.TEXTS else typed(each) for key, each in value.items()}
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


def figures_folder(config: Mapping, root: Path, scale: str) -> str:
    """Return where artefacts of a scale are drawn.

    `figures` belongs to the configuration as it stands in config.yaml, at `laptop`; keys that
    cannot change a result may differ. All other artefacts are drawn beside their scores.
    """
    standing = default(root)
    is_default = all(
        _of_papers(key, config[key]) == _of_papers(key, standing.get(key))
        for key in config
        if key not in _SAME_RESULT
    )
    return "figures" if scale == "laptop" and is_default else f"results/{scale}/figures"


def _of_papers(key: str, value: object) -> object:
    """Return the value of a key without what no artefact shows: a table of one's own."""
    if key != "experiments" or not isinstance(value, Mapping):
        return value
    return {name: section for name, section in value.items() if name != own.NAME}


@cache
def default(root: Path) -> Mapping:
    """Return config.yaml as it stands, complete; read once, as every artefact asks for it."""
    return complete(yaml.safe_load((root / "config.yaml").read_text("utf-8")))


def _in_words(error: jsonschema.ValidationError) -> str:
    """Return the message of an error: key, value, what is allowed, and a similar name."""
    where = ".".join(str(part) for part in error.path)
    if error.validator == "additionalProperties":
        known = list(error.schema.get("properties", ()))
        unknown = [key for key in error.instance if key not in known]
        return "; ".join(_unknown_key(where, key, known) for key in unknown)
    if error.validator == "required":
        missing = [key for key in error.validator_value if key not in error.instance]
        place = list(error.path)
        # Options of a method whose name is misspelt read as a new method.
        guess = nearest(place[1], methods.METHODS) if place[:1] == ["methods"] else ""
        return f"{f'`{where}`' if where else 'it'} lacks the key `{'`, `'.join(missing)}`{guess}"
    if error.validator == "uniqueItems":
        listed = error.instance
        twice = sorted({str(name) for name in listed if listed.count(name) > 1})
        return f"`{where}` names {', '.join(twice)} more than once"
    allowed = error.schema.get("description", error.message)
    key = f"`{where}` is" if where else "a key is"
    guess = nearest(error.instance, error.validator_value) if error.validator == "enum" else ""
    return f"{key} {error.instance!r}{guess}; allowed: {allowed}"


def _unknown_key(where: str, key: str, known: Sequence[str]) -> str:
    """Return the message for a key that is not allowed where it is."""
    full = f"{where}.{key}" if where else key
    remedy = _MOVED.get(full, f"known: {', '.join(known) or 'none'}")
    return f"unknown key `{full}`{nearest(key, known)}; {remedy}"
