"""How the command line ends where something is amiss."""

import pytest

from kcde import cli
from kcde.memory import InsufficientMemory


@pytest.mark.parametrize("error", [ValueError, FileNotFoundError, RuntimeError, InsufficientMemory])
def test_an_error_is_one_line_and_a_status(monkeypatch, capsys, error):
    def fail(*_, **__):
        raise error("the Gram matrix\nneeds 28.8 GB")

    monkeypatch.setattr(cli, "app", fail)
    monkeypatch.delenv("KCDE_TRACEBACK", raising=False)
    with pytest.raises(SystemExit) as finished:
        cli.main(["doctor"])
    assert finished.value.code == 2
    assert capsys.readouterr().err.startswith("kcde: the Gram matrix needs 28.8 GB (")
