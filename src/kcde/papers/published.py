"""What the four papers report: 142 numbers, 43 claims, and the causes found of deviations.

Beside it stand what the papers leave open, with the readings of it, and better tests of some
claims. Values that stand only in a picture are apart: they were read off it and have no verdict.
"""

from pathlib import Path

import pandas as pd

PAPERS = ("kcef", "dde", "jdl", "cdo")


def _table(name: str, **options) -> pd.DataFrame:
    """Return a table of all papers: the file of this name in each one's folder."""
    files = [Path(__file__).parent / paper / f"{name}.csv" for paper in PAPERS]
    found = [pd.read_csv(path, **options) for path in files if path.exists()]
    return pd.concat(found, ignore_index=True)


def values() -> pd.DataFrame:
    """Return the published numbers, in the order of the papers.

    Returns
    -------
    pandas.DataFrame
        Columns `paper,artefact,dataset,method,metric,value,spread,unit,note`, one row a number;
        `value` is NaN where the paper prints N/A, `spread` where it prints none.
    """
    frame = _table("values")
    return frame.fillna({"unit": "", "note": ""})


def datasets(paper: str, artefact: str) -> list[str]:
    """Return the data sets of a published table, in its order.

    Parameters
    ----------
    paper, artefact
        As in `published_values.csv`, e.g. `kcef`, `table1`.
    """
    numbers = values()
    here = numbers[(numbers["paper"] == paper) & (numbers["artefact"] == artefact)]
    return list(dict.fromkeys(here["dataset"]))


def claims() -> pd.DataFrame:
    """Return the published claims.

    Returns
    -------
    pandas.DataFrame
        Columns `paper,claim,artefact,statement,test`; `test` is how the claim is decided.
    """
    return _table("claims", dtype=str)


def amended() -> pd.DataFrame:
    """Return the amended tests: of claims whose own test does not decide what the paper states.

    Returns
    -------
    pandas.DataFrame
        Columns `paper,claim,test,why`.
    """
    return _table("claims_amended", dtype=str, keep_default_na=False)


def readings() -> pd.DataFrame:
    """Return the choices that the papers leave open.

    Returns
    -------
    pandas.DataFrame
        Columns `id,paper,choice,readings,drawn,affects,why open`; `drawn` is the reading under
        which the artefacts are drawn.
    """
    return _table("readings", dtype=str, keep_default_na=False)


def questions() -> pd.DataFrame:
    """Return what would settle the choices that a paper leaves open, as questions to its authors.

    Returns
    -------
    pandas.DataFrame
        Columns `paper,choice,question,settles`; `choice` is an `id` of `readings`.
    """
    return _table("questions", dtype=str, keep_default_na=False)


def causes() -> pd.DataFrame:
    """Return why numbers of ours deviate, as far as found.

    Returns
    -------
    pandas.DataFrame
        Columns `paper,artefact,dataset,method,verdict,cause,evidence`; `*` stands for anything.
    """
    return _table("causes", dtype=str, keep_default_na=False)


def read_off(paper: str, artefact: str) -> pd.DataFrame:
    """Return what was read off a published picture.

    Parameters
    ----------
    paper, artefact
        As in `published_values.csv`, e.g. `cdo`, `fig4`.

    Returns
    -------
    pandas.DataFrame
        Columns `paper,artefact,panel,method,metric,value,reading_error`, without rows where nothing
        was read off; both numbers are in the unit of the metric.
    """
    frame = _table("read_off")
    return frame[(frame["paper"] == paper) & (frame["artefact"] == artefact)]
