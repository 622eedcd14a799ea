"""Small fits on one thread of the linear algebra libraries, whatever the machine offers."""

import threading
from collections.abc import Callable
from contextlib import nullcontext
from functools import wraps

SMALL_ROWS = 2000
"""Fits of at most so many rows take one thread."""


class _OneThread:
    """A context in which BLAS has one thread; contexts in several Python threads may overlap.

    The number of threads belongs to the process. So the first context to be entered sets it, and
    the last to be left puts it back.
    """

    def __init__(self):
        self._lock, self._depth = threading.Lock(), 0
        self._controller = self._limit = None

    def __enter__(self):
        with self._lock:
            if not self._depth:
                self._limit = self._libraries().limit(limits=1, user_api="blas")
            self._depth += 1

    def __exit__(self, *_):
        with self._lock:
            self._depth -= 1
            if not self._depth:
                self._limit.restore_original_limits()

    def _libraries(self):
        # A scan of what is loaded takes a millisecond or more, as long as a small fit.
        if self._controller is None:
            from threadpoolctl import ThreadpoolController

            self._controller = ThreadpoolController()
        return self._controller


_ONE_THREAD = _OneThread()


def threads_for(rows: int):
    """Return a context for work on so many rows: one BLAS thread where they are few."""
    return _ONE_THREAD if rows <= SMALL_ROWS else nullcontext()


def few_threads(method: Callable) -> Callable:
    """Return a method of a fitted estimator, on one thread where it has few rows to work on.

    Its first argument after `self` is X, or None for as many rows as the second has. Both the rows
    of the fit and those of the call count.
    """

    @wraps(method)
    def on_few_threads(self, X, *arguments, **keywords):
        rows = [each.shape[0] for each in (X, *arguments[:1]) if getattr(each, "shape", ())]
        with threads_for(max(getattr(self, "_n_fitted", 0), *rows, 0)):
            return method(self, X, *arguments, **keywords)

    return on_few_threads
