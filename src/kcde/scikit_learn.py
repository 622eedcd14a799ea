"""What kcde derives from scikit-learn's base, imported without what that takes longest for."""

from kcde.later import later

# scikit-learn uses scipy.stats in a few of its functions, and pays half of its import for it.
with later("scipy.stats"):
    from sklearn.base import BaseEstimator, ClassifierMixin, clone
    from sklearn.exceptions import ConvergenceWarning, NotFittedError

__all__ = ["BaseEstimator", "ClassifierMixin", "ConvergenceWarning", "NotFittedError", "clone"]
