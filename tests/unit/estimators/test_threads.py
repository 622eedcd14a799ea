"""BLAS threads within fits and predictions, as threadpoolctl reports them."""

import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from contracted import densities, make, some_pairs
from kcde import arrays
from kcde.estimators import GaussianProcess, estimator_class
from kcde.estimators._shared import threads
from kcde.estimators._shared.threads import thread_limit


def blas_threads():
    return max(each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas")


@pytest.fixture(autouse=True)
def two_threads():
    with threadpool_limits(2, user_api="blas"):
        if blas_threads() < 2:
            pytest.skip("BLAS has one thread whatever it is told")
        yield


def test_small_fits_and_predictions_have_one_thread_and_give_it_back(pairs, monkeypatch):
    (X, Y), seen = pairs, {"_condition": [], "variance": []}

    def watched(method):
        def run(*given):
            seen[method.__name__].append(blas_threads())
            return method(*given)

        return run

    for name in seen:
        monkeypatch.setattr(GaussianProcess, name, watched(getattr(GaussianProcess, name)))
    model = GaussianProcess(1.0, 0.8, 0.4).fit(X, Y)
    assert set(seen["_condition"]) == {1}
    assert blas_threads() == 2
    model.log_density(X, Y)
    monkeypatch.setattr(threads, "SMALL_ROWS", 29)
    model.interval(X, 0.9)
    assert seen["variance"] == [1, 1]
    model.fit(X, Y)
    assert seen["_condition"][-1] == 2


@pytest.mark.usefixtures("quickly_compiled")
@pytest.mark.parametrize("name", densities())
def test_blocks_that_are_computed_at_once_give_what_those_one_by_one_do(name, rng, monkeypatch):
    X, Y = some_pairs(rng, 60)
    X = None if estimator_class(name).tags.unconditional else X
    monkeypatch.setattr(threads, "SMALL_ROWS", 59)
    monkeypatch.setattr(arrays, "_BLOCK", 2000)
    monkeypatch.setattr(arrays, "_CACHED", 500)
    pools = []

    class Pool(threads.ThreadPoolExecutor):
        def __init__(self, count):
            pools.append(count)
            super().__init__(count)

    monkeypatch.setattr(threads, "ThreadPoolExecutor", Pool)

    def found():
        model = make(name, fewer=True).fit(X, Y)
        return model.log_density(X, Y), model.mean(X), model.quantile(X, [0.1, 0.9])

    at_once = found()
    assert set(pools) == {2}
    with threadpool_limits(1, user_api="blas"):
        one_by_one = found()
    for one, other in zip(at_once, one_by_one, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


def test_a_fit_in_another_python_thread_meanwhile_changes_nothing():
    entered, leave = threading.Event(), threading.Event()

    def other():
        with thread_limit(10):
            entered.set()
            leave.wait(10)

    worker = threading.Thread(target=other)
    with thread_limit(10):
        worker.start()
        assert entered.wait(10)
        with thread_limit(10):
            assert blas_threads() == 1
        assert blas_threads() == 1
    assert blas_threads() == 2
    leave.set()
    worker.join()
    assert blas_threads() == 2
