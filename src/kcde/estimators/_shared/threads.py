"""Limits small fits to one thread of the linear algebra libraries, and gives blocks one each."""

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar, copy_context
from functools import cache, wraps

from threadpoolctl import ThreadpoolController

from kcde.arrays import is_numpy_array

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
# LikelihoodKCEF with one thread of BLAS, with two, and in `blocks_in_threads`: 50,000 rows alone
# take 6.0, 12.2 and 5.9 s; 5000 rows beside five busy processes 10, 119 and 5 s, quantiles at 5000
# rows 3, 34 and 3 to 5 s. KCEF of 2500 rows alone, log densities at 2000: 0.28, 0.18 and 0.37 s.
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


_POOL: ContextVar[ThreadPoolExecutor | None] = ContextVar("pool", default=None)


@contextmanager
def blocks_in_threads() -> Iterator[None]:
    """Give BLAS one thread, and `map_threads` as many as BLAS had."""
    controllers = _libraries().select(user_api="blas").lib_controllers
    count = max((each.num_threads for each in controllers), default=1)
    if count == 1:
        yield
        return
    with _one_thread(), ThreadPoolExecutor(count) as pool:
        token = _POOL.set(pool)
        try:
            yield
        finally:
            _POOL.reset(token)


def map_threads(function: Callable, blocks: Iterable, like) -> Iterator:
    """Yield what a function gives for each block, several at a time in `blocks_in_threads`.

    On a device, as which array `like` says, one block follows the other, as within a block.
    """
    pool = _POOL.get() if is_numpy_array(like) else None
    if pool is None:
        return map(function, blocks)
    context = copy_context()
    context.run(_POOL.set, None)
    return pool.map(lambda block: context.copy().run(function, block), blocks)


def limit_threads(method: Callable) -> Callable:
    """Decorate a prediction of an estimator: its products are small, and one thread has each.

    From more than a few rows on its blocks are computed at once instead. The first argument after
    `self` is X, or None for as many rows as the second has. Both the rows of the fit and those of
    the call count.
    """

    @wraps(method)
    def limited(self, X, *arguments, **keywords):
        rows = [each.shape[0] for each in (X, *arguments[:1]) if getattr(each, "shape", ())]
        small = max(getattr(self, "_n_fitted", 0), *rows, 0) <= SMALL_ROWS
        with _one_thread() if small else blocks_in_threads():
            return method(self, X, *arguments, **keywords)

    return limited
