# What is fitted on what. One job does all splits of a data set with a method. The digests in
# `params` make an edit of one estimator re-run that estimator's jobs and no others.
rule r_benchmark:
    input:
        record=records_of,
    output:
        scores="results/{scale}/r_benchmark/{dataset}/{method}.csv",
        info="results/{scale}/r_benchmark/{dataset}/{method}.json",
        arrays="results/{scale}/r_benchmark/{dataset}/{method}.npz",
    log:
        "results/logs/{scale}/r_benchmark/{dataset}/{method}.log",
    benchmark:
        "results/benchmarks/{scale}/r_benchmark/{dataset}/{method}.tsv"
    conda:
        ENVIRONMENT
    threads: THREADS
    resources:
        gpu=GPU,
    params:
        code=code_of("kcde.experiments.r_benchmark"),
        data=data_digest,
        options=lambda w: flags.r_benchmark(config, w.scale, w.dataset, w.method),
        places=raw_data,
    shell:
        "python -m kcde run r-benchmark --dataset {wildcards.dataset} --method {wildcards.method}"
        " {params.options} {params.places} --out {output.scores} > {log} 2>&1"


rule failure_case:
    output:
        scores="results/{scale}/failure_case.csv",
        info="results/{scale}/failure_case.json",
        arrays="results/{scale}/failure_case.npz",
    log:
        "results/logs/{scale}/failure_case.log",
    benchmark:
        "results/benchmarks/{scale}/failure_case.tsv"
    conda:
        ENVIRONMENT
    threads: THREADS
    params:
        code=provenance.digest("kcde.experiments.failure_case"),
    shell:
        "python -m kcde run failure-case --out {output.scores} > {log} 2>&1"


rule consistency:
    output:
        scores="results/{scale}/consistency.csv",
        info="results/{scale}/consistency.json",
        arrays="results/{scale}/consistency.npz",
    log:
        "results/logs/{scale}/consistency.log",
    benchmark:
        "results/benchmarks/{scale}/consistency.tsv"
    conda:
        ENVIRONMENT
    threads: THREADS
    params:
        code=provenance.digest("kcde.experiments.consistency"),
        options=lambda w: flags.consistency(config, w.scale),
    shell:
        "python -m kcde run consistency {params.options} --out {output.scores} > {log} 2>&1"


# Every fit is a process of its own with one numerical thread, one after another.
rule estimation_cost:
    output:
        scores="results/{scale}/estimation_cost.csv",
        info="results/{scale}/estimation_cost.json",
        arrays="results/{scale}/estimation_cost.npz",
    log:
        "results/logs/{scale}/estimation_cost.log",
    benchmark:
        "results/benchmarks/{scale}/estimation_cost.tsv"
    conda:
        ENVIRONMENT
    threads: THREADS
    params:
        code=provenance.digest("kcde.experiments.estimation_cost", *COSTED),
        options=lambda w: flags.estimation_cost(config, w.scale),
    shell:
        "python -m kcde run estimation-cost {params.options} --out {output.scores} > {log} 2>&1"
