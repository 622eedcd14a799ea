"""Kernel conditional density estimation: four papers, one workflow.

Every estimator can be imported from here, as `from kcde import KCEF`; `kcde.compare` says which
method to take for a table of one's own. A name is imported on first use, so that `import kcde` is
cheap. A new estimator is a file in `estimators/` and a line here.
"""

from importlib import import_module

__version__ = "0.1.0"

LAZY = {
    "CDO": "kcde.estimators.cdo",
    "CME": "kcde.estimators.cme",
    "ConditionalMAF": "kcde.estimators.conditional_maf",
    "ConditionalRealNVP": "kcde.estimators.conditional_real_nvp",
    "Conformal": "kcde.estimators.conformal",
    "DDE": "kcde.estimators.dde",
    "Defensive": "kcde.estimators.defensive",
    "EpsilonKDE": "kcde.estimators.epsilon_kde",
    "GaussianProcess": "kcde.estimators.gaussian_process",
    "JDL": "kcde.estimators.jdl",
    "JPDL": "kcde.estimators.jpdl",
    "KCEF": "kcde.estimators.kcef",
    "KEF": "kcde.estimators.kef",
    "KernelCDE": "kcde.estimators.kernel_cde",
    "KernelLogisticRegression": "kcde.estimators.kernel_logistic_regression",
    "LikelihoodKCEF": "kcde.estimators.likelihood_kcef",
    "LinearGaussian": "kcde.estimators.linear_gaussian",
    "LSCDE": "kcde.estimators.lscde",
    "MarginalKDE": "kcde.estimators.marginal_kde",
    "NADE": "kcde.estimators.nade",
    "NGBoost": "kcde.estimators.ngboost",
    "QuantileForest": "kcde.estimators.quantile_forest",
    "ResidualKDE": "kcde.estimators.residual_kde",
    "SmoothedCME": "kcde.estimators.smoothed_cme",
    "SmoothedJDL": "kcde.estimators.smoothed_jdl",
    "Standardised": "kcde.estimators.standardised",
    "JointDensity": "kcde.joint",
    "compare": "kcde.comparison",
}
"""Name to the module that has it, in the order in which methods are listed."""

__all__ = [*LAZY]


def __getattr__(name: str):
    """Import a name of `LAZY`."""
    if name not in LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(LAZY[name]), name)


def __dir__() -> list[str]:
    """Return the names of this module, also of what is not imported yet."""
    return sorted({*globals(), *LAZY})
