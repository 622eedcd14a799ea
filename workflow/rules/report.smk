# The scorecard, publishing, the comparison with what is tracked and the list of targets.
localrules:
    judge,
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
        code=provenance.digest(
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


# As for `figures`, an existing log or benchmark would count as made.
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
    shell:
        "python -m kcde publish --results {params.results} --into figures 2>&1 | tee {log} && rm {log}"


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
        "python -m kcde verify --into {params.into} 2>&1 | tee {log} && rm {log}"


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
        " | tee {log} && rm {log}"


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
        "cat {input.text:q} 2> {log} && rm {log}"
