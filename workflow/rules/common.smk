# Shared by all rules: the configuration, the environment of jobs and the constraints of wildcards.
import os
import re
import shlex
import sys
from functools import partial
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.logging import logger
from snakemake.utils import update_config

# Of this project, also where another workflow uses it as a module.
ROOT = Path(workflow.current_basedir).parents[1]
sys.path[:0] = [f"{ROOT / 'src'}", f"{ROOT / 'workflow'}"]

from kcde import provenance
from kcde.artefacts.core import listing
from kcde.data import catalogue
from kcde.memory import free_host_bytes
from kcde.report.papers import about
from lib import config as configuration
from lib import display, hooks, own, paths, records, references, resources, selection
from lib.order import Order
from lib.steps import out_flags, place_flags, shard_flags, steps

DISPLAY = display.install(logger, workflow)
# As a module it leaves out what `--config` says to the workflow that uses it.
told = {key: each for key, each in (workflow.config_settings.config or {}).items() if key in config}
update_config(config, configuration.typed(told))
config.update(configuration.complete(config))
CATALOGUE = catalogue.by_any_name(catalogue.read())
try:
    configuration.check(config, ROOT, CATALOGUE)
except configuration.ConfigurationError as error:
    raise WorkflowError(str(error)) from None

ARTEFACTS = listing.artefacts()
PAPERS = list(dict.fromkeys(listed.paper for listed in ARTEFACTS.values()))
STAGES = [listing.RUN, listing.READINGS]
READ = {key for key, listed in ARTEFACTS.items() if listed.stage == listing.READINGS}
ENVIRONMENT = "../../envs/gpu.yaml" if config["backend"] == "cupy" else "../../envs/cpu.yaml"
# Jobs run on this machine, not on nodes that a cluster gives.
LOCAL = workflow.is_main_process and workflow.resource_settings.nodes is None
TABLE = resources.ResourceTable(config, ROOT, CATALOGUE, cluster=not LOCAL)
DISPLAY.table, needs, group_of = TABLE, TABLE.resources, TABLE.group_of
ORDER = Order(config, lambda *job: TABLE.seconds(TABLE.work(*job)))
THREADS = config["blas_threads"]
# glibc returns large temporaries to the kernel and faults the next ones in again, which takes a
# tenth of the time; it keeps those below this many bytes.
MALLOC = 2**30
# What the report is made of beside code: templates, and docstrings, which digests leave out.
PAGES = sorted(
    os.path.relpath(path)
    for folder in ("report/*.[cj]*", "webpage/*.css", "estimators/[!_]*.py")
    for path in ROOT.glob(f"src/kcde/{folder}")
)
# The same of the page on a table of one's own.
OWN_PAGE = sorted(
    os.path.relpath(ROOT / "src/kcde" / file)
    for file in ("comparison/costs.csv", "comparison/page.html.j2", "webpage/base.css")
)
PUBLISHED = sorted(os.path.relpath(path) for path in ROOT.glob("src/kcde/published/*.csv"))

# Jobs use the Python that runs Snakemake, unless in a conda environment, and this checkout.
# Snakemake sets thread variables from `threads`, which --cores caps; results must not depend on it.
os.environ.update(
    PATH=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
)
if config["data_mirror"]:
    os.environ.update(KCDE_DATA_MIRROR=config["data_mirror"])
shell.prefix(
    f"set -euo pipefail; export PYTHONPATH={shlex.quote(str(ROOT / 'src'))} PYTHONHASHSEED=0"
    " JAX_PLATFORMS=cpu"
    f" OMP_NUM_THREADS={THREADS} OPENBLAS_NUM_THREADS={THREADS} MKL_NUM_THREADS={THREADS}"
    f" MALLOC_MMAP_THRESHOLD_={MALLOC} MALLOC_TRIM_THRESHOLD_={MALLOC}; "
)

if LOCAL:
    # Each job takes the first GPU that it finds, so there is one to share out.
    workflow.register_resource("gpu", config["gpu_jobs"])
    # A job that asks for more than there is asks for all of it, and so runs alone.
    if "mem_mb" not in workflow.global_resources:
        workflow.register_resource("mem_mb", free_host_bytes() // 2**20)


wildcard_constraints:
    scale="|".join([*listing.SCALES, listing.READINGS]),
    dataset="|".join(
        [references.any_of([*CATALOGUE, *selection.made_up(config)]), references.generated()]
    ),
    method=references.any_of(config["methods"]),
    nodes="[0-9]+-[0-9]+",
    shard="[0-9]+",
    shards="[0-9]+",
    paper=references.any_of(PAPERS),
    artefact="[A-Za-z0-9_-]+",


def all_scores(scale, stages=(listing.RUN,)):
    """Every score table that a run at a scale makes."""
    return paths.all_scores(config, scale, stages)


def artefact_records(scale, papers, stages=(listing.RUN,)):
    """The records of the artefacts of some papers."""
    return paths.records(config, scale, papers, stages)


def figures_folder(scale):
    """Where the artefacts of a scale are drawn."""
    return configuration.figures_folder(config, ROOT, scale)
