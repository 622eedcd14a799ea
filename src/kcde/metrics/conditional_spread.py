"""Errors of samples in the spread of one coordinate given another.

A sampler that has the right mean at every x can still miss heteroscedasticity (the spread depends
on x) and sharp thresholds (the density ends abruptly at a value that depends on x). Both show in
the standard deviation and in the extreme quantiles of the second coordinate, within bins of the
first.
"""

from dataclasses import dataclass

import numpy as np

from kcde.metrics.mmd import as_samples

_TAIL = 0.01


@dataclass(frozen=True)
class ConditionalSpread:
    """Relative errors per bin.

    Attributes
    ----------
    std_error
        Shape (bins,): of the standard deviation of the second coordinate.
    q01_error, q99_error
        Shape (bins,): of its 1% and 99% quantile, as a share of that quantile's distance from
        the reference's median in the bin. (A quantile itself can be near zero, and depends on where
        zero is.)

    Notes
    -----
    A bin is NaN where the reference has no spread in it, infinite where only the samples are
    absent.
    """

    std_error: np.ndarray
    q01_error: np.ndarray
    q99_error: np.ndarray

    def in_median_bin(self) -> dict[str, float]:
        """Return each error in its median bin, named as in the scores; bins of NaN are left out."""
        return {
            f"conditional_{name}": _median(getattr(self, name))
            for name in ("std_error", "q01_error", "q99_error")
        }


def conditional_spread(
    samples: np.ndarray, reference: np.ndarray, bins: int = 10
) -> ConditionalSpread:
    """Compare the spread of the second coordinate in bins of the first.

    Parameters
    ----------
    samples
        Shape (n, 2).
    reference
        Shape (m, 2), data; the bins are the quantiles of its first coordinate, with about m / bins
        rows each. Bins that repeated values leave empty are NaN. Samples outside its range belong
        to the outermost bins.
    bins
        Number of bins.

    Returns
    -------
    ConditionalSpread

    Raises
    ------
    ValueError
        If either is not a finite matrix of two columns, or the reference has fewer rows than bins.

    Examples
    --------
    >>> import numpy as np
    >>> from kcde.metrics import conditional_spread
    >>> data = np.random.default_rng(0).normal(size=(500, 2))
    >>> conditional_spread(data, data, bins=2).std_error
    array([0., 0.])
    """
    samples, reference = as_samples(samples=samples, reference=reference)
    if reference.shape[1] != 2:
        raise ValueError(
            f"samples and reference must have two columns, the pair to compare; "
            f"got {reference.shape[1]}"
        )
    if not 1 <= bins <= len(reference):
        raise ValueError(
            f"bins must lie between 1 and the {len(reference)} rows of the reference; got {bins}"
        )
    inner = np.quantile(reference[:, 0], np.arange(1, bins) / bins)
    ours, theirs = (np.searchsorted(inner, one[:, 0], side="right") for one in (samples, reference))
    errors = [_errors(samples[ours == k, 1], reference[theirs == k, 1]) for k in range(bins)]
    return ConditionalSpread(*np.array(errors).T)


def _errors(samples: np.ndarray, reference: np.ndarray) -> tuple[float, float, float]:
    if len(reference) < 2 or np.ptp(reference) == 0.0:
        return (np.nan,) * 3
    if len(samples) < 2:
        return (np.inf,) * 3
    std, median = reference.std(ddof=1), np.median(reference)
    errors = [abs(samples.std(ddof=1) / std - 1.0)]
    for level in (_TAIL, 1.0 - _TAIL):
        wanted, found = np.quantile(reference, level), np.quantile(samples, level)
        # More than half of the bin may lie on one value: then the scale is zero.
        errors.append(abs(found - wanted) / abs(wanted - median) if wanted != median else np.nan)
    return tuple(errors)


def _median(errors: np.ndarray) -> float:
    known = errors[~np.isnan(errors)]
    return float(np.median(known)) if len(known) else float("nan")
