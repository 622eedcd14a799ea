"""Points of scatter plots as rows of a figure's CSV."""

import numpy as np

DATA = "data"
"""The method of rows that show the data set itself."""


def points(
    panel: str, method: str, variant: str, values: np.ndarray, at_most: int, **rest
) -> list[dict]:
    """Return rows of points, evenly spaced in the order in which they were drawn.

    Parameters
    ----------
    panel, method, variant
        As in the CSV.
    values
        Shape (m, 2).
    at_most
        Largest number of points that are kept; the actual number is in `n`.
    **rest
        Further columns.

    Returns
    -------
    list of dict
        With keys among `FIGURE_COLUMNS`.
    """
    chosen = np.linspace(0, len(values) - 1, min(at_most, len(values))).astype(int)
    n = len(chosen)
    return [row(panel, method, variant, x=x, y=y, n=n, **rest) for x, y in values[chosen]]


def row(panel: str, method: str, variant: str = "", **rest) -> dict:
    """Return one row of kind `scatter`; keys of `rest` are among `FIGURE_COLUMNS`."""
    return {"panel": panel, "kind": "scatter", "method": method, "variant": variant, **rest}
