# Points of the plane: a density of them and samples from it. They are drawn, not downloaded.
rule planar:
    input:
        parts=parts_of("planar"),
    output:
        scores="results/{scale}/planar/{dataset}/{method}.csv",
        info="results/{scale}/planar/{dataset}/{method}.json",
        arrays="results/{scale}/planar/{dataset}/{method}.npz",
    log:
        "results/logs/{scale}/planar/{dataset}/{method}.log",
    benchmark:
        "results/benchmarks/{scale}/planar/{dataset}/{method}.tsv"
    wildcard_constraints:
        dataset="|".join(map(re.escape, PLANAR)),
        method="|".join(map(re.escape, NETWORKS)),
    conda:
        ENVIRONMENT
    threads: THREADS
    resources:
        **needs("planar"),
    params:
        code=code_of("kcde.experiments.planar"),
        options=lambda w: flags.planar(config, w.scale, w.dataset, w.method),
        cut=cut_flags,
    shell:
        "python -m kcde run planar --dataset {wildcards.dataset} --method {wildcards.method}"
        " {params.options} {params.cut} --out {output.scores} > {log} 2>&1"


use rule planar as planar_part with:
    output:
        scores=temp("results/{scale}/parts/planar/{dataset}/{method}/{shard}-of-{shards}.npz"),
    log:
        "results/logs/parts/{scale}/planar/{dataset}/{method}/{shard}-of-{shards}.log",
    benchmark:
        "results/benchmarks/parts/{scale}/planar/{dataset}/{method}/{shard}-of-{shards}.tsv"
