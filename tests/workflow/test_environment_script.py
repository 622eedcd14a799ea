"""envs/run: the environment is made once, again where it must be, and never half."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

STAMP = ".venv/made-by-envs-run"
pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A project without any pins whose environment was made; tests copy what they change."""
    folder = tmp_path_factory.mktemp("made") / "project"
    (folder / "envs").mkdir(parents=True)
    shutil.copy(Path(__file__).parents[2] / "envs/run", folder / "envs/run")
    (folder / "envs/cpu.txt").write_text("# nothing\n")
    (folder / "pyproject.toml").write_text("")
    return folder, run(folder, "python", "-c", "import sys; print(sys.prefix)")


def run(folder, *command, cwd=None, **variables):
    """Run a command through the script with little more than a PATH."""
    command = [shutil.which("bash"), folder / "envs/run", *command]
    known = {"env": {"PATH": os.environ["PATH"], **variables}, "cwd": cwd, "timeout": 300}
    return subprocess.run(command, **known, capture_output=True, text=True, check=False)


def test_it_is_made_once_and_a_command_keeps_its_arguments_folder_and_exit_code(made, tmp_path):
    folder, first = made
    assert (first.returncode, first.stdout.strip()) == (0, f"{folder / '.venv'}"), first.stderr
    assert "making .venv" in first.stderr
    before = (folder / STAMP).stat().st_mtime_ns
    code = "import os, sys; print(os.getcwd(), sys.argv[1:]); sys.exit(7)"
    done = run(folder, "python", "-c", code, "a b", "*", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (7, "")
    assert done.stdout.strip() == f"{tmp_path} ['a b', '*']"
    assert (folder / STAMP).stat().st_mtime_ns == before
    cache = run(folder, "sh", "-c", "echo $XDG_CACHE_HOME", HOME="/none", TMPDIR="/a").stdout
    assert cache == f"/a/kcde-cache-{os.getuid()}\n"


def test_changed_pins_an_interruption_and_two_at_once(made):
    """Each makes the environment again, once."""
    folder, _ = made
    with (folder / "envs/cpu.txt").open("a") as pins:
        pins.write("# changed\n")
    command, pipe = [folder / "envs/run", "true"], subprocess.PIPE
    both = [subprocess.Popen(command, stderr=pipe, text=True) for _ in range(2)]
    said = [process.communicate(timeout=300)[1] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert sum("making .venv" in err for err in said) == 1
    (folder / STAMP).write_text("")  # as an interruption leaves it
    (folder / ".venv/rubbish").write_text("")
    assert "making .venv" in run(folder, "true").stderr
    assert not (folder / ".venv/rubbish").exists()


def test_killed_while_it_is_made_it_begins_anew(made, tmp_path):
    fresh = tmp_path / "fresh"
    shutil.copytree(made[0], fresh, ignore=shutil.ignore_patterns(".venv*"))
    process = subprocess.Popen(
        [fresh / "envs/run", "true"], start_new_session=True, stderr=subprocess.DEVNULL
    )
    limit = time.monotonic() + 60
    while not (fresh / STAMP).exists():
        assert time.monotonic() < limit
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert (fresh / STAMP).read_text() == ""
    assert run(fresh, "python", "-c", "print('works')").stdout == "works\n"


@pytest.mark.parametrize(
    ("variables", "command", "said"),
    [
        ({"KCDE_ENV": "gppu"}, ["true"], "gppu"),
        ({"PATH": "{tools}"}, ["true"], "Python 3.11"),
        ({}, ["snakemake", "--configfile", "no.yaml"], "no.yaml"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(made, tmp_path, variables, command, said):
    (tmp_path / "dirname").symlink_to(shutil.which("dirname"))  # all it needs besides Python
    variables = {name: text.format(tools=tmp_path) for name, text in variables.items()}
    done = run(made[0], *command, **variables)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_an_environment_of_ones_own_is_not_touched(made, tmp_path):
    mine = tmp_path / "mine"
    shutil.copytree(made[0], mine, ignore=shutil.ignore_patterns(".venv*"))
    (mine / ".venv").mkdir()
    (mine / ".venv/precious").write_text("")
    assert run(mine, "true").returncode == 2
    assert (mine / ".venv/precious").exists()
