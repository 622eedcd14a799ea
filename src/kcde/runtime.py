"""What a run took: processor time, time and memory of its jobs, by rule and method.

These numbers hang on the machine and on what else it did, so they stand apart from the outputs that
must repeat: `figures/runtime.*` is of one run, and `verify` does not compare it.
"""

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from kcde.artefacts.tables.markdown import pipe_table
from kcde.files import atomic

COLUMNS = ["rule", "method", "jobs", "processor_seconds", "seconds", "memory_mib"]

_DRAWN, _OWN = "artefacts", "own"
_SHOWN = 25  # bars of the figure


def read(benchmarks: str | Path) -> pd.DataFrame:
    """Return what the jobs of a scale took, one row for each rule and method.

    A job of several methods, which share their bases, counts for the first of them.

    Parameters
    ----------
    benchmarks
        The folder of a scale that Snakemake wrote, `results/benchmarks/laptop`.

    Returns
    -------
    pandas.DataFrame
        With `COLUMNS`: processor seconds and seconds are sums over jobs, memory is the largest
        resident set of a job in MiB. Dearest first.

    Raises
    ------
    ValueError
        If there is no benchmark below the folder.
    """
    folder = Path(benchmarks)
    rows = [_row(path.relative_to(folder), path) for path in sorted(folder.rglob("*.tsv"))]
    if not rows:
        raise ValueError(f"{folder} holds no benchmarks: run snakemake first")
    frame = pd.DataFrame(rows, columns=["rule", "method", "processor", "wall", "memory"])
    grouped = frame.groupby(["rule", "method"], sort=True)
    found = grouped.agg(
        jobs=("wall", "size"),
        processor_seconds=("processor", "sum"),
        seconds=("wall", "sum"),
        memory_mib=("memory", "max"),
    ).reset_index()
    found = found.sort_values("processor_seconds", ascending=False, kind="stable")
    return found[COLUMNS].round(1).reset_index(drop=True)


def _row(name: Path, path: Path) -> tuple:
    """Return rule, method, processor seconds, seconds and MiB of a job."""
    last = pd.read_csv(path, sep="\t", na_values="-").iloc[-1]
    rule, *rest = name.with_suffix("").parts
    # factors/<data set>/<method>/<nodes>; own/<method>/<shard>; artefacts/<paper>/<name>
    place = 0 if rule == _OWN else 1
    method = "/".join(rest) if rule == _DRAWN else rest[place] if len(rest) > 1 else ""
    wall, memory = float(last["s"]), float(last["max_rss"])
    # Jobs of less than a second end before they are measured.
    processor = last.get("cpu_time", float("nan"))
    return rule, method, wall if pd.isna(processor) else float(processor), wall, memory


def write(frame: pd.DataFrame, machine: str, into: str | Path) -> list[Path]:
    """Write `runtime.csv`, `.md`, `.png` and `.pdf`.

    Parameters
    ----------
    frame
        Of `read`.
    machine
        What it ran on, in words.
    into
        The folder of the outputs.

    Returns
    -------
    list of pathlib.Path
        The files.
    """
    from kcde.artefacts.plots import style

    stem = Path(into) / "runtime"
    table, page = stem.with_suffix(".csv"), stem.with_suffix(".md")
    with atomic(table) as temporary:
        frame.to_csv(temporary, index=False)
    with atomic(page) as temporary:
        temporary.write_text(_page(frame, machine), encoding="utf-8")
    with style.figure(style.PAGE, 0.15 * min(_SHOWN, len(frame)) + 0.6) as (made, axes):
        _draw(frame.head(_SHOWN), axes)
        return [table, page, *style.save(made, stem)]


def _page(frame: pd.DataFrame, machine: str) -> str:
    processor, wall = frame["processor_seconds"].sum(), frame["seconds"].sum()
    by_rule = frame.groupby("rule", sort=False).agg(
        jobs=("jobs", "sum"),
        processor_seconds=("processor_seconds", "sum"),
        seconds=("seconds", "sum"),
        memory_mib=("memory_mib", "max"),
    )
    by_rule = by_rule.sort_values("processor_seconds", ascending=False, kind="stable")
    parts = [
        "# What a run took",
        f"{frame['jobs'].sum()} jobs, {_minutes(processor)} minutes of processor time, "
        f"{_minutes(wall)} minutes summed over jobs: on two idle cores about "
        f"{_minutes(processor / 2)} minutes. {machine}. Beside other work a job takes longer than "
        "its processor time.",
        "![Processor time of the dearest rules and methods](runtime.png)",
        "## By rule",
        pipe_table(
            ["rule", "jobs", "processor minutes", "minutes", "most memory, MiB"],
            (_cells([rule], row) for rule, row in by_rule.iterrows()),
        ),
        "## By rule and method",
        pipe_table(
            ["rule", "method", "jobs", "processor minutes", "minutes", "most memory, MiB"],
            (_cells([row["rule"], row["method"]], row) for _, row in frame.iterrows()),
            left=2,
        ),
    ]
    return "\n\n".join(parts) + "\n"


def _cells(names: Iterable[str], row) -> list[str]:
    times = (f"{row[name] / 60:.1f}" for name in ("processor_seconds", "seconds"))
    return [*names, f"{row['jobs']:.0f}", *times, f"{row['memory_mib']:.0f}"]


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f}"


def _draw(frame: pd.DataFrame, axes) -> None:
    from kcde.artefacts.plots import style

    names = [f"{row.rule} {row.method}".strip() for row in frame.itertuples()]
    minutes = frame["processor_seconds"] / 60
    axes.barh(range(len(names)), minutes, color=style.BLUE, height=0.7)
    for place, value in enumerate(minutes):
        axes.text(value, place, f" {value:.1f}", va="center", fontsize=6)
    axes.set_yticks(range(len(names)), names, fontsize=6.5)
    axes.invert_yaxis()
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlabel("processor time, minutes on one core")
