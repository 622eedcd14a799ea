"""Conditional density operators (Schuster, Mollenhauer, Klus and Muandet, AISTATS 2020)."""

from typing import ClassVar

import numpy as np

from kcde.arrays import array_namespace, take_rows, to_numpy
from kcde.estimators._cdo import operator
from kcde.estimators._cdo.selection import CRITERIA, Hyperparameters, select
from kcde.estimators._shared import checks
from kcde.estimators._shared.mixture import (
    SignedMixture,
    check_sums,
    divided_by_sums,
    log_where_positive,
)
from kcde.estimators.base import Tags
from kcde.kernels import as_bandwidths
from kcde.seeding import rng_of
from kcde.selection import tuning_rows

_REMEDY = "raise regularization or output_regularization, or keep to x near the training rows"
_AT_ONCE = 1 << 25  # numbers of a matrix of weights
_FEW = 8  # as many times fewer reference points than inputs: solved for once, in the fit


class CDO(SignedMixture):
    """Predict the density of a few y given x, by conditional density operators, up to 10,000 rows.

    `predict` gives the mean of y, `score` the mean log density of rows.

    p(y|x) = Σ_i w_i(x) N(y; z_i, diag σ_y²), w ∝ (L + Mα′)⁻² L_ZY (K + Nα)⁻¹ k(X, x).

    Supplement A.2, with its scale corrected: L is the Gram matrix of the reference points z under
    the normalised Gaussian density l, L_ZY that of reference and training points, K that of the
    training x. The weights are divided by their sum. Rows of x that repeat are one row with several
    outputs (A.3.1), (K + Nα diag(1/n_i))⁻¹ on the G distinct rows; a grid in d_y > 1 is worked
    in the eigenbases of its dimensions (A.3.2).

    Fitting costs G³/3 + N M + Σ M_j³ and one G × G matrix; signed moments G an x and y, anything
    else of n points G² + N M + M Σ M_j each. Where M is at most G/8, fitting costs G² M more, and a
    point G M + M Σ M_j.

    Parameters
    ----------
    bandwidth_x
        Of the kernel of x, in the units of x: a number, or one per column. None: chosen from
        multiples of the median distance over √2, a column at a time where columns have periods.
    bandwidth_y
        σ_y, standard deviations in the units of y: a number, or one per dimension. None: chosen
        from one to some grid steps up to the spread of y, in each dimension.
    regularization
        α. None: chosen from log-spaced values.
    output_regularization
        α′, in the unit of a density of y. None: chosen from log-spaced values.
    kernel_x
        "gaussian" or "laplace".
    periods
        One per column of x in its units, None for a column without one; None: no periods.
    reference
        Points of the grid in every dimension, or one number per dimension. None: 200 for d_y = 1,
        about 900 in all for more.
    reference_box
        (lower, upper) of the grid, numbers or one per dimension of y. None: the range of the
        training y, widened by a tenth of it on each side.
    weights
        "clipped": negative weights set to zero, the others divided by their sum. "signed": as
        published. "projected": the non-negative mixture nearest in L2, divided by its sum.
    scaling
        "corrected": Mα′ as above. "published": α′ as the paper prints it, and signed weights are
        divided by their sum where it is negative too, which figure 4 needs; with a warning.
    selection
        Of what is None: "squared-error", held-out ½∫p̂² - p̂(y|x) of the signed density, or
        "likelihood", of the clipped one.
    folds
        Number of folds of the cross-validation.
    tuning_rows
        Maximum number of rows used in the selection, random ones or of a grid of x contiguous
        blocks (`kcde.selection.tuning_rows`); None: all.
    random_state
        Seeds the draw of these rows and the shuffle of the folds.
    standardize
        Whether x and y are first brought to mean 0 and standard deviation 1 of the training rows:
        parameters and what is learned are then in these units. False: the rows as they are.

    Attributes
    ----------
    bandwidth_x_, bandwidth_y_, regularization_, output_regularization_
        Values used, given or chosen.
    reference_
        z, shape (M, d_y).
    n_distinct_
        G.
    jitter_
        Added to the diagonal beyond Nα; 0.0 as a rule.

    Examples
    --------
    >>> import numpy as np
    >>> from kcde import CDO
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 1))
    >>> Y = np.sin(X) + 0.3 * rng.normal(size=(100, 1))
    >>> model = CDO(0.5, 0.3, regularization=1e-3, output_regularization=1e-2).fit(X, Y)
    >>> model.mean(np.array([[1.0]])).round(1)
    array([[0.9]])
    """

    tags: ClassVar[Tags] = Tags(saved=False, grouped=True)

    selection_rule: ClassVar[str] = (
        "both bandwidths, α and α′ by 5-fold held-out squared error of the signed estimate"
    )

    def __init__(
        self,
        bandwidth_x=None,
        bandwidth_y=None,
        regularization=None,
        output_regularization=None,
        *,
        kernel_x="gaussian",
        periods=None,
        reference=None,
        reference_box=None,
        weights="clipped",
        scaling="corrected",
        selection="squared-error",
        folds=5,
        tuning_rows=2000,
        random_state=0,
        standardize=True,
    ):
        self.bandwidth_x = bandwidth_x
        self.bandwidth_y = bandwidth_y
        self.regularization = regularization
        self.output_regularization = output_regularization
        self.kernel_x = kernel_x
        self.periods = periods
        self.reference = reference
        self.reference_box = reference_box
        self.weights = weights
        self.scaling = scaling
        self.selection = selection
        self.folds = folds
        self.tuning_rows = tuning_rows
        self.random_state = random_state
        self.standardize = standardize

    def _fit(self, X, Y):
        self._check_parameters(X.shape[1])
        self._periods, box = self.periods, self.reference_box
        if (units := self._units) is not None:
            if box is not None:
                box = [(np.asarray(end) - units.mean_y) / units.std_y for end in box]
            if self.periods is not None:
                pairs = zip(self.periods, units.std_x, strict=True)
                self._periods = [period and period / std for period, std in pairs]
        self._reference = operator.make_reference(Y, self.reference, box)
        self.cv_results_ = {}
        self._groups = operator.Groups(X, Y)
        self.n_distinct_, self.reference_ = len(self._groups.counts), self._reference.points
        chosen = Hyperparameters(
            self.bandwidth_x, self.bandwidth_y, self.regularization, self.output_regularization
        )
        if any(value is None for value in chosen):
            rng = rng_of("selection", self.random_state)
            rows = tuning_rows(to_numpy(X), self.tuning_rows, rng)
            folds = self._kfold(rows, self.folds, rng)
            given = take_rows(X, rows), take_rows(Y, rows), self._reference, folds
            chosen, self.cv_results_ = select(self, *given)
        self.bandwidth_x_ = as_bandwidths(chosen.bandwidth_x, X.shape[1], "bandwidth_x")
        self.bandwidth_y_ = as_bandwidths(chosen.bandwidth_y, Y.shape[1], "bandwidth_y")
        self.regularization_ = float(chosen.regularization)
        self.output_regularization_ = float(chosen.output_regularization)
        M = self._reference.size
        shift = self.output_regularization_ * (M if self.scaling == "corrected" else 1)
        given = self._reference, self.bandwidth_y_
        self._squared_inverse = operator.squared_inverse_of(*given, shift)
        kernel = operator.make_kernel(self.kernel_x, self.bandwidth_x_, self._periods)
        self._inputs = operator.InputFactor(kernel, self._groups, Y.shape[0] * self.regularization_)
        self.jitter_ = self._inputs.jitter
        self._solved_outputs = None
        if self.n_distinct_ >= _FEW * M and self.weights != "signed":
            self._solved_outputs = self._inputs.solve(self._groups.means(*given))
        self._centres, self._sigma = self.reference_, self.bandwidth_y_
        if self.weights == "signed":
            # What turns k(x, ·) into Σβ, Σβz and Σβz² without the weights β.
            xp = array_namespace(self.reference_)
            self._centre = xp.mean(self.reference_, axis=0)
            z = self.reference_ - self._centre
            F = xp.concat([xp.ones((z.shape[0], 1), dtype=z.dtype), z, z * z], axis=1)
            filtered = self._squared_inverse(F.T).T
            products = self._groups.means(*given, filtered)
            self._moment_coef = self._inputs.solve(products)
        elif self.weights == "projected":
            self._nearest = operator.NearestMixture(*given)

    def _check_parameters(self, d_x: int):
        for name in ("regularization", "output_regularization"):
            checks.positive(name, getattr(self, name), optional=True)
        checks.whole("tuning_rows", self.tuning_rows, 2, optional=True)
        choices = {
            "kernel_x": operator.KERNELS,
            "weights": ("clipped", "signed", "projected"),
            "scaling": ("corrected", "published"),
            "selection": CRITERIA,
        }
        for name, allowed in choices.items():
            checks.choice(name, getattr(self, name), allowed)
        periods = [None] * d_x if self.periods is None else self.periods
        if np.shape(periods) != (d_x,):
            raise ValueError(f"periods must have one entry per column of x; got {periods!r}")
        for i, period in enumerate(periods):
            checks.positive(f"periods[{i}]", period, optional=True)

    def moments(self, X) -> tuple:
        """Return `mean` and `variance` for the cost of one, shape (n, d_y) each.

        Raises
        ------
        FloatingPointError
            If the sum of weights is not positive at some x; the message names the remedy.
        """
        if self.weights != "signed":
            return super().moments(X)
        X = self._check_features(X)
        xp = array_namespace(X)
        sums = self._inputs.similarities(X) @ self._moment_coef
        check_sums(sums[:, :1], _REMEDY, negative=self.scaling == "published")
        d = self.n_outputs_
        first, second = sums[:, 1 : d + 1] / sums[:, :1], sums[:, d + 1 :] / sums[:, :1]
        return first + self._centre, second - first**2 + xp.asarray(self.bandwidth_y_**2)

    def has_negative_normaliser(self, X):
        """Return whether the sum that normalises the signed weights is negative, booleans (n,).

        Where it is, dividing by it as published reverses the sign of the estimate.

        Raises
        ------
        ValueError
            If the weights are not signed.
        """
        X = self._check_features(X)
        if self.weights != "signed":
            raise ValueError(f"has_negative_normaliser needs signed weights; got {self.weights!r}")
        return (self._inputs.similarities(X) @ self._moment_coef[:, :1])[:, 0] < 0.0

    def _raw_weights(self, X):
        """Return β up to a positive factor a row, shape (n, M)."""
        count, parts = max(1, _AT_ONCE // self._reference.size), []
        for start in range(0, X.shape[0], count):
            rows = slice(start, min(start + count, X.shape[0]))
            similarities = self._inputs.similarities(X[rows, :])
            if self._solved_outputs is not None:
                V = similarities @ self._solved_outputs
            else:
                S = self._inputs.solve(similarities.T).T
                V = self._groups.reference_weights(self._reference, self.bandwidth_y_, S)
            parts.append(self._squared_inverse(V))
        return array_namespace(X).concat(parts)

    def _signed_weights(self, X):
        negative = self.scaling == "published"
        return divided_by_sums(self._raw_weights(X), _REMEDY, negative=negative)

    def _log_weights(self, X):
        weights = self._raw_weights(X)
        xp = array_namespace(weights)
        if self.weights == "projected":
            weights = xp.asarray(self._nearest(to_numpy(weights)))
        return log_where_positive(divided_by_sums(xp.maximum(weights, 0.0), _REMEDY))
