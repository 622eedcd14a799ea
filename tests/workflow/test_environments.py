"""The pip and conda environments are the same, and complete."""

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
ENVS = ROOT / "envs"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
# Where extras are pinned that are not in `cpu`.
ENVIRONMENT = {"docs": "docs", "gpu": "gpu", "gpu-cuda13": "gpu-cuda13"}
# Modules that are not named as their packages are.
PACKAGES = {"PIL": "pillow", "sklearn": "scikit-learn", "yaml": "pyyaml"}


def pip_pins(name):
    """Pins of a requirements file and of those that it includes."""
    pins = []
    for line in (ENVS / f"{name}.txt").read_text().splitlines():
        if line.startswith("-r "):
            pins += pip_pins(line.removeprefix("-r ").removesuffix(".txt"))
        elif line and not line.startswith(("#", "-e ")):
            pins.append(line)
    return pins


def normal(requirement):
    return re.sub(r"[-_.]+", "-", re.match(r"[A-Za-z0-9._-]+", requirement).group()).lower()


def versions(name):
    return {normal(pin): pin.partition("==")[2] for pin in pip_pins(name)}


@pytest.mark.parametrize("name", ["cpu", "gpu"])
def test_conda_and_pip_pin_the_same(name):
    conda = yaml.safe_load((ENVS / f"{name}.yaml").read_text())
    assert "python=3.11" in conda["dependencies"]
    (inner,) = (part["pip"] for part in conda["dependencies"] if isinstance(part, dict))
    assert sorted(inner) == sorted(pip_pins(name))


@pytest.mark.parametrize("name", sorted(path.stem for path in ENVS.glob("*.txt")))
def test_every_version_is_exact(name):
    pins = pip_pins(name)
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+", pin) for pin in pins)
    assert len({normal(pin) for pin in pins}) == len(pins)


def test_what_the_project_and_its_extras_name_is_pinned():
    assert "-e ." in (ENVS / "cpu.txt").read_text().splitlines()
    for extra, wanted in (EXTRAS | {"": PROJECT["dependencies"]}).items():
        pinned = versions(ENVIRONMENT.get(extra, "cpu")).keys()
        # skpro waits for room for the pinned pandas.
        assert {normal(each) for each in wanted} - {"kcde", "skpro"} <= pinned, extra


@pytest.mark.parametrize(("name", "cuda", "other"), [("gpu", 12, 13), ("gpu-cuda13", 13, 12)])
def test_jax_stays_on_the_cpu_and_libraries_of_two_cudas_are_not_mixed(name, cuda, other):
    pinned, cpu = versions(name), versions("cpu")
    assert pinned["jax"] == pinned["jaxlib"]
    assert pinned["cuda-toolkit"].startswith(f"{cuda}.")
    assert f"cupy-cuda{cuda}x" in pinned
    added = pinned.keys() - cpu.keys()
    assert not [pin for pin in added if re.search(rf"jax-cuda|(cu|cuda){other}(x|-|$)", pin)]
    # Nobody without a GPU downloads CUDA.
    assert not [pin for pin in cpu if re.match("nvidia|cu[dp]|jax-cuda|sphinx", pin)]


def test_every_package_that_is_imported_is_declared():
    modules = set()
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                modules |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                modules.add(node.module.partition(".")[0])
    modules -= {*sys.stdlib_module_names, "kcde"}
    imported = {PACKAGES.get(name, normal(name)) for name in modules}
    declared = {normal(requirement) for requirement in PROJECT["dependencies"]}
    used = ("networks", "trees", "parquet", "skpro", "workflow")
    of_extras = {normal(each) for extra in used for each in EXTRAS[extra]}
    of_extras |= {"cupy", "cupyx", "cupy-backends"}
    assert "numpy" in imported
    assert imported - declared <= of_extras
