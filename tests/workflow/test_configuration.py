"""Wrong configurations are refused in words; right ones lead to the right files."""

import copy
import json
from pathlib import Path

import configuration
import pytest
import yaml

from kcde import published
from kcde.artefacts import registry
from kcde.experiments import scores

ROOT = Path(__file__).parents[2]


@pytest.fixture
def config():
    return yaml.safe_load((ROOT / "config.yaml").read_text())


def merged(config, changes):
    """Merge as Snakemake does: dictionaries deeply, lists replaced."""
    result = copy.deepcopy(config)
    for key, value in changes.items():
        both = isinstance(value, dict) and isinstance(result.get(key), dict)
        result[key] = merged(result[key], value) if both else value
    return result


def test_the_default_is_right(config):
    configuration.check(config, ROOT)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"bakend": "numpy"}, ["unknown key `bakend`", "did you mean `backend`", "known: scale"]),
        ({"scale": "laptpo"}, ["`scale` is 'laptpo'", "`laptop`?", "smoke, laptop or paper"]),
        ({"blas_threads": 0}, ["`blas_threads` is 0", "a whole number from 1"]),
        ({"blas_threads": "two"}, ["`blas_threads` is 'two'", "a whole number from 1"]),
        ({"papers": []}, ["`papers` is []", "keys of `artefacts`"]),
        ({"papers": ["kecf"]}, ["`papers` names 'kecf'", "`kcef`?", "kcef, dde"]),
        ({"papers": ["dde", "dde"]}, ["`papers` names dde more than once"]),
        ({"scales": {"splits": {"huge": 3}}}, ["`scales.splits.huge`", "smoke, laptop, paper"]),
        ({"scales": {"splits": {"paper": 0.5}}}, ["`scales.splits.paper` is 0.5", "whole number"]),
        ({"data_mirror": 3}, ["`data_mirror` is 3", "null, or the path or URL of a folder"]),
        (
            {"methods": {"NADE": {"estimator": "NADA", "variant": "ours"}}},
            ["`methods.NADE.estimator` names 'NADA'", "EpsilonKDE, KCEF"],
        ),
        ({"methods": {"NADE": {"variant": "ours"}}}, ["`methods.NADE` lacks the key `estimator`"]),
        (
            {"methods": {"KCEF": {"variant": "published"}}},
            ["`methods.KCEF.variant` is 'published'", "as-published or ours"],
        ),
        (
            {"experiments": {"r_benchmark": {"datasets": ["geysir"]}}},
            ["`experiments.r_benchmark.datasets` names 'geysir'", "`geyser`?", "the catalogue"],
        ),
        (
            {"experiments": {"r_benchmark": {"methods": ["LSCDF"]}}},
            ["`experiments.r_benchmark.methods` names 'LSCDF'", "`LSCDE`?", "KCEF-LL"],
        ),
        ({"experiments": {"grid": {}}}, ["unknown key `experiments.grid`", "failure_case"]),
        (
            {"artefacts": {"dde": {"table2": {"experiment": "r-benchmark"}}}},
            ["`artefacts.dde.table2.experiment` names 'r-benchmark'", "`r_benchmark`?"],
        ),
    ],
)
def test_a_mistake_is_named(config, changes, words):
    with pytest.raises(configuration.ConfigurationError) as error:
        configuration.check(merged(config, changes), ROOT)
    (line,) = str(error.value).splitlines()
    for word in words:
        assert word in line


def test_the_configuration_matches_the_papers(config):
    assert set(config["scales"]["splits"]) == set(configuration.SCALES)
    values = published.values()
    for paper, drawn in config["artefacts"].items():
        for name, wanted in drawn.items():
            artefact = registry.ARTEFACTS[f"{paper}/{name}"]
            assert artefact.experiment == wanted["experiment"]
            assert (
                tuple(f".{suffix}" for suffix in configuration.suffixes(name)) == artefact.suffixes
            )
            rows = values[(values["paper"] == paper) & (values["artefact"] == name)]
            assert wanted.get("datasets", []) == list(dict.fromkeys(rows["dataset"]))
            built = set(rows["method"]) & set(config["methods"])
            assert built <= set(wanted.get("methods", []))


def test_an_artefact_shows_what_its_experiment_selects(config):
    chosen = merged(config, {"experiments": {"r_benchmark": {"datasets": ["engel", "cpus"]}}})
    shown = configuration.selected(chosen, "kcef", "table1", "laptop")
    assert shown == [
        ("engel", method) for method in config["artefacts"]["kcef"]["table1"]["methods"]
    ]
    smoke = configuration.selected(chosen, "dde", "table2", "smoke")
    assert {dataset for dataset, _ in smoke} == set(config["smoke_datasets"])
    only = merged(config, {"experiments": {"r_benchmark": {"datasets": ["engel"]}}})
    assert configuration.artefacts(only, ["kcef", "dde"]) == [("kcef", "table1"), ("kcef", "fig3")]


@pytest.mark.parametrize(
    ("changes", "folder"),
    [
        ({}, "figures"),
        ({"data_mirror": "elsewhere", "backend": "numpy", "blas_threads": 2}, "figures"),
        ({"papers": ["kcef"]}, "results/laptop/figures"),
        ({"scales": {"splits": {"laptop": 2}}}, "results/laptop/figures"),
    ],
)
def test_only_the_default_draws_into_the_tracked_folder(config, changes, folder):
    changed = merged(config, changes)
    assert configuration.figures_folder(changed, ROOT, "laptop") == folder
    assert configuration.figures_folder(changed, ROOT, "smoke") == "results/smoke/figures"


def test_a_new_address_does_not_change_the_data():
    entry = configuration.catalogue(ROOT)["geyser"]
    moved = entry | {"urls": "https://example.org/geyser.rda", "notes": "moved"}
    other = entry | {"sha256": "0" * 64}
    recoded = entry | {"x": "duration"}
    for digest in (configuration.fetch_digest, configuration.load_digest):
        assert digest(moved) == digest(entry) != digest(other)
    assert configuration.load_digest(recoded) != configuration.load_digest(entry)
    assert configuration.fetch_digest(recoded) == configuration.fetch_digest(entry)


def test_the_score_schema_is_the_score_table():
    schema = yaml.safe_load((ROOT / "workflow/schemas/scores.schema.yaml").read_text())
    assert list(schema["properties"]) == list(scores.COLUMNS) == schema["required"]
    assert tuple(schema["properties"]["status"]["enum"]) == tuple(scores.STATUSES)


def score_row(**changes):
    row = dict.fromkeys(scores.COLUMNS)
    row |= {"experiment": "e", "dataset": "d", "setting": "{}", "method": "m", "metric": "n"}
    return json.loads(json.dumps(row | {"value": 1.0, "status": "ok"} | changes))


@pytest.mark.parametrize(
    ("changes", "valid"),
    [
        ({}, True),
        ({"value": None}, False),
        ({"status": "failed", "value": None, "detail": "singular"}, True),
        ({"status": "not-run", "value": None}, False),
        ({"status": "failed", "detail": "singular"}, False),
        ({"status": "lost"}, False),
        ({"extra": 1}, False),
    ],
)
def test_the_score_schema_holds_rows_to_their_status(changes, valid):
    schema = yaml.safe_load((ROOT / "workflow/schemas/scores.schema.yaml").read_text())
    validator = configuration.jsonschema.Draft202012Validator(schema)
    assert validator.is_valid(score_row(**changes)) is valid
