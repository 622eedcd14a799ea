"""Which conditional density to use for a table of one's own.

`compare` checks the table, scores the methods on held-out rows, and advises one:

Examples
--------
>>> import numpy as np, pandas as pd
>>> import kcde
>>> rng = np.random.default_rng(0)
>>> frame = pd.DataFrame({"area": rng.normal(size=80)})
>>> frame["price"] = frame["area"] + 0.3 * rng.normal(size=80)
>>> found = kcde.compare(frame, y="price", methods=["LSCDE-exact"], splits=3)
>>> found.advice.method
'LSCDE-exact'
"""

import shutil
import tempfile
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pandas as pd

from kcde import methods as known_methods
from kcde import tabular
from kcde.comparison import costs, page, running, splits, summary
from kcde.comparison import plan as plans
from kcde.comparison.advice import Advice, advise
from kcde.comparison.figures import ranking
from kcde.comparison.plan import RANDOM, SPLITS, TRAIN_ROWS, Plan
from kcde.comparison.running import Run
from kcde.files import atomic
from kcde.methods import BASELINE
from kcde.seeding import rng_of
from kcde.table_model import TableModel, regardless_of_groups, usable

PAGE, TABLE, BY_SPLIT, PICTURE = (
    "comparison.html",
    "comparison.csv",
    "splits.csv",
    "comparison.png",
)
"""Files in the folder of a comparison."""

__all__ = ["Comparison", "compare"]


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
        A row a method, the best first; see `kcde.comparison.summary.table`.
    by_split
        A row a method and split.
    rank_by
        `log_density`, or `crps` where y has ties.
    advice
        The method to take, and why.
    warnings
        What is to be known before this is believed.
    model
        The advised method fitted to all rows, `TRAIN_ROWS` at most; None where none is advised.
    missing
        What happened to rows with missing values: `refuse` or `drop`.
    source
        What the rows are called.
    reading
        Arguments of `kcde.tabular.read` that the file needs.
    """

    checked: tabular.Checked
    plan: Plan
    run: Run
    table: pd.DataFrame
    by_split: pd.DataFrame
    rank_by: str
    advice: Advice
    warnings: tuple[str, ...]
    model: TableModel | None
    missing: str
    source: str
    reading: Mapping[str, str]

    def __str__(self) -> str:
        return page.terminal(self, self.source)

    def write(self, folder: str | Path) -> list[Path]:
        """Write page, tables and picture into a folder, and return their paths."""
        folder = Path(folder)
        made = [folder / name for name in (PAGE, TABLE, BY_SPLIT, PICTURE)]
        with atomic(made[0]) as temporary:
            temporary.write_text(page.render(self, self.source), encoding="utf-8")
        for path, frame in zip(made[1:3], (self.table, self.by_split), strict=True):
            with atomic(path) as temporary:
                frame.to_csv(temporary, index=False, float_format="%.6g", lineterminator="\n")
        with atomic(made[3]) as temporary:
            ranking(self.table, self.rank_by, temporary)
        return made


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
    out: str | Path | None = None,
    drop: Sequence[str] = (),
    missing: str = tabular.REFUSE,
    rows: int | None = TRAIN_ROWS,
    seed: int = 0,
    source: str = "data.csv",
    reading: Mapping[str, str] = MappingProxyType({}),
    say: Callable[[str], None] = lambda line: None,
) -> Comparison:
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
        Keys of `kcde.methods.METHODS`; by default those of `kcde.comparison.costs`.
    splits
        Number of splits; the budget may allow fewer, three at least.
    groups
        Column that says which rows belong together: they are trained on or tested on together.
    time_column
        Column that orders the rows in time: training rows are earlier than test rows.
    budget
        Seconds.
    jobs
        Processes that score splits at once; no score depends on their number.
    out
        Folder for page, tables, picture, and the scores of each split, from which a stopped
        comparison goes on; None: nothing is kept.
    drop
        Columns that are not used.
    missing
        `refuse`, or `drop`: rows with missing values are left out.
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
    Comparison

    Raises
    ------
    ValueError
        If a column or method cannot be used, naming it, the reason and the remedy.
    """
    if jobs < 1:
        raise ValueError(f"jobs must be at least 1; got {jobs}")
    names = _compared(methods)
    folder = Path(tempfile.mkdtemp(prefix="kcde-")) if out is None else Path(out)
    try:
        aside = [name for name in (groups, time_column) if name is not None]
        checked = tabular.check(frame, y, x, drop=drop, aside=aside, missing=missing)
        plan = plans.make(
            checked,
            folder,
            count=splits,
            groups=groups,
            time_column=time_column,
            rows=rows,
            seed=seed,
        )
        warnings = _warnings(checked, plan)
        for line in (*checked.notes, *warnings):
            say(line)
        if groups is not None and (regardless := regardless_of_groups(names)):
            say(regardless)
        run = running.run(plan, names, budget, say, jobs)
        found = _found(checked, plan, run, warnings, say)
        comparison = Comparison(**found, missing=missing, source=source, reading=reading)
    except BaseException:
        if out is None:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    if out is None:
        # `Comparison.write` reads the scores of the splits.
        weakref.finalize(comparison, shutil.rmtree, folder, ignore_errors=True)
    else:
        comparison.write(folder)
    return comparison


def _compared(names: Sequence[str] | None) -> list[str]:
    """Return the methods that are compared where some are named: these and the baseline."""
    if names is None:
        return costs.default_methods()
    wrong = {name: why for name in names if (why := usable(name))}
    if wrong:
        said = "; ".join(f"{name}: {why}" for name, why in wrong.items())
        raise ValueError(f"these methods cannot be compared: {said}")
    missing = [BASELINE] if BASELINE in known_methods.METHODS else []
    return list(dict.fromkeys([*missing, *names]))


def _warnings(checked: tabular.Checked, plan: Plan) -> tuple[str, ...]:
    said = splits.misleading(checked, checked.frame) if plan.kind == RANDOM else []
    return (*checked.warnings, *said)


def _found(checked, plan, run, warnings, say) -> dict:
    rank_by = summary.CRPS if tabular.has_ties(checked) else summary.LOG_DENSITY
    table, by_split = summary.table(plan, run, rank_by), summary.by_split(plan, run)
    overlap = float(np.mean([plan.splits[i].overlap for i in run.splits])) if run.splits else 0.0
    advice = advise(table, by_split, overlap, rank_by)
    model = None
    if advice.method is not None:
        say(f"{advice.method}: fit to all rows")
        names = [column.name for column in checked.columns.x]
        model = TableModel(advice.method, checked.columns.y, names, groups=plan.group_column)
        model.fit_checked(_some_rows(checked, TRAIN_ROWS))
    return {
        "checked": checked,
        "plan": plan,
        "run": run,
        "table": table,
        "by_split": by_split,
        "rank_by": rank_by,
        "advice": advice,
        "warnings": warnings,
        "model": model,
    }


def _some_rows(checked: tabular.Checked, most: int) -> tabular.Checked:
    n = len(checked.frame)
    if n <= most:
        return checked
    some = np.sort(rng_of("own", "all rows").choice(n, most, replace=False))
    return tabular.Checked(
        checked.frame.iloc[some], checked.columns, checked.notes, checked.warnings
    )
