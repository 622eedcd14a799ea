"""Measured seconds, rounded so far that a second measurement gives about the same."""

import math


def round_to_half_decade(value: float) -> float:
    """Return the nearest of …, 0.1, 0.3, 1, 3, 10, … to a number, on a logarithmic scale.

    Parameters
    ----------
    value
        A time or a ratio.

    Returns
    -------
    float
        NaN where `value` is not positive and finite.
    """
    if not (math.isfinite(value) and value > 0):
        return math.nan
    step = round(2 * math.log10(value))
    return float(f"{3 if step % 2 else 1}e{step // 2}")
