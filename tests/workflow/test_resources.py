"""What jobs ask for: the table, memory by sizes, GPUs, groups, and what Snakemake makes of it."""

import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from kcde.data import catalogue as tables
from kcde.experiments import r_benchmark
from kcde.experiments.jobs import EXPERIMENTS
from lib import config as configuration
from lib import jobs, references, resources

ROOT = Path(__file__).parents[2]
CATALOGUE = tables.by_any_name(tables.read())
SCALES = configuration.SCALES


def needs(config, **options):
    return resources.ResourceTable(config, ROOT, CATALOGUE, **options)


def work(asked, rule, methods=(), **names):
    return asked.work(rule, SimpleNamespace(**names), methods)


def test_every_rule_has_a_row_and_every_row_a_rule():
    text = "\n".join(path.read_text() for path in (ROOT / "workflow/rules").glob("*.smk"))
    asked = set(re.findall(r'needs\("(\w+)"', text)) | set(EXPERIMENTS)
    assert asked == {rule for rule, _, _ in resources.table(ROOT)}
    commands = len(re.findall(r"^    *shell:$", text, re.MULTILINE))
    assert commands == len(re.findall(r"\*\*needs\(", text))


def test_every_rule_has_a_row_for_methods_and_data_that_are_new():
    rows = resources.table(ROOT)
    assert {(rule, "", "") for rule, _, _ in rows} <= set(rows)


def test_rows_are_of_methods_and_data_that_are_configured(config):
    beside = {name for names in references.BESIDE.values() for name in names}
    for rule, method, dataset in resources.table(ROOT):
        sections = [config[key].get(jobs.section(rule), {}) for key in ("experiments", "readings")]
        known = {name for each in sections for name in each.get("datasets", ())}
        for name in filter(None, method.split("+")):
            assert name in config["methods"] or name in beside, (rule, method)
        if dataset:
            assert dataset in CATALOGUE or dataset in known, (rule, dataset)


def test_a_row_for_data_is_for_a_method_whatever_the_order_of_those_that_one_job_fits(config):
    assert not [key for key in resources.table(ROOT) if key[2] and not key[1]]
    asked = needs(config)
    names = {"scale": "paper", "dataset": "gaussian-3-10000000"}
    both = [
        asked.seconds(work(asked, "moments", pair, **names))
        for pair in (("JDL", "CME"), ("CME", "JDL"))
    ]
    assert both[0] == both[1] > asked.seconds(work(asked, "moments", ("JPDL",), **names))


def test_the_numbers_of_a_row_are_numbers():
    for key, row in resources.table(ROOT).items():
        assert row["gpu"] in ("0", "1"), key
        for scale in SCALES:
            assert float(row[f"seconds_{scale}"]) > 0, key
            memory = row[f"memory_{scale}"]
            assert memory == "sizes" or int(memory) >= 400, key


def test_a_more_special_row_counts(config):
    asked = needs(config)
    red = {"scale": "laptop", "dataset": "red-wine"}
    largest = asked.memory(work(asked, "samples", **red, method="KEF"))
    assert largest > asked.memory(work(asked, "samples", scale="laptop", dataset="a", method="KEF"))
    assert asked.seconds(work(asked, "r_benchmark", **red, method="DDE")) > asked.seconds(
        work(asked, "r_benchmark", **red, method="a new method")
    )
    with pytest.raises(LookupError, match=r"resources\.csv has no rule unheard: add a row"):
        asked.memory(work(asked, "unheard", scale="laptop"))


@pytest.mark.parametrize("scale", SCALES)
def test_a_cluster_ends_no_job_within_twice_its_typical_time(config, scale):
    asked = needs(config)
    for (rule, method, dataset), row in resources.table(ROOT).items():
        names = {"scale": scale, "dataset": dataset, "method": method}
        minutes = asked.minutes(work(asked, rule, method.split("+") if method else (), **names))
        assert isinstance(minutes, int)
        assert 60 * minutes >= 2 * float(row[f"seconds_{scale}"])


def test_memory_follows_the_sizes_of_the_data(config):
    asked = needs(config)

    def of(rule, dataset, methods, scale="laptop"):
        return asked.memory(work(asked, rule, methods, scale=scale, dataset=dataset))

    pairs = [of("moments", f"gaussian-2-{n}", ("JDL", "CME")) for n in (10**3, 10**5, 10**6)]
    assert pairs == sorted(pairs)
    # One factor of each of x and y, with some hundred columns where the tolerance is strict.
    assert pairs[2] > 2 * 8 * 10**6 * 100 / 2**20
    days = of("portfolio", "portfolios-1-20000", ("JDL",), "paper")
    assert days > 8 * 16_000 * 20_000 / 2**20 > of("portfolio", "portfolios-1-20000", ("JDL",))
    assert of("terrain", "rough-terrain", ("CDO",)) > 8 * 12_636**2 / 2**20
    assert of("donut", "donut", ("CDO",)) > of("donut", "donut", ("LSCDE",))


def test_jobs_on_a_cluster_share_their_memory_with_those_that_start_them(config):
    names = {"scale": "smoke", "dataset": "smoke-mixed", "method": "LSCDE"}
    here, there = needs(config), needs(config, cluster=True)
    job = work(here, "r_benchmark", **names)
    assert there.memory(job) == here.memory(job) + resources.CLUSTER_MEMORY


def test_a_second_attempt_gets_twice_the_memory_and_time(config):
    asked = needs(config).resources("r_benchmark")
    names = SimpleNamespace(scale="paper", dataset="geyser", method="DDE")
    for name in ("mem_mb", "runtime"):
        first, second, third = (asked[name](names, attempt=k) for k in (1, 2, 3))
        assert (second, third) == (2 * first, 4 * first)


@pytest.mark.parametrize(
    ("backend", "found", "kernel"),
    [("numpy", True, 0), ("auto", False, 0), ("auto", True, 1), ("cupy", False, 1)],
)
def test_who_asks_for_a_gpu(config, monkeypatch, backend, found, kernel):
    monkeypatch.setattr(resources, "devices", lambda: int(found))
    monkeypatch.setattr(resources.importlib.util, "find_spec", lambda name: name)
    asked = needs(config | {"backend": backend})
    names = {"scale": "laptop", "dataset": "geyser"}
    expected = {
        "r_benchmark": kernel,
        "samples": kernel,
        "moments": kernel,
        "joint": 0,
        "estimation_cost": 0,
        "artefact": 0,
    }
    for rule, gpus in expected.items():
        assert asked.gpu(work(asked, rule, ("KCEF",), **names)) == gpus
    for method in ("NADE", "DDE-penalised", "CondMAF"):
        assert asked.gpu(work(asked, "r_benchmark", **names, method=method)) == 0
    assert asked.gpu(work(asked, "joint_network", **names, method="NADE")) == 0


def test_cuda_takes_memory_of_the_host(config):
    names = {"scale": "laptop", "dataset": "geyser", "method": "KCEF"}
    here, there = needs(config | {"backend": "numpy"}), needs(config | {"backend": "cupy"})
    job = work(here, "r_benchmark", **names)
    assert there.memory(job) == here.memory(job) + resources.GPU_MEMORY


def test_auto_asks_for_no_gpu_without_cupy(monkeypatch):
    monkeypatch.setattr(resources, "devices", lambda: 1)
    monkeypatch.setattr(resources.importlib.util, "find_spec", lambda name: None)
    assert not resources.finds_gpu("auto")


def test_without_driver_there_is_no_device(monkeypatch):
    def missing(name):
        raise OSError(name)

    monkeypatch.setattr(resources.ctypes, "CDLL", missing)
    assert resources.devices() == 0


def test_the_driver_is_asked_how_many_devices_there_are(monkeypatch):
    class Driver:
        failing = 0

        def cuInit(self, flags):
            return self.failing

        def cuDeviceGetCount(self, count):
            count._obj.value = 3
            return 0

    monkeypatch.setattr(resources.ctypes, "CDLL", lambda name: Driver())
    assert resources.devices() == 3
    monkeypatch.setattr(Driver, "failing", 100)
    assert resources.devices() == 0


def test_only_what_is_quick_and_whole_is_grouped(config):
    asked = needs(config, cluster=True)
    names = {"scale": "laptop", "dataset": "geyser"}
    quick = work(asked, "r_benchmark", **names, method="LSCDE")
    assert asked.group(quick) == "quick"
    assert needs(config).group(quick) is None
    assert asked.group(work(asked, "r_benchmark", **names, method="DDE")) is None
    assert asked.group(quick._replace(of=3)) is None
    assert asked.group(quick._replace(collects=True)) is None
    grouped = [row for row in resources.table(ROOT).values() if row["group"]]
    assert max(float(row[f"seconds_{scale}"]) for row in grouped for scale in SCALES) <= 10


def test_a_part_has_its_share_of_the_time_and_all_of_the_memory(config):
    config["shards"]["r_benchmark"] = 4
    asked = needs(config)
    names = {"scale": "laptop", "dataset": "geyser", "method": "KCEF-LL"}
    collecting = work(asked, "r_benchmark", **names)
    part = work(asked, "r_benchmark", **names, shard="2", shards="4")
    assert collecting.collects
    assert not part.collects
    whole = collecting._replace(collects=False)
    assert asked.seconds(whole) / 4 < asked.seconds(part) < asked.seconds(whole)
    assert asked.seconds(collecting) < asked.seconds(whole)
    assert asked.memory(part) == asked.memory(collecting) == asked.memory(whole)
    assert not work(asked, "r_benchmark", **names | {"method": "NADE"}).collects


def test_parts_compute_where_whole_jobs_do_and_collecting_needs_no_gpu(config):
    config |= {"backend": "cupy", "shards": config["shards"] | {"r_benchmark": 4}}
    asked = needs(config)
    names = {"scale": "laptop", "dataset": "geyser", "method": "KCEF-LL"}
    assert asked.gpu(work(asked, "r_benchmark", **names, shard="2", shards="4")) == 1
    assert asked.gpu(work(asked, "r_benchmark", **names)) == 0


def test_repetitions_are_those_of_the_experiment(config):
    """Of the one experiment whose default is the paper's number."""
    splits = config["scales"][jobs.SCALED["r_benchmark"]["splits"]]
    assert splits["paper"] == r_benchmark.Job("", "", "").splits


# ---- with Snakemake ----------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.workflow
def test_without_gpu_cupy_stops_before_any_job(snakemake, project):
    if resources.devices():
        pytest.skip("this machine has a GPU")
    target = "results/smoke/consistency.csv"
    done = snakemake(target, "--config", "backend=cupy")
    said = done.stdout + done.stderr
    assert done.returncode == 1
    assert "python -m kcde info" in said
    assert "Traceback" not in said
    assert not (project / target).exists()
    assert not (project / "results/logs/smoke/consistency.log").exists()
    assert snakemake("help", "--config", "backend=cupy").returncode == 0


SHARING = """
include: "workflow/rules/common.smk"
rule all:
    input: "a", "b"
rule one:
    output: "{name}"
    wildcard_constraints: name="[ab]"
    resources: gpu=1
    shell: "mkdir held && sleep 1 && rmdir held && touch {output}"
"""
"""Two jobs that fail where they meet."""


@pytest.mark.slow
@pytest.mark.workflow
@pytest.mark.parametrize(
    ("given", "shared"),
    [((), False), (("--workflow-profile", "none"), False), (("--config", "gpu_jobs=2"), True)],
)
def test_two_jobs_share_a_gpu_only_if_told_so(snakemake, project, given, shared):
    """Also where nobody says `gpu: 1`: without the profile, or with more GPUs than one."""
    (project / "sharing").write_text('configfile: "config.yaml"\n' + SHARING)
    for name in "ab":
        (project / name).unlink(missing_ok=True)
    shutil.rmtree(project / "held", ignore_errors=True)
    done = snakemake("-s", "sharing", "--cores", "2", "--resources", "gpu=2", *given)
    assert done.returncode == int(shared), done.stdout + done.stderr
    assert ((project / "a").exists() and (project / "b").exists()) is not shared
