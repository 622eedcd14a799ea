"""BLAS threads within fits and predictions, as threadpoolctl reports them."""

import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from kcde.estimators import GaussianProcess
from kcde.estimators._shared import threads
from kcde.estimators._shared.threads import thread_limit


def blas_threads():
    """The largest number of threads of a BLAS library."""
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
    model.interval(X, 0.9)
    monkeypatch.setattr(threads, "SMALL_ROWS", 40)
    model.log_density(np.repeat(X, 2, axis=0), np.repeat(Y, 2, axis=0))
    monkeypatch.setattr(threads, "SMALL_ROWS", 29)
    model.log_density(X[:2], Y[:2])
    assert seen["variance"] == [1, 1, 2, 2]


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
