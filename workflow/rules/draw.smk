# Tables and figures, and what they decide of claims: drawn into results/<scale>/, then copied.
rule draw:
    input:
        scores=lambda w: scores(ARTEFACTS[f"{w.paper}/{w.artefact}"], w.scale),
        published=PUBLISHED,
    output:
        csv="results/{scale}/figures/{paper}/{artefact}.csv",
        page="results/{scale}/figures/{paper}/{artefact}.md",
        picture=report(
            "results/{scale}/figures/{paper}/{artefact}.png",
            category="{paper}",
            labels={"artefact": "{artefact}", "scale": "{scale}"},
        ),
        pdf="results/{scale}/figures/{paper}/{artefact}.pdf",
        judged="results/{scale}/judged/{paper}/{artefact}.csv",
    log:
        "results/logs/{scale}/figures/{paper}/{artefact}.log",
    priority: 1000
    localrule: True
    conda:
        CONDA
    params:
        code=lambda w: provenance.digest(
            ARTEFACTS[f"{w.paper}/{w.artefact}"].module, "kcde.papers.drawing"
        ),
        into=lambda w, output: Path(output.csv).parents[1],
    message:
        "draw {wildcards.artefact} of {wildcards.paper}, {wildcards.scale}"
    shell:
        "python -m kcde draw {wildcards.paper}/{wildcards.artefact} --scale {wildcards.scale}"
        " --into {params.into} --judged {output.judged} --scores {input.scores} > {log} 2>&1"


# The marker is under results/, so that a fresh clone, which has figures/, really runs.
rule copy:
    input:
        multiext(f"results/{LAPTOP}/figures/{{paper}}/{{artefact}}", ".csv", ".md", ".png", ".pdf"),
    output:
        f"results/{LAPTOP}/copied/{{paper}}/{{artefact}}",
    log:
        f"results/logs/{LAPTOP}/copied/{{paper}}/{{artefact}}.log",
    priority: 1000
    localrule: True
    conda:
        CONDA
    params:
        into="figures",
    message:
        "copy {wildcards.artefact} of {wildcards.paper} to figures/"
    shell:
        PUT


# Each file is a target of its name: it prints where it lies.
for key in ARTEFACTS:
    for suffix in ("csv", "md", "png", "pdf"):

        rule:
            name:
                f"figures/{key}.{suffix}"
            input:
                f"results/{LAPTOP}/copied/{key}" if TRACKED else not_here,
            log:
                f"results/logs/{LAPTOP}/targets/{key}.{suffix}.log",
            localrule: True
            conda:
                CONDA
            params:
                path=f"figures/{key}.{suffix}",
            message:
                f"figures/{key}.{suffix}"
            shell:
                "echo drawn: {params.path} | tee {log}"


rule figures:
    log:
        "results/logs/figures.log",
    localrule: True
    conda:
        CONDA
    params:
        folders=[path for path in ("figures", AT_PAPER_SCALE) if Path(path).is_dir()],
    message:
        "redraw all tables and figures from their tracked CSV"
    shell:
        "(for folder in {params.folders}; do python -m kcde draw all --into $folder; done;"
        " python -m kcde scorecard --into figures) 2>&1 | tee {log}"
