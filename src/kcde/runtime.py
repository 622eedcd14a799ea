"""What a run took: time and memory of its jobs, by rule and method.

Snakemake samples a job twice a second at first and twice a minute later. So its processor time is
that of the last sample, up to half a minute too small, and is not read here; the memory is the
largest that was seen.

These numbers depend on the machine and on what else it did, so they stand apart from the outputs
that must repeat: `figures/runtime.*` is of one run, and `verify` does not compare it.
"""

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from kcde.artefacts.tables.markdown import pipe_table
from kcde.files import atomic

COLUMNS = ["rule", "method", "jobs", "seconds", "memory_mib"]

_DRAWN, _OWN = "artefacts", "own"
_SHOWN = 25  # bars of the figure
_SHORT = 3.0  # seconds: less is 0.0 of the page's minutes
_WHOLE = 0.8  # of the jobs of the run before: methods come and go


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
        With `COLUMNS`: seconds are summed over jobs, memory is the largest resident set of a job in
        MiB that was sampled. Costliest first.

    Raises
    ------
    ValueError
        If there is no benchmark below the folder.
    """
    folder = Path(benchmarks)
    rows = [_row(path.relative_to(folder), path) for path in sorted(folder.rglob("*.tsv"))]
    if not rows:
        raise ValueError(f"{folder} holds no benchmarks: run snakemake first")
    frame = pd.DataFrame(rows, columns=["rule", "method", "seconds", "memory"])
    grouped = frame.groupby(["rule", "method"], sort=True)
    found = grouped.agg(
        jobs=("seconds", "size"),
        seconds=("seconds", "sum"),
        memory_mib=("memory", "max"),
    ).reset_index()
    found = found.sort_values("seconds", ascending=False, kind="stable")
    return found[COLUMNS].round(1).reset_index(drop=True)


def _row(name: Path, path: Path) -> tuple:
    """Return rule, method, seconds and MiB of a job."""
    last = pd.read_csv(path, sep="\t", na_values="-").iloc[-1]
    rule, *rest = name.with_suffix("").parts
    # factors/<data set>/<method>/<nodes>; own/<method>/<shard>; artefacts/<paper>/<name>
    place = 0 if rule == _OWN else 1
    method = "/".join(rest) if rule == _DRAWN else rest[place] if len(rest) > 1 else ""
    return rule, method, float(last["s"]), float(last["max_rss"])


def write(frame: pd.DataFrame, scale: str, machine: str, into: str | Path) -> list[Path]:
    """Write `runtime.csv`, `.md`, `.png` and `.pdf`.

    Parameters
    ----------
    frame
        Of `read`.
    scale
        Of the run.
    machine
        What it ran on, in words.
    into
        The folder of the outputs.

    Returns
    -------
    list of pathlib.Path
        The files.

    Raises
    ------
    ValueError
        If the folder has the times of a run of many more jobs, as of the whole and not of a part.
    """
    from kcde.artefacts.plots import style

    stem = Path(into) / "runtime"
    table, page = stem.with_suffix(".csv"), stem.with_suffix(".md")
    _require_whole(table, int(frame["jobs"].sum()))
    with atomic(table) as temporary:
        frame.to_csv(temporary, index=False)
    with atomic(page) as temporary:
        temporary.write_text(_page(frame, scale, machine), encoding="utf-8")
    with style.figure(style.PAGE, 0.15 * min(_SHOWN, len(frame)) + 0.6) as (made, axes):
        _draw(frame.head(_SHOWN), axes)
        return [table, page, *style.save(made, stem)]


def _require_whole(table: Path, jobs: int) -> None:
    before = int(pd.read_csv(table)["jobs"].sum()) if table.exists() else 0
    if jobs < _WHOLE * before:
        raise ValueError(
            f"{table} is of a run of {before} jobs, and here are the times of {jobs}: run all of "
            "`snakemake` first, or give another folder to `python -m kcde runtime --into`"
        )


def summary(figures: str | Path) -> str | None:
    """Return what `runtime.md` in a folder says of the run in short; None without one."""
    page = Path(figures) / "runtime.md"
    return page.read_text(encoding="utf-8").split("\n\n")[1] if page.exists() else None


def _page(frame: pd.DataFrame, scale: str, machine: str) -> str:
    seconds, long = frame["seconds"].sum(), frame["seconds"] >= _SHORT
    by_rule = frame.groupby("rule", sort=False).agg(
        jobs=("jobs", "sum"),
        seconds=("seconds", "sum"),
        memory_mib=("memory_mib", "max"),
    )
    by_rule = by_rule.sort_values("seconds", ascending=False, kind="stable")
    parts = [
        "# What a run took",
        f"Scale {scale}: {frame['jobs'].sum()} jobs, {_minutes(seconds)} minutes summed over jobs: "
        f"two at once about {_minutes(seconds / 2)} minutes, as each has one thread. {machine}. "
        "Beside other work a job takes longer. Memory is the largest of samples, half a minute "
        "apart in long jobs. Rules are those of the workflow.",
        "![Time of the costliest rules and methods](runtime.png)",
        "## By rule",
        pipe_table(
            ["rule", "jobs", "minutes", "most memory, MiB"],
            (_cells([rule], row) for rule, row in by_rule.iterrows()),
        ),
        "## By rule and method",
        pipe_table(
            ["rule", "method", "jobs", "minutes", "most memory, MiB"],
            (_cells([row["rule"], row["method"]], row) for _, row in frame[long].iterrows()),
            left=2,
        ),
        *([] if long.all() else [f"The others take less than {_SHORT:g} seconds each."]),
    ]
    return "\n\n".join(parts) + "\n"


def _cells(names: Iterable[str], row) -> list[str]:
    memory = row["memory_mib"]
    shown = "–" if pd.isna(memory) else f"{memory:.0f}"  # a job that ended before a sample
    return [*names, f"{row['jobs']:.0f}", f"{row['seconds'] / 60:.1f}", shown]


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f}"


def _draw(frame: pd.DataFrame, axes) -> None:
    from kcde.artefacts.plots import style

    names = [f"{row.method} ({row.rule})" if row.method else row.rule for row in frame.itertuples()]
    minutes = frame["seconds"] / 60
    axes.barh(range(len(names)), minutes, color=style.BLUE, height=0.7)
    for place, value in enumerate(minutes):
        axes.text(value, place, f" {value:.1f}", va="center", fontsize=6)
    axes.set_yticks(range(len(names)), names, fontsize=6.5)
    axes.invert_yaxis()
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlabel("minutes of a method (rule of the workflow), summed over jobs of one thread")
