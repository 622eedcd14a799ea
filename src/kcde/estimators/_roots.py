"""Roots of many increasing functions at once."""

from collections.abc import Callable

from kcde.arrays import array_namespace

_MOST_STEPS = 240


def increasing_root(excess: Callable, lower, upper, tolerance: float):
    """Return where increasing functions are zero, by Newton steps kept within a bracket.

    Every third step halves the bracket, so that there are at most 240, and some ten as a rule.

    Parameters
    ----------
    excess
        Maps points, of the shape of `lower`, to values and slopes of that shape, each entry a
        function of its own.
    lower, upper
        Brackets of the roots.
    tolerance
        Of the roots, in the units of the points; values below 1e-15 count as 0.
    """
    xp = array_namespace(lower)
    at = 0.5 * (lower + upper)
    done = xp.zeros(at.shape, dtype=xp.bool)
    for step in range(_MOST_STEPS):
        value, slope = excess(at)
        lower, upper = xp.where(value < 0.0, at, lower), xp.where(value < 0.0, upper, at)
        safe = xp.where(slope > 0.0, slope, xp.ones_like(slope))
        newton = at - value / safe
        good = (slope > 0.0) & (newton > lower) & (newton < upper)
        moved = xp.where(good & (step % 3 != 2), newton, 0.5 * (lower + upper))
        near = (good & (xp.abs(newton - at) <= tolerance)) | (xp.abs(value) <= 1e-15)
        closed = upper - lower <= tolerance
        moved = xp.where(near & good, newton, xp.where(near, at, moved))
        at = xp.where(done, at, moved)
        done = done | near | closed
        if bool(xp.all(done)):
            break
    return at
