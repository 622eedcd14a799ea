"""The scores of all splits as one tracked table: the same bytes each time, judged again alike."""

import json
from hashlib import sha256

import numpy as np

import artefact_scores as made
from kcde import scores
from kcde.evidence import tracked

CELLS = {
    ("geyser", "KCEF"): made.around(1.2, 4),
    ("geyser", "LSCDE"): [0.7123456789, None, 0.65, 0.7],
    ("mcycle", "GP-ML"): made.around(1.0, 4),
}


def test_the_table_has_the_same_bytes_in_any_order_and_what_was_written_to_six_digits(tmp_path):
    beside = {"seed": 7, "seconds": 1.23456, "backend": "numpy", "dtype": "float64"}
    info = {"job": {"dataset": "geyser"}, "data_sha256": "of geyser"}
    files = made.files(tmp_path / "laptop/r_benchmark", CELLS, info, **beside)
    table, about = tracked.write(files, tmp_path / "a", "laptop")
    for other in tracked.write(files[::-1], tmp_path / "b", "laptop"):
        assert (tmp_path / "a" / other.name).read_bytes() == other.read_bytes()
    assert table.read_bytes()[4:8] == bytes(4)  # no time of gzip
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
