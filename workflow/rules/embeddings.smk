# Low-rank embeddings (jdl): Gaussian pairs, which are drawn, and daily returns of portfolios.
# Methods with the same bases are fitted by one job, a rule for each such group, and one for its
# parts; log and benchmark bear the name of the first.
for group, cut in product(embeddings.groups(config, "moments"), (False, True)):

    rule:
        name:
            embeddings.job_name("moments_part" if cut else "moments", group)
        input:
            parts=parts_of("moments", group),
        output:
            **embedding_outputs("moments", group, cut),
        log:
            embedding_kept("logs", ".log", "moments", group, cut),
        benchmark:
            embedding_kept("benchmarks", ".tsv", "moments", group, cut)
        wildcard_constraints:
            dataset=embeddings.PATTERNS["moments"],
        conda:
            ENVIRONMENT
        threads: THREADS
        resources:
            **needs("moments", group),
        params:
            code=code_of_all("kcde.experiments.moments", group),
            options=embedding_flags(flags.moments, group),
            outs=embedding_outs,
            cut=cut_flags,
        shell:
            "python -m kcde run moments --dataset {wildcards.dataset} {params.options}"
            " {params.cut} {params.outs} > {log} 2>&1"


for group, cut in product(embeddings.groups(config, "portfolio"), (False, True)):

    rule:
        name:
            embeddings.job_name("portfolio_part" if cut else "portfolio", group)
        input:
            records=portfolio_records,
            parts=parts_of("portfolio", group),
        output:
            **embedding_outputs("portfolio", group, cut),
        log:
            embedding_kept("logs", ".log", "portfolio", group, cut),
        benchmark:
            embedding_kept("benchmarks", ".tsv", "portfolio", group, cut)
        wildcard_constraints:
            dataset=embeddings.PATTERNS["portfolio"],
        conda:
            ENVIRONMENT
        threads: THREADS
        resources:
            **needs("portfolio", group),
        params:
            code=code_of_all("kcde.experiments.portfolio", group),
            data=portfolio_digest,
            options=embedding_flags(flags.portfolio, group),
            places=portfolio_places,
            outs=embedding_outs,
            cut=cut_flags,
        shell:
            "python -m kcde run portfolio --dataset {wildcards.dataset} {params.options}"
            " {params.places} {params.cut} {params.outs} > {log} 2>&1"
