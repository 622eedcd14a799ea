"""What the command line says of itself, and how it ends where something is amiss."""

import sys

import pytest

from kcde import __version__, cli
from kcde.memory import InsufficientMemory


@pytest.mark.parametrize("error", [ValueError, FileNotFoundError, RuntimeError, InsufficientMemory])
def test_an_error_is_one_line_and_a_status(monkeypatch, capsys, error):
    def fail(*_, **__):
        raise error("the Gram matrix\nneeds 28.8 GB")

    monkeypatch.setattr(cli, "app", fail)
    monkeypatch.delenv("KCDE_TRACEBACK", raising=False)
    with pytest.raises(SystemExit) as finished:
        cli.main(["info"])
    assert finished.value.code == 2
    assert capsys.readouterr().err.startswith("kcde: the Gram matrix needs 28.8 GB (")


@pytest.mark.parametrize(
    ("called", "name"),
    [("/p/bin/kcde", "kcde"), ("/p/src/kcde/__main__.py", "python -m kcde")],
)
def test_it_is_called_as_it_was(monkeypatch, capsys, called, name):
    """The script and the module are one: both have all commands, and say their own name."""
    monkeypatch.setattr(sys, "argv", [called])
    with pytest.raises(SystemExit):
        cli.main(["fetch", "--help"])
    assert f"Usage: {name} fetch" in capsys.readouterr().out
    with pytest.raises(SystemExit) as finished:
        cli.main(["--version"])
    assert finished.value.code == 0
    assert capsys.readouterr().out == f"kcde {__version__}\n"
