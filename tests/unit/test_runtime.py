"""What a run took: read from Snakemake's benchmarks, written as table, page and picture."""

import pytest

from kcde import runtime

HEADER = "s\th:m:s\tmax_rss\tmax_vms\tmax_uss\tmax_pss\tio_in\tio_out\tmean_load\tcpu_time\n"


@pytest.fixture
def benchmarks(tmp_path):
    jobs = {
        "r_benchmark/geyser/KCEF": (8.0, 300.0, 7.0),
        "r_benchmark/topo/KCEF": (5.0, 200.0, 4.0),
        "factors/red-wine/KCEF-F/0-7": (60.0, 900.0, 59.0),
        "factors/red-wine/KCEF-F/8-11": (30.0, 800.0, 29.0),
        "own/LSCDE/0-of-2": (2.0, 150.0, 1.0),
        "own/plan": (1.0, 150.0, 0.5),
        "artefacts/kcef/table1": (3.0, 250.0, 2.0),
        "consistency": (40.0, 500.0, 39.0),
    }
    for name, (seconds, memory, processor) in jobs.items():
        path = tmp_path / f"laptop/{name}.tsv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{HEADER}{seconds}\t0:00:00\t{memory}\t1\t1\t1\t0\t0\t90\t{processor}\n")
    return tmp_path / "laptop"


def test_jobs_are_summed_by_rule_and_method_dearest_first(benchmarks):
    found = runtime.read(benchmarks)
    assert list(found.columns) == runtime.COLUMNS
    assert found.values.tolist() == [
        ["factors", "KCEF-F", 2, 90.0, 900.0],
        ["consistency", "", 1, 40.0, 500.0],
        ["r_benchmark", "KCEF", 2, 13.0, 300.0],
        ["artefacts", "kcef/table1", 1, 3.0, 250.0],
        ["own", "LSCDE", 1, 2.0, 150.0],
        ["own", "", 1, 1.0, 150.0],
    ]


def test_a_job_too_short_to_be_measured_counts_its_time(benchmarks):
    row = "0.4\t0:00:00\t-\t-\t-\t-\t-\t-\t-\t-\n"
    (benchmarks / "consistency.tsv").write_text(HEADER + row)
    found = runtime.read(benchmarks).set_index("rule")
    assert found.loc["consistency", "seconds"] == 0.4
    page = runtime.write(found.reset_index(), "s", "m", benchmarks / "figures")[1].read_text()
    assert "| consistency | 1 | 0.0 | – |" in page
    assert "| consistency |  |" not in page
    assert "The others take less than 3 seconds each." in page


def test_files_say_the_sum_and_the_machine(benchmarks, tmp_path):
    written = runtime.write(runtime.read(benchmarks), "laptop", "Two cores", tmp_path / "figures")
    assert {path.name for path in written} == {
        f"runtime.{end}" for end in ("csv", "md", "png", "pdf")
    }
    page = (tmp_path / "figures/runtime.md").read_text()
    assert "Scale laptop: 8 jobs, 2 minutes summed over jobs: two at once about" in page
    assert "Two cores" in page
    assert "| factors | KCEF-F | 2 | 1.5 | 900 |" in page


def test_a_part_of_a_run_does_not_replace_the_whole(benchmarks, tmp_path):
    found, into = runtime.read(benchmarks), tmp_path / "figures"
    before = [path.read_bytes() for path in runtime.write(found, "s", "m", into)]
    with pytest.raises(ValueError, match=r"is of a run of 8 jobs, and here are the times of 2:"):
        runtime.write(found.head(1), "s", "m", into)
    assert [path.read_bytes() for path in runtime.write(found, "s", "m", into)] == before


def test_without_benchmarks_it_says_what_to_run(tmp_path):
    with pytest.raises(ValueError, match="run snakemake first"):
        runtime.read(tmp_path)
