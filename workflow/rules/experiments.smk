# What is fitted on what. One job does all splits of a data set with a method. The digests in
# `params` make an edit of one estimator re-run that estimator's jobs and no others.
rule r_benchmark:
    input:
        record=records_of,
        parts=parts_of("r_benchmark"),
    output:
        scores="results/{scale}/r_benchmark/{dataset}/{method}.csv",
        info="results/{scale}/r_benchmark/{dataset}/{method}.json",
        arrays="results/{scale}/r_benchmark/{dataset}/{method}.npz",
    log:
        "results/logs/{scale}/r_benchmark/{dataset}/{method}.log",
    benchmark:
        "results/benchmarks/{scale}/r_benchmark/{dataset}/{method}.tsv"
    group:
        group_of("r_benchmark")
    conda:
        ENVIRONMENT
    threads: THREADS
    resources:
        **needs("r_benchmark"),
    params:
        code=code_of("kcde.experiments.r_benchmark"),
        data=data_digest,
        options=lambda w: flags.r_benchmark(config, w.scale, w.dataset, w.method),
        places=raw_data,
        cut=cut_flags,
    shell:
        "python -m kcde run r-benchmark --dataset {wildcards.dataset} --method {wildcards.method}"
        " {params.options} {params.places} {params.cut} --out {output.scores} > {log} 2>&1"


# Where `shards` cuts an experiment, its rule collects what such a rule, of the same command, leaves
# in the place of scores.
use rule r_benchmark as r_benchmark_part with:
    output:
        scores=temp(
            "results/{scale}/parts/r_benchmark/{dataset}/{method}/{shard}-of-{shards}.npz"
        ),
    log:
        "results/logs/parts/{scale}/r_benchmark/{dataset}/{method}/{shard}-of-{shards}.log",
    benchmark:
        "results/benchmarks/parts/{scale}/r_benchmark/{dataset}/{method}/{shard}-of-{shards}.tsv"


rule failure_case:
    output:
        scores="results/{scale}/failure_case.csv",
        info="results/{scale}/failure_case.json",
        arrays="results/{scale}/failure_case.npz",
    log:
        "results/logs/{scale}/failure_case.log",
    benchmark:
        "results/benchmarks/{scale}/failure_case.tsv"
    group:
        group_of("failure_case")
    conda:
        ENVIRONMENT
    threads: THREADS
    resources:
        **needs("failure_case"),
    params:
        code=provenance.digest("kcde.experiments.failure_case"),
    shell:
        "python -m kcde run failure-case --out {output.scores} > {log} 2>&1"


rule consistency:
    input:
        parts=parts_of("consistency"),
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
    resources:
        **needs("consistency"),
    params:
        code=provenance.digest("kcde.experiments.consistency"),
        options=lambda w: flags.consistency(config, w.scale),
        cut=cut_flags,
    shell:
        "python -m kcde run consistency {params.options} {params.cut} --out {output.scores} > {log} 2>&1"


use rule consistency as consistency_part with:
    output:
        scores=temp("results/{scale}/parts/consistency/{shard}-of-{shards}.npz"),
    log:
        "results/logs/parts/{scale}/consistency/{shard}-of-{shards}.log",
    benchmark:
        "results/benchmarks/parts/{scale}/consistency/{shard}-of-{shards}.tsv"


# Every fit is a process of its own with one numerical thread, one after another, all on the CPU.
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
    resources:
        **needs("estimation_cost"),
    params:
        code=provenance.digest("kcde.experiments.estimation_cost", *COSTED),
        options=lambda w: flags.estimation_cost(config, w.scale),
    shell:
        "JAX_PLATFORMS=cpu python -m kcde run estimation-cost {params.options} --out {output.scores} > {log} 2>&1"
