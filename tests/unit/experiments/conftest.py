"""What several experiments are tested on: made-up data, and arrays that stay off the host."""

import json
import sys
from collections import namedtuple

import numpy as np
import pytest

from kcde import scores
from kcde.experiments.runner import run

Done = namedtuple("Done", ["frame", "arrays", "info", "out"])
"""What a job wrote."""


@pytest.fixture(scope="session")
def launch(smoke, tmp_path_factory):
    """Return a function that runs a job of a class on the smoke data."""

    def launched(cls, *given, **changes):
        out = tmp_path_factory.mktemp("job") / "out.csv"
        run(cls(*given, data_dir=smoke[0], catalogue=smoke[1], **changes), out)
        with np.load(out.with_suffix(".npz")) as stored:
            arrays = dict(stored)
        info = json.loads(out.with_suffix(".json").read_text())
        return Done(scores.read([out]), arrays, info, out)

    return launched


@pytest.fixture
def device(strict, monkeypatch):
    """The strict namespace answers to cupy in the experiments."""

    def asarray(values, backend="numpy"):
        values = np.asarray(values, dtype=np.float64)
        return strict.asarray(values) if backend == "cupy" else values

    for name, module in list(sys.modules.items()):
        if name.startswith("kcde.experiments"):
            for function, other in (("asarray", asarray), ("resolve_backend", lambda name: name)):
                if hasattr(module, function):
                    monkeypatch.setattr(module, function, other)
