"""A small made-up folder of outputs, with words that a page must escape."""

import base64
import json
from pathlib import Path

import pandas as pd

from kcde.evidence import scorecard

NASTY = """<script>alert("it's")</script>"""
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)
PAGE = f"""# {{key}}: a title with {NASTY}

*At the scale `laptop`.*

![a picture](fig.png)

A caption with |x|, *words*, {NASTY}, a [file](claims.csv) and a [trap](javascript:alert(1)).

| method | mean |
| :--- | ---: |
| {NASTY} | 1.00 |

<details>
<summary>Details</summary>

How it was made.

## Against the published numbers

None.

</details>
"""
DRAWN = ("kcef/fig1", "kcef/table1", "kcef/consistency", "cdo/fig4", "across/calibration")


def make(folder: Path) -> Path:
    """Write the folder and return it."""
    figures = folder / "figures"
    _card(figures)
    for key in DRAWN:
        place = figures / key
        place.parent.mkdir(parents=True, exist_ok=True)
        place.with_suffix(".md").write_text(PAGE.format(key=key))
        place.with_suffix(".png").write_bytes(PIXEL)
        place.with_suffix(".csv").write_text("a\n1\n")
    _readings(figures)
    _methods(figures)
    return figures


def _card(figures: Path) -> None:
    """Write a scorecard in which four numbers of kcef are judged, and three of its claims."""
    card = scorecard.build(figures, "laptop")
    judged = {"n": 20, "failed": 0, "stderr": 0.05, "reason": ""}
    said = {
        0: {"ours": 1.01, "verdict": "reproduced", "compatible": "yes"},
        1: {"ours": 1.36, "verdict": "better", "compatible": "no"},
        2: {"ours": 2.0, "verdict": "worse", "compatible": "uninformative", "reason": NASTY},
        3: {"ours": 1.5, "verdict": "better", "compatible": "", "failed": 2},
    }
    for row, cells in said.items():
        cells = judged | cells
        card.loc[row, list(cells)] = list(cells.values())
    for claim, verdict, amended in (
        ("K1", "holds", ""),
        ("K2", "fails", ""),
        ("K7", "fails", "holds"),
    ):
        cells = [verdict, amended, f"{claim} {NASTY}", "K-stop: holds 1, fails 1 (b)"]
        rows = card["metric"] == claim
        card.loc[rows, ["verdict", "amended", "reason", "readings"]] = cells
    card.loc[card["metric"] == "K7", "readings"] = ""
    scorecard.write(card, figures, "laptop")


def _readings(figures: Path) -> None:
    known = {"paper": "kcef", "artefact": "kcef/fig1", "scale": "readings", "commit": "abc"}
    rows = [
        known | {"claim": "K1", "choice": "K-stop", "reading": "a", "verdict": "holds"},
        known | {"claim": "K1", "choice": "K-stop", "reading": NASTY, "verdict": "fails"},
        known | {"claim": "K2", "choice": "K-stop", "reading": "a", "verdict": "fails"},
    ]
    pd.DataFrame(rows).to_csv(figures / "readings.csv", index=False)


def _methods(figures: Path) -> None:
    every = {"dataset": "all", "variant": "ours", "n": 20, "failed": 1.0, "sets_best": 17.0}
    every |= {"excess": 0.25, "seconds": 0.1, "p_value": 0.04}
    rows = [every | {"method": "LSCDE-exact", "rank": 2.5}, every | {"method": "NADE", "rank": 1.5}]
    columns = ["against", "best"]
    frame = pd.DataFrame(rows).assign(**dict.fromkeys(columns))
    frame.to_csv(figures / "across/all_methods.csv", index=False)
    bins = [{"panel": "histogram", "kind": "histogram", "x": k / 20, "y": 1.0} for k in range(20)]
    means = [
        {
            "panel": "coverage",
            "kind": "box",
            "stat": "mean",
            "series": f"coverage_{k}",
            "y": k / 100,
        }
        for k in (50, 90)
    ]
    frame = pd.DataFrame([{"method": "NADE", **row} for row in (*bins, *means)])
    frame.to_csv(figures / "across/calibration.csv", index=False)


def scored(figures: Path) -> None:
    """Write what is known of a run whose scores are tracked."""
    known = {"rows": 9, "datasets": 1, "methods": 1, "splits": 9, "failed": 0, "seeds": 9}
    known |= {"backends": ["numpy"], "dtypes": ["float64"], "seconds": 12.0}
    about = {"scale": "laptop", "commit": "abc", "files": 1, "rows": 9, "bytes": 1, "sha256": "f00"}
    about |= {"versions": {"numpy": ["2.0"]}, "data": {}, "experiments": {"donut": known}}
    (figures / "scores.json").write_text(json.dumps(about))
