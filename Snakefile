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


rule across:
    input:
        done([plan.ACROSS], [RUN]),


rule readings:
    input:
        done(config["papers"], [READINGS]),
        scorecard(config["scale"]),


rule everything:
    input:
        done([*config["papers"], plan.ACROSS], [RUN, READINGS]),
        scorecard(config["scale"]),


rule smoke:
    input:
        drawn("smoke", config["papers"], [RUN]),
        "results/smoke/figures/scorecard.md",
        "results/smoke/figures/scores.csv.gz",


for paper in config["papers"]:

    rule:
        name:
            paper
        input:
            done([paper], [RUN]),
