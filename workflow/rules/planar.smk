# Points of the plane: a density of them and samples from it. They are drawn, not downloaded.
rule planar:
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
    params:
        code=code_of("kcde.experiments.planar"),
        options=lambda w: flags.planar(config, w.scale, w.dataset, w.method),
    shell:
        "python -m kcde run planar --dataset {wildcards.dataset} --method {wildcards.method}"
        " {params.options} --out {output.scores} > {log} 2>&1"
