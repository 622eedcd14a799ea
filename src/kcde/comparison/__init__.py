"""Which conditional density to use for a table of one's own.

`compare` checks the table, scores the methods on held-out rows, and advises one:

Examples
--------
>>> import numpy as np, pandas as pd
>>> import kcde
>>> rng = np.random.default_rng(0)
>>> frame = pd.DataFrame({"area": rng.normal(size=200)})
>>> frame["price"] = frame["area"] + 0.3 * rng.normal(size=200)
>>> found = kcde.compare(frame, y="price", methods=["LSCDE-exact"], splits=3)
>>> found.advice.method
'LSCDE-exact'
"""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pandas as pd

from kcde import methods as known_methods
from kcde import tabular
from kcde.comparison import page, running
from kcde.comparison.advice import Advice, advise, by_split, ranked
from kcde.comparison.running import CRPS, LOG_DENSITY, RANDOM, SPLITS, TRAIN_ROWS, Plan
from kcde.files import staged
from kcde.methods import BASELINE, CONTENDERS, STACKED
from kcde.seeding import rng_of
from kcde.selection import subsample
from kcde.table_model import TableModel, regardless_of_groups, usable

PAGE, _PICTURE = "comparison.html", "comparison.png"
"""In the folder of a comparison, beside comparison.csv, splits.csv and comparison.png."""


@dataclass(frozen=True)
class Comparison:
    """What a comparison found.

    Attributes
    ----------
    checked
        The table.
    plan, run
        What was compared, and how far.
    table
        A row a method, the best first; see `kcde.comparison.advice.ranked`.
    by_split
        A row a method and split.
    rank_by
        `log_density`, or `crps` where y has ties.
    advice
        The method to take, and why.
    warnings
        What is to be known before this is believed.
    model
        The advised method fitted to all rows, `TRAIN_ROWS` at most, or to as many as it was
        compared on where there was no time for more; None where none is advised.
    source
        What the rows are called.
    reading
        Arguments of `kcde.tabular.read` that the file needs.
    """

    checked: tabular.Checked
    plan: Plan
    run: running.Run
    table: pd.DataFrame
    by_split: pd.DataFrame
    rank_by: str
    advice: Advice
    warnings: tuple[str, ...]
    model: TableModel | None
    source: str
    reading: Mapping[str, object]

    def __str__(self) -> str:
        return page.terminal(self)

    def write(self, folder: str | Path) -> list[Path]:
        """Write page, tables and picture.

        Parameters
        ----------
        folder
            Written into; made where it is missing.

        Returns
        -------
        list of pathlib.Path
            The paths of the files.
        """
        tables = {"comparison.csv": self.table, "splits.csv": self.by_split}
        with staged(folder) as stage:
            (stage / PAGE).write_text(page.render(self), encoding="utf-8")
            for name, frame in tables.items():
                frame.to_csv(stage / name, index=False, float_format="%.6g", lineterminator="\n")
            page.ranking(self.table, self.rank_by, stage / _PICTURE)
        return [Path(folder) / name for name in (PAGE, *tables, _PICTURE)]


def compare(
    frame: pd.DataFrame,
    y: str,
    x: Sequence[str] | None = None,
    *,
    methods: Sequence[str] | None = None,
    splits: int = SPLITS,
    groups: str | None = None,
    time_column: str | None = None,
    budget: float = 600.0,
    jobs: int = 1,
    shard: tuple[int, int] | None = None,
    out: str | Path | None = None,
    drop: Sequence[str] = (),
    levels: Sequence[str] = (),
    missing: str = tabular.REFUSE,
    lower: float | None = None,
    rows: int | None = TRAIN_ROWS,
    seed: int = 0,
    source: str = "data.csv",
    reading: Mapping[str, object] = MappingProxyType({}),
    say: Callable[[str], None] = lambda line: None,
) -> Comparison | None:
    """Compare conditional densities of a column given others on held-out rows, and advise one.

    Parameters
    ----------
    frame
        A row an observation.
    y
        The column that is predicted.
    x
        Those that it is predicted from; by default all others.
    methods
        Names of methods, see `kcde.methods.key_of`, or `["all"]`; by default the eight of
        `kcde.methods.CONTENDERS` and the mixture of them, `Stacked`. The density that ignores x is
        always one of them.
    splits
        Number of splits; the budget may allow fewer, two at least.
    groups
        Column that says which rows belong together: they are trained on or tested on together.
    time_column
        Column that orders the rows in time: training rows are earlier than test rows.
    budget
        Seconds.
    jobs
        Processes that score splits at once; no score depends on their number.
    shard
        As (2, 8), the second of eight equal parts of the splits and methods: these alone are scored
        into `out`, on all rows, on a machine of its own; a comparison without it then goes on from
        the scores of all. None: all.
    out
        Folder for page, tables, picture, and the scores of each split, from which a stopped
        comparison goes on; None: nothing is kept.
    drop
        Columns that are not used.
    levels
        Columns of x that are categories, also where they have numbers.
    missing
        Rows with missing values: `refuse`, `drop` or `indicate`, see `kcde.tabular.check`.
    lower
        A bound below all y: methods see log(y - lower), scores stay in the units of y.
    rows
        Most training rows of a split; None: all.
    seed
        Of the splits.
    source
        What the rows are called on the page.
    reading
        Arguments of `kcde.tabular.read` that the file needs, for the Python lines on the page.
    say
        Is told of the progress, line by line.

    Returns
    -------
    Comparison or None
        None for a shard.

    Raises
    ------
    ValueError
        If a column or method cannot be used, naming it, the reason and the remedy.
    """
    if jobs < 1:
        raise ValueError(f"jobs must be at least 1; got {jobs}")
    if shard is not None and (out is None or not 1 <= shard[0] <= shard[1]):
        asked = "a shard is a part and the number of parts, as (2, 8), and needs a folder `out`"
        raise ValueError(f"{asked}; got {shard} and {out}")
    names, absent = _compared(methods)
    used = {"drop": drop, "groups": groups, "time_column": time_column, "levels": levels}
    checked = tabular.check(frame, y, x, **used, missing=missing, lower=lower)
    asked = {"count": splits, "groups": groups, "time_column": time_column, "rows": rows}
    with tempfile.TemporaryDirectory(prefix="kcde-") as temporary:
        folder = Path(temporary) if out is None else Path(out)
        plan = running.make(checked, folder, **asked, seed=seed, lower=lower)
        flattered = running.misleading(checked) if plan.kind == RANDOM else []
        warnings = (*checked.warnings, *flattered, *_beyond(plan, checked))
        for line in (*checked.notes, *warnings):
            say(line)
        if groups is not None and (regardless := regardless_of_groups(names)):
            say(regardless)
        reasons = {why: ", ".join(k for k in absent if absent[k] == why) for why in absent.values()}
        if reasons:
            say(f"not compared: {'; '.join(f'{each} {why}' for why, each in reasons.items())}")
        rank_by = CRPS if tabular.has_ties(checked) else LOG_DENSITY
        if rank_by == CRPS and STACKED in names:
            names.remove(STACKED)
            absent[STACKED] = "is weighted by log densities, which ties of y spoil"
        if shard is not None:
            running.score_shard(plan, names, shard, budget, say, jobs)
            return None
        run = running.run(plan, names, budget, say, jobs, rank_by)
        run.skipped |= absent
    by_splits = by_split(run)
    table = ranked(by_splits, run, plan.overlap(run.splits), rank_by)
    advice, model = advise(table, by_splits, run, plan, rank_by), None
    if advice.method is not None:
        used = [column.name for column in checked.columns.x]
        fitted = {"groups": groups, "levels": [name for name in used if name in levels]}
        fitted["options"] = run.stack if advice.method == STACKED else None
        model = TableModel(advice.method, y, used, **fitted, missing=missing, lower=lower)
        # What a method was not scored with may take it hours.
        most = TRAIN_ROWS if run.rows == running.sizes(plan)[-1] else run.rows
        some = subsample(len(checked.frame), most, rng_of("own", "all rows"))
        say(f"{advice.method}: fit to {len(some)} rows")
        model.fit_checked(replace(checked, frame=checked.frame.iloc[some]))
    found = (checked, plan, run, table, by_splits, rank_by, advice, warnings, model)
    comparison = Comparison(*found, source, reading)
    if out is not None:
        comparison.write(folder)
    return comparison


def _compared(names: Sequence[str] | None) -> tuple[list[str], dict[str, str]]:
    """Return the methods that are compared, the baseline first, and why others are not."""
    if names is None or list(names) == ["all"]:
        known = running.all_methods() if names else [BASELINE, *CONTENDERS]
        known = [*known, STACKED]
        absent = {name: why for name in known if (why := usable(name))}
        return [name for name in known if name not in absent], absent
    if wrong := [f"{name}: {why}" for name in names if (why := usable(name))]:
        raise ValueError(f"these methods cannot be compared: {'; '.join(wrong)}")
    named = [known_methods.shown(known_methods.key_of(name)) for name in names]
    return list(dict.fromkeys([BASELINE, *named])), {}


def _beyond(plan: Plan, checked: tabular.Checked) -> list[str]:
    """Say where a tenth of the test rows lies outside the range of the rows that are trained on."""
    outside, tested = np.zeros(plan.X.shape[1]), sum(len(each.test) for each in plan.splits)
    for train, test in ((plan.X[each.train], plan.X[each.test]) for each in plan.splits):
        outside += ((test < train.min(axis=0)) | (test > train.max(axis=0))).sum(axis=0)
    counted = zip(checked.columns.encode(checked.frame), outside.astype(int), strict=True)
    shown = [f"{name!r} ({n} of {tested} rows)" for name, n in counted if n >= 0.1 * tested]
    said = "lie outside the range of the rows that methods are trained on there"
    return [f"Test rows {said}: {', '.join(shown[:10])}."] if shown else []
