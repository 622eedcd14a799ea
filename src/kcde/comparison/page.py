"""The page of a comparison: one HTML file that needs nothing else."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from kcde import tabular, webpage
from kcde.comparison import figures, looking, scoring
from kcde.comparison.plan import FORWARD, GROUPS, RANDOM
from kcde.comparison.summary import CRPS, LOG_DENSITY
from kcde.methods import BASELINE
from kcde.table_model import regardless_of_groups

if TYPE_CHECKING:
    from kcde.comparison import Comparison

_KINDS = {
    RANDOM: "random splits",
    GROUPS: "random splits that keep groups together",
    FORWARD: "splits forward in time",
}

_LEGEND = (
    "Means over the splits ± corrected standard errors. Log density of held-out y in its units, "
    "higher is better; above {baseline}: by how much it exceeds that of the density that ignores "
    "the other columns; CRPS: continuous ranked probability score, in the units of y, lower is "
    "better; failed: splits without scores; 50% and 90%: share of held-out rows in "
    "the central intervals of that probability; worst 5%: mean of -log p over the twentieth of "
    "them with the lowest density, nats; seconds: median of a split; p: corrected resampled "
    "t-test (Nadeau and Bengio 2003) against the first, by {rank}."
)


def render(found: "Comparison", source: str) -> str:
    """Return the page.

    Parameters
    ----------
    found
        A comparison.
    source
        Name of the file, or of what the rows are, as it is shown and stands in the Python lines.
    """
    template = Path(__file__).with_name("page.html.j2")
    return webpage.render(template, _content(found, source))


def _content(found: "Comparison", source: str) -> dict:
    skipped = found.table[found.table["splits"].isna()]
    grouped = found.plan.group_column is not None
    regardless = regardless_of_groups(_scored(found)["method"]) if grouped else ""
    notes = [*found.checked.notes, regardless, f"Data SHA-256 {found.checked.digest}.", _versions()]
    content = {
        "y": found.checked.columns.y,
        "facts": facts(found, source),
        "advice": found.advice.sentence,
        "warnings": found.warnings,
        "baseline": BASELINE,
        "ranking": figures.ranking(found.table, found.rank_by),
        "rows": [_row(row, found.advice.method) for _, row in _scored(found).iterrows()],
        "skipped": list(zip(skipped["method"], skipped["reason"], strict=True)),
        "legend": _LEGEND.format(
            baseline=BASELINE, rank="CRPS" if found.rank_by == CRPS else "log density"
        ),
        "pits": _pits(found),
        "method": found.advice.method if found.model is not None else None,
        "notes": " ".join(filter(None, notes)),
    }
    return content | (_of_model(found, source) if found.model is not None else {})


def _of_model(found: "Comparison", source: str) -> dict:
    typical, rows = looking.typical(found.model, found.checked)
    count = len(found.checked.columns.x)
    fewer = count > looking.MOST_FANS
    return {
        "fitted_rows": found.model.about_["rows"],
        "fans": looking.fans(found.model, found.checked),
        "fans_note": f" of the {looking.MOST_FANS} of {count} that go most with it" * fewer,
        "typical": typical,
        "typical_rows": rows,
        "unlikely": looking.unlikely(found.plan, found.run, found.advice.method, found.checked),
        "code": python_lines(found, source),
    }


def _scored(found: "Comparison") -> pd.DataFrame:
    return found.table[found.table["splits"].notna()]


def facts(found: "Comparison", source: str) -> str:
    """Say what was compared, in a sentence."""
    plan, columns = found.plan, found.checked.columns
    done = [plan.splits[i] for i in found.run.splits]
    train = max((len(split.train) for split in done), default=0)
    test = max((len(split.test) for split in done), default=0)
    return (
        f"{source}: {len(found.checked.frame)} rows, {columns.y} given {len(columns.x)} columns. "
        f"{len(_scored(found))} methods over {len(done)} {_KINDS[plan.kind]}, up to {train} rows "
        f"to train and {test} to test on; methods see columns standardised by the training rows, "
        f"scores are in the units of {columns.y}."
    )


def _row(row: pd.Series, taken: str | None) -> dict:
    cells = [
        row["method"],
        _plus_minus(row[LOG_DENSITY], row[f"{LOG_DENSITY}_stderr"]),
        _plus_minus(row["gain"], row["gain_stderr"]),
        f"{row[CRPS]:.3g}",
        *(f"{row[name]:.0%}" for name in ("coverage_50", "coverage_90")),
        f"{row['worst_loss']:.2f}",
        f"{row['failed']:.0f} of {row['splits']:.0f}",
        f"{row['seconds']:.2g}",
        "" if np.isnan(row["p_value"]) else f"{row['p_value']:.2g}",
    ]
    return {"cells": cells, "taken": row["method"] == taken}


def _plus_minus(value: float, error: float) -> str:
    if np.isnan(value):
        return "–"
    return f"{value:.3f}" if np.isnan(error) else f"{value:.3f} ± {error:.3f}"


def _pits(found: "Comparison") -> list[figures.Picture]:
    pictures = []
    for method in _scored(found)["method"]:
        kept = [scoring.arrays(found.plan.folder, method, i) for i in found.run.splits]
        values = [each["pit"] for each in kept if "pit" in each]
        pictures.append(figures.pit(method, np.concatenate(values)))
    return pictures


def python_lines(found: "Comparison", source: str) -> str:
    """Return lines of Python that fit the advised method again and predict with it."""
    columns, column = found.checked.columns, found.plan.group_column
    names = [each.name for each in columns.x]
    unused = [name for name in columns.ignored if name != column]
    dropped = f".drop(columns={unused!r})" if unused else ""
    chosen = {"x": names} if len(names) <= looking.MOST_COLUMNS else {"drop": unused}
    chosen |= {} if column is None else {"groups": column}
    chosen |= {} if found.missing == tabular.REFUSE else {"missing": found.missing}
    read = [f"frame = tabular.read({source!r}{_arguments(found.reading)})"]
    if found.missing != tabular.REFUSE:
        read.append(f"frame = frame{dropped}.dropna()  # rows to predict need all columns, too")
        chosen.pop("drop", None)
    asked = _arguments({"y": columns.y} | {name: each for name, each in chosen.items() if each})
    return "\n".join(
        [
            "from kcde import tabular",
            "from kcde.table_model import TableModel",
            *read,
            f"model = TableModel({found.advice.method!r}{asked}).fit(frame)",
            "model.quantile(frame, [0.05, 0.5, 0.95])  # of any table with these columns",
            "model.density(frame, model.quantile(frame[:1], [0.05, 0.5, 0.95])[0])",
        ]
    )


def _arguments(values: Mapping[str, object]) -> str:
    return "".join(f", {name}={value!r}" for name, value in values.items())


def _versions() -> str:
    import kcde

    return f"kcde {kcde.__version__}."


def terminal(found: "Comparison", source: str) -> str:
    """Return the comparison in ten lines: what, the first methods, the warnings, the advice."""
    scored = _scored(found)
    shown = scored.head(5)
    lines = [facts(found, source)]
    lines.append(f"{'':<20} log density  above {BASELINE}     CRPS   50%   90%  failed  seconds")
    lines += [_line(row) for _, row in shown.iterrows()]
    rest = [*scored["method"][len(shown) :]]
    skipped = found.table.loc[found.table["splits"].isna(), "method"]
    if rest or len(skipped):
        said = [f"then {', '.join(rest)}"] if rest else []
        said += [f"skipped {', '.join(skipped)}"] if len(skipped) else []
        lines.append("; ".join(said))
    if found.warnings:
        more = f" (and {len(found.warnings) - 1} more)" if len(found.warnings) > 1 else ""
        lines.append(f"Warning: {found.warnings[0]}{more}")
    return "\n".join([*lines, found.advice.sentence])


def _line(row: pd.Series) -> str:
    gain = _plus_minus(row["gain"], row["gain_stderr"])
    cells = [f"{row['method']:<20} {row[LOG_DENSITY]:>11.3f} {gain:>18} {row[CRPS]:>8.3g}"]
    cells += [f"{row[name]:>4.0%}" for name in ("coverage_50", "coverage_90")]
    return "  ".join([*cells, f"{row['failed']:>6.0f}", f"{row['seconds']:>7.2g}"])
