"""A copy of the project in a temporary folder, and Snakemake in it."""

import copy
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "workflow"))

PARTS = ("Snakefile", "config.yaml", "workflow", "profiles", "envs", "src", "resources")


@pytest.fixture
def config():
    """The configuration as it stands, complete, for each test to change as it likes."""
    from lib import config as configuration

    return copy.deepcopy(configuration.default(ROOT))


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A copy of what the workflow needs, without results, with one tracked file."""
    folder = tmp_path_factory.mktemp("project")
    for part in PARTS:
        source = ROOT / part
        if source.is_dir():
            ignore = shutil.ignore_patterns("__pycache__", "*.egg-info")
            shutil.copytree(source, folder / part, ignore=ignore)
        else:
            shutil.copy(source, folder / part)
    (folder / "figures/kcef").mkdir(parents=True)
    (folder / "figures/kcef/table1.md").write_text("as it was\n")
    return folder


@pytest.fixture(scope="module")
def snakemake(project):
    """Return a function that runs Snakemake in the copy, without mirror; keywords are variables."""
    environment = {name: value for name, value in os.environ.items() if name != "KCDE_DATA_MIRROR"}

    def run(*arguments, **more):
        return subprocess.run(
            [sys.executable, "-m", "snakemake", *arguments],
            cwd=project,
            env=environment | more,
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )

    return run
