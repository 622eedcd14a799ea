"""What the four papers report: 142 numbers, 43 claims, and the causes found of deviations.

What they leave open stands in the `readings.yaml` of each. Values that stand only in a picture are
apart: they were read off it and have no verdict.
"""

from pathlib import Path

import pandas as pd
import yaml

_ABOUT = pd.read_csv(Path(__file__).with_name("papers.csv"), index_col="paper")
PAPERS = tuple(_ABOUT.index)


def _table(name: str, **options) -> pd.DataFrame:
    """Return a table of all papers: the file of this name in each one's folder."""
    files = [Path(__file__).parent / paper / f"{name}.csv" for paper in PAPERS]
    found = [pd.read_csv(path, **options) for path in files if path.exists()]
    return pd.concat(found, ignore_index=True)


def values() -> pd.DataFrame:
    """Return the published numbers, in the order of the papers, one row a number.

    `value` is NaN where the paper prints N/A, `spread` where it prints none.
    """
    return _table("values").fillna({"unit": "", "note": ""})


def numbers(paper: str, artefact: str) -> pd.DataFrame:
    """Return the published numbers of a table."""
    return values().query("paper == @paper and artefact == @artefact")


def datasets(paper: str, artefact: str) -> list[str]:
    """Return the data sets of a published table, in its order."""
    return list(dict.fromkeys(numbers(paper, artefact)["dataset"]))


def claims() -> pd.DataFrame:
    """Return the published claims: what the paper says, what we found, and how it is decided.

    Where that is not the test that was declared first, `first` is that one and `why` the reason.
    """
    return _table("claims", dtype=str, keep_default_na=False)


def causes() -> pd.DataFrame:
    """Return why numbers of ours deviate, as far as found; `*` stands for anything."""
    return _table("causes", dtype=str, keep_default_na=False)


def read_off(paper: str, artefact: str) -> pd.DataFrame:
    """Return what was read off a published picture."""
    return _table("read_off").query("paper == @paper and artefact == @artefact")


def found(paper: str) -> dict[str, list]:
    """Return what was found about a paper, by kind.

    `wrong`: what is wrong or missing in it; `unexplained`: what could not be determined of ours, a
    sentence each; `questions`: what its authors could settle, with `question` and `settles`.
    """
    path = Path(__file__).with_name(paper) / "found.yaml"
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def papers() -> dict[str, dict[str, str]]:
    """Return each paper's citation, what it proposes, and the artefact that shows most of it."""
    return _ABOUT.to_dict("index")
