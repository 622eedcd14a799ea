# Drawing takes seconds, less than it takes to start a job on a cluster.
localrules:
    artefact,
    figures,


# Tables and figures from scores. Drawn files are not outputs: Snakemake deletes outputs before a job,
# and a table without data must keep its tracked files. The output is the record; if a file that it
# names has been deleted, `attempt` changes, and the artefact is drawn again.
rule artefact:
    input:
        scores=lambda w: paths.scores_of(config, w.scale, f"{w.paper}/{w.artefact}"),
        published=PUBLISHED,
    output:
        record="results/{scale}/artefacts/{paper}/{artefact}.json",
        attempt="results/{scale}/artefacts/{paper}/{artefact}.attempt",
    log:
        "results/logs/{scale}/artefacts/{paper}/{artefact}.log",
    benchmark:
        "results/benchmarks/{scale}/artefacts/{paper}/{artefact}.tsv"
    priority: ORDER.first
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        **needs("artefact"),
    params:
        code=lambda w: provenance.digest(
            ARTEFACTS[f"{w.paper}/{w.artefact}"].module, "kcde.artefacts.core.drawing"
        ),
        into=lambda w: figures_folder(w.scale),
        attempt=lambda w: records.attempt(
            paths.record(w.scale, f"{w.paper}/{w.artefact}"), records.is_drawn
        ),
    shell:
        "python -m kcde draw {wildcards.paper}/{wildcards.artefact} --scores {input.scores}"
        " --into {params.into} --record {output.record} > {log} 2>&1"
        " && echo {params.attempt} > {output.attempt}"


# One rule for each drawn file, with the name of the file. The file is not its output, nor is there a
# benchmark: either would count as made, and a fresh clone has the drawn files and none of the scores.
for drawn in paths.drawn_files(config, ROOT):

    rule:
        name:
            drawn.path
        input:
            record=drawn.record,
        log:
            f"results/logs/drawn/{drawn.path}.log",
        localrule: True
        conda:
            ENVIRONMENT
        threads: 1
        resources:
            **needs("drawn"),
        params:
            artefact=drawn.artefact,
            into=drawn.folder,
            results=lambda w, input: Path(input.record).parents[2].as_posix(),
        shell:
            "(python -m kcde summary --results {params.results} --into {params.into}"
            " --expected {params.artefact} --strict"
            " && python -m kcde draw {params.artefact} --into {params.into}) > {log} 2>&1"


# No benchmark: an existing one would count as made, and this always draws.
rule figures:
    log:
        "results/logs/figures.log",
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        **needs("figures"),
    params:
        into="figures",
    shell:
        "python -m kcde draw all --into {params.into} 2>&1 | tee {log}"
