# Four papers on kernel conditional density estimation, from raw data to tables and figures.
# `snakemake help` says what can be asked for; config.yaml says what is run.
from snakemake.utils import min_version

min_version("9.0")


configfile: f"{workflow.current_basedir}/config.yaml"


include: "workflow/rules/common.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/fit.smk"
include: "workflow/rules/draw.smk"
include: "workflow/rules/judge.smk"


rule all:
    input:
        done(config["papers"], [RUN]),
        scorecard(config["scale"]),


rule smoke:
    input:
        drawn("smoke", config["papers"], [RUN]),
        scorecard("smoke"),
        scorecard("smoke") and "results/smoke/figures/scores.csv.gz",


for target, papers, stages in (
    ("across", [plan.ACROSS], [RUN]),
    ("readings", config["papers"], [READINGS]),
    ("everything", [*config["papers"], plan.ACROSS], [RUN, READINGS]),
    *((paper, [paper], [RUN]) for paper in config["papers"]),
):

    rule:
        name:
            target
        input:
            done(papers, stages),
            scorecard(config["scale"]) if READINGS in stages else [],
