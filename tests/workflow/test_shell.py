"""Values of the configuration in the commands of jobs: as they are, and never run by the shell."""

import json
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).parents[2]
HARM = 'a\' b "c" `touch one` $(touch two); touch three & touch four | x > five \\ {six} %s *'


@pytest.fixture
def steps(config):
    """Return the rules of a configuration whose values mean harm."""
    from kcde.data import catalogue
    from lib import steps

    config["methods"]["KCEF"]["options"] = {"selection": HARM, HARM: [HARM]}
    return {
        each.name: each for each in steps.steps(config, catalogue.by_any_name(catalogue.read()))
    }


def test_the_parameters_of_a_job_reach_it_as_they_are(steps, tmp_path):
    wildcards = SimpleNamespace(scale="smoke", dataset="smoke-mixed", method="KCEF")
    command = f"printf %s {steps['r_benchmark'].job(wildcards)}"
    done = subprocess.run(
        ["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    said = json.loads(done.stdout)
    assert (said["options"]["selection"], said["options"][HARM]) == (HARM, [HARM])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["a b", "a;b", "$(touch a)", "a'b", 'a"b', "a\nb", "a\n", "`a`"])
@pytest.mark.parametrize("key", ["methods", "papers", "datasets", "scale"])
def test_a_name_that_would_stand_in_a_path_is_refused(config, name, key):
    from kcde.data import catalogue
    from lib import config as configuration

    if key == "methods":
        config["methods"][name] = {"estimator": "KCEF", "variant": "ours"}
    elif key == "datasets":
        config["experiments"]["r_benchmark"]["datasets"].append(name)
    else:
        config[key] = [name] if key == "papers" else name
    with pytest.raises(configuration.ConfigurationError, match=key):
        configuration.check(config, ROOT, catalogue.by_any_name(catalogue.read()))


@pytest.mark.slow
@pytest.mark.workflow
def test_a_run_with_such_values_starts_nothing_else(project, snakemake):
    mirror = project / HARM.replace("/", "")
    (mirror / "MASS").mkdir(parents=True)
    shutil.copy(ROOT / "resources/data/MASS/geyser.rda", mirror / "MASS")
    before = sorted(path.name for path in project.iterdir())
    options = {"methods": {"KCEF": {"options": {"selection": HARM}}}, "data_mirror": f"{mirror}"}
    (project / "harm.json").write_text(json.dumps(options))
    scores = "results/smoke/r_benchmark/smoke-mixed/KCEF.csv"
    done = snakemake("results/data/geyser.json", scores, "--configfile", "harm.json", "-k")
    record = json.loads((project / "results/data/geyser.json").read_text())
    assert (record["origin"], record["source"]) == ("mirror", f"{mirror}/MASS/geyser.rda")
    log = project / "results/logs/smoke/r_benchmark/smoke-mixed/KCEF.log"
    said = "".join(path.read_text() for path in (log, project / scores) if path.exists())
    assert "touch three" in said, done.stderr
    new = {path.name for path in project.iterdir()} - set(before)
    assert new <= {"harm.json", "results", "data", ".snakemake"}
