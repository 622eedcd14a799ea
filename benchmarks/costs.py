"""How the fit of each estimator grows with n, beside the power of n that its page states.

Hyper-parameters are given, x has two columns, one thread. n doubles from 500 until a fit takes some
seconds; exponents are those of the last factor of four. Memory is the most that numpy holds.
"""

import timing  # isort: skip
import sys
import time
import tracemalloc
import warnings
from pathlib import Path

import numpy as np

from kcde.estimators import estimator_class, estimator_names

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from contracted import make, some_pairs

# Powers of n in time and memory by docs/reference/index.md and the docstrings.
STATED = {"CDO": (3, 2), "DDE": (1, 2), "GaussianProcess": (3, 2), "KCEF": (3, 2), "KEF": (3, 2)}
STATED |= dict.fromkeys(("KernelCDE", "MarginalKDE", "ResidualKDE"), (2, 2))


def fit(name, n):
    X, Y = some_pairs(np.random.default_rng(0), n)
    tags = estimator_class(name).tags
    Y = (Y > 0.0) * 1.0 if tags.target == "binary" else Y
    make(name).fit(X[:, :0] if tags.unconditional else X, Y)


def held(name, n):
    tracemalloc.start()
    fit(name, n)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


def measured(name):
    fit(name, 500)  # compiles
    seconds, n = {}, 500
    while n <= 64_000 and (not seconds or max(seconds.values()) < 3.0):
        seconds[n] = timing.fastest(lambda n=n: fit(name, n), 2, time.process_time)
        n *= 2
    large, small = n // 2, n // 8
    most = held(name, large)
    stated = STATED.get(name, (1, 1))
    return {
        "method": name,
        "n": large,
        "seconds": f"{seconds[large]:.2g}",
        "megabytes": f"{most / 1e6:.2g}",
        "exponent_seconds": f"{np.log(seconds[large] / seconds[small]) / np.log(4):.1f}",
        "stated_seconds": stated[0],
        "exponent_megabytes": f"{np.log(most / held(name, small)) / np.log(4):.1f}",
        "stated_megabytes": stated[1],
    }


warnings.simplefilter("ignore")
rows = [measured(name) for name in sys.argv[1:] or sorted({*estimator_names()} - {"Defensive"})]
timing.write(Path(__file__).with_suffix(".csv"), rows)
