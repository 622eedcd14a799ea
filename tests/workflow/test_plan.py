"""From artefacts to jobs: what is fitted, with which parameters, and in which order."""

import hashlib
import json
from pathlib import Path

from kcde import plan
from kcde.experiments import experiments
from kcde.experiments.base import SCALES
from kcde.papers.artefact import RUN
from kcde.papers.registry import ARTEFACTS

GOLDEN = Path(__file__).parents[1] / "golden/parameters.json"


def jobs(scale):
    """Return every job that some artefact shows at a scale, and those that these need."""
    found = {job for each in ARTEFACTS.values() for job in plan.jobs(each, scale, pems=True)}
    for name, dataset, method in sorted(found):
        found |= set(experiments()[name].needs(dataset, method))
    return sorted(found)


def digests():
    """Return a digest of the parameters of the jobs of each experiment at each scale."""
    found = {}
    for scale in SCALES:
        for name in experiments():
            own = [job for job in jobs(scale) if job[0] == name]
            if own:
                text = "\n".join(f"{job} {plan.parameters(scale, job)}" for job in own)
                digest = hashlib.sha256(text.encode()).hexdigest()[:16]
                found[f"{scale} {name}"] = f"{len(own)} jobs, {digest}"
    return found


def test_no_job_has_other_parameters_than_those_that_were_scored():
    """Who changes one on purpose writes them anew: `python tests/workflow/test_plan.py`."""
    assert digests() == json.loads(GOLDEN.read_text())


def test_work_begins_with_what_the_first_table_needs():
    first, *others = plan.artefacts(plan.PAPERS, [RUN])
    assert first.key == "kcef/table1"
    of_first = {plan.priority(plan.PAPERS, job) for job in plan.jobs(first, "laptop")}
    later = {plan.priority(plan.PAPERS, job) for job in plan.jobs(others[-1], "laptop")}
    assert len(of_first) == 4  # as published, LikelihoodKCEF, ours, networks
    assert min(of_first) > max(later)


def test_jobs_are_shared_and_divided_where_they_can_be():
    assert plan.together(("moments", "gaussian-1-1000", "CME")) == ["JDL", "CME"]
    assert plan.together(("r_benchmark", "geyser", "KCEF")) == ["KCEF"]
    shards = [plan.shards("laptop", ("r_benchmark", "geyser", m), 100) for m in ("NADE", "KCEF")]
    assert shards == [20, 20]


def test_a_reading_of_more_seeds_takes_the_scores_of_paper_and_pems_sf_is_asked_for_by_name():
    paths = plan.scores(ARTEFACTS["dde/table1-seeds"], "laptop")
    assert paths
    assert all(path.startswith("results/paper/scores/planar") for path in paths)
    for pems in (False, True):
        paths = plan.scores(ARTEFACTS["cdo/fig5"], "laptop", pems=pems)
        assert any("pems-sf" in path for path in paths) is pems


def test_every_artefact_shows_something_and_every_job_has_memory_and_time():
    table = plan.resource_table(Path(__file__).parents[2] / "resources.csv")
    for scale in SCALES:
        assert all(plan.scores(artefact, scale) for artefact in ARTEFACTS.values())
        for job in jobs(scale):
            memory, minutes = plan.resources(table, scale, job)
            assert memory >= 1000
            assert minutes >= 15
    assert plan.resources(table, "paper", ("portfolio", "portfolios-1-1000", "JDL"))[0] > 10_000


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps(digests(), indent=1) + "\n")
