# Raw data. Unavailable data are recorded and tried again at every run; available ones stay.
localrules:
    fetch,
    smoke_data,
    smoke_fetch,


rule fetch:
    output:
        record="results/data/{dataset}.json",
        attempt="results/data/{dataset}.attempt",
    log:
        "results/logs/data/{dataset}.log",
    benchmark:
        "results/benchmarks/data/{dataset}.tsv"
    wildcard_constraints:
        dataset=references.any_of(entry.name for entry in CATALOGUE.values()),
    priority: ORDER.first
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        **needs("fetch"),
        network=1,
    params:
        entry=lambda w: CATALOGUE[w.dataset].fetch_digest(),
        attempt=lambda w: records.attempt(
            paths.data_record(CATALOGUE, "laptop", w.dataset), records.is_available
        ),
    shell:
        "python -m kcde fetch {wildcards.dataset} --data-dir data --record {output.record}"
        " > {log} 2>&1 && echo {params.attempt} > {output.attempt}"


rule smoke_data:
    output:
        catalogue=f"{paths.SMOKE_MIRROR}/catalogue.csv",
    log:
        f"results/logs/{paths.SMOKE_MIRROR.removeprefix('results/')}/catalogue.log",
    benchmark:
        "results/benchmarks/smoke/mirror.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        **needs("smoke_data"),
    params:
        code=lambda w: provenance.digest("kcde.data.smoke"),
        folder=lambda w, output: Path(output.catalogue).parent.as_posix(),
    shell:
        "python -m kcde smoke-data {params.folder} > {log} 2>&1"


rule smoke_fetch:
    input:
        catalogue=rules.smoke_data.output.catalogue,
    output:
        record="results/smoke/data/{dataset}.json",
        attempt="results/smoke/data/{dataset}.attempt",
    log:
        "results/logs/smoke/data/{dataset}.log",
    benchmark:
        "results/benchmarks/smoke/data/{dataset}.tsv"
    priority: ORDER.first
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        **needs("smoke_fetch"),
    params:
        attempt=lambda w: records.attempt(
            paths.data_record(CATALOGUE, "smoke", w.dataset), records.is_available
        ),
        mirror=lambda w, input: Path(input.catalogue).parent.as_posix(),
    shell:
        "python -m kcde fetch {wildcards.dataset} --data-dir results/smoke/raw --mirror {params.mirror}"
        " --catalogue {input.catalogue} --record {output.record}"
        " > {log} 2>&1 && echo {params.attempt} > {output.attempt}"
