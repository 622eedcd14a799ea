"""The rows of jdl's estimators and of the embeddings that they are compared with."""

import numpy as np
import pytest


@pytest.fixture
def many(rng):
    X = rng.standard_normal((600, 2))
    return X, np.hstack([X[:, :1] * X[:, 1:], X[:, :1]]) + 0.5 * rng.standard_normal((600, 2))
