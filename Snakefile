# Four papers on kernel conditional density estimation, from raw data to tables and figures.
# `snakemake help` says what can be asked for; config.yaml says what is run.
from snakemake.utils import min_version

min_version("9.0")


configfile: "config.yaml"


include: "workflow/rules/common.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/fit.smk"
include: "workflow/rules/artefacts.smk"
include: "workflow/rules/report.smk"
include: "workflow/rules/own.smk"


report: "workflow/report/workflow.rst"


rule all:
    input:
        all_scores(config["scale"]),
        artefact_records(config["scale"], config["papers"]),
        f"results/{config['scale']}/scorecard.txt",
        f"results/{config['scale']}/scores.json",


rule smoke:
    input:
        all_scores("smoke", STAGES),
        artefact_records("smoke", config["papers"], STAGES),
        "results/smoke/scorecard.txt",
        "results/smoke/scores.json",


rule readings:
    input:
        artefact_records(config["scale"], config["papers"], [listing.READINGS]),


rule scorecard:
    input:
        f"results/{config['scale']}/scorecard.txt",


rule report:
    input:
        f"results/{config['scale']}/report.html",
        [f"results/{config['scale']}/report/{paper}.html" for paper in PAPERS],


for paper in PAPERS:

    rule:
        name:
            paper
        input:
            artefact_records(config["scale"], [paper]),


onstart:
    hooks.begin(workflow, config, TABLE, local=LOCAL)


onsuccess:
    if problems := hooks.end(workflow, config, ROOT, DISPLAY):
        raise WorkflowError(f"kcde: not everything was regenerated: {'; '.join(problems)}")


onerror:
    hooks.end(workflow, config, ROOT, DISPLAY)
