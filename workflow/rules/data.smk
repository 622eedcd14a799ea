# Raw data: one file a data set, which says where it is and came from.
rule fetch:
    output:
        "results/data/{dataset}.txt",
    log:
        "results/logs/data/{dataset}.log",
    wildcard_constraints:
        dataset=any_of(CATALOGUE),
    priority: 1000
    localrule: True
    conda:
        CONDA
    resources:
        network=1,
    params:
        sha256=lambda w: CATALOGUE[w.dataset].sha256,
    message:
        "raw data of {wildcards.dataset}"
    shell:
        "python -m kcde fetch {wildcards.dataset} --data-dir data > {output} 2> {log}"


rule smoke_data:
    output:
        f"{SMOKE_RAW}/catalogue.csv",
    log:
        "results/logs/smoke/data.log",
    localrule: True
    conda:
        CONDA
    params:
        code=provenance.digest("kcde.data.smoke"),
    message:
        "made-up data for the scale smoke"
    shell:
        f"python -m kcde smoke-data {SMOKE_RAW} > {{log}} 2>&1"
