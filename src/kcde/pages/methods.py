"""Names of methods as readers see them."""

from kcde.names import EXACT_DRAWS

_DISPLAY: dict[str, str] = {
    "epsilon-KDE": "ε-KDE",
    "CondRealNVP": "Cond. Real NVP",
    "CondMAF": "Cond. MAF",
    "CondRealNVP-tuned": "Cond. Real NVP tuned",
    "CondMAF-tuned": "Cond. MAF tuned",
    "LinearGaussian": "ridge, normal",
    "ResidualKDE": "ridge, residual KDE",
    "MarginalKDE": "marginal KDE",
    "KernelCDE": "kernel CDE",
    "QuantileForest": "quantile forest",
    "NADE-grown": "NADE, more updates",
    "boosting": "boosting, residual KDE",
    "GP-Matern": "GP-Matérn",
    "linear-interpolation": "linear interpolation",
    "Clough-Tocher": "Clough–Tocher",
    "four-neighbours": "four neighbours",
    "Nadaraya-Watson": "Nadaraya–Watson",
    "Nadaraya-Watson-CDO": "Nadaraya–Watson, as CDO",
    "linear": "linear, normal",
    "H0: KEF closer than KCEF": "KEF closer than KCEF",
    "H0: NADE closer than KCEF": "NADE closer than KCEF",
    "H0: KEF-grouped closer than KCEF": "KEF-grouped closer than KCEF",
    "H0: KEF-pair closer than KCEF": "KEF-pair closer than KCEF-pair",
    "H0: NADE-pair closer than KCEF": "NADE-pair closer than KCEF-pair",
}
"""Method to the name that readers see, where it differs."""

_VARIANTS: dict[str, str] = {
    "test-rows": "test rows only",
    "slice": "shown pair only",
    EXACT_DRAWS: "better draws",
    "code": "authors' set",
}
"""Variants that a table names, because the name of the method does not show them."""


def display(method: str) -> str:
    """Return the name of a method that readers see."""
    return _DISPLAY.get(method, method)


def column_title(method: str, variant: str) -> str:
    """Return the title of a table's column: the method, and the variant where it needs saying."""
    said = _VARIANTS.get(variant)
    return f"{display(method)} ({said})" if said else display(method)
