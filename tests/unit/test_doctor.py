"""`python -m kcde doctor`: each finding from made-up machines, the whole once on this one."""

import json
import os
import re
import signal
import subprocess
import sys
from types import SimpleNamespace

import array_api_strict
import numpy as np
import pytest

import kcde.doctor
from kcde import arrays
from kcde.cli import main
from kcde.data import bundled, catalogue
from kcde.doctor import data, devices, machine, probe, settings, software, text
from kcde.doctor.findings import HINT, OK, PROBLEM, Finding, Report

NO_CUPY = {"auto": "numpy", "obstacle": "cupy is not installed"}
WORKS = {"auto": "cupy", "obstacle": None, "device": "NVIDIA T4", "free_bytes": 15_000_000_000}
BROKEN = {"auto": "cupy", "obstacle": "a small computation fails (ImportError: libnvrtc.so.12)"}
CRASHED = {"error": "ImportError: libcublas.so.12"}
JAX = {"version": "0.10.2", "devices": ["cpu"], "platforms": ["cpu"]}
SMI = """NVIDIA A100-SXM4-40GB, 40960, 30720, 550.54.15
NVIDIA H100 MIG 1g.10gb, [N/A], [Insufficient Permissions], 550.54.15
"""


# Findings and how they are shown


def test_what_is_amiss_has_a_remedy():
    with pytest.raises(ValueError, match="GPU: a problem needs a remedy"):
        Finding("GPU", "none", PROBLEM)


@pytest.fixture
def report():
    found = [Finding("CPU", "eight cores"), Finding("Slurm", "no plugin", HINT, "install it")]
    return Report(found, [Finding("backend", "none", PROBLEM, "buy a " + "very " * 40 + "big one")])


def test_text_is_aligned_and_each_remedy_stands_below_what_it_is_for(report):
    lines = text.render(report).splitlines()
    shown = [line for line in lines if "eight" in line or "no plugin" in line]
    assert (
        len({line.index(word) for line, word in zip(shown, ("eight", "no pl"), strict=True)}) == 1
    )
    place = next(i for i, line in enumerate(lines) if line.startswith("~ Slurm"))
    assert lines[place + 1].strip() == "-> install it"
    assert any(line.startswith("! backend") for line in lines)
    assert max(map(len, lines)) <= 100
    assert "cannot run" in lines[-1]
    assert text.render(Report(report.found, [])).endswith("can run.")


def test_json_says_the_same(report):
    said = json.loads(text.as_json(report))
    assert said["works"] is False
    assert [each["name"] for each in said["found"]] == ["CPU", "Slurm"]
    assert said["used"][0]["remedy"].endswith("big one")


# The machine


@pytest.mark.parametrize(("version", "status"), [((3, 10, 9), PROBLEM), ((3, 11, 0), OK)])
def test_python_is_3_11_or_newer(version, status):
    assert machine.python(version).status == status


@pytest.mark.parametrize(
    ("content", "cores"), [("max 100000", 6), ("250000 100000", 2), ("50000 100000", 1), (None, 6)]
)
def test_cores_are_those_of_the_process_and_of_its_container(tmp_path, monkeypatch, content, cores):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(6)), raising=False)
    limit = tmp_path / "cpu.max"
    if content:
        limit.write_text(content + "\n")
    assert machine.usable_cores(limit) == cores


@pytest.mark.parametrize(("free", "status"), [(1_500_000_000, HINT), (64_000_000_000, OK)])
def test_memory_is_what_a_job_may_take(monkeypatch, free, status):
    monkeypatch.setattr(machine, "free_bytes", lambda like: free)
    finding = machine.memory()
    assert finding.status == status
    assert f"{free / 1e9:.1f} GB free" in finding.value


# What is installed


def test_a_missing_package_is_a_problem():
    finding = software.packages(lambda name: None if name == "scipy" else "1.0")
    assert finding.status == PROBLEM
    assert finding.value == "missing: scipy"
    assert software.packages().status == OK


def test_what_is_needed_is_read_where_kcde_is_installed_too(tmp_path):
    assert {"numpy", "scipy"} <= set(software.required(tmp_path / "pyproject.toml"))
    assert {"numpy", "jax", "threadpoolctl"} <= set(software.required())
    assert "pytest" not in software.required(tmp_path / "pyproject.toml")


def test_more_threads_than_cores_are_a_hint():
    assert software.blas(0, {}).status == HINT
    finding = software.blas(1024, {"OMP_NUM_THREADS": "1"})
    assert finding.status == OK
    assert "OMP_NUM_THREADS=1" in finding.value


def test_without_snakemake_the_workflow_cannot_run():
    assert software.snakemake(lambda name: None).status == PROBLEM
    assert software.snakemake(lambda name: "9.27.1").value == "9.27.1"


@pytest.mark.parametrize(
    ("plugin", "commands", "status", "remedy"),
    [
        (None, (), OK, ""),
        ("2.8.0", software.SLURM_COMMANDS, OK, ""),
        (None, software.SLURM_COMMANDS, HINT, "needs the plugin"),
        ("2.8.0", ("sbatch", "squeue"), HINT, "scancel, sinfo"),
    ],
)
def test_slurm_needs_its_commands_and_the_plugin(plugin, commands, status, remedy):
    finding = software.slurm(lambda name: plugin, lambda name: name in commands or None, {})
    assert finding.status == status
    assert remedy in finding.remedy


def test_a_slurm_job_is_named():
    finding = software.slurm(environment={"SLURM_JOB_ID": "17"})
    assert "inside job 17" in finding.value


# GPUs, cupy, JAX


def test_cards_are_read_also_where_the_driver_keeps_quiet():
    first, second = devices.cards(SMI)
    assert first == devices.Card("NVIDIA A100-SXM4-40GB", 40 << 30, 30 << 30, "550.54.15")
    assert second.total is None
    assert second.free is None
    shown = devices.gpus([first, second], "12.4", "", {"CUDA_VISIBLE_DEVICES": "1"})
    assert [finding.name for finding in shown] == ["GPU 0", "GPU 1"]
    for word in ("42.9 GB", "32.2 GB free", "driver 550.54.15", "12.4", "CUDA_VISIBLE_DEVICES=1"):
        assert word in shown[0].value


def fake_driver(folder, monkeypatch, script):
    folder.mkdir(exist_ok=True)
    command = folder / "nvidia-smi"
    command.write_text(f"#!/bin/sh\n{script}\n")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


def test_the_driver_is_asked(tmp_path, monkeypatch):
    header = "| NVIDIA-SMI 550.54.15   Driver Version: 550.54.15   CUDA Version: 12.4  |"
    query = SMI.splitlines()[0]
    script = f'if [ $# -gt 0 ]; then echo "{query}"; else echo "{header}"; fi'
    fake_driver(tmp_path, monkeypatch, script)
    cards, newest, _ = devices.ask_driver()
    assert [card.name for card in cards] == ["NVIDIA A100-SXM4-40GB"]
    assert newest == "12.4"


def test_a_driver_that_fails_is_quoted(tmp_path, monkeypatch):
    fake_driver(tmp_path, monkeypatch, "echo could not communicate with the driver; exit 9")
    cards, _, reason = devices.ask_driver()
    assert "could not communicate" in devices.gpus(cards, None, reason)[0].value


def test_without_a_driver_there_is_no_gpu(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{tmp_path}")
    (finding,) = devices.gpus(*devices.ask_driver())
    assert finding.value.startswith("none: there is no nvidia-smi")


def test_two_cupys_are_a_problem():
    finding = devices.cupy({"cupy-cuda12x": "14.2.0", "cupy-cuda13x": "14.2.0"}, {}, WORKS)
    assert finding.status == PROBLEM
    assert "pip uninstall cupy-cuda12x cupy-cuda13x" in finding.remedy


@pytest.mark.parametrize(
    ("found", "said", "words"),
    [
        ({}, NO_CUPY, "not installed"),
        ({}, CRASHED, "libcublas.so.12"),
        ({"cupy-cuda12x": "14.2.0"}, WORKS, "cupy-cuda12x 14.2.0"),
        ({"cupy-cuda12x": "14.2.0"}, BROKEN, "libnvrtc.so.12"),
        ({"cupy-cuda12x": "14.2.0"}, CRASHED, "libcublas.so.12"),
    ],
)
def test_cupy_is_told_with_what_is_amiss(found, said, words):
    assert words in devices.cupy(found, {}, said).value


@pytest.mark.parametrize(
    ("wanted", "said", "card", "status", "words"),
    [
        ("numpy", CRASHED, True, OK, "numpy, as asked for"),
        ("auto", NO_CUPY, False, OK, "numpy, because cupy is not installed"),
        ("auto", NO_CUPY, True, HINT, "numpy although there is a GPU"),
        ("auto", WORKS, True, OK, "cupy on NVIDIA T4, 15.0 GB free"),
        ("auto", BROKEN, True, PROBLEM, "libnvrtc"),
        ("auto", CRASHED, True, PROBLEM, "libcublas"),
        ("cupy", WORKS, False, OK, "cupy on NVIDIA T4"),
        ("cupy", NO_CUPY, False, PROBLEM, "cupy was asked for, but cupy is not installed"),
        ("cupy", CRASHED, True, PROBLEM, "libcublas"),
    ],
)
def test_the_backend_is_what_a_run_takes(wanted, said, card, status, words):
    finding = devices.backend(wanted, said, card)
    assert finding.status == status
    assert words in finding.value


def test_half_a_cupy_without_a_gpu_is_best_removed():
    assert "uninstall" in devices.backend("auto", CRASHED, False).remedy
    assert "uninstall" not in devices.backend("cupy", CRASHED, False).remedy


def test_an_environment_that_others_share_is_a_hint():
    own = software.environment(("/p/.venv", "/usr"), {})
    assert (own.status, own.value) == (OK, "/p/.venv")
    assert software.environment(("/conda/e", "/conda/e"), {"CONDA_PREFIX": "/conda/e"}).status == OK
    shared = software.environment(("/usr", "/usr"), {"CONDA_PREFIX": "/conda/e"})
    assert shared.status == HINT
    assert "the Python of /usr, which other software shares" in shared.value
    assert "envs/run" in shared.remedy


def test_a_remedy_names_files_that_are_there():
    remedy = devices.backend("cupy", NO_CUPY, True).remedy
    root = machine.Path(kcde.doctor.__file__).parents[3]
    named = re.findall(r"envs/[\w.-]+", remedy)
    assert len(named) == 2
    assert all((root / name).is_file() for name in named)


def test_jax_is_needed():
    finding = devices.jax({"error": "ImportError: no jaxlib"})
    assert finding.status == PROBLEM
    assert "jaxlib" in finding.value
    assert devices.jax(JAX).value == "0.10.2; devices cpu"


ON_GPU = JAX | {"platforms": ["cpu", "gpu"]}


@pytest.mark.parametrize(
    ("said", "variable", "status", "words"),
    [
        (JAX, None, OK, "cpu"),
        (ON_GPU, None, OK, "with JAX_PLATFORMS=cuda commands run by hand train on the GPU"),
        (ON_GPU, "cuda", OK, "cpu in the workflow, cuda in commands run by hand"),
        (JAX, "cuda,cpu", HINT, "cpu in the workflow, cuda,cpu"),
        ({"error": "ImportError"}, None, OK, "cpu"),
    ],
)
def test_jax_trains_on_the_gpu_only_in_commands_run_by_hand(said, variable, status, words):
    environment = {"JAX_PLATFORMS": variable} if variable else {}
    finding = devices.jax_platform(said, environment)
    assert finding.status == status
    assert words in finding.value


# The processes that ask


def child(code):
    return subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_an_answer_may_stand_below_other_output():
    assert probe.answer(child("""print("hello"); print('{"auto": "numpy"}')""")) == {
        "auto": "numpy"
    }


def test_a_crash_of_a_library_is_an_answer():
    said = probe.answer(child("import os; os.abort()"))
    assert str(-signal.SIGABRT) in said["error"]
    said = probe.answer(child("raise ImportError('libcuda.so.1')"))
    assert said == {"error": "ImportError: libcuda.so.1"}


def test_a_library_that_hangs_is_not_waited_for():
    process = child("import time; time.sleep(60)")
    assert "no answer" in probe.answer(process, 0.2)["error"]
    assert process.returncode


def test_half_an_installation_of_cupy_is_an_answer(tmp_path, monkeypatch):
    (tmp_path / "cupy").mkdir()
    (tmp_path / "cupy" / "__init__.py").write_text("raise ImportError('libcublas.so.12')")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([f"{tmp_path}", *sys.path]))
    said = probe.answer(probe.start("cupy"))
    assert "libcublas.so.12" in said.get("error", said.get("obstacle"))


def device(asarray):
    """`kcde.arrays` with another way to the device."""
    names = {name: getattr(arrays, name) for name in arrays.__all__}
    return SimpleNamespace(**names | {"asarray": asarray})


def test_a_device_that_computes_passes_and_one_that_is_wrong_does_not():
    def strict(values, backend):
        return (array_api_strict if backend == "cupy" else np).asarray(np.asarray(values))

    def wrong(values, backend):
        return strict(np.asarray(values) * (0.5 if backend == "cupy" else 1.0), backend)

    probe._compute(device(strict))
    with pytest.raises(ArithmeticError, match="not the CPU's"):
        probe._compute(device(wrong))


# Data and configuration


def test_files_of_the_mirror_count_at_their_size(tmp_path):
    first, second, *_ = [entry for entry in catalogue.read(None).values() if entry.sha256]
    for entry, size in ((first, first.bytes), (second, second.bytes - 1)):
        (tmp_path / entry.file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / entry.file).write_bytes(bytes(size))
    finding = data.mirror(f"{tmp_path}", "KCDE_DATA_MIRROR")
    assert finding.status == OK
    assert finding.facts["files"] == 1
    assert data.folder(tmp_path).facts == {"files": 1, "wanted": finding.facts["wanted"]}


def test_bundled_files_count_where_the_data_folder_lacks_them(tmp_path):
    root = bundled.folder()
    finding = data.bundled(tmp_path, root)
    assert finding.status == OK
    assert finding.facts == {"bundled": 27, "to_download": ["pems-sf"]}
    assert finding.value == "27 of the 28 others, 1 to be downloaded (pems-sf)"
    first, *_ = catalogue.read(None).values()
    (tmp_path / first.file).parent.mkdir(parents=True)
    (tmp_path / first.file).write_bytes(bytes(first.bytes))
    assert data.bundled(tmp_path, root).facts["bundled"] == 26
    order = ["d", "m", "the original addresses", "the bundled copies"]
    assert data.source("d", "m", root).facts["order"] == order
    assert data.source("d", "m", None).facts["order"] == order[:-1]


def test_without_the_repository_there_are_no_bundled_files(tmp_path):
    finding = data.bundled(tmp_path, None)
    assert finding.status == HINT
    assert finding.value.startswith("no bundled copies: kcde is installed without its repository")
    assert len(finding.facts["to_download"]) == 28
    assert "clone" in finding.remedy
    assert "KCDE_DATA_MIRROR" in finding.remedy


def test_a_mirror_that_is_not_there_or_empty_is_a_hint(tmp_path):
    absent = data.mirror(f"{tmp_path / 'none'}", "KCDE_DATA_MIRROR")
    assert absent.status == HINT
    assert "no such folder" in absent.value
    assert "KCDE_DATA_MIRROR" in absent.remedy
    assert data.mirror(f"{tmp_path}", "KCDE_DATA_MIRROR").status == HINT


def test_the_network_is_not_asked():
    finding = data.mirror("https://example.invalid/data", "KCDE_DATA_MIRROR")
    assert finding.status == OK
    assert "not checked" in finding.value
    assert data.mirror(None, "").value == "none named"


def test_the_configuration_comes_before_the_environment():
    environment = {"KCDE_DATA_MIRROR": "there"}
    assert data.named_mirror("here", environment)[0] == "here"
    assert data.named_mirror(None, environment) == ("there", "KCDE_DATA_MIRROR")
    assert data.named_mirror(None, {})[0] is None


def test_settings_are_those_of_the_workflow(tmp_path):
    own = tmp_path / "config.yaml"
    own.write_text("backend: cupy\nblas_threads: 4\ndata_mirror: null\nscale: smoke\n")
    chosen, amiss = settings.read(own)
    assert (chosen.backend, chosen.blas_threads, chosen.data_mirror) == ("cupy", 4, None)
    assert not amiss


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (None, HINT),
        ("backend: [", PROBLEM),
        ("scale: smoke", PROBLEM),
        ("backend: gpu\nblas_threads: 1\ndata_mirror: null", PROBLEM),
    ],
)
def test_a_configuration_that_cannot_be_read_is_told(tmp_path, content, status):
    own = tmp_path / "config.yaml"
    if content:
        own.write_text(content)
    chosen, (finding,) = settings.read(own)
    assert chosen == settings.Settings()
    assert finding.status == status


# The command


@pytest.fixture
def quick(monkeypatch, tmp_path):
    """Answers that need no process."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(probe, "start", lambda topic: topic)
    monkeypatch.setattr(probe, "answer", {"cupy": NO_CUPY, "jax": JAX}.__getitem__)


def code_of(*words):
    with pytest.raises(SystemExit) as left:
        main(["doctor", *words])
    return left.value.code


def test_the_exit_code_says_whether_the_workflow_can_run_so(quick, capsys):
    assert code_of("--backend", "numpy") == 0
    assert "numpy, as asked for" in capsys.readouterr().out
    assert code_of("--backend", "cupy") == 1
    assert "! backend" in capsys.readouterr().out
    assert code_of("--backend", "cuda") == 2
    assert "auto, numpy, cupy" in capsys.readouterr().err


def test_the_backend_is_the_configurations_unless_given(quick, tmp_path):
    config = tmp_path / "config.yaml"
    config.write_text("backend: cupy\nblas_threads: 1\ndata_mirror: null\n")
    assert code_of() == 1
    assert code_of("--backend", "auto") == 0


def test_json_is_for_machines(quick, capsys):
    assert code_of("--json", "--backend", "cupy") == 1
    said = json.loads(capsys.readouterr().out)
    assert said["works"] is False
    assert {"Python", "CPU", "memory", "BLAS", "GPU"} <= {each["name"] for each in said["found"]}


def test_this_machine_is_examined_without_loading_jax_here(tmp_path):
    code = """
import sys
from pathlib import Path
from kcde.doctor import examine, text
report = examine(Path("config.yaml"), "numpy")
assert not {"jax", "cupy"} & set(sys.modules)
print(text.as_json(report))
"""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    said = json.loads(done.stdout)
    assert said["works"] is True
    jax = next(each for each in said["found"] if each["name"] == "JAX")
    assert jax["facts"]["version"]
