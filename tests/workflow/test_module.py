"""The workflow as a part of another one, and where catalogues look for it."""

import json
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]

OTHER = """
configfile: "{root}/config.yaml"


module kcde:
    snakefile:
        "{root}/{snakefile}"
    config:
        config


use rule * from kcde as kcde_*


rule mine:
    input:
        "results/smoke/artefacts/kcef/fig3.json",
    output:
        "mine.txt",
    shell:
        "ls results/smoke/figures/kcef > {{output}}"
"""


@pytest.mark.slow
@pytest.mark.workflow
@pytest.mark.parametrize("snakefile", ["Snakefile", "workflow/Snakefile"])
def test_another_workflow_uses_this_one_as_a_module(snakemake, project, tmp_path, snakefile):
    (tmp_path / "Snakefile").write_text(OTHER.format(root=project, snakefile=snakefile))
    found = snakemake("--directory", tmp_path, "-s", tmp_path / "Snakefile", "mine.txt", "-c", "1")
    assert found.returncode == 0, found.stderr
    assert "fig3.png" in (tmp_path / "mine.txt").read_text().split()


def test_metadata_agree():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    deposit = json.loads((ROOT / ".zenodo.json").read_text())
    assert project["version"] == citation["version"] == deposit["version"]
    assert project["license"] == citation["license"] == deposit["license"]
    assert citation["title"] == deposit["title"]
    authors = [author["name"] for author in citation["authors"]]
    assert authors == [creator["name"] for creator in deposit["creators"]]
