"""Measured seconds as far as they repeat: to the nearest of 1, 3, 10, 30 and so on."""

import math


def half_decade(value: float) -> float:
    """Return the nearest of …, 0.1, 0.3, 1, 3, 10, … to a positive number; NaN for another.

    Parameters
    ----------
    value
        A time or a ratio.
    """
    if not (math.isfinite(value) and value > 0):
        return math.nan
    step = round(2 * math.log10(value))
    return float(f"{3 if step % 2 else 1}e{step // 2}")
