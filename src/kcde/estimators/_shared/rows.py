"""Checks of what a user gives estimators: rows, groups and parameters."""

from collections.abc import Callable
from importlib.util import find_spec

import numpy as np

from kcde.arrays import array_namespace, row_blocks, to_numpy
from kcde.estimators._shared.threads import map_threads
from kcde.estimators._shared.units import Units, translated

LARGEST_VALUE = 1e100
"""Squares of larger values, over those of a small bandwidth, leave the range of float64."""

LARGEST_IN_FLOAT32 = 1e15
"""The same for what is trained in float32."""

_NUMERIC = "biuf"


def check_rows(
    name: str, array, columns: int | None = None, *, vector=False, some=False, largest=LARGEST_VALUE
):
    """Return a finite float64 array (n, columns): of any namespace, a data frame, or sequences.

    `vector`: shape (n,), also of a Series, stands for (n, 1). `some`: n must be at least 1.
    """
    column, row = "[:, None]", "[None, :]"
    if hasattr(array, "to_frame"):
        column, row = ".to_frame()", ".to_frame().T"
    array = _in_float64(name, array)
    if vector and array.ndim == 1:
        array = array[:, None]
    shape = tuple(array.shape)
    if array.ndim != 2:
        expected = f"{'(n,) or ' * vector}(n, {'d' if columns is None else columns})"
        hint = f". Reshape your data: {name}{row} is one row" if shape == (columns,) else ""
        if array.ndim == 1 and columns in (None, 1):
            hint = f"; use {name}{column} for one column"
        raise ValueError(f"{name} must have shape {expected}; got shape {shape}{hint}")
    if columns not in (None, shape[1]):
        raise ValueError(f"{name} must have {columns} columns, as in fit; got shape {shape}")
    if some and not shape[0]:
        raise ValueError(f"{name} has no rows, shape {shape}; give at least one")
    xp = array_namespace(array)
    if not bool(xp.all(xp.abs(array) <= largest)):
        if not bool(xp.all(xp.isfinite(array))):
            raise ValueError(f"{name} has NaN or infinite values; drop or fill those rows first")
        raise ValueError(
            f"{name} has values beyond {largest:g}, too large for their squares: bring it to unit "
            f"scale with standardize=True or, beyond {LARGEST_VALUE:g}, by a power of ten"
        )
    return array


def _in_float64(name: str, array):
    """Return an array of any shape as float64, in its own namespace."""
    if hasattr(array, "tocsr"):
        raise ValueError(f"{name} is sparse, which is not supported: give {name}.toarray()")
    if hasattr(array, "iloc"):
        return _of_pandas(name, array)
    if isinstance(array, np.ma.MaskedArray):
        # What lies behind the mask is no value.
        array = np.where(np.ma.getmaskarray(array), np.nan, array.data)
    try:
        if not (hasattr(array, "dtype") and hasattr(array, "ndim")):
            array = np.asarray(array, dtype=np.float64)
        xp = array_namespace(array)
        if array.dtype == xp.float64:
            return array
        if getattr(array.dtype, "kind", "f") not in _NUMERIC + "O":
            raise ValueError(f"its type is {array.dtype}")
        return xp.astype(array, xp.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} cannot be made an array of numbers: {error}") from None


def _of_pandas(name: str, table) -> np.ndarray:
    """Return a Series or a data frame as numpy, missing values as NaN."""
    frame = table.to_frame() if table.ndim == 1 else table
    columns = zip(frame.columns, frame.dtypes, strict=True)
    if wrong := [str(column) for column, dtype in columns if dtype.kind not in _NUMERIC]:
        remedy = "leave them out, or make them numbers, as pandas.get_dummies does"
        raise ValueError(f"{name} has columns that are not numbers: {', '.join(wrong)}; {remedy}")
    # Frames lie in memory by columns, and the order of sums is part of the last bits.
    return np.ascontiguousarray(table.to_numpy(dtype=np.float64, na_value=np.nan))


def by_blocks(function: Callable, n: int, width: int, *, like):
    """Return what a function of slices gives for n rows, by blocks of `width` numbers a row."""
    parts = map_threads(function, row_blocks(n, width, like=like), like)
    return array_namespace(like).concat(list(parts))


def sum_over(f: Callable, points, weights):
    """Return Σ_j w_j f(y_ij), shape (n, q), at points y (n, k, d) with weights w (k,)."""
    xp = array_namespace(points)
    values = f(xp.reshape(points, (-1, points.shape[2])))
    return xp.sum(weights[None, :, None] * xp.reshape(values, (*points.shape[:2], -1)), axis=1)


def drawn_places(cumulative: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """Return places (m, n) drawn by weights of which rows (m, k) are the cumulative sums."""
    pairs = zip(cumulative, rng.random((len(cumulative), n)) * cumulative[:, -1:], strict=True)
    return np.stack([np.searchsorted(c, u, side="right") for c, u in pairs])


def some_columns(X: np.ndarray) -> np.ndarray:
    """Return x, or a column of zeros where it has none: trees and networks need an input."""
    return X if X.shape[1] else np.zeros((len(X), 1))


def check_pairs(X, Y, largest: float = LARGEST_VALUE, *, copy: bool = False):
    """Return checked X (n, d_x), or (n, 0) for None, and Y (n, d_y) of at least 2 training pairs.

    A model that keeps the pairs asks for a `copy`, which what the caller later does to its arrays
    does not reach.
    """
    if Y is None:
        raise ValueError("fit requires y to be passed, but the target y is None")
    Y = check_rows("Y", Y, vector=True, largest=largest)
    X = Y[:, :0] if X is None else check_rows("X", X, largest=largest)
    check_same_length(X, Y)
    if Y.shape[0] < 2:
        raise ValueError(f"fitting needs at least 2 rows; got {Y.shape[0]} samples")
    if Y.shape[1] == 0:
        raise ValueError("Y must have at least one column; got shape (n, 0)")
    if copy:
        xp = array_namespace(X, Y)
        X, Y = xp.asarray(X, copy=True), xp.asarray(Y, copy=True)
    return X, Y


def names_of(Y) -> list[str] | None:
    """Return the names of the columns of a data frame, None where they are not text."""
    names = list(getattr(Y, "columns", ()))
    return names if names and all(isinstance(name, str) for name in names) else None


def check_names(Y, fitted: list | None) -> None:
    """Raise `ValueError` where a data frame has other columns than in `fit`, or in another order.

    `fitted` is None where there was no data frame; a single column may have any name.
    """
    if len(fitted or ()) > 1 and list(getattr(Y, "columns", fitted)) != fitted:
        raise ValueError(f"Y has columns {list(Y.columns)}, and had {fitted} in fit")


def check_same_length(X, Y) -> None:
    """Raise `ValueError` unless there are as many rows of X as of Y."""
    if X.shape[0] != Y.shape[0]:
        raise ValueError(f"X has {X.shape[0]} rows and Y has {Y.shape[0]}; they must agree")


def check_not_constant(Y) -> None:
    """Raise `ValueError` where a column of the training Y (n, d_y) is constant, naming it."""
    xp = array_namespace(Y)
    constant = xp.max(Y, axis=0) == xp.min(Y, axis=0)
    if columns := [i for i in range(Y.shape[1]) if bool(constant[i])]:
        raise ValueError(f"Y is constant in column(s) {columns}, where it has no density")


def group_labels(groups, n: int) -> np.ndarray:
    """Return which group each of n rows is of, as whole numbers from 0, shape (n,).

    `groups`, shape (n,), are numbers, texts or dates, an array, a list or a Series.
    """
    from pandas import factorize

    groups = np.asarray(groups)
    if groups.shape != (n,):
        raise ValueError(f"groups must have shape ({n},), one for every row; got {groups.shape}")
    labels, _ = factorize(groups)
    if missing := np.flatnonzero(labels < 0).tolist():
        raise ValueError(f"groups has no value in {len(missing)} row(s), the first {missing[0]}")
    if labels.max() == 0:
        least = "at least 2 are needed, and 3 where Stacked or Conformal hold out one before"
        raise ValueError(f"groups: there is one in {n} rows; {least}: give more, or leave them out")
    return labels


def about_rows(estimator, groups=None, sample_weight=None) -> dict:
    """Return those that are not None as arguments of the `fit` of an estimator, which takes them.

    Raises
    ------
    ValueError
        If it does not.
    """
    from sklearn.utils.validation import has_fit_parameter

    kind = type(estimator).__name__
    if groups is not None and not estimator.tags.grouped:
        raise ValueError(f"{kind} does not choose by folds of rows, which groups are for")
    if sample_weight is not None and not has_fit_parameter(estimator, "sample_weight"):
        raise ValueError(f"{kind} takes no weights of rows: leave them out, or take another class")
    given = {"groups": groups, "sample_weight": sample_weight}
    return {name: value for name, value in given.items() if value is not None}


def row_weights(given, n: int) -> np.ndarray:
    """Return weights of n rows, with the mean 1 of those that are not 0.

    Raises
    ------
    ValueError
        If the shape is wrong, or one is negative or not finite, or all are 0.
    """
    weights = to_numpy(_in_float64("sample_weight", given))
    if weights.shape != (n,):
        raise ValueError(f"sample_weight must have shape ({n},); got {weights.shape}")
    if not (weights.min() >= 0.0 and 0.0 < weights.max() < np.inf):
        raise ValueError("sample_weight must be finite, not negative, and not zero in all rows")
    weights = weights / weights.max()
    return weights / weights[weights > 0.0].mean()


class RowChecks:
    """Checks of X and Y after `fit`, and answers in their units, for an estimator to inherit.

    `fit` calls `_record_input`, which sets `n_features_in_`, `n_outputs_` and, if X is a data frame
    whose column names are strings, `feature_names_in_`; and ends with `_open`. From then on public
    methods of X and Y, as a class states them, get these checked, see `translated`.
    """

    standardize = False
    _units: Units | None = None
    """What `fit` standardised by, if it did."""

    _outside = False
    """Whether its methods are asked in the units of `fit`, see `kcde.estimators._shared.units`."""

    _y_is_flat = False
    """Whether `fit` had y of shape (n,)."""

    largest_value = LARGEST_VALUE
    """Size of the largest value of X and Y that the estimator takes."""

    _output_names: list | None = None
    """Names of the columns of a data frame Y, as `names_of` returns them."""

    def __init_subclass__(cls, **keywords):
        super().__init_subclass__(**keywords)
        for name, member in list(vars(cls).items()):
            if (method := translated(name, member)) is not member:
                setattr(cls, name, method)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self.tags.several_y
        if tags.regressor_tags is not None:
            tags.regressor_tags.poor_score = self.tags.density  # it is no R²
        return tags

    def _open(self, units: Units | None, outputs=None) -> None:
        """End a fit: from here on methods are asked in the units of X and of the Y given."""
        self._units, self._outside = units, True
        self._output_names = names_of(outputs)
        given = outputs if hasattr(outputs, "ndim") else np.asarray(outputs)
        self._y_is_flat = given.ndim == 1

    def _open_rows(self, rows, units: Units | None = None) -> None:
        """End a fit to rows that are read in blocks: names and shapes are those of `rows.given`."""
        first = rows.take(np.arange(1))
        given, outputs = getattr(rows, "given", first)
        self._record_input(given, *first)
        self._n_fitted = len(rows)
        self._open(units, outputs)

    def _scaled(self, points):
        """Return training rows of x or of y as they are fitted to."""
        return Units(points).x(points) if self.standardize else points

    def _restored(self, Y):
        """Return learned y in the units in which methods are asked."""
        return self._units.restore(Y) if self._outside and self._units else Y

    @property
    def _largest(self) -> float:
        return LARGEST_VALUE if self._outside and self._units else self.largest_value

    def _record_input(self, given, X, Y=None) -> None:
        """Keep the widths of checked X and Y, and the names of the X that was given."""
        self._record_feature_names(given)
        self.n_features_in_, self._n_fitted = X.shape[1], X.shape[0]
        self._no_x = array_namespace(X).zeros((1, 0), dtype=X.dtype)
        if Y is not None:
            self.n_outputs_ = Y.shape[1]

    def _record_feature_names(self, given) -> None:
        vars(self).pop("feature_names_in_", None)
        self._check_feature_names(given, reset=True)

    def _check_feature_names(self, X, *, reset: bool = False) -> None:
        """Compare the columns of a data frame with those of `fit`, or keep them."""
        if hasattr(X, "columns"):
            from sklearn.utils.validation import validate_data

            validate_data(self, X, reset=reset, skip_check_array=True)

    def _reset(self) -> None:
        """Make the estimator unfitted after a failed `fit`."""
        vars(self).pop("n_features_in_", None)
        self._outside = False

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_features_in_")

    def _check_fitted(self):
        """Return the estimator, or raise scikit-learn's `NotFittedError`."""
        if not self.__sklearn_is_fitted__():
            from sklearn.exceptions import NotFittedError

            raise NotFittedError(f"this {type(self).__name__} is not fitted; call fit first")
        return self

    def _here(self, array):
        """Return an array where the estimator computes: on the host, if it is of numpy alone."""
        return array if self.tags.array_api else to_numpy(array)

    def _check_features(self, X):
        """Return checked X (n, d_x); None is one row of a model without x."""
        columns = self._check_fitted().n_features_in_
        if X is None and not columns:
            return self._no_x
        self._check_feature_names(X)
        return self._here(check_rows("X", X, columns, some=True, largest=self._largest))

    def _check_outputs(self, Y):
        """Return checked Y (n, d_y)."""
        columns = self._check_fitted().n_outputs_
        check_names(Y, self._output_names)
        Y = check_rows("Y", Y, columns, vector=True, some=True, largest=self._largest)
        return self._here(Y)

    def _in_range(self, name: str, standardised):
        """Return standardised x or y, which is far out if it is far from the training rows."""
        return check_rows(name, standardised, largest=self.largest_value)

    def _check_pair(self, X, Y):
        """Return checked X (n, d_x), or (n, 0) for None, and Y (n, d_y)."""
        Y = self._check_outputs(Y)
        X = self._check_features(Y[:, :0] if X is None else X)
        check_same_length(X, Y)
        return X, Y


def column_std(values: np.ndarray) -> np.ndarray:
    """Return the standard deviation of each column of values (n, d), shape (d,).

    Deviations are divided by the largest before they are squared, so that those of 1e-300 do not
    come out as 0; it is 0 where a column is constant.
    """
    root = root_mean_square(values - np.mean(values, axis=0))
    return np.where(np.ptp(values, axis=0) == 0, 0.0, root)


def root_mean_square(values: np.ndarray) -> np.ndarray:
    """Return it for each column, whatever their scale, shape (d,)."""
    size = np.max(np.abs(values), axis=0)
    return size * np.sqrt(np.mean((values / np.where(size > 0, size, 1.0)) ** 2, axis=0))


class MissingLibraryError(ModuleNotFoundError, ValueError):
    """A library that an estimator needs is not installed; the message has the remedy.

    Also a `ValueError`, as whatever else an estimator refuses to fit with: on the command line it
    is one line, in an experiment a failed row of this method alone.
    """


def missing_library(estimator: type) -> str:
    """Return which library that an estimator needs is missing, and how to install it; "" if none.

    Its `_needs` names the extra of kcde, then the modules.
    """
    extra, *modules = getattr(estimator, "_needs", ()) or [""]
    missing = next((each for each in modules if find_spec(each) is None), None)
    if missing is None:
        return ""
    library = {"jax": "JAX"}.get(missing, missing.replace("_", "-"))
    return f'needs {library}: pip install "kcde[{extra}]"'
