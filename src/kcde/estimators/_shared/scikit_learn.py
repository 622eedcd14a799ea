"""scikit-learn's base class, imported with the first estimator that is made.

`sklearn.base` takes as long to import as numpy and scipy.linalg together (it imports pandas), and
defining a class needs none of it.
"""

import sys


class _NotYet:
    """Placeholder for scikit-learn's base class until that is imported."""

    @classmethod
    def _get_param_names(cls) -> list[str]:
        # The one thing that is asked of classes before there is an instance.
        derive()
        return cls._get_param_names()


class Estimator(_NotYet):
    """An estimator of scikit-learn: derives from `sklearn.base.BaseEstimator` once one is made.

    Its subclasses do so with it. `get_params`, `clone`, `isinstance` and all else that is done with
    estimators takes instances, and so finds the base class in place.
    """

    def __new__(cls, *args, **kwargs):
        derive()
        return super().__new__(cls)


def derive() -> None:
    """Let `Estimator` derive from `sklearn.base.BaseEstimator`, and its subclasses with it."""
    if _NotYet not in Estimator.__bases__:
        return
    from kcde.scikit_learn import BaseEstimator

    Estimator.__bases__ = (BaseEstimator,)
    _announce(Estimator)


def _announce(cls: type) -> None:
    """Let scikit-learn prepare a class and its subclasses, as it does with each that is defined."""
    super(Estimator, cls).__init_subclass__()
    for subclass in cls.__subclasses__():
        _announce(subclass)


# Who has imported scikit-learn may look at the classes before making an instance of one.
if "sklearn.base" in sys.modules:
    derive()
