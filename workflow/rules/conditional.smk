# Conditional densities of the cdo paper: the donut, which is drawn, and the terrain, a file.
rule donut:
    output:
        scores="results/{scale}/donut/{dataset}/{method}.csv",
        info="results/{scale}/donut/{dataset}/{method}.json",
        arrays="results/{scale}/donut/{dataset}/{method}.npz",
    log:
        "results/logs/{scale}/donut/{dataset}/{method}.log",
    benchmark:
        "results/benchmarks/{scale}/donut/{dataset}/{method}.tsv"
    wildcard_constraints:
        dataset=conditionals.DONUT,
    conda:
        ENVIRONMENT
    threads: THREADS
    resources:
        mem_mb=lambda w: conditionals.donut_memory(config, w.scale, w.method),
    params:
        code=code_of("kcde.experiments.donut"),
        options=lambda w: flags.donut(config, w.scale, w.method),
    shell:
        "python -m kcde run donut --method {wildcards.method} {params.options}"
        " --out {output.scores} > {log} 2>&1"


rule terrain:
    input:
        record=records_of,
    output:
        scores="results/{scale}/terrain/{dataset}/{method}.csv",
        info="results/{scale}/terrain/{dataset}/{method}.json",
        arrays="results/{scale}/terrain/{dataset}/{method}.npz",
    log:
        "results/logs/{scale}/terrain/{dataset}/{method}.log",
    benchmark:
        "results/benchmarks/{scale}/terrain/{dataset}/{method}.tsv"
    conda:
        ENVIRONMENT
    threads: THREADS
    resources:
        mem_mb=lambda w: conditionals.terrain_memory(config, w.scale, w.method),
    params:
        code=code_of("kcde.experiments.terrain"),
        data=data_digest,
        options=lambda w: flags.terrain(config, w.scale, w.dataset, w.method),
        places=raw_data,
    shell:
        "python -m kcde run terrain --dataset {wildcards.dataset} --method {wildcards.method}"
        " {params.options} {params.places} --out {output.scores} > {log} 2>&1"
