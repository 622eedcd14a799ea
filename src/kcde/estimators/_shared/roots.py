"""Roots of many increasing functions at once."""

from collections.abc import Callable

from kcde.arrays import array_namespace

_MOST_STEPS = 200
_FLAT = 1e-200
_ROUNDING = 1e-15


def increasing_root(excess: Callable, lower, upper, start, tolerance: float):
    """Return where increasing functions are zero: Newton's method, safeguarded by bisection.

    A Newton step that leaves the bracket, or is longer than half the step before, gives way to the
    middle of the bracket (Press et al., Numerical Recipes, section 9.4). So the steps halve at
    least, and some eight are enough as a rule.

    Parameters
    ----------
    excess
        Maps points, of the shape of `lower`, to values and slopes of that shape, each entry a
        function of its own.
    lower, upper
        Brackets of the roots.
    start
        Starting points.
    tolerance
        Accuracy of the roots, in the units of the points; values below 1e-15 count as 0.
    """
    xp = array_namespace(lower)
    at, before = xp.minimum(xp.maximum(start, lower), upper), upper - lower
    done = xp.zeros(at.shape, dtype=xp.bool)
    for _ in range(_MOST_STEPS):
        value, slope = excess(at)
        lower, upper = xp.where(value < 0.0, at, lower), xp.where(value < 0.0, upper, at)
        newton = at - value / xp.where(slope > _FLAT, slope, xp.ones_like(slope))
        good = (slope > _FLAT) & (newton >= lower) & (newton <= upper)
        good = good & (xp.abs(newton - at) <= 0.5 * before)
        moved = xp.where(good, newton, 0.5 * (lower + upper))
        moved = xp.where(done | (xp.abs(value) <= _ROUNDING), at, moved)
        before, at = xp.abs(moved - at), moved
        done = done | (before <= tolerance)
        if bool(xp.all(done)):
            break
    return at
