"""The made-up files: the same bytes on every run, read as the real ones."""

import struct
import zlib

import numpy as np
import pytest

from kcde.data import catalogue, names
from kcde.data.loaders import load, removed_from
from kcde.data.smoke import write_smoke_data


def test_they_have_the_same_bytes_on_every_run(tmp_path, monkeypatch):
    written = write_smoke_data(tmp_path / "a")
    monkeypatch.setattr("time.time", lambda: 2_000_000_000.0)
    write_smoke_data(tmp_path / "b")
    files = [entry.file for entry in catalogue.read(written).values()]
    assert len(files) == len(names.MADE_UP)
    for file in ("catalogue.csv", *files):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_their_folder_is_a_folder_of_raw_data(tmp_path):
    table = write_smoke_data(tmp_path)
    shapes = {name: load(name, tmp_path, table).X.shape for name in names.MADE_UP}
    assert shapes == {
        "smoke-linear": (80, 1),
        "smoke-mixed": (90, 2),
        "smoke-joint": (150, 0),
        "smoke-portfolios": (400, 1),
        "smoke-risk-free": (400, 1),
        "smoke-terrain": (340, 2),
        "smoke-traffic": (len(load("smoke-traffic", tmp_path, table).Y), 2),
    }
    assert set(load("smoke-mixed", tmp_path, table).X[:, 1]) == {0.0, 1.0, 2.0}
    removed = removed_from(load("smoke-joint", tmp_path, table), tmp_path, table)
    assert list(removed) == ["echo", "grade"]
    terrain = load("smoke-terrain", tmp_path, table)
    np.testing.assert_array_equal(terrain.X[:2], [[8, 8], [16, 8]])
    assert 500.0 < terrain.Y.min() < terrain.Y.max() < 3000.0


def elements(content):
    """Name, class and storage of each variable, by the published layout of the format."""
    found, place = [], 128
    while place < len(content):
        kind, size = struct.unpack_from("<II", content, place)
        assert kind == 15
        matrix = zlib.decompress(content[place + 8 : place + 8 + size])
        # Flags stand at byte 16, dimensions at 32, the name at 40: short ones within their tag.
        word = struct.unpack_from("<I", matrix, 40)[0]
        length = word >> 16 or struct.unpack_from("<I", matrix, 44)[0]
        start = 44 if word >> 16 else 48
        name = matrix[start : start + length].decode()
        after = 48 if word >> 16 else 48 + -(-length // 8) * 8
        found.append((name, matrix[16], struct.unpack_from("<H", matrix, after)[0]))
        place += 8 + size
    return found


@pytest.mark.data
def test_the_terrain_is_laid_out_as_the_real_file(tmp_path, raw_data):
    write_smoke_data(tmp_path)
    made, real = tmp_path / "smoke/smoke-terrain.mat", raw_data / "terrain/MtSH.mat"
    assert elements(made.read_bytes()) == elements(real.read_bytes())
    assert made.read_bytes()[124:128] == real.read_bytes()[124:128]
