"""Limits small fits to one thread of the linear algebra libraries."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cache, wraps

from threadpoolctl import ThreadpoolController

# Seconds of a fit with one and with two threads, on two cores that nothing else uses, and on the
# same while one other process is busy. Where the cores are shared, two threads wait for each other.
#
#                                  rows   alone         beside one busy process
#   GaussianProcess, tuned          150   0.06   0.06   0.04   0.08
#                                  1000   3.6    2.8    4.3    7.8
#   GaussianProcess, given          400   0.002  0.004  0.002  0.05
#                                  2000   0.07   0.16   0.22   1.28
#                                  4000   0.57   0.38   0.58   0.71
#   KCEF, tuned                     400   0.56   0.57   0.53   1.7
#   KCEF, given                    1000   0.013  0.019  0.018  0.21
#                                  2000   0.08   0.12   0.13   0.33
#                                  4000   0.58   0.38   0.61   0.76
#   LSCDE, tuned                    150   0.15   0.19   0.43   0.69
#                                  1000   0.26   0.31   0.28   0.77
#
# The log density at 100 rows of a CDO of 150 rows takes 1.5 and 5 ms alone, 1.5 and 6 to 32 ms
# beside the other process; that of a KCEF 2.3 and 32 ms. To enter and leave takes 30 µs.
SMALL_ROWS = 2000
"""Largest number of rows of a fit, or of a prediction from such a fit, that uses one thread."""


_LOCK = threading.RLock()
_libraries = cache(ThreadpoolController)
"""A scan of what is loaded takes a millisecond or more, as long as a small fit."""


@contextmanager
def _one_thread() -> Iterator[None]:
    """Give BLAS one thread, also within itself.

    The number of threads belongs to the process, and threadpoolctl lets one Python thread at a time
    set it: in any other the context does nothing meanwhile.
    """
    if not _LOCK.acquire(blocking=False):
        yield
        return
    try:
        with _libraries().limit(limits=1, user_api="blas"):
            yield
    finally:
        _LOCK.release()


def thread_limit(rows: int):
    """Return a context manager that limits BLAS to one thread if there are few rows."""
    return _one_thread() if rows <= SMALL_ROWS else nullcontext()


def limit_threads(method: Callable) -> Callable:
    """Decorate a method of an estimator to use one thread if it works on few rows.

    Its first argument after `self` is X, or None for as many rows as the second has. Both the rows
    of the fit and those of the call count.
    """

    @wraps(method)
    def limited(self, X, *arguments, **keywords):
        rows = [each.shape[0] for each in (X, *arguments[:1]) if getattr(each, "shape", ())]
        with thread_limit(max(getattr(self, "_n_fitted", 0), *rows, 0)):
            return method(self, X, *arguments, **keywords)

    return limited
