"""Conditional density estimation: which y are how likely, given x.

Estimators are scikit-learn's: `LikelihoodKCEF().fit(X, y)`, then `predict`, `std`, `quantile`,
`interval`, `log_density`, `sample`. X and y are arrays or data frames in any units.

- Begin with `compare`, which says what to take for a table of one's own, or with `LikelihoodKCEF`.
- Densities of any shape: `LikelihoodKCEF`, `KCEF`, `LSCDE`, `KernelCDE`, `QuantileForest`, `NADE`,
  `CDO`, `DDE`, `EpsilonKDE`, `SmoothedJDL`, `SmoothedCME`; without x, `KEF`.
- Normal densities: `LinearGaussian`, `GaussianProcess`, `NGBoost`; for several y,
  `ConditionalRealNVP` and `ConditionalMAF`.
- Baselines: `MarginalKDE`, `ResidualKDE`. Around others: `Conformal`, `Defensive`, `Standardised`;
  around several `Stacked`.
- Expectations from many rows: `JDL`, `CME`, `JPDL`; and quantiles, by `Quantiles`.
- Two classes: `KernelLogisticRegression`.
- Several y, one after the other: `JointDensity`.

A name is imported on first use, so that `import kcde` is cheap. A new estimator is a file in
`estimators/`, named as its class in lower case, and a name here; some share a file.
"""

import re
from importlib import import_module

__version__ = "0.2.0"

_ESTIMATORS = (
    "CDO", "CME", "ConditionalMAF", "ConditionalRealNVP", "Conformal", "DDE", "Defensive",
    "EpsilonKDE", "GaussianProcess", "JDL", "JPDL", "KCEF", "KEF", "KernelCDE",
    "KernelLogisticRegression", "LikelihoodKCEF", "LinearGaussian", "LSCDE", "MarginalKDE",
    "NADE", "NGBoost", "QuantileForest", "Quantiles", "ResidualKDE", "SmoothedCME",
    "SmoothedJDL", "Stacked", "Standardised",
)  # fmt: skip
# Name to the module that has it, in the order in which methods are listed.
LAZY = {n: f"kcde.estimators.{re.sub('(?<=[a-z])(?=[A-Z])', '_', n).lower()}" for n in _ESTIMATORS}
_TOGETHER = {
    "baselines": ("EpsilonKDE", "KernelCDE", "LinearGaussian", "MarginalKDE", "ResidualKDE"),
    "flows": ("ConditionalMAF", "ConditionalRealNVP"),
    "smoothed": ("SmoothedCME", "SmoothedJDL"),
    "trees": ("NGBoost", "QuantileForest"),
}
LAZY |= {n: f"kcde.estimators.{place}" for place, names in _TOGETHER.items() for n in names}
LAZY |= {"JointDensity": "kcde.joint", "compare": "kcde.comparison"}

__all__ = [*LAZY]


def __getattr__(name: str):
    """Import a name of `LAZY`."""
    if name not in LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(LAZY[name]), name)


def __dir__() -> list[str]:
    """Return the names of this module, also of what is not imported yet."""
    return sorted({*globals(), *LAZY})
