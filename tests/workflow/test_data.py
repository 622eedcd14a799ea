"""Raw data on a machine without network: bundled copies serve, PEMS-SF lacks, and nothing fails."""

import json
import re
import shutil
import socket

import pytest

pytestmark = pytest.mark.workflow

ASKED = ("geyser", "metro-traffic-substitute", "pems-sf")


@pytest.fixture(scope="module")
def offline():
    """Variables that send every download to a port of this machine where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    return {"https_proxy": f"http://127.0.0.1:{port}", "no_proxy": ""}


def fetched(project, name):
    return json.loads((project / f"results/data/{name}.json").read_text())


@pytest.mark.slow
def test_a_run_takes_what_is_bundled_and_does_without_pems_sf(project, snakemake, offline):
    records = [f"results/data/{name}.json" for name in ASKED]
    done = snakemake(*records, **offline)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("2 data sets from the bundled copies: no network") == 1
    assert "pems-sf: no source has it; error of the last one: connection refused" in done.stderr
    assert "missing data" not in done.stderr
    for name in ASKED[:2]:
        record = fetched(project, name)
        said = record["status"], record["origin"], record["offline"]
        assert said == ("available", "bundled", True)
    lacking = fetched(project, "pems-sf")
    assert (lacking["status"], lacking["optional"]) == ("unavailable", True)
    # What is there stays; what lacks is tried again.
    again = snakemake(*records, "-n", "--quiet", "reason")
    planned = re.findall(r"^    output: ([^,\n]+)", again.stdout + again.stderr, re.MULTILINE)
    assert set(planned) == {"results/data/pems-sf.json"}


@pytest.mark.slow
def test_without_the_bundled_copies_a_run_fails_and_says_what_helps(project, snakemake, offline):
    shutil.move(project / "resources", project / "away")
    try:
        done = snakemake("results/data/topo.json", **offline)
    finally:
        shutil.move(project / "away", project / "resources")
    assert done.returncode == 1
    assert "topo: no source has it" in done.stderr
    assert "no bundled copies: kcde is installed without its repository" in done.stderr
    assert "1 data set not available" in done.stderr
