import struct
import zlib

import numpy as np
import pytest
from scipy.io import loadmat

from kcde.data import loaders, smoke_terrain, synthetic

REAL = "terrain/MtSH.mat"


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


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "terrain.mat"
    path.write_bytes(smoke_terrain.content())
    return path


def test_another_reader_finds_the_grid(file):
    arrays = loadmat(file)
    points, heights = arrays["mth_points"], arrays["mth_verts"]
    rows = smoke_terrain.COLUMNS * smoke_terrain.ROWS
    assert points.dtype == np.uint16
    assert points.shape == arrays["mth_grads"].shape == (rows, 2)
    assert heights.shape == (rows, 1)
    assert (arrays["nx"].item(), arrays["ny"].item()) == (20, 17)
    np.testing.assert_array_equal(points[:2], [[8, 8], [16, 8]])
    np.testing.assert_array_equal(points.max(axis=0), [160, 136])
    assert 500.0 < heights.min() < heights.max() < 3000.0
    surface = heights.reshape(17, 20)
    inner = (surface[8, 11] - surface[8, 9]) / 16.0
    assert arrays["mth_grads"].reshape(17, 20, 2)[8, 10, 0] == pytest.approx(inner)


def test_the_tour_loads_it(tmp_path):
    table = synthetic.write_smoke_data(tmp_path)
    data = loaders.load("smoke-terrain", tmp_path, table)
    assert data.X.shape == (340, 2)
    assert data.Y.shape == (340, 1)
    assert np.unique(data.X, axis=0).shape == data.X.shape
    assert smoke_terrain.content() == (tmp_path / "smoke/smoke-terrain.mat").read_bytes()


@pytest.mark.data
def test_it_is_laid_out_as_the_real_file(file, raw_data):
    content = (raw_data / REAL).read_bytes()
    assert elements(file.read_bytes()) == elements(content)
    assert file.read_bytes()[124:128] == content[124:128]
