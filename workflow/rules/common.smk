# What the rules share: names, where files lie, what a job is told.
import json
import os
import re
import shlex
import sys
import time
from functools import cache
from itertools import product
from pathlib import Path
from types import SimpleNamespace

from snakemake.exceptions import WorkflowError
from snakemake.logging import logger
from snakemake.utils import update_config

ROOT = Path(workflow.basedir)
sys.path[:0] = [f"{ROOT / 'src'}", f"{ROOT / 'workflow'}"]

import conditionals
import configuration
import cutting
import display
import embeddings
import jobs
import joints
import planning
import references
import resources
import traffics
from kcde import provenance, summary
from kcde.artefacts.core import listing
from kcde.experiments.jobs import EXPERIMENTS, job_class
from kcde.files import read_object
from kcde.memory import free_host_bytes

DISPLAY = display.install(logger, workflow)
update_config(config, configuration.typed(workflow.config_settings.config or {}))
config.update(configuration.complete(config))
try:
    configuration.check(config, ROOT)
except configuration.ConfigurationError as error:
    raise WorkflowError(str(error)) from None

CATALOGUE = configuration.catalogue(ROOT)
ARTEFACTS = listing.artefacts()
PAPERS = list(dict.fromkeys(listed.paper for listed in ARTEFACTS.values()))
ENVIRONMENT = "../../envs/gpu.yaml" if config["backend"] == "cupy" else "../../envs/cpu.yaml"
# Jobs run on this machine, not on nodes that a cluster gives.
LOCAL = workflow.is_main_process and workflow.resource_settings.nodes is None
NEEDS = resources.Needs(config, ROOT, CATALOGUE, cluster=not LOCAL)
DISPLAY.needs, needs, group_of = NEEDS, NEEDS.resources, NEEDS.group_of
THREADS = config["blas_threads"]
# JAX trains on the CPU, whatever else a machine has, unless cupy is asked for by its name.
JAX = "cuda" if config["backend"] == "cupy" else "cpu"
# glibc gives each large temporary back to the kernel and faults the next one in again, which costs
# a tenth of the time; below so many bytes it keeps them.
MALLOC = 2**30
SMOKE_MIRROR = "results/smoke/mirror"
MADE_UP = sorted(
    {name for names in config["smoke_datasets"].values() for name in names}
    | set(embeddings.MADE_UP_FILES.values())
)
PLANAR = references.planar_names()
OPTIONAL = traffics.optional(config, CATALOGUE)
GRAPHS = [name for name, method in config["methods"].items() if "graph" in method]
COSTED = ("DDE", "KCEF", "KEF")
# Every fit whose cost is measured is a process of its own with one numerical thread, on the CPU.
ENVIRONMENTS = {"estimation_cost": "JAX_PLATFORMS=cpu"}
# On made-up data XLA would compile the networks for longer than they are trained.
LIGHT_COMPILATION = (
    "XLA_FLAGS='--xla_backend_optimization_level=1 --xla_cpu_use_fusion_emitters=false'"
)
NETWORKS = [name for name in config["methods"] if name not in GRAPHS]
# One word a run, the same wherever this run asks for it.
ATTEMPT = f"{time.time_ns()}"
PUBLISHED = sorted(f"{path.relative_to(ROOT)}" for path in ROOT.glob("src/kcde/published/*.csv"))

# Jobs use the Python that runs Snakemake (a conda environment comes before it) and this checkout.
# Snakemake sets thread variables from `threads`, which --cores caps; results must not depend on it.
os.environ.update(
    PATH=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
)
if config["data_mirror"]:
    os.environ.update(KCDE_DATA_MIRROR=config["data_mirror"])
shell.prefix(
    f"set -euo pipefail; export PYTHONPATH={shlex.quote(str(ROOT / 'src'))} PYTHONHASHSEED=0"
    f" JAX_PLATFORMS={JAX}"
    f" OMP_NUM_THREADS={THREADS} OPENBLAS_NUM_THREADS={THREADS} MKL_NUM_THREADS={THREADS}"
    f" MALLOC_MMAP_THRESHOLD_={MALLOC} MALLOC_TRIM_THRESHOLD_={MALLOC}; "
)

if LOCAL:
    # Each job takes the first GPU that it finds, so there is one to share out.
    workflow.register_resource("gpu", 1)
    # A job that asks for more than there is asks for all of it, and so runs alone.
    if "mem_mb" not in workflow.global_resources:
        workflow.register_resource("mem_mb", free_host_bytes() // 2**20)


wildcard_constraints:
    scale="|".join(configuration.SCALES),
    dataset="|".join(
        [
            *map(
                re.escape, [*CATALOGUE, *MADE_UP, *PLANAR, conditionals.DONUT, traffics.SIMULATED]
            ),
            "grid-[0-9]+",
            *embeddings.PATTERNS.values(),
        ]
    ),
    method="|".join(map(re.escape, config["methods"])),
    nodes="[0-9]+-[0-9]+",
    shard="[0-9]+",
    shards="[0-9]+",
    paper="|".join(map(re.escape, PAPERS)),
    artefact="[A-Za-z0-9_-]+",


def record(scale, dataset):
    """Where it stands whether a data set could be had; the same for its aliases."""
    if scale == "smoke":
        return f"results/smoke/data/{dataset}.json"
    return f"results/data/{CATALOGUE[dataset]['name']}.json"


def files_of(experiment, wildcards):
    """The data sets that a job reads: none where they are generated."""
    if experiment == "portfolio":
        asked = jobs.Asked(config, wildcards.scale, experiment, wildcards.dataset, "")
        return [jobs.value_of(asked, name) for name in ("portfolios", "risk_free")]
    drawn = joints.is_grid(wildcards.dataset) or wildcards.dataset == traffics.SIMULATED
    return [] if drawn else [wildcards.dataset]


def places_of(experiment):
    """The flags that say where the raw data of a job are, and whether they could be had."""

    def places(wildcards, input):
        records = list(input.get("record", []))
        words = [word for path in records for word in ("--record", path)]
        if wildcards.scale == "smoke" and records:
            catalogue = f"{SMOKE_MIRROR}/catalogue.csv"
            words += ["--data-dir", "results/smoke/raw", "--catalogue", catalogue]
        return shlex.join(words)

    return places


def digest_of(experiment):
    """What the catalogue says of the data of a job; generated ones are known by their generator."""
    if not job_class(experiment).reads_files:
        return ""

    def data(wildcards):
        names = files_of(experiment, wildcards)
        if not names:
            generator = "grid" if joints.is_grid(wildcards.dataset) else "traffic"
            return provenance.digest(f"kcde.datasets.{generator}")
        if wildcards.scale == "smoke":
            return provenance.digest("kcde.datasets.synthetic")
        return [configuration.load_digest(CATALOGUE[name]) for name in names]

    return data


def attempt(record, is_there):
    """A word that changes until what a record tells of is there, and then stays.

    Params are compared with those of the last run, so a changed word makes the job run again, and
    the word of the run that succeeded is kept beside the record. A damaged record tells of nothing.
    """
    said, kept = read_object(record), Path(record).with_suffix(".attempt")
    if said is None or not kept.is_file() or not is_there(said):
        return ATTEMPT
    return kept.read_text(encoding="utf-8").strip()


def is_available(said):
    """Whether raw data are where their record says."""
    return said["status"] == "available" and Path(said["path"]).exists()


def is_drawn(said):
    """Whether no file of an artefact has been deleted since its record was written."""
    return all(Path(name).exists() for name in said["files"])


def steps():
    """Experiment, methods and whether it is a part, of each rule that fits."""
    for experiment in EXPERIMENTS:
        shares = experiment in embeddings.PATTERNS
        for group in embeddings.groups(config, experiment) if shares else [()]:
            for cut in (False, True) if job_class(experiment).repeated else (False,):
                yield experiment, group, cut


def inputs_of(experiment, group):
    """What a job waits for: raw data, parts that it collects, and what other jobs wrote."""
    cls = job_class(experiment)
    found = {"factors": FACTORS[experiment]} if experiment in FACTORS else {}
    if experiment == "similarity":
        found |= SAMPLES
    if cls.reads_files:
        found["record"] = lambda wildcards: [
            record(wildcards.scale, name) for name in files_of(experiment, wildcards)
        ]
    if cls.repeated:
        found["parts"] = parts_of(experiment, group)
    return found


def parts_of(experiment, group):
    """The parts that a job collects: none for a job that is not cut, and for a part itself."""

    def parts(wildcards):
        names = group or filter(None, [getattr(wildcards, "method", None)])
        dataset = getattr(wildcards, "dataset", "")
        cut = (config, CATALOGUE, experiment, wildcards.scale, dataset, list(names))
        if is_part(wildcards) or (count := cutting.shards(*cut)) == 1:
            return []
        path = cutting.part(experiment, *group[:1]) + ".npz"
        return [path.format(**dict(wildcards), shard=i + 1, shards=count) for i in range(count)]

    return parts


def outputs_of(experiment, group, cut):
    """The files of a job: of each method what it would write alone; of a part one."""
    if cut:
        return {"scores": [temp(cutting.part(experiment, *group[:1]) + ".npz")]}
    stems = [f"results/{{scale}}/{cutting.stem(experiment, *each)}" for each in each_of(group)]
    return {
        name: [f"{stem}.{suffix}" for stem in stems]
        for name, suffix in (("scores", "csv"), ("info", "json"), ("arrays", "npz"))
    }


def each_of(group):
    """The methods of a group, each alone; where there is none, the wildcard says the method."""
    return [(method,) for method in group] or [()]


def kept(kind, suffix, experiment, group, cut):
    """Where the log or the benchmark of a job is."""
    if cut:
        return cutting.part(experiment, *group[:1], root=f"results/{kind}/parts/{{scale}}") + suffix
    return f"results/{kind}/{{scale}}/{cutting.stem(experiment, *group[:1])}{suffix}"


def constraints_of(experiment):
    """What the wildcards of a rule may be, beyond what they may be anywhere."""
    of_method = {"factors": GRAPHS, "joint": GRAPHS, "joint_network": NETWORKS, "planar": NETWORKS}
    of_dataset = {"exact": "grid-[0-9]+", "donut": conditionals.DONUT, **embeddings.PATTERNS}
    of_dataset["planar"] = "|".join(map(re.escape, PLANAR))
    found = {"dataset": of_dataset[experiment]} if experiment in of_dataset else {}
    if experiment in of_method:
        found["method"] = "|".join(map(re.escape, of_method[experiment]))
    return found


def is_part(wildcards):
    """Whether a job computes some of the repetitions alone."""
    return hasattr(wildcards, "shard")


def environment_of(experiment):
    """The environment variables of a job, beside those of all."""

    def variables(wildcards):
        compiling = LIGHT_COMPILATION if wildcards.scale == "smoke" else ""
        return " ".join(filter(None, [ENVIRONMENTS.get(experiment, ""), compiling]))

    return variables


def cut_flags(wildcards, input):
    """The flags that say which repetitions a job computes, or which parts it collects."""
    if is_part(wildcards):
        return f"--shard {wildcards.shard}/{wildcards.shards}"
    return shlex.join(word for path in input.get("parts", []) for word in ("--part", path))


def out_flags(wildcards, output):
    """The flags that say where the scores of each method go, in their order, or what a part keeps."""
    return shlex.join(word for path in output.scores for word in ("--out", path))


def job_of(experiment, group):
    """The JSON that says what a job is, quoted.

    A function of wildcards alone: of params that look at inputs Snakemake does not see a change.
    """

    def told(wildcards):
        scale, dataset = wildcards.scale, getattr(wildcards, "dataset", "")
        if group:
            return shlex.quote(jobs.text(jobs.several(config, scale, experiment, dataset, group)))
        method, files = getattr(wildcards, "method", ""), {}
        if experiment in FACTORS:
            files["factors"] = FACTORS[experiment](wildcards)
        if experiment == "similarity":
            files = {name: path.format(**dict(wildcards)) for name, path in SAMPLES.items()}
            files["rival_name"] = method
        if experiment == "factors":
            files["nodes"] = joints.nodes(wildcards.nodes)
        return shlex.quote(jobs.text(jobs.job(config, scale, experiment, dataset, method, **files)))

    return told


def code_of(experiment, group):
    """A digest of an experiment and of the estimators of a job's methods alone."""

    @cache
    def with_estimators(*estimators):
        modules = map(provenance.estimator_module, estimators)
        return provenance.digest(f"kcde.experiments.{experiment}", *modules)

    def of_job(wildcards):
        if "estimator" not in job_class(experiment).parameters():
            return with_estimators(*(COSTED if experiment == "estimation_cost" else ()))
        methods = group or [wildcards.method]
        return with_estimators(*(config["methods"][name]["estimator"] for name in methods))

    return of_job


def factors_of(wildcards):
    """The score tables of all factors of a method's joint density."""
    count = joints.columns(config, CATALOGUE, wildcards.dataset)
    return [
        f"results/{wildcards.scale}/factors/{wildcards.dataset}/{wildcards.method}/{nodes}.csv"
        for nodes in joints.node_ranges(count, config["experiments"]["joint"]["nodes_per_job"])
    ]


def factors_if_any(wildcards):
    """The same, none for a method whose one model has all columns."""
    return factors_of(wildcards) if wildcards.method in GRAPHS else []


# What some jobs read of others: the factors of joint densities, and samples of ours and a rival's.
FACTORS = {"joint": factors_of, "samples": factors_if_any}
SAMPLES = {
    name: f"results/{{scale}}/{cutting.stem('samples', method)}.npz"
    for name, method in (("ours", joints.OURS), ("rival", "{method}"))
}


def scores_of(scale, artefact):
    """The score tables that an artefact shows."""
    if artefact not in ARTEFACTS:
        known = ", ".join(ARTEFACTS)
        raise WorkflowError(f"kcde: there is no artefact {artefact}; known: {known}")
    experiments = list(ARTEFACTS[artefact].shows)
    alone = [
        f"results/{scale}/{experiment}.csv"
        for experiment in experiments
        if "datasets" not in config["experiments"][experiment]
    ]
    shown = [
        f"results/{scale}/{experiment}/{dataset}/{method}.csv"
        for experiment, dataset, method in configuration.selected(config, artefact, scale)
    ]
    if not alone + shown:
        named = "` or `experiments.".join(experiments)
        raise WorkflowError(
            f"kcde: nothing that {artefact} shows is selected by `experiments.{named}`: "
            "add some of its data sets and methods"
        )
    return alone + shown


def all_scores(scale):
    """Every score table that the chosen papers show, and all of r_benchmark if one shows some."""
    shown = [
        path
        for artefact in configuration.artefacts(config, config["papers"])
        for path in scores_of(scale, artefact)
    ]
    used = "r_benchmark"
    if not any(path.startswith(f"results/{scale}/{used}/") for path in shown):
        return shown
    others = [
        f"results/{scale}/{used}/{dataset}/{method}.csv"
        for dataset, method in configuration.pairs(config, used, scale)
    ]
    return list(dict.fromkeys([*shown, *others]))


def records(scale, papers):
    """The records of the artefacts of some papers."""
    return [record_of(scale, artefact) for artefact in configuration.artefacts(config, papers)]


def record_of(scale, artefact):
    """The record of an artefact."""
    return f"results/{scale}/artefacts/{artefact}.json"


def figures_folder(wildcards):
    """Where the artefacts of a scale are drawn."""
    return configuration.figures_folder(config, ROOT, wildcards.scale)


def drawn_files():
    """Every file that can be asked for by its name, with the record that answers for it."""
    own = configuration.figures_folder(config, ROOT, config["scale"])
    return [
        SimpleNamespace(
            path=f"{folder}/{listing.place(listed.paper, listed.name)}.{suffix}",
            artefact=artefact,
            folder=folder,
            record=record_of(config["scale"], artefact) if folder == own else refusal(own),
        )
        for folder in dict.fromkeys([own, "figures"])
        for artefact, listed in ARTEFACTS.items()
        for suffix in listing.suffixes(listed.kind)
    ]


def refusal(own):
    """An input function for files that this configuration does not write."""

    def refuse(wildcards):
        raise WorkflowError(
            f"kcde: this configuration draws into {own}/: ask for the file there; "
            "`snakemake publish` copies what it drew into figures/"
        )

    return refuse


def published_scale():
    """The scale that `publish` copies from: one that was not drawn into figures/ itself."""
    if config["scale"] == "smoke":
        raise WorkflowError("kcde: publish copies no made-up data: use --config scale=paper")
    if configuration.figures_folder(config, ROOT, config["scale"]) == "figures":
        raise WorkflowError(
            "kcde: publish copies what another scale drew, and this configuration draws into "
            "figures/ itself: use --config scale=paper, after `snakemake --config scale=paper`"
        )
    return config["scale"]


def announce(workflow):
    """Refuse a run that cannot do what it is to do, and warn of what may fail."""
    jobs = [job for job in workflow.dag.needrun_jobs() if job.rule.name != "help"]
    others = [job for job in planning.working(jobs) if job.rule.name != "publish"]
    if others and len(others) < len(planning.working(jobs)):
        raise WorkflowError(
            f"kcde: publish copies what a finished run drew, and {len(others)} jobs of this scale "
            f"are not done: run `snakemake --config scale={config['scale']}` first"
        )
    if LOCAL and config["backend"] == "cupy" and not resources.devices():
        if any(job.resources.get("gpu") for job in jobs):
            raise WorkflowError(f"kcde: {resources.NO_GPU}")
    if LOCAL and jobs:
        for line in planning.beyond(jobs, workflow.global_resources["mem_mb"].value, NEEDS):
            print(line, file=sys.stderr)


def close(workflow):
    """Print the closing summary of each scale that the run touched; return what is amiss."""
    # What was collected is gone, and was no part that failed.
    left = set(workflow.dag.needrun_jobs())
    jobs = [
        job
        for job in workflow.dag.jobs
        if job.output and job.log and (job in left or not is_part(job.wildcards))
    ]
    touched = {getattr(job.wildcards, "scale", None) for job in jobs}
    scales = [scale for scale in configuration.SCALES if scale in touched]
    # Snakemake deletes the output of a job that fails, but not of one that waits for it.
    waiting = [job.output[0] for job in left if job.output and job.log]
    problems = []
    for scale in scales or [config["scale"]] * bool(jobs):
        drawn = [
            j.wildcards for j in jobs if j.rule.name == "artefact" and j.wildcards.scale == scale
        ]
        roots = (
            f"results/{scale}/",
            "results/smoke/data/" if scale == "smoke" else "results/data/",
        )
        closing = summary.summarise(
            f"results/{scale}",
            configuration.figures_folder(config, ROOT, scale),
            expected=[f"{wildcards.paper}/{wildcards.artefact}" for wildcards in drawn],
            jobs=[(j.output[0], j.log[0]) for j in jobs if j.output[0].startswith(roots)],
            stale=[path for path in waiting if Path(path).exists()],
            failed=DISPLAY.failed,
        )
        print(closing.text, file=sys.stderr)
        problems += closing.problems
    return problems
