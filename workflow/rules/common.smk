# Shared by all rules: the configuration, the environment of jobs and the constraints of wildcards.
import gc
import json
import os
import re
import shlex
import shutil
import sys
from functools import partial
from pathlib import Path

import yaml
from snakemake.exceptions import WorkflowError
from snakemake.utils import validate

gc.set_threshold(50_000)  # what planning makes stays: to look for garbage would take a fifth of it
# Of this project, also where another workflow uses it as a module.
ROOT = Path(workflow.current_basedir).parents[1]
sys.path.insert(0, str(ROOT / "src"))

from kcde import plan, provenance
from kcde.arrays import resolve_backend
from kcde.papers.artefact import READINGS, RUN
from kcde.papers.registry import ARTEFACTS
from kcde.data import catalogue
from kcde.experiments import experiment, experiments
from kcde.experiments.base import LAPTOP, SCALES, SMOKE
from kcde.memory import free_host_bytes
from kcde.methods import define
from kcde.names import nearest


def typed(value):
    """Return a value of `--config`, in whose dictionaries Snakemake reads numbers as text."""
    if isinstance(value, dict):
        return {key: typed(each) for key, each in value.items()}
    if isinstance(value, list):
        return list(map(typed, value))
    return yaml.safe_load(value) if isinstance(value, str) else value


config.update({key: typed(config[key]) for key in ("shards", "set", "methods")})
LOCAL = workflow.is_main_process and workflow.resource_settings.nodes is None
try:
    validate(config, f"{ROOT}/workflow/schemas/config.schema.yaml", set_default=False)
    if unknown := sorted({*config["papers"]} - {*plan.PAPERS}):
        raise ValueError(f"there is no paper {unknown[0]!r}; known: {', '.join(plan.PAPERS)}")
    define(config["methods"])
    shown = {key for each in config["methods"].values() for key in each.get("shown", ())}
    for key in shown - {*ARTEFACTS}:
        raise ValueError(f"methods: shown: no artefact {key!r}{nearest(key, ARTEFACTS)}")
    for name, changes in (dict.fromkeys(config["shards"], {}) | config["set"]).items():
        made = experiment(name)
        made.at(config["scale"], *made.datasets[:1], *made.methods[:1], **changes)
    # The host that submits jobs to a cluster may be without the GPU that its nodes have.
    asks = config["backend"] == "cupy" and not LOCAL
    HAS_GPU = asks or resolve_backend(config["backend"]) == "cupy"
except (ValueError, RuntimeError, WorkflowError) as error:
    said = re.search(r"ValidationError: (.*)(?s:.*)\nOn instance(.*):\n", str(error))
    raise WorkflowError(f"config{said[2]}: {said[1]}" if said else f"config: {error}") from None

scores = partial(plan.scores, pems=config["pems"])
CATALOGUE = catalogue.by_any_name(catalogue.read())
RESOURCES = plan.resource_table(ROOT / "resources.csv")
CONDA = "../../envs/gpu.yaml" if config["backend"] == "cupy" else "../../envs/cpu.yaml"
XLA_FLAGS = "XLA_FLAGS=--xla_backend_optimization_level=1"
THREADS = config["blas_threads"]
SMOKE_RAW = "results/smoke/raw"
PUBLISHED = [os.path.relpath(path) for path in sorted(ROOT.glob("src/kcde/papers/[!_]*/*.[cmy]*"))]
# figures/ holds the scale laptop as config.yaml has it; other choices stay in results/<scale>/.
TRACKED = config["scale"] == LAPTOP and not config["set"] and not config["methods"]
FIGURES = "figures" if TRACKED else f"results/{config['scale']}/figures"
AT_PAPER_SCALE = "figures/at-paper-scale"
# Each file is copied beside its marker, then renamed, so that a reader never finds half of one.
PUT = (
    "for file in {input}; do to={params.into}/${{file#results/*/figures/}}; mkdir -p ${{to%/*}};"
    " cp $file $file.copy && mv $file.copy $to; done; touch {output}"
)

# Jobs use the Python that runs Snakemake, unless in a conda environment, and this checkout.
# Snakemake sets thread variables from `threads`, which --cores caps; results must not depend on it.
# To return large temporaries to the kernel takes a tenth of the time: glibc keeps up to 1 GiB.
# Compiled networks are kept a machine, whose processor they are for: jobs of a shape share them.
os.environ.update(PATH=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
if config["data_mirror"]:
    os.environ.update(KCDE_DATA_MIRROR=config["data_mirror"])
shell.prefix(
    f"set -euo pipefail; export PYTHONPATH={shlex.quote(str(ROOT / 'src'))} PYTHONHASHSEED=0"
    f" OMP_NUM_THREADS={THREADS} OPENBLAS_NUM_THREADS={THREADS} MKL_NUM_THREADS={THREADS}"
    " JAX_PLATFORMS=cpu JAX_COMPILATION_CACHE_DIR=$PWD/results/xla/$HOSTNAME"
    " JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS=0.3 MALLOC_MMAP_THRESHOLD_=1073741824"
    " MALLOC_TRIM_THRESHOLD_=1073741824; "
)


onstart:
    # With a rate limit Snakemake looks at all waiting jobs each second: for most of a core.
    if LOCAL:
        workflow.scheduler.job_rate_limiter = None
        for left in Path("results").rglob(".kcde-*"):  # by a run that was killed
            shutil.rmtree(left)


if LOCAL:
    # A job takes the first GPU that it finds. One that asks for too much memory runs alone.
    workflow.register_resource("gpu", config["gpu_jobs"])
    # The other cores draw the tables of the first papers meanwhile.
    workflow.register_resource("long", max(1, (workflow.cores or 1) // 2))
    if "mem_mb" not in workflow.global_resources:
        workflow.register_resource("mem_mb", free_host_bytes() // 2**20)


def any_of(names):
    return "|".join(map(re.escape, names))


wildcard_constraints:
    scale=any_of(SCALES),
    job=f"(?:{any_of(experiments())})(?:/[A-Za-z0-9-]+){{0,3}}",
    paper=any_of([*plan.PAPERS, plan.ACROSS]),
    artefact="|".join(f"(?<={each.paper}/){re.escape(each.name)}" for each in ARTEFACTS.values()),
    shard="[0-9]+",
    shards="[0-9]+",


def drawn(scale, papers, stages):
    """Return what is drawn of the artefacts of papers."""
    return [f"results/{scale}/figures/{each.key}.png" for each in plan.artefacts(papers, stages)]


def done(papers, stages):
    """Return the last files of the artefacts of papers: copies in figures/ where these are made."""
    if not TRACKED:
        return drawn(config["scale"], papers, stages)
    return [f"results/{LAPTOP}/copied/{each.key}" for each in plan.artefacts(papers, stages)]


def scorecard(scale):
    """Return the last file of the scorecard, which is of all papers."""
    if set(config["papers"]) != set(plan.PAPERS):
        return []
    copied = TRACKED and scale == LAPTOP
    return f"results/{scale}/" + ("copied/scorecard" if copied else "figures/scorecard.md")


def judged(scale):
    """Return what the artefacts of all papers decide, readings where they are made or were."""
    asked = {"readings", "everything"} & set(workflow.dag_settings.targets or ())
    every = plan.artefacts(plan.PAPERS, [RUN, READINGS])
    found = {f"results/{scale}/judged/{each.key}.csv": each.stage == RUN for each in every}
    return [path for path, run in found.items() if run or asked or Path(path).exists()]


def not_here(w):
    """Refuse a target that there is not, or not in this configuration."""
    if asked := "".join(w):
        guess = nearest(asked, [each.name for each in workflow.rules])
        raise WorkflowError(f"no such target {asked}{guess}: `snakemake help` lists all")
    raise WorkflowError(f"not so configured: files go to {FIGURES}/, a scorecard has all `papers`")


def publishable(w):
    """Return what `publish` copies: what another scale has drawn."""
    if config["scale"] in (SMOKE, LAPTOP):
        raise WorkflowError("kcde: publish copies the scale paper: add --config scale=paper")
    made = [path[:-3] for path in drawn(config["scale"], config["papers"], [RUN])]
    return expand("{stem}{suffix}", stem=made, suffix=["csv", "png", "pdf"])


def job_of(w):
    """Return experiment, data set and method."""
    name, _, rest = w.job.partition("/")
    dataset, _, method = rest.partition("/")
    return name, dataset, method


def parameters(w, method):
    """Return the parameters of a method in the place of that of a job."""
    name, dataset, _ = job_of(w)
    changes = json.dumps(config["set"].get(name, {}))
    return plan.parameters(w.scale, (name, dataset, method), changes)


def raw_data(w):
    """Return what says that the raw data of a job are there."""
    found = plan.raw_data(w.scale, job_of(w))
    if w.scale == SMOKE:
        return [f"{SMOKE_RAW}/catalogue.csv"] if found else []
    return [f"results/data/{catalogue.find(CATALOGUE, name).name}.txt" for name in found]


def parts(w):
    """Return the parts that a job collects, none where it computes all itself."""
    job = job_of(w)
    first = plan.together(job)[0]
    count = plan.shards(w.scale, job, config["shards"].get(job[0], 1))
    if count == 1 and len(plan.together(job)) == 1:
        return []
    folder = f"results/{w.scale}/parts/{'/'.join(filter(None, [*job[:2], first]))}"
    return [f"{folder}/{i + 1}-of-{count}.npz" for i in range(count)]


def words(w, methods):
    """Return the command of a job but for its files: names, scale, sizes and raw data."""
    name, dataset, _ = job_of(w)
    fitted = {method.partition("/")[0] for method in methods}
    own = {key: each for key, each in config["methods"].items() if key in fitted}
    said = [name, *filter(None, [dataset, *methods]), "--scale", w.scale]
    said += ["--backend", config["backend"]]
    changes = config["set"].get(name, {})
    said += [f"--set={key}={json.dumps(value)}" for key, value in changes.items()]
    said += ["--define", json.dumps(own)] if own else []
    if w.scale == SMOKE:
        said += ["--data-dir", SMOKE_RAW, "--catalogue", f"{SMOKE_RAW}/catalogue.csv"]
    return shlex.join(said)


def named(flag):
    """Return the function of a rule that names its inputs, each with a flag."""
    return lambda w, input: shlex.join(x for p in input.get(flag, []) for x in (f"--{flag}", p))


def data_digest(w):
    if w.scale == SMOKE:
        return provenance.digest("kcde.data.smoke")
    return [CATALOGUE[name].load_digest() for name in plan.raw_data(w.scale, job_of(w))]


def resources_of(w):
    return plan.resources(RESOURCES, w.scale, job_of(w))


# At the scale paper most jobs are: a limit would leave cores idle.
def is_long(w):
    return int(w.scale == LAPTOP and resources_of(w)[1] > plan.LONG)
