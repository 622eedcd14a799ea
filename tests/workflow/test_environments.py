"""The pip and conda environments are the same, and complete."""

import re
from importlib.metadata import requires
from pathlib import Path

import pytest
import yaml

ENVS = Path(__file__).parents[2] / "envs"


def pip_pins(name):
    """Pins of a requirements file and of those that it includes."""
    pins = []
    for line in (ENVS / f"{name}.txt").read_text().splitlines():
        if line.startswith("-r "):
            pins += pip_pins(line.removeprefix("-r ").removesuffix(".txt"))
        elif line and not line.startswith(("#", "-e ")):
            pins.append(line)
    return pins


@pytest.mark.parametrize("name", ["cpu", "gpu"])
def test_conda_and_pip_pin_the_same(name):
    conda = yaml.safe_load((ENVS / f"{name}.yaml").read_text())
    assert conda["channels"][0] == "conda-forge"
    assert "python=3.11" in conda["dependencies"]
    (inner,) = (part["pip"] for part in conda["dependencies"] if isinstance(part, dict))
    assert sorted(inner) == sorted(pip_pins(name))


@pytest.mark.parametrize("name", ["cpu", "gpu"])
def test_every_version_is_exact(name):
    pins = pip_pins(name)
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+", pin) for pin in pins)
    assert len({normal(pin) for pin in pins}) == len(pins)


def normal(requirement):
    return re.sub(r"[-_.]+", "-", re.match(r"[A-Za-z0-9._-]+", requirement).group()).lower()


def test_the_package_is_installed_from_the_checkout_with_all_that_it_names():
    assert "-e ." in (ENVS / "cpu.txt").read_text().splitlines()
    pinned = {normal(pin) for pin in pip_pins("gpu")}
    assert {normal(requirement) for requirement in requires("kcde")} <= pinned
