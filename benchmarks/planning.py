"""What a plan of everything costs, beside the least that it could.

A dry run of the workflow beside one of a Snakefile with one rule and as many outputs as there are
jobs, both in a folder without results. Processor time of whole processes, which take turns.

Run: python benchmarks/planning.py
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import timing

ROOT = Path(__file__).parents[1]
PARTS = (
    "Snakefile",
    "config.yaml",
    "resources.csv",
    "workflow",
    "profiles",
    "envs",
    "src",
    "resources",
)
JOBS = 600
REPEATS = 5

BARE = f"""
rule all:
    input: expand("{{i}}.txt", i=range({JOBS}))
rule one:
    output: "{{i}}.txt"
    shell: "touch {{output}}"
"""


def processor_time() -> float:
    """Return the seconds that finished child processes took."""
    times = os.times()
    return times.children_user + times.children_system


def python(*arguments: str, folder: Path) -> None:
    """Run Python with this checkout of the package."""
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}"}
    command = [sys.executable, *arguments]
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)


def ratio(what: tuple[str, ...], least: tuple[str, ...], folder: Path) -> float:
    """Return the processor time of one command over that of another, each its fastest."""
    best = {what: float("inf"), least: float("inf")}
    for _ in range(REPEATS):
        for command in best:
            seconds = timing.fastest(lambda c=command: python(*c, folder=folder), 1, processor_time)
            best[command] = min(best[command], seconds)
    return best[what] / best[least]


with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    for part in PARTS:
        (folder / part).symlink_to(ROOT / part)
    (folder / "bare.smk").write_text(BARE)
    dry_run = ("-m", "snakemake", "--dry-run", "--cores", "1", "--snakefile")
    rows = [
        {
            "what": "dry run of everything",
            "over": f"bare dry run of {JOBS} jobs",
            "ratio": ratio((*dry_run, "Snakefile"), (*dry_run, "bare.smk"), folder),
            "wanted": 3.0,
        },
    ]
rows = [row | {"ratio": f"{row['ratio']:.2f}"} for row in rows]
timing.write(Path(__file__).with_suffix(".csv"), rows)
