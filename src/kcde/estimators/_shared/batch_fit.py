"""Estimators that can be trained as a batch, in one compiled program, and settings of jax."""

import os
from collections.abc import Sequence
from typing import ClassVar

from kcde.estimators._shared.rows import LARGEST_IN_FLOAT32
from kcde.estimators._shared.threads import thread_limit


class BatchFitted:
    """Mixin that adds `fit_many`; it precedes the base class whose `fit` checks the data.

    A subclass has `_fit(X, Y)`, which checks the parameters and keeps the data; `_batch_key()`, the
    values that estimators of a batch must share; and `_train(estimators)`, which trains a batch and
    returns None or an error for each, after `_reset` of an estimator that is not usable.
    """

    largest_value: ClassVar[float] = LARGEST_IN_FLOAT32

    @classmethod
    def fit_many(
        cls,
        estimators: Sequence,
        Xs: Sequence,
        Ys: Sequence,
        groups: Sequence | None = None,
        *,
        return_errors=False,
    ) -> list:
        """Fit each estimator to its own data; those with equal keys are trained as one batch.

        A batch is faster than one fit after the other, and gives the same up to rounding.

        Parameters
        ----------
        estimators
            Each is fitted in place.
        Xs, Ys, groups
            For each estimator, as in `fit`; None: no groups.
        return_errors
            Whether to return the error of a failed fit in its place instead of raising it.

        Returns
        -------
        list
            The estimators, or ValueError or FloatingPointError in place of one that failed.
        """
        outcomes: list = list(estimators)
        batches: dict[tuple, list[int]] = {}
        groups = [None] * len(outcomes) if groups is None else groups
        for i, (estimator, *given) in enumerate(zip(estimators, Xs, Ys, groups, strict=True)):
            try:
                super(BatchFitted, estimator).fit(*given)
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


def configure() -> None:
    """Set threads, platform, memory and precision of jax, before the first computation on it.

    XLA takes as many threads as there are processors, regardless of OMP_NUM_THREADS; on the CPU it
    obeys NPROC, which is set to what OMP_NUM_THREADS says, 1 by default. Unless JAX_PLATFORMS says
    otherwise training is on the CPU, so that results do not depend on whether there is a GPU.

    With JAX_PLATFORMS=cuda it is on the GPU, which cupy may want too: jax then takes memory as it
    needs it, not three quarters of the card at once, and multiplies float32 in float32, where its
    own default is TensorFloat-32 with 10 of the 23 bits. Jax's own variables,
    XLA_PYTHON_CLIENT_PREALLOCATE and JAX_DEFAULT_MATMUL_PRECISION, set both otherwise.
    """
    import jax

    os.environ.setdefault("NPROC", os.environ.get("OMP_NUM_THREADS", "1"))
    # jax reads it with the first computation, not when it is imported.
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    if jax.config.jax_platforms is None:
        jax.config.update("jax_platforms", "cpu")
    # The CPU has no TensorFloat-32; without the setting its programs stay identical.
    if jax.config.jax_platforms != "cpu" and jax.config.jax_default_matmul_precision is None:
        jax.config.update("jax_default_matmul_precision", "float32")
