"""A small run in a copy of the project, and what it must leave whatever happens to it."""

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
PARTS = ("Snakefile", "config.yaml", "workflow", "profiles", "envs", "src", "resources")

SMALL = """
scale: smoke
papers: [kcef]
scales: {splits: {smoke: 12}}
experiments:
  r_benchmark: {methods: [KCEF, KCEF-LL, LSCDE]}
"""

TARGETS = ("results/smoke/artefacts/kcef/table1.json", "results/smoke/artefacts/kcef/fig3.json")
FITTING = "results/logs/smoke/r_benchmark/smoke-mixed/KCEF-LL.log"
DRAWING = "results/logs/smoke/artefacts/kcef/table1.log"


class Project:
    """A copy of the project, and Snakemake in it."""

    def __init__(self, folder: Path):
        self.folder = folder
        folder.mkdir(parents=True)
        for part in PARTS:
            if (ROOT / part).is_dir():
                ignore = shutil.ignore_patterns("__pycache__", "*.egg-info")
                shutil.copytree(ROOT / part, folder / part, ignore=ignore)
            else:
                shutil.copy(ROOT / part, folder / part)
        (folder / "small.yaml").write_text(SMALL)

    def command(self, *arguments: str, cores: int = 2) -> list[str]:
        """Return the command line of the small run."""
        run = [sys.executable, "-m", "snakemake", *TARGETS, "--cores", f"{cores}"]
        return [*run, "--configfile", "small.yaml", *arguments]

    def run(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess:
        """Run to the end, whatever that is."""
        return subprocess.run(
            self.command(*arguments),
            cwd=self.folder,
            env=os.environ | variables,
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )

    def start(self, *arguments: str) -> subprocess.Popen:
        """Start a run in a process group of its own."""
        return subprocess.Popen(
            self.command(*arguments),
            cwd=self.folder,
            start_new_session=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def strike(self, at: str, number: signal.Signals) -> str:
        """Start a run, signal all its processes once a file is there, and return what it said."""
        process = self.start()
        self.wait_for(at)
        os.killpg(process.pid, number)
        said, _ = process.communicate(timeout=300)
        return said

    def wait_for(self, path: str, seconds: float = 300) -> None:
        """Return when a file is there."""
        limit = time.monotonic() + seconds
        while not (self.folder / path).exists():
            assert time.monotonic() < limit, f"{path} never came"
            time.sleep(0.02)

    def resume(self) -> str:
        """Run again, after `--unlock` if that is asked for, and return what was needed."""
        found, needed = self.run(), "the same command"
        if "--unlock" in found.stdout + found.stderr:
            assert self.run("--unlock").returncode == 0
            found, needed = self.run(), "`--unlock` and the same command"
        assert found.returncode == 0, found.stderr
        return needed

    def drawn(self) -> dict[str, str]:
        """Return the SHA-256 of each drawn file."""
        folder = self.folder / "results/smoke/figures"
        return {
            f"{path.relative_to(folder)}": hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        }

    def files(self) -> set[str]:
        """Return all files below results, hidden ones as well."""
        folder = self.folder / "results"
        return {f"{path.relative_to(folder)}" for path in folder.rglob("*") if path.is_file()}
