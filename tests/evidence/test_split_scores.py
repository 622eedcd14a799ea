"""The scores of all splits as one tracked table: the same bytes each time, judged again alike."""

import json
from hashlib import sha256

import numpy as np
import pytest

import artefact_scores as made
from kcde import scores, split_scores

CELLS = {
    ("geyser", "KCEF"): made.around(1.2, 4),
    ("geyser", "LSCDE"): [0.7123456789, None, 0.65, 0.7],
    ("mcycle", "GP-ML"): made.around(1.0, 4),
}


@pytest.fixture
def files(tmp_path):
    beside = {"seed": 7, "seconds": 1.23456, "backend": "numpy", "dtype": "float64"}
    info = {"job": {"dataset": "geyser"}, "data_sha256": "of geyser"}
    return made.files(tmp_path / "laptop/r_benchmark", CELLS, info, **beside)


def test_the_same_scores_give_the_same_bytes_whatever_their_order(files, tmp_path):
    split_scores.write(files, tmp_path / "a", "laptop")
    split_scores.write(files[::-1], tmp_path / "b", "laptop")
    for name in split_scores.FILES:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    assert (tmp_path / "a" / split_scores.TABLE).read_bytes()[4:8] == bytes(4)  # no time of gzip


def test_what_is_read_is_what_was_written_to_six_digits_with_what_is_known_beside(files, tmp_path):
    table, about = split_scores.write(files, tmp_path / "figures", "laptop")
    key = ["dataset", "method", "split"]
    back, wanted = (scores.read(each).sort_values(key) for each in ([table], files))
    np.testing.assert_allclose(back["value"], wanted["value"], rtol=1e-5)
    for name in ("dataset", "method", "variant", "status", "setting", "split", "seed"):
        assert back[name].tolist() == wanted[name].tolist()
    assert set(back["seconds"]) == {1.2}
    known = json.loads(about.read_text())
    assert (known["scale"], known["files"], known["rows"]) == ("laptop", 3, 12)
    assert known["sha256"] == sha256(table.read_bytes()).hexdigest()
    assert known["data"] == {"geyser": ["of geyser"]}
    assert known["versions"]["numpy"] == [np.__version__]
    said = known["experiments"]["r_benchmark"]
    assert (said["methods"], said["splits"], said["failed"]) == (3, 4, 1)
