# Traffic by day of the week and time of day (cdo figure 5). PEMS-SF is a download of 250 MB: it is
# tried where the configuration selects it, and where it cannot be had its rows say so.
rule traffic:
    input:
        record=records_of,
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
    params:
        code=code_of("kcde.experiments.traffic"),
        data=data_digest,
        options=lambda w: flags.traffic(config, w.scale, w.dataset, w.method),
        places=raw_data,
    shell:
        "python -m kcde run traffic --dataset {wildcards.dataset} --method {wildcards.method}"
        " {params.options} {params.places} --out {output.scores} > {log} 2>&1"
