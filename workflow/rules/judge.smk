# What was found: the scorecard, the scores of all splits, the report, the comparison with what is
# tracked, copies of another scale, and the list of targets.
localrules:
    judge,
    split_scores,
    copy_scorecard,
    report,
    publish,
    verify,
    help,


# Readings are judged where they were made here; else those that are tracked count.
rule judge:
    input:
        drawn=lambda w: drawn(w.scale, plan.PAPERS, [RUN]),
        judged=lambda w: judged(w.scale),
        published=PUBLISHED,
    output:
        multiext("results/{scale}/figures/scorecard", ".csv", ".md", ".html"),
        "results/{scale}/figures/readings.csv",
        expand("results/{{scale}}/figures/{paper}/{file}", paper=plan.PAPERS, file=JUDGED),
    log:
        "results/logs/{scale}/scorecard.log",
    conda:
        CONDA
    params:
        code=provenance.digest("kcde.evidence.scorecard"),
        into=lambda w, output: Path(output[0]).parent,
        tracked=lambda w: "" if w.scale == SMOKE else "--tracked figures",
    message:
        "judge every published number and claim, {wildcards.scale}"
    shell:
        "python -m kcde scorecard --into {params.into} --scale {wildcards.scale} {params.tracked}"
        " --judged {input.judged} > {log} 2>&1"


rule split_scores:
    input:
        lambda w: sorted(
            {
                path
                for each in plan.artefacts(plan.PAPERS, [RUN])
                for path in plan.scores(each, w.scale, pems=config["pems"])
            }
        ),
    output:
        multiext("results/{scale}/figures/scores", ".csv.gz", ".json"),
    log:
        "results/logs/{scale}/scores.log",
    conda:
        CONDA
    params:
        code=provenance.digest("kcde.split_scores"),
        into=lambda w, output: Path(output[0]).parent,
    message:
        "pack the scores of all splits, {wildcards.scale}"
    shell:
        "python -m kcde scores {input} --into {params.into} --scale {wildcards.scale} > {log} 2>&1"


rule copy_scorecard:
    input:
        multiext(f"results/{LAPTOP}/figures/scorecard", ".csv", ".md", ".html"),
        multiext(f"results/{LAPTOP}/figures/scores", ".csv.gz", ".json"),
        f"results/{LAPTOP}/figures/readings.csv",
        expand(f"results/{LAPTOP}/figures/{{paper}}/{{file}}", paper=plan.PAPERS, file=JUDGED),
    output:
        f"results/{LAPTOP}/copied/scorecard",
    log:
        f"results/logs/{LAPTOP}/copied/scorecard.log",
    conda:
        CONDA
    params:
        into="figures",
    message:
        "copy the scorecard to figures/"
    shell:
        PUT


rule scorecard:
    input:
        scorecard(config["scale"]),
    log:
        "results/logs/scorecard.log",
    localrule: True
    conda:
        CONDA
    params:
        page=f"{FIGURES}/scorecard.html",
    shell:
        "echo drawn: {params.page} | tee {log}"


# Pages of what is drawn now, on any clone: they ask for no fits.
rule page:
    input:
        [
            path
            for path in sorted(Path(FIGURES).rglob("*.*"))
            if path.suffix in (".csv", ".md", ".png")
        ],
        PUBLISHED,
    output:
        "results/{scale}/report.html",
    log:
        "results/logs/{scale}/report.log",
    localrule: True
    conda:
        CONDA
    params:
        code=provenance.digest("kcde.pages.scorecard_page"),
        figures=lambda w: FIGURES,
    message:
        "one page of all that is drawn, {wildcards.scale}"
    shell:
        "python -m kcde report --figures {params.figures} --out {output} --scale {wildcards.scale} > {log} 2>&1"


rule report:
    input:
        f"results/{config['scale']}/report.html",
    log:
        "results/logs/report.log",
    conda:
        CONDA
    shell:
        "echo written: {input} | tee {log}"


rule publish:
    input:
        publishable,
    log:
        "results/logs/publish.log",
    conda:
        CONDA
    params:
        into=AT_PAPER_SCALE,
    message:
        "copy what was drawn to figures/at-paper-scale/"
    shell:
        f"({PUT.partition('; touch')[0]}; ls -d {{params.into}}/*/) 2>&1 | tee {{log}}"


# It compares what is there: after a run, not as a part of one.
rule verify:
    log:
        "results/logs/verify.log",
    conda:
        CONDA
    params:
        computed=f"results/{config['scale']}/figures",
        tracked="figures" if config["scale"] == LAPTOP else AT_PAPER_SCALE,
    message:
        "compare what was computed here with what is tracked"
    shell:
        "python -m kcde verify {params.computed} --tracked {params.tracked} 2>&1 | tee {log}"


rule help:
    input:
        f"{ROOT}/workflow/help.txt",
    log:
        "results/logs/help.log",
    conda:
        CONDA
    shell:
        "cat {input:q} 2> {log}"
