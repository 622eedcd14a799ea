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
# Where the extras are pinned.
ENVIRONMENT = {
    "workflow": "cpu",
    "slurm": "cpu",
    "generic": "cpu",
    "parquet": "cpu",
    "compare": "cpu",
    "test": "cpu",
    "docs": "docs",
    "cuda12": "gpu",
    "cuda13": "gpu-cuda13",
}
CUDA = {"gpu": "12", "gpu-cuda13": "13"}
# Modules that are not named as their packages are.
PACKAGES = {
    "PIL": "pillow",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
}


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
    """Version by package, of an environment."""
    return {normal(pin): pin.partition("==")[2] for pin in pip_pins(name)}


def added(name):
    """What an environment has beyond that without a GPU."""
    return versions(name).keys() - versions("cpu").keys()


@pytest.mark.parametrize("name", ["cpu", "gpu"])
def test_conda_and_pip_pin_the_same(name):
    conda = yaml.safe_load((ENVS / f"{name}.yaml").read_text())
    assert conda["channels"][0] == "conda-forge"
    assert "python=3.11" in conda["dependencies"]
    (inner,) = (part["pip"] for part in conda["dependencies"] if isinstance(part, dict))
    assert sorted(inner) == sorted(pip_pins(name))


@pytest.mark.parametrize("name", sorted(path.stem for path in ENVS.glob("*.txt")))
def test_every_version_is_exact(name):
    pins = pip_pins(name)
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+", pin) for pin in pins)
    assert len({normal(pin) for pin in pins}) == len(pins)


def test_the_package_is_installed_from_the_checkout_with_all_that_it_names():
    assert "-e ." in (ENVS / "cpu.txt").read_text().splitlines()
    assert {normal(requirement) for requirement in PROJECT["dependencies"]} <= versions(
        "cpu"
    ).keys()


@pytest.mark.parametrize("extra", EXTRAS)
def test_what_an_extra_names_is_pinned(extra):
    named = {normal(requirement) for requirement in EXTRAS[extra]} - {"kcde"}
    assert named <= versions(ENVIRONMENT[extra]).keys()


@pytest.mark.parametrize("extra", EXTRAS)
def test_extras_that_an_extra_builds_on_are_there(extra):
    built_on = [name for name in EXTRAS[extra] if normal(name) == "kcde"]
    assert {re.search(r"\[(.+)\]", name).group(1) for name in built_on} <= EXTRAS.keys()


@pytest.mark.parametrize("name", CUDA)
def test_jax_stays_on_the_cpu_and_cupy_has_its_toolkit(name):
    pinned = versions(name)
    assert pinned["jax"] == pinned["jaxlib"]
    assert not [pin for pin in pinned if pin.startswith("jax-cuda")]
    assert pinned["cuda-toolkit"].split(".")[0] == CUDA[name]


def test_both_cudas_have_the_same_cupy():
    assert versions("gpu")["cupy-cuda12x"] == versions("gpu-cuda13")["cupy-cuda13x"]


@pytest.mark.parametrize("name", CUDA)
def test_libraries_of_two_cudas_are_not_mixed(name):
    (other,) = set(CUDA.values()) - {CUDA[name]}
    # NVIDIA's names carry the 12 or, since 13, mostly nothing.
    foreign = {pin for pin in added(name) if re.search(rf"(cu|cuda){other}(x|-|$)", pin)}
    plain = {pin for pin in added(name) if pin.startswith("nvidia-") and pin[-4:-2] != "cu"}
    assert not foreign
    assert not plain or CUDA[name] == "13"


def test_the_first_install_has_nothing_of_the_site():
    assert "sphinx" in added("docs")
    assert not [pin for pin in versions("cpu") if re.search("sphinx|furo|myst|numpydoc", pin)]


def test_nobody_without_a_gpu_downloads_cuda():
    assert not [pin for pin in versions("cpu") if re.match("nvidia|cu[dp]|jax-cuda", pin)]


def third_party_modules():
    """Top-level names that the package imports, but for its own and the standard library's."""
    found = set()
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                found.add(node.module.partition(".")[0])
    return found - sys.stdlib_module_names - {"kcde"}


def test_every_package_that_is_imported_is_declared():
    declared = {normal(requirement) for requirement in PROJECT["dependencies"]}
    modules = third_party_modules()
    assert "numpy" in modules
    imported = {PACKAGES.get(name, normal(name)) for name in modules}
    # These come with cuda12 or cuda13, with parquet, and with compare: nobody needs them.
    of_extras = {"cupy", "cupyx", "cupy-backends", "pyarrow", "ngboost", "quantile-forest"}
    assert imported - declared <= of_extras
