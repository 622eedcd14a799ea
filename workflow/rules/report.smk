# The scorecard, the scores of all splits, the report, publishing, the comparison with what is tracked
# and the list of targets.
localrules:
    judge,
    split_scores,
    page,
    paper_page,
    publish,
    verify,
    runtime,
    help,


rule judge:
    input:
        records=lambda w: artefact_records(
            w.scale, config["papers"], STAGES if w.scale == "smoke" else [listing.RUN]
        ),
        published=PUBLISHED,
    output:
        summary="results/{scale}/scorecard.txt",
    log:
        "results/logs/{scale}/scorecard.log",
    benchmark:
        "results/benchmarks/{scale}/scorecard.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        **needs("judge"),
    params:
        code=lambda w: provenance.digest(
            "kcde.artefacts.judging.scorecard", *[listed.module for listed in ARTEFACTS.values()]
        ),
        into=lambda w: figures_folder(w.scale),
        records=lambda w: f"results/{w.scale}/artefacts",
        # The smoke tour makes its readings itself.
        read=lambda w: (
            records.readings(f"{figures_folder(w.scale)}/readings.csv", READ)
            if w.scale != "smoke"
            else ""
        ),
    shell:
        "python -m kcde scorecard --into {params.into} --records {params.records}"
        " > {output.summary} 2> {log}"


# The table is no output, but named by a record: see the rule `artefact`.
rule split_scores:
    input:
        scores=lambda w: all_scores(w.scale, STAGES if w.scale == "smoke" else [listing.RUN]),
    output:
        record="results/{scale}/scores.json",
        attempt="results/{scale}/scores.attempt",
    log:
        "results/logs/{scale}/scores.log",
    benchmark:
        "results/benchmarks/{scale}/scores.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        **needs("split_scores"),
    params:
        code=lambda w: provenance.digest("kcde.split_scores"),
        into=lambda w: figures_folder(w.scale),
        attempt=lambda w: records.attempt(f"results/{w.scale}/scores.json", records.is_drawn),
    shell:
        "python -m kcde scores {input.scores} --into {params.into} --scale {wildcards.scale}"
        " --record {output.record} > {log} 2>&1 && echo {params.attempt} > {output.attempt}"


# Pages of what is drawn now, on any clone: they ask for no fits. Drawn files are no outputs of rules,
# so that Snakemake's own report cannot show them; it shows these pages, which hold them, by paper.
rule page:
    input:
        drawn=lambda w: paths.drawn_now(figures_folder(w.scale)),
        published=[*PUBLISHED, *PAGES],
    output:
        page=report(
            "results/{scale}/report.html",
            caption="../report/page.rst",
            category="Papers",
            labels={"paper": "all"},
        ),
    log:
        "results/logs/{scale}/report.log",
    benchmark:
        "results/benchmarks/{scale}/report.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        **needs("page"),
    params:
        code=lambda w: provenance.digest(
            "kcde.report.content", *[listed.module for listed in ARTEFACTS.values()]
        ),
        figures=lambda w: figures_folder(w.scale),
    shell:
        "python -m kcde report --figures {params.figures} --out {output.page} > {log} 2>&1"


rule paper_page:
    input:
        drawn=lambda w: paths.drawn_now(figures_folder(w.scale)),
        published=[*PUBLISHED, *PAGES],
    output:
        page=report(
            "results/{scale}/report/{paper}.html",
            caption="../report/paper.rst",
            category="Papers",
            labels={"paper": "{paper}"},
        ),
    log:
        "results/logs/{scale}/report/{paper}.log",
    benchmark:
        "results/benchmarks/{scale}/report/{paper}.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        **needs("paper_page"),
    params:
        code=lambda w: provenance.digest(
            "kcde.report.content", *[listed.module for listed in ARTEFACTS.values()]
        ),
        figures=lambda w: figures_folder(w.scale),
        about=lambda w: about(w.paper),
    shell:
        "python -m kcde report --figures {params.figures} --paper {wildcards.paper}"
        " --out {output.page} > {log} 2>&1"


# As for `figures`, an existing benchmark would count as made.
rule publish:
    input:
        lambda w: artefact_records(paths.published_scale(config, ROOT), config["papers"]),
    log:
        "results/logs/publish.log",
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        **needs("publish"),
    params:
        results=lambda w: f"results/{config['scale']}",
        papers=lambda w: [f"--papers {name}" for name in config["papers"]],
    shell:
        "python -m kcde publish --results {params.results} --into figures {params.papers}"
        " 2>&1 | tee {log}"


# It compares what is there: after a run, not as a part of one.
rule verify:
    log:
        "results/logs/verify.log",
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        **needs("verify"),
    params:
        into="figures",
    shell:
        "python -m kcde verify --into {params.into} 2>&1 | tee {log}"


# Of the jobs that were run here, so that it stands apart from what repeats.
rule runtime:
    log:
        "results/logs/runtime.log",
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        **needs("runtime"),
    params:
        benchmarks=f"results/benchmarks/{config['scale']}",
        into=figures_folder(config["scale"]),
    shell:
        "python -m kcde runtime --benchmarks {params.benchmarks} --into {params.into} 2>&1"
        " | tee {log}"


rule help:
    input:
        text=f"{ROOT}/workflow/help.txt",
    log:
        "results/logs/help.log",
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        **needs("help"),
    shell:
        "cat {input.text:q} 2> {log}"
