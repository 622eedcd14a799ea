"""How the normalisers behind a table of likelihoods were computed, in words."""

import pandas as pd

from kcde.pages.methods import display


def importance_sampling(table: pd.DataFrame) -> list[str]:
    """Say which normalisers are computed by sampling, and how far quadrature differs.

    Parameters
    ----------
    table
        As tracked; its metrics `importance_samples` and `importance_error` are read.

    Returns
    -------
    list of str
        Sentences; none where nothing is computed by sampling.
    """
    sentences = []
    draws = table[table["metric"] == "importance_samples"]
    errors = table[table["metric"] == "importance_error"].dropna(subset="mean")
    for method in dict.fromkeys(_family(draws)):
        counts = sorted({f"{value:.0f}" for value in _of(draws, method)["mean"]}, key=int)
        sentences.append(
            f"{method}'s normaliser is computed by importance sampling with "
            f"{' or '.join(counts)} draws."
        )
        if not len(own := _of(errors, method)):
            continue
        worst = own.loc[own["mean"].abs().idxmax()]
        sentences.append(
            "Against quadrature the mean over splits differs by at most "
            f"{abs(worst['mean']):.2g} nats ({worst['dataset']}, {display(worst['method'])})."
        )
    return sentences


def _of(table: pd.DataFrame, method: str) -> pd.DataFrame:
    """Return the rows of a method and of its variations."""
    return table[_family(table) == method]


def _family(table: pd.DataFrame) -> pd.Series:
    """Return the methods of which the rows are variations: of KCEF-LL, KCEF."""
    return table["method"].map(lambda name: name.split("-")[0])
