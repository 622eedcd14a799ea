# Low-rank embeddings (jdl): Gaussian pairs, which are drawn, and daily returns of portfolios.
# Methods with the same bases are fitted by one job, a rule for each such group; its log and its
# benchmark bear the name of the first.
for group in embeddings.groups(config, "moments"):

    rule:
        name:
            embeddings.job_name("moments", group)
        output:
            **embedding_outputs("moments", group),
        log:
            f"results/logs/{{scale}}/moments/{{dataset}}/{group[0]}.log",
        benchmark:
            f"results/benchmarks/{{scale}}/moments/{{dataset}}/{group[0]}.tsv"
        wildcard_constraints:
            dataset=embeddings.PATTERNS["moments"],
        conda:
            ENVIRONMENT
        threads: THREADS
        resources:
            mem_mb=lambda w: embeddings.memory(w.dataset),
        params:
            code=code_of_all("kcde.experiments.moments", group),
            options=embedding_flags(flags.moments, group),
            outs=embedding_outs,
        shell:
            "python -m kcde run moments --dataset {wildcards.dataset} {params.options}"
            " {params.outs} > {log} 2>&1"


for group in embeddings.groups(config, "portfolio"):

    rule:
        name:
            embeddings.job_name("portfolio", group)
        input:
            records=portfolio_records,
        output:
            **embedding_outputs("portfolio", group),
        log:
            f"results/logs/{{scale}}/portfolio/{{dataset}}/{group[0]}.log",
        benchmark:
            f"results/benchmarks/{{scale}}/portfolio/{{dataset}}/{group[0]}.tsv"
        wildcard_constraints:
            dataset=embeddings.PATTERNS["portfolio"],
        conda:
            ENVIRONMENT
        threads: THREADS
        resources:
            mem_mb=lambda w: embeddings.portfolio_memory(config, w.dataset, w.scale),
        params:
            code=code_of_all("kcde.experiments.portfolio", group),
            data=portfolio_digest,
            options=embedding_flags(flags.portfolio, group),
            places=portfolio_places,
            outs=embedding_outs,
        shell:
            "python -m kcde run portfolio --dataset {wildcards.dataset} {params.options}"
            " {params.places} {params.outs} > {log} 2>&1"
