"""Scaled mean absolute errors of predictions, by the definitions that cdo uses in table 3."""

import numpy as np

DEFINITIONS = ("centred", "predicted", "pointwise", "total")


def smae(predicted: np.ndarray, observed: np.ndarray, mean: float) -> dict[str, float]:
    """Return the error of predictions ŷ of y by every definition, e = ŷ - y.

    centred: Σ|e| / Σ|y - ȳ|, against predicting the training mean ȳ; predicted: Σ|e| / Σ|ŷ - ȳ|;
    pointwise: the mean of |ŷ/y - 1|; total: Σ|e| / Σ|y|. The last two depend on the origin of y.

    Parameters
    ----------
    predicted, observed
        ŷ and y, shape (n,).
    mean
        ȳ, of the training rows.

    Returns
    -------
    dict
        Keys `DEFINITIONS`; infinite or NaN where a denominator vanishes.

    Raises
    ------
    ValueError
        If the shapes differ or are empty.

    Examples
    --------
    >>> from kcde.metrics import smae
    >>> errors = smae([1.0, 2.0], [1.0, 4.0], mean=2.0)
    >>> round(errors["centred"], 3), errors["pointwise"]
    (0.667, 0.25)
    """
    predicted, observed = (np.asarray(values, np.float64) for values in (predicted, observed))
    if predicted.shape != observed.shape or predicted.ndim != 1 or not len(predicted):
        raise ValueError(
            "predictions and observations must have one shape (n,), n > 0; got "
            f"{predicted.shape} and {observed.shape}"
        )
    error = np.abs(predicted - observed).sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        return {
            "centred": float(error / np.abs(observed - mean).sum()),
            "predicted": float(error / np.abs(predicted - mean).sum()),
            "pointwise": float(np.abs(predicted / observed - 1.0).mean()),
            "total": float(error / np.abs(observed).sum()),
        }
