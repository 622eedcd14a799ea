"""envs/run: the environment is made once, again where it must be, and never half."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STAMP = ".venv/made-by-envs-run"
pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A project without any pins whose environment was made; tests copy what they change."""
    folder = tmp_path_factory.mktemp("made") / "project"
    (folder / "envs").mkdir(parents=True)
    shutil.copy(ROOT / "envs/run", folder / "envs/run")
    (folder / "envs/cpu.txt").write_text("# nothing\n")
    (folder / "pyproject.toml").write_text("")
    first = run(folder, "python", "-c", "import sys; print(sys.prefix)")
    return folder, first


def run(folder, *command, **variables):
    """Run a command through the script with little more than a PATH."""
    environment = {"PATH": os.environ["PATH"], **variables}
    return subprocess.run(
        [folder / "envs/run", *command],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_it_is_made_once_and_used(made):
    folder, first = made
    assert first.returncode == 0, first.stderr
    assert first.stdout.strip() == f"{folder / '.venv'}"
    before = (folder / STAMP).stat().st_mtime_ns
    again = run(folder, "python", "-c", "import os; print(os.environ['VIRTUAL_ENV'])")
    assert (again.stdout.strip(), again.stderr) == (f"{folder / '.venv'}", "")
    assert (folder / STAMP).stat().st_mtime_ns == before


def test_the_command_keeps_its_arguments_folder_and_exit_code(made, tmp_path):
    folder, _ = made
    code = "import os, sys; print(os.getcwd(), sys.argv[1:]); sys.exit(7)"
    done = subprocess.run(
        [folder / "envs/run", "python", "-c", code, "a b", "*"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 7
    assert done.stdout.strip() == f"{tmp_path} ['a b', '*']"


def test_changed_pins_an_interruption_and_two_at_once(made):
    """Each makes the environment again, once."""
    folder, _ = made
    with (folder / "envs/cpu.txt").open("a") as pins:
        pins.write("# changed\n")
    code = f"print(open({f'{folder / STAMP}'!r}).read().strip() != '')"
    both = [
        subprocess.Popen(
            [folder / "envs/run", "python", "-c", code],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    said = [process.communicate(timeout=300) for process in both]
    assert [out for out, _ in said] == ["True\n", "True\n"]
    assert sum("making .venv" in err for _, err in said) == 1
    (folder / STAMP).write_text("")  # as an interruption leaves it
    (folder / ".venv/rubbish").write_text("")
    done = run(folder, "true")
    assert done.returncode == 0
    assert "making .venv" in done.stderr
    assert not (folder / ".venv/rubbish").exists()


def test_killed_while_it_is_made_it_begins_anew(made, tmp_path):
    folder, _ = made
    fresh = tmp_path / "fresh"
    shutil.copytree(folder, fresh, ignore=shutil.ignore_patterns(".venv*"))
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
    done = run(fresh, "python", "-c", "print('works')")
    assert done.stdout == "works\n", done.stderr


@pytest.mark.parametrize(
    ("variables", "command", "said"),
    [
        ({"KCDE_ENV": "gppu"}, ["true"], "gppu"),
        ({"PATH": "{tools}"}, ["true"], "Python 3.11"),
        ({}, ["snakemake", "--configfile", "no.yaml"], "no.yaml"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(made, tmp_path, variables, command, said):
    folder, _ = made
    (tmp_path / "dirname").symlink_to(shutil.which("dirname"))  # all it needs besides Python
    path = variables.get("PATH", os.environ["PATH"]).format(tools=tmp_path)
    done = subprocess.run(
        [shutil.which("bash"), folder / "envs/run", *command],
        env=variables | {"PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_an_environment_of_ones_own_is_not_touched(made, tmp_path):
    folder, _ = made
    mine = tmp_path / "mine"
    shutil.copytree(folder, mine, ignore=shutil.ignore_patterns(".venv*"))
    (mine / ".venv").mkdir()
    (mine / ".venv/precious").write_text("")
    done = run(mine, "true")
    assert done.returncode == 2
    assert "was not made by envs/run" in done.stderr
    assert (mine / ".venv/precious").exists()
