"""Estimators that can be trained as a batch, in one compiled program."""

from collections.abc import Sequence
from typing import ClassVar

from kcde.estimators._shared.rows import LARGEST_IN_FLOAT32
from kcde.estimators._shared.threads import thread_limit


class BatchFitted:
    """Adds `fit_many`; stands before the base class whose `fit` checks the data.

    A subclass has `_fit(X, Y)`, which checks the parameters and keeps the data; `_shape()`, what
    estimators must share to be trained in one program; and `_train(estimators)`, which trains some
    that do and returns for each None or its error, having called `_reset` on what is not usable.
    """

    largest_value: ClassVar[float] = LARGEST_IN_FLOAT32

    @classmethod
    def fit_many(
        cls, estimators: Sequence, Xs: Sequence, Ys: Sequence, *, return_errors=False
    ) -> list:
        """Fit estimators to data of their own; those of one shape are trained as one batch.

        That is faster than one after the other, and the same but for rounding.

        Parameters
        ----------
        estimators
            Each is fitted in place.
        Xs, Ys
            For each estimator, as in `fit`.
        return_errors
            Whether the error of a fit that fails stands in its place, instead of being raised.

        Returns
        -------
        list
            The estimators, or ValueError or FloatingPointError in the place of one that failed.
        """
        outcomes: list = list(estimators)
        batches: dict[tuple, list[int]] = {}
        for i, (estimator, X, Y) in enumerate(zip(estimators, Xs, Ys, strict=True)):
            try:
                super(BatchFitted, estimator).fit(X, Y)
                batches.setdefault(estimator._batch_key(), []).append(i)
            except ValueError as error:
                outcomes[i] = error
        for members in batches.values():
            batch = [estimators[i] for i in members]
            with thread_limit(max(estimator._n_fitted for estimator in batch)):
                errors = cls._train(batch)
            for i, error in zip(members, errors, strict=True):
                if error is not None:
                    outcomes[i] = error
        errors = [outcome for outcome in outcomes if isinstance(outcome, Exception)]
        if errors and not return_errors:
            raise errors[0]
        return outcomes
