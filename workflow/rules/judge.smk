# What was found: scorecard, scores of all splits, report, comparison with what is tracked, copies.
# Readings are judged where they were made here; else those that are tracked count.
rule judge:
    input:
        drawn=lambda w: drawn(w.scale, plan.PAPERS, [RUN]),
        judged=lambda w: judged(w.scale),
        published=PUBLISHED,
    output:
        multiext("results/{scale}/figures/scorecard", ".csv", ".md", ".html"),
        "results/{scale}/figures/readings.csv",
        expand("results/{{scale}}/figures/{paper}/README.md", paper=plan.PAPERS),
    log:
        "results/logs/{scale}/scorecard.log",
    localrule: True
    conda:
        CONDA
    params:
        code=provenance.digest("kcde.evidence.scorecard"),
        into=lambda w, output: Path(output[0]).parent,
        tracked=lambda w: "" if w.scale == SMOKE else f"--tracked '{ROOT / 'figures'}'",
    message:
        "judge every published number and claim, {wildcards.scale}"
    shell:
        "python -m kcde scorecard --into {params.into} --scale {wildcards.scale} {params.tracked}"
        " --judged {input.judged} > {log} 2>&1"


rule split_scores:
    input:
        lambda w: sorted(
            {p for a in plan.artefacts(plan.PAPERS, [RUN]) for p in scores(a, w.scale)}
        ),
    output:
        multiext("results/{scale}/figures/scores", ".csv.gz", ".json"),
    log:
        "results/logs/{scale}/scores.log",
    localrule: True
    conda:
        CONDA
    params:
        code=provenance.digest("kcde.evidence.tracked"),
        into=lambda w, output: Path(output[0]).parent,
    message:
        "pack the scores of all splits, {wildcards.scale}"
    shell:
        "python -m kcde scores {input} --into {params.into} --scale {wildcards.scale} > {log} 2>&1"


use rule copy as copy_scorecard with:
    input:
        multiext(f"results/{LAPTOP}/figures/scorecard", ".csv", ".md", ".html"),
        multiext(f"results/{LAPTOP}/figures/scores", ".csv.gz", ".json"),
        f"results/{LAPTOP}/figures/readings.csv",
        expand(f"results/{LAPTOP}/figures/{{paper}}/README.md", paper=plan.PAPERS),
    output:
        f"results/{LAPTOP}/copied/scorecard",
    log:
        f"results/logs/{LAPTOP}/copied/scorecard.log",
    message:
        "copy the scorecard to figures/"


rule scorecard:
    input:
        scorecard(config["scale"]) or not_here,
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
        [p for p in sorted(Path(FIGURES).rglob("*.*")) if p.suffix in (".csv", ".md", ".png")],
        PUBLISHED,
    output:
        "results/{scale}/report.html",
    log:
        "results/logs/{scale}/report.log",
    localrule: True
    conda:
        CONDA
    params:
        code=provenance.digest("kcde.evidence.scorecard"),
        figures=lambda w: FIGURES,
    message:
        "one page of all that is drawn, {wildcards.scale}"
    shell:
        "python -m kcde report --figures {params.figures} --out {output} --scale {wildcards.scale} > {log} 2>&1"


use rule scorecard as report with:
    input:
        f"results/{config['scale']}/report.html",
    log:
        "results/logs/report.log",
    params:
        page=lambda w, input: input[0],


rule publish:
    input:
        publishable,
    log:
        "results/logs/publish.log",
    localrule: True
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
    localrule: True
    conda:
        CONDA
    params:
        computed=f"results/{config['scale']}/figures",
        tracked=ROOT
        / {LAPTOP: "figures"}.get(config["scale"], f"figures/at-{config['scale']}-scale"),
    message:
        "compare what was computed here with what is tracked"
    shell:
        "python -m kcde verify {params.computed} --tracked {params.tracked:q} 2>&1 | tee {log}"


# A word, or a file that figures/ does not have, that names no rule is a target that is misspelt.
rule unknown:
    input:
        not_here,
    output:
        "{word,[^/.]+|(?!(?:%s)$)figures/.*}" % any_of(map(str, Path("figures").rglob("*.*"))),


rule help:
    input:
        f"{ROOT}/workflow/help.txt",
    log:
        "results/logs/help.log",
    localrule: True
    conda:
        CONDA
    shell:
        "cat {input:q} 2> {log}"
