"""`python -m kcde info`: versions, devices and the backend, on this machine."""

import pytest

from kcde import __version__, arrays, cli


def said(capsys, *arguments):
    with pytest.raises(SystemExit) as finished:
        cli.main(["info", *arguments])
    lines = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    return finished.value.code, lines


def test_without_a_gpu_auto_is_numpy_and_cupy_is_refused(capsys, monkeypatch):
    monkeypatch.setattr(arrays, "cupy_obstacle", lambda: "there is no CUDA device")
    code, lines = said(capsys)
    assert code == 0
    assert lines["kcde"] == __version__
    assert lines["GPUs"] == "none: there is no CUDA device"
    assert lines["backend"] == "auto is numpy, on CPU"
    assert said(capsys, "--backend", "cupy")[0] == 2
