# Conditional densities of the cdo paper: the donut, which is drawn, and the terrain, a file.
rule donut:
    input:
        parts=parts_of("donut"),
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
        **needs("donut"),
    params:
        code=code_of("kcde.experiments.donut"),
        options=lambda w: flags.donut(config, w.scale, w.method),
        cut=cut_flags,
    shell:
        "python -m kcde run donut --method {wildcards.method} {params.options}"
        " {params.cut} --out {output.scores} > {log} 2>&1"


use rule donut as donut_part with:
    output:
        scores=temp("results/{scale}/parts/donut/{dataset}/{method}/{shard}-of-{shards}.npz"),
    log:
        "results/logs/parts/{scale}/donut/{dataset}/{method}/{shard}-of-{shards}.log",
    benchmark:
        "results/benchmarks/parts/{scale}/donut/{dataset}/{method}/{shard}-of-{shards}.tsv"


rule terrain:
    input:
        record=records_of,
        parts=parts_of("terrain"),
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
        **needs("terrain"),
    params:
        code=code_of("kcde.experiments.terrain"),
        data=data_digest,
        options=lambda w: flags.terrain(config, w.scale, w.dataset, w.method),
        places=raw_data,
        cut=cut_flags,
    shell:
        "python -m kcde run terrain --dataset {wildcards.dataset} --method {wildcards.method}"
        " {params.options} {params.places} {params.cut} --out {output.scores} > {log} 2>&1"


use rule terrain as terrain_part with:
    output:
        scores=temp("results/{scale}/parts/terrain/{dataset}/{method}/{shard}-of-{shards}.npz"),
    log:
        "results/logs/parts/{scale}/terrain/{dataset}/{method}/{shard}-of-{shards}.log",
    benchmark:
        "results/benchmarks/parts/{scale}/terrain/{dataset}/{method}/{shard}-of-{shards}.tsv"
