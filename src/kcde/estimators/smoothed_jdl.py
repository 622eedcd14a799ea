"""Joint distribution learning as a conditional density: a variant that is not in the paper."""

from typing import ClassVar

from kcde.estimators._low_rank.smoothed import SmoothedWeights
from kcde.estimators.jdl import JDL


class SmoothedJDL(SmoothedWeights):
    """Predict the density of y given x, of any shape, by smoothing the weights of `JDL`.

    `predict` gives the mean of y, `score` the mean log density of rows.

    p(y|x) = Σ_j w_j(x) N(y; y_j, h² I) with the weights of `JDL` on the training rows of y.

    JDL itself estimates expectations: its distribution is on the rows and has no density.

    Parameters
    ----------
    bandwidth_x, bandwidth_y
        Of `JDL`. None: chosen from {½, 1, 2, 4} × the median distance over √2.
    regularization
        λ of `JDL`. None: chosen from 10 log-spaced values.
    smoothing
        h, standard deviations in the units of y: a number, or one per dimension. None: one number,
        chosen from 10 log-spaced values between 0.05 and 1.
    tolerance, max_rank
        Tolerance and maximum rank of the pivoted Cholesky factors.
    folds
        Number of folds of the cross-validation by held-out log likelihood.
    random_state
        Seeds the shuffle of the folds.
    standardize
        Whether x and y are first brought to mean 0 and standard deviation 1 of the training rows:
        parameters and what is learned are then in these units. False: the rows as they are.

    Attributes
    ----------
    weights_model_
        The fitted `JDL`.
    bandwidth_x_, bandwidth_y_, regularization_, smoothing_
        Values used, given or chosen.

    Examples
    --------
    >>> import numpy as np
    >>> from kcde import SmoothedJDL
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 1))
    >>> Y = np.sin(X) + 0.3 * rng.normal(size=(100, 1))
    >>> model = SmoothedJDL(1.0, 1.0, regularization=1e-3, smoothing=0.3).fit(X, Y)
    >>> model.log_density(X[:2], Y[:2]).shape
    (2,)
    """

    selection_rule: ClassVar[str] = (
        "the weights of JDL, with a Gaussian around each y; negative weights are taken as 0; "
        "two bandwidths (½, 1, 2, 4 times the median distance/√2), λ (1e-8…10) and the width "
        "of the bumps (0.05…1) by 5-fold held-out likelihood"
    )

    weights_class: ClassVar[type] = JDL
