"""Data that several experiments are tested on."""

import pytest

from kcde.data.smoke import write_smoke_data


@pytest.fixture(scope="session")
def smoke(tmp_path_factory):
    """The folder of the smoke data, with its catalogue."""
    folder = tmp_path_factory.mktemp("smoke")
    return folder, write_smoke_data(folder)
