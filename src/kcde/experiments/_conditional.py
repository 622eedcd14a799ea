"""What the experiments of the cdo paper share: models of training rows, in the units they have.

The kernels of CDO and of the Gaussian process are stated in the units of the data, and so are those
of smoothers; every other estimator sees standardised data, and answers in original units. One
model is held at a time. Training rows go to the device where it is fitted.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kcde.arrays import asarray
from kcde.estimators import Standardised, estimator_class
from kcde.experiments import _cdo_settings, _smoothers, methods
from kcde.experiments.base import SMOKE, ArrayExperiment, attempt, parameter
from kcde.methods import METHODS
from kcde.names import OURS
from kcde.seeding import rng_of

SETTINGS = AUTHORS, CHOSEN = ("authors", "chosen")

_WEIGHTS = ("signed", "constrained", "projected")
# Methods of donut and terrain alike.
COMPARED = ("CondRealNVP", "CondMAF", "LSCDE", *(f"LSCDE-package-{each}" for each in _WEIGHTS))
COMPARED += ("LSCDE-exact", *(f"LSCDE-{each}" for each in _WEIGHTS))

# Those that the authors of cdo score on random splits of the terrain, as their own.
FLOWS = ("ConditionalRealNVP", "ConditionalMAF")

_MOST_NUMBERS = 20  # of a hyper-parameter in the info of a job


@dataclass(frozen=True)
class Conditional(ArrayExperiment):
    """A method whose hyper-parameters may be those that the authors of cdo fixed."""

    # Of the options that are not given: those of cdo's authors, or of the class.
    settings: str = parameter(CHOSEN, "authors or chosen: whose options.", choices=SETTINGS)

    @classmethod
    def named(cls, dataset: str, method: str) -> dict:
        """Return the parameters that data set and method state."""
        ours = {"variant": OURS} if method in cls.beside else {}
        return super().named(dataset, method) | ours

    @classmethod
    def sizes_of(cls, scale: str, dataset: str, method: str) -> dict:
        """Return a smaller flow at the scale smoke, in one stage: each is compiled."""
        if scale != SMOKE or method in cls.beside or METHODS[method].estimator not in FLOWS:
            return {}
        small = {"blocks": 2, "steps": 20, "learning_rate": 1e-3}
        return {"options": cls.options_of(METHODS[method], dataset) | small}

    def check(self) -> None:
        """Raise `ValueError` for unknown options."""
        if not self.smooths:
            methods.build(self.method, self.estimator, self.options)

    @property
    def smooths(self) -> bool:
        """Whether the method is a smoother, which is no estimator."""
        return self.method in self.beside

    @property
    def own_units(self) -> bool:
        """Whether the estimator sees the data in their own units."""
        return self.estimator in ("CDO", "GaussianProcess")

    @cached_property
    def device(self) -> str:
        """The backend of the fits, "numpy" or "cupy"."""
        if self.smooths:
            return "numpy"
        return methods.backend_of(estimator_class(self.estimator), self.backend)

    def place(self, values: np.ndarray):
        """Return an array on the backend of the fits."""
        return asarray(values, self.device)

    def unfitted(self, X: np.ndarray, Y: np.ndarray, seed: int):
        """Return the unfitted model of training rows (n, d_x), (n, d_y)."""
        if self.smooths:
            return _smoothers.MAKERS[self.method](self.name, X, Y, rng_of("smoother", seed))
        options = dict(self.options)
        if self.settings == AUTHORS:
            options = _cdo_settings.authors(self.name, self.estimator, X, Y) | options
        default = estimator_class(self.estimator)().get_params(deep=False).get("tuning_rows")
        rows = getattr(self, "tuning_rows", default)
        model = methods.build(self.method, self.estimator, options, seed, rows)
        return model if self.own_units else Standardised(model)

    def fits(self, training: Callable[[int], tuple]) -> Callable:
        """Return a function from a unit to its model, or an error, and the seconds of the fit.

        `training` maps a unit to X and Y, on the host, and the seed of what is random in a fit.
        """
        backend = self.device  # That there is none is no failure of a fit.

        def fit_one(unit: int):
            X, Y, seed = training(unit)
            return self.unfitted(X, Y, seed).fit(asarray(X, backend), asarray(Y, backend))

        return lambda unit: attempt(fit_one, unit)

    def chosen(self, model) -> dict:
        """Return the hyper-parameters that a model used, without reference points and weights."""
        if self.smooths:
            bandwidth = getattr(model, "bandwidth_", None)
            return {} if bandwidth is None else {"bandwidth_x": np.asarray(bandwidth).tolist()}
        values = methods.chosen(getattr(model, "estimator_", model))
        if not self.own_units:
            values["dropped"] = model.dropped_
        return {name: value for name, value in values.items() if np.size(value) <= _MOST_NUMBERS}
