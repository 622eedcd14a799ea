"""What is written beside the scores of a job."""

import json
import sys
from types import SimpleNamespace

import pytest

from kcde import scores


@pytest.mark.parametrize("platform", ["cpu", "gpu"])
def test_where_jax_trained_is_said_if_not_on_the_cpu(monkeypatch, tmp_path, platform):
    monkeypatch.setitem(sys.modules, "jax", SimpleNamespace(default_backend=lambda: platform))
    scores.write(tmp_path / "scores.csv", [], {})
    versions = json.loads((tmp_path / "scores.json").read_text())["versions"]
    assert versions.get("jax_platform") == (None if platform == "cpu" else platform)


def test_a_backend_of_shards_that_differed_is_named_with_the_others():
    rows = [{"backend": name} for name in ("numpy", "cupy", "numpy")]
    assert scores.backends(rows) == "cupy, numpy"
