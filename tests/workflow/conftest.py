"""A copy of the project in a temporary folder, and Snakemake in it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PARTS = ("Snakefile", "config.yaml", "resources.csv", "workflow", "profiles", "envs", "src")


class Project:
    """A copy of what the workflow needs, without results."""

    def __init__(self, folder: Path):
        self.folder = folder
        folder.mkdir()
        for part in PARTS:
            copied = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
            copied(ROOT / part, folder / part)
        (folder / "resources").mkdir()
        (folder / "resources/data").symlink_to(ROOT / "resources/data")
        (folder / "figures").mkdir()

    def run(self, *arguments, expect=0, **variables):
        done = subprocess.run(
            [sys.executable, "-m", "snakemake", *arguments],
            cwd=self.folder,
            env={k: v for k, v in os.environ.items() if k != "KCDE_DATA_MIRROR"} | variables,
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )
        text = done.stdout + done.stderr
        assert done.returncode == expect, text
        return text

    def change(self, path, old, new):
        """Replace a text that stands in a file."""
        file = self.folder / path
        content = file.read_text()
        assert old in content
        file.write_text(content.replace(old, new, 1))

    def jobs(self, *arguments):
        """Return all files that the rules for a target write."""
        rows = [line.split("\t") for line in self.run("--summary", *arguments).splitlines()]
        return [row[0] for row in rows if len(row) > 1][1:]


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    return Project(tmp_path_factory.mktemp("project") / "copy")


@pytest.fixture
def fresh(tmp_path):
    return Project(tmp_path / "copy")
