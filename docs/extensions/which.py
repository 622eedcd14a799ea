"""The scores of all methods for the page *Which method?*, which filters them in the browser."""

import json
from pathlib import Path

import pandas as pd
from figures import FIGURES
from sphinx.application import Sphinx

from evidence import save
from kcde.data import catalogue
from kcde.pages import display

PEOPLE = "parkinsons-people"
COLUMNS = {"red-wine": 10, "white-wine": 10, PEOPLE: 16, "metro-traffic-substitute": 5}
"""Of x, where not as in the catalogue: see `kcde.experiments.r_benchmark.open_larger`."""


def setup(app: Sphinx) -> dict:
    """Write the part when a build begins."""
    app.connect("config-inited", lambda app, config: write(Path(app.srcdir)), priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def write(docs: Path) -> None:
    """Write the rows and the script below the folder of the site."""
    rows = pd.concat([_small(), _larger()])
    known = catalogue.read()
    columns = {name: len(entry.x) for name, entry in known.items()} | COLUMNS
    rows = rows.assign(
        columns=rows["dataset"].map(columns),
        groups=rows["dataset"] == PEOPLE,
        method=rows["method"].map(display),
        gap=rows["loss"] - rows.groupby("dataset")["loss"].transform("min"),
    )
    told = json.dumps(rows.to_dict("records"), separators=(",", ":"))
    script = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
    text = f"<script>\nconst ROWS = {told};\n{script}</script>\n"
    save(docs / "evidence" / "which.html", text)


def _small() -> pd.DataFrame:
    table = pd.read_csv(FIGURES / "across/all_methods.csv")
    table = table[table["against"].isna() & (table["dataset"] != "all") & table["rank"].notna()]
    named = {"n_train": "rows", "capped": "loss"}
    return table.rename(columns=named)[["dataset", "rows", "method", "rank", "loss", "seconds"]]


def _larger() -> pd.DataFrame:
    table = pd.read_csv(FIGURES / "across/larger_sets.csv")
    table = table[(table["stat"] != "skipped") & (table["panel"] != "parkinsons")]
    index = ["panel", "x", "method"]
    wide = table.pivot(index=index, columns="series", values="y").reset_index()
    wide = wide.rename(columns={"panel": "dataset", "x": "rows", "negative_log_likelihood": "loss"})
    rank = wide.groupby("dataset")["loss"].rank()
    return wide.assign(rank=rank)[["dataset", "rows", "method", "rank", "loss", "seconds"]]
