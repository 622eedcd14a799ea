"""A conditional density of one column of a table given others, by name; saved and loaded.

Examples
--------
>>> import numpy as np, pandas as pd
>>> from kcde.table_model import TableModel
>>> rng = np.random.default_rng(0)
>>> frame = pd.DataFrame({"area": rng.normal(size=60)})
>>> frame["price"] = frame["area"] + 0.3 * rng.normal(size=60)
>>> model = TableModel("LSCDE-exact", y="price").fit(frame)
>>> model.quantile(frame[:2], [0.05, 0.5, 0.95]).shape
(2, 3)
"""

import logging
import math
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, asdict, dataclass, fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.exceptions import NotFittedError

import kcde
from kcde import estimators, methods, model_file, provenance, tabular
from kcde.estimators import Conformal, Defensive, Quantiles, Stacked, Standardised
from kcde.estimators._low_rank.base import LowRankConditional
from kcde.estimators._shared.distribution import tails
from kcde.estimators._shared.floored import Floored
from kcde.estimators._shared.rows import about_rows, missing_library
from kcde.estimators.base import Tags
from kcde.estimators.log_scaled import LogScaled
from kcde.files import refused
from kcde.seeding import seed_of

log = logging.getLogger(__name__)

_LOWEST = 1e-50
"""Of probabilities of quantiles: of heavy tails, lower ones are too large to compute with."""
_USUAL = ("LikelihoodKCEF", "LSCDE-exact", "GP-ML", "KernelCDE", "ResidualKDE", "LinearGaussian")
_USUAL += ("KCEF", "NADE", "QuantileForest", "NGBoost")
"""What an unknown name is answered with."""


def usable(name: str) -> str:
    """Return why a method has no density of one y given x, "" if it has, by any of its names."""
    method = methods.METHODS[methods.key_of(name, _USUAL)]
    if method.graph is not None or method.target == "joint":
        return "it is a joint density of several columns"
    if method.options.get("weights") == "signed":
        return "its density can be negative"
    tags = _tags(name)
    if not tags.density or tags.target != "continuous":
        return "it has no density of a continuous y"
    return missing_library(getattr(estimators, method.estimator))


def _tags(name: str) -> Tags:
    return getattr(estimators, methods.find(name).estimator).tags


def regardless_of_groups(names: Sequence[str]) -> str:
    """Return a sentence that names the methods which do not choose by folds, "" for none."""
    without = [name for name in names if not _tags(name).grouped]
    if not without:
        return ""
    chooses = "chooses" if len(without) == 1 else "choose"
    return f"{', '.join(without)} {chooses} without regard to groups."


def unfitted(
    method: str, seed: int, options: Mapping | None = None, *, lower: float | None = None
) -> Standardised | LogScaled | Quantiles:
    """Return the estimator of a method, by a name, standardised by its training rows.

    What estimates expectations of a continuous y has no density, but quantiles. A density without a
    floor of its own is given a wide t with the weight 1/n, so that no row has almost no density.
    What is stacked are methods too, by their names in the option `estimators`, or estimators; by
    default those that `kcde.compare` scores.
    """
    options = dict(options or {})
    if issubclass(getattr(estimators, methods.find(method).estimator), LowRankConditional):
        if lower is not None:
            raise ValueError(f"{method} has no density, as a bound of y needs: leave the bound out")
        made = methods.make(method, **{"regularization": None} | options)
        return Quantiles(made, random_state=seed)
    if methods.key_of(method) == methods.STACKED:
        options["estimators"] = [
            _floored(each, seed, {}) if isinstance(each, str) else each for each in stacked(options)
        ]
    made = Standardised(_floored(method, seed, options))
    return made if lower is None else LogScaled(made, lower)


def stacked(options: Mapping) -> Sequence[str]:
    """Return the names of the methods that are stacked."""
    given, known = options.get("estimators"), (*methods.CONTENDERS, methods.BASELINE)
    if isinstance(given, str):
        raise ValueError(f'estimators is a list of methods, as ["{given}"]; got {given!r}')
    return given or [name for name in known if not usable(name)]


def _floored(method: str, seed: int, options: Mapping):
    if why := usable(method):
        raise ValueError(f"{method} cannot be used here: {why}")
    made = methods.make(method, **options)
    if "random_state" in made.get_params(deep=False):
        made.set_params(**{"random_state": seed} | options)
    if isinstance(made, Floored | Stacked):
        return made
    return Defensive(made, weight=None, base_std=1.0, heavy_tails=True)


@dataclass(eq=False, repr=False)
class TableModel:
    """A method fitted to a table, its density above a floor as `Defensive` has it.

    Parameters
    ----------
    method
        Its name, as `kcde.compare` says it, or a key of `kcde.methods.METHODS`.
    y
        The column that is predicted.
    x
        The columns that it is predicted from; by default all others.
    drop
        Columns that are not used.
    groups
        A column that is no part of x: rows of one value belong together, so that a method that
        chooses by folds, and the rows that calibrate, keep them together; `notes_` say it of one
        that does not choose by folds.
    time_column
        A column that is no part of x and orders the rows in time: the latest calibrate.
    levels
        Columns of x that are categories, also where they have numbers.
    missing
        Rows with missing values: `refuse`, `drop` or `indicate`, see `kcde.tabular.check`.
    lower
        A bound below all y: the method sees log(y - lower), answers stay in the units of y. Means
        are then by quadrature of the density, in which y - lower counts as at most ten times the
        largest in training.
    weight
        A column that is no part of x: how often a row counts, see `sample_weight` of the fit.
    conformal
        Share of the rows that calibrate `interval` by split conformal prediction, e.g. 0.25; None:
        intervals are those of the density.
    options
        Constructor arguments of the method's estimator.
    seed
        Of what is random in the fit.

    Attributes
    ----------
    columns_
        `kcde.tabular.Columns` of the table.
    model_
        The fitted estimator: `model_.log_density(X, y)` and all else, for `columns_.encode(frame)`.
    notes_
        What was left out, and what is to be known of the data.
    about_
        Versions, number of rows and the SHA-256 of the training data.
    """

    method: str
    y: str
    x: Sequence[str] | None = None
    _: KW_ONLY
    drop: Sequence[str] = ()
    groups: str | None = None
    time_column: str | None = None
    levels: Sequence[str] = ()
    missing: str = tabular.REFUSE
    lower: float | None = None
    weight: str | None = None
    conformal: float | None = None
    options: Mapping[str, Any] | None = None
    seed: int = 0

    def __repr__(self) -> str:
        return f"TableModel({self.method!r}, y={self.y!r})"

    def __getattr__(self, name: str):
        if name in ("columns_", "model_", "notes_", "about_"):
            raise NotFittedError("this TableModel is not fitted; call fit first")
        return object.__getattribute__(self, name)

    def fit(self, frame: pd.DataFrame) -> "TableModel":
        """Fit to the rows of a table.

        Raises
        ------
        ValueError
            If the method or a column cannot be used, see `kcde.tabular.check`.
        """
        names = ("drop", "groups", "time_column", "weight", "levels", "missing", "lower")
        options = {name: getattr(self, name) for name in names}
        if self.weight is not None and self.conformal is not None:
            raise ValueError("give a weight or conformal, not both: its guarantee counts each row")
        return self.fit_checked(tabular.check(frame, self.y, self.x, **options))

    def fit_checked(self, checked: tabular.Checked) -> "TableModel":
        """Fit to a table that has been checked."""
        seed = seed_of("own", "fit", self.seed) % 2**32
        estimator = unfitted(self.method, seed, self.options, lower=self.lower)
        groups = weights = None
        self.columns_, self.notes_ = checked.columns, (*checked.notes, *checked.warnings)
        if self.groups is not None:
            if not estimator.tags.grouped:
                self.notes_ += (regardless_of_groups([self.method]),)
            if estimator.tags.grouped or self.conformal is not None:
                groups = checked.frame[self.groups].to_numpy()
        if self.conformal is not None:
            options = {"share": self.conformal, "latest": self.time_column is not None}
            estimator = Conformal(estimator, random_state=self.seed, **options)
        frame = checked.frame
        if self.time_column is not None:
            order = np.argsort(tabular.times(frame, self.time_column), kind="stable")
            frame = frame.iloc[order]
        if self.weight is not None:
            weights = frame[self.weight].to_numpy()
        given = self._x_of(frame), checked.columns.target(frame), groups
        self.model_ = estimator.fit(*given, **about_rows(estimator, sample_weight=weights))
        if self.conformal is not None:
            like = "rows like these" if groups is None else "groups like these"
            like = like if self.time_column is None else "rows like the latest"
            most = float(self.model_.levels_[-1])
            self.notes_ += (f"Intervals hold for new {like}, at levels up to {most:.3g}.",)
        if mixture := inside(self.model_, Stacked):
            names = stacked(self.options or {})
            self.notes_ += (f"Weights: {weighted(names, mixture.weights_)}.",)
        self.about_ = {
            "method": methods.shown(methods.key_of(self.method)),
            "columns": asdict(checked.columns),
            "rows": len(checked.frame),
            "training_data_sha256": checked.digest,
            "versions": {"kcde": kcde.__version__, "python": platform.python_version()}
            | {name: version(name) for name in ("numpy", "scipy", "pandas")},
            "code": _code(self.method, self.options),
        }
        return self

    def _x_of(self, frame: pd.DataFrame) -> np.ndarray:
        X = self.columns_.encode(frame).to_numpy()
        return X[:, :0] if _tags(self.method).unconditional else X

    def quantile(self, frame: pd.DataFrame, p) -> np.ndarray:
        """Return the p-quantiles of y, shape (n,), or (n, k) for k of them.

        Raises
        ------
        ValueError
            If p is not in (0, 1), or so close to 0 that its y cannot be computed with.
        """
        if low := [each for each in np.ravel(p) if 0.0 < each < _LOWEST]:
            raise ValueError(f"the quantile {low[0]:g} is too close to 0: give {_LOWEST:g} or more")
        return np.asarray(self.model_.quantile(self._x_of(frame), p))

    def interval(self, frame: pd.DataFrame, level: float) -> np.ndarray:
        """Return intervals with a probability.

        Parameters
        ----------
        frame
            Rows with the columns of x.
        level
            The probability, e.g. 0.9.

        Returns
        -------
        array
            Lower and upper ends, shape (n, 2).
        """
        return np.asarray(self.model_.interval(self._x_of(frame), level))

    def mean(self, frame: pd.DataFrame) -> np.ndarray:
        """Return E[y|x].

        Parameters
        ----------
        frame
            Rows with the columns of x.

        Returns
        -------
        array
            Shape (n,).
        """
        return np.asarray(self.model_.mean(self._x_of(frame)))[:, 0]

    def log_density(self, frame: pd.DataFrame) -> np.ndarray:
        """Return log p(y|x) of the y in the table.

        Parameters
        ----------
        frame
            Rows with the columns of x, and y.

        Returns
        -------
        array
            Shape (n,), nats.
        """
        return np.asarray(self.model_.log_density(self._x_of(frame), self.columns_.target(frame)))

    def density(self, frame: pd.DataFrame, y: np.ndarray) -> np.ndarray:
        """Return p(y|x) at shared y.

        Parameters
        ----------
        frame
            Rows with the columns of x.
        y
            Shape (q,).

        Returns
        -------
        array
            Shape (n, q).
        """
        at = self.model_.density_at(np.asarray(y, dtype=np.float64)[:, None])
        return np.asarray(at(self._x_of(frame)))

    def predictions(
        self,
        frame: pd.DataFrame,
        quantiles: Sequence[float] = (0.05, 0.5, 0.95),
        *,
        interval: float | None = None,
        density: Sequence[float] | str | None = None,
        keep: Sequence[str] = (),
        say: Callable[[str], None] | None = None,
    ) -> pd.DataFrame:
        """Return a table of predictions, a row for each of the given, empty where it has none.

        Parameters
        ----------
        frame
            With the columns of the training data; log densities are added where it has y, NaN where
            that is missing.
        quantiles
            Probabilities.
        interval
            Probability of an interval; None: no interval.
        density
            y at which densities are given, or `grid`: 101 that span the intervals from the 1% to
            the 99% quantile of the rows, each longer by a third on both sides.
        keep
            Columns that stand before the predictions, also ones that training did not have.
        say
            Is told which rows have no predictions, and of x far from the training rows; by
            default a warning is logged.

        Returns
        -------
        pandas.DataFrame
            Columns `mean`, `q0.05` …, `lower`, `upper`, `log_density`, `p(1.5)` …; the index is
            that of `frame`.

        Raises
        ------
        ValueError
            If a column cannot be used, or no row can.
        """
        if lost := [name for name in keep if name not in frame.columns]:
            raise ValueError(f"there is no column {lost[0]!r} to keep; there are {list(frame)}")
        kept = frame[list(dict.fromkeys(keep))]
        frame = frame.drop(columns=[name for name in keep if name not in self.columns_.known])
        usable, said = self.columns_.usable(frame)
        observed, wrong = self.columns_.observed(frame[usable])
        has_density = self.model_.tags.density
        said += wrong if has_density else []
        share = _share_of_floor(self.model_)
        if wrong := [p for p in (*quantiles, *filter(None, [interval])) if not 0.0 < p < 1.0]:
            raise ValueError(f"quantiles and interval are probabilities, as 0.95; got {wrong[0]:g}")
        asked = [*quantiles, *([] if interval is None else tails(interval))]
        if below := [f"{p:g}" for p in asked if min(p, 1.0 - p) <= 0.5 * share + 1e-9]:
            which = f"the quantiles {', '.join(below)} are about those of y without x"
            said.append(f"{share:.2g} of the density is a floor as wide as y: {which}.")
        for line in said:
            (say or log.warning)(line)
        frame = frame[usable]
        if density is not None and not has_density:
            raise ValueError(f"{self.method} has quantiles and no density: leave --density out")
        if isinstance(self.model_, Quantiles):
            mean, values = self.model_.mean_and_quantile(self._x_of(frame), asked)
            mean, ends = mean[:, 0], values[:, len(quantiles) :]
        else:
            mean, values = self.mean(frame), self.quantile(frame, list(quantiles))
            ends = None if interval is None else self.interval(frame, interval)
        found = {"mean": mean} | _named("q{}", quantiles, values)
        if interval is not None:
            found["lower"], found["upper"] = ends.T
        if observed.any() and has_density:
            found["log_density"] = np.full(len(frame), np.nan)
            found["log_density"][observed] = self.log_density(frame[observed])
        if density is not None:
            y = self._grid(frame) if isinstance(density, str) else np.asarray(density, dtype=float)
            found |= _named("p({})", y, self.density(frame, y))
        if twice := found.keys() & set(keep):
            raise ValueError(f"column {min(twice)!r} is kept and predicted: rename it")
        table = pd.DataFrame(found, index=np.flatnonzero(usable)).reindex(range(len(usable)))
        return pd.concat([kept, table.set_axis(kept.index)], axis=1)

    def _grid(self, frame: pd.DataFrame) -> np.ndarray:
        # Quantiles nearer to the ends are those of the floor.
        low, high = self.quantile(frame, [0.01, 0.99]).T
        ends = (low - (high - low) / 3).min(), (high + (high - low) / 3).max()
        y, step = np.linspace(*ends, 101, retstep=True)
        return np.round(y, 3 - math.floor(math.log10(step)))  # short names, as exact as needed

    def save(self, path: str | Path) -> None:
        """Write it to a file of arrays and JSON, which `load` reads.

        Raises
        ------
        ValueError
            If the estimator learns what is neither.
        """
        _, _, *given = (each.name for each in fields(self))
        arguments = {name: getattr(self, name) for name in given}
        arguments["x"] = None if self.x is None else list(self.x)
        arguments |= {"drop": list(self.drop), "levels": list(self.levels)}
        arguments["options"] = None if self.options is None else dict(self.options)
        model_file.write(path, self.model_, self.about_, arguments)

    @classmethod
    def load(cls, path: str | Path) -> "TableModel":
        """Return the model of a file; a warning is logged where another code has written it.

        It has the arguments of its fit, so that `fit` fits the same model to other rows.

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        ValueError
            If it is no model.
        """
        model, about, arguments = model_file.read(path)
        if arguments is None or arguments.keys() - {each.name for each in fields(cls)}:
            raise ValueError(f"{path} was written by an older version of kcde: fit again")
        with refused(path, "is no model of a table"):
            columns = tabular.Columns.of_plain(about["columns"])
            code, writer = about["code"], about["versions"]["kcde"]
            made = cls(str(about["method"]), columns.y, **arguments)
            now = _code(made.method, made.options)
        made.model_, made.about_, made.columns_, made.notes_ = model, about, columns, ()
        if code != now:
            said = f"another version of {made.method} (kcde {writer}): fit again if in doubt"
            log.warning("%s was written by %s", path, said)
        return made


def _named(template: str, numbers: Sequence[float], values: np.ndarray) -> dict[str, np.ndarray]:
    """Return columns of values (n, k) by their k numbers, in the digits that give these back."""
    if len(set(numbers)) < len(numbers):
        raise ValueError(f"give each number once; got {', '.join(f'{each:g}' for each in numbers)}")
    texts = (repr(float(each)).removesuffix(".0") for each in numbers)
    return {template.format(text): values[:, place] for place, text in enumerate(texts)}


def _code(method: str, options: Mapping | None) -> str:
    """Return a digest of the code of a method and of those that it stacks."""
    inner = stacked(options or {}) if methods.key_of(method) == methods.STACKED else ()
    kinds = (methods.find(each).estimator for each in (method, *inner))
    return provenance.digest(*map(provenance.estimator_module, kinds))


def inside(model, kind: type):
    """Return the first estimator of a kind that others are around, None without one."""
    while model is not None and not isinstance(model, kind):
        model = getattr(model, "estimator_", None)
    return model


def _share_of_floor(model) -> float:
    """Return the share of the density that does not depend on x, but on the spread of y."""
    if mixture := inside(model, Stacked):
        kept = mixture.weights_[mixture.weights_ > 0.0]
        return float(kept @ [_share_of_floor(each) for each in mixture.estimators_])
    floored = inside(model, Floored)
    return 0.0 if floored is None else floored.weight_


def weighted(names: Sequence[str], weights: Sequence[float]) -> str:
    """Return the methods of a mixture with their weights."""
    return ", ".join(f"{w:.2f} {name}" for name, w in zip(names, weights, strict=True) if w > 0.0)
