# Traffic by day of the week and time of day (cdo figure 5). PEMS-SF is a download of 250 MB: it is
# tried where the configuration selects it, and where it cannot be had its rows say so.
rule traffic:
    input:
        record=records_of,
        parts=parts_of("traffic"),
    output:
        scores="results/{scale}/traffic/{dataset}/{method}.csv",
        info="results/{scale}/traffic/{dataset}/{method}.json",
        arrays="results/{scale}/traffic/{dataset}/{method}.npz",
    log:
        "results/logs/{scale}/traffic/{dataset}/{method}.log",
    benchmark:
        "results/benchmarks/{scale}/traffic/{dataset}/{method}.tsv"
    conda:
        ENVIRONMENT
    threads: THREADS
    resources:
        **needs("traffic"),
    params:
        code=code_of("kcde.experiments.traffic"),
        data=data_digest,
        options=lambda w: flags.traffic(config, w.scale, w.dataset, w.method),
        places=raw_data,
        cut=cut_flags,
    shell:
        "python -m kcde run traffic --dataset {wildcards.dataset} --method {wildcards.method}"
        " {params.options} {params.places} {params.cut} --out {output.scores} > {log} 2>&1"


use rule traffic as traffic_part with:
    output:
        scores=temp("results/{scale}/parts/traffic/{dataset}/{method}/{shard}-of-{shards}.npz"),
    log:
        "results/logs/parts/{scale}/traffic/{dataset}/{method}/{shard}-of-{shards}.log",
    benchmark:
        "results/benchmarks/parts/{scale}/traffic/{dataset}/{method}/{shard}-of-{shards}.tsv"
