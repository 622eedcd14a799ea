# Joint densities: factors as jobs of their own, their sums, networks of all columns, samples, and
# which of two samples is closer to the data.
localrules:
    joint,


rule factors:
    input:
        record=records_of,
        parts=parts_of("factors"),
    output:
        scores="results/{scale}/factors/{dataset}/{method}/{nodes}.csv",
        info="results/{scale}/factors/{dataset}/{method}/{nodes}.json",
        arrays="results/{scale}/factors/{dataset}/{method}/{nodes}.npz",
    log:
        "results/logs/{scale}/factors/{dataset}/{method}/{nodes}.log",
    benchmark:
        "results/benchmarks/{scale}/factors/{dataset}/{method}/{nodes}.tsv"
    wildcard_constraints:
        method="|".join(map(re.escape, GRAPHS)),
    conda:
        ENVIRONMENT
    threads: THREADS
    resources:
        **needs("factors"),
    params:
        code=code_of("kcde.experiments.factors"),
        data=data_digest,
        options=lambda w: flags.factors(config, w.scale, w.dataset, w.method, w.nodes),
        places=raw_data,
        cut=cut_flags,
    shell:
        "python -m kcde run factors --dataset {wildcards.dataset} --method {wildcards.method}"
        " {params.options} {params.places} {params.cut} --out {output.scores} > {log} 2>&1"


use rule factors as factors_part with:
    output:
        scores=temp(
            "results/{scale}/parts/factors/{dataset}/{method}/{nodes}/{shard}-of-{shards}.npz"
        ),
    log:
        "results/logs/parts/{scale}/factors/{dataset}/{method}/{nodes}/{shard}-of-{shards}.log",
    benchmark:
        "results/benchmarks/parts/{scale}/factors/{dataset}/{method}/{nodes}/{shard}-of-{shards}.tsv"


rule joint:
    input:
        factors=factors_of,
    output:
        scores="results/{scale}/joint/{dataset}/{method}.csv",
        info="results/{scale}/joint/{dataset}/{method}.json",
        arrays="results/{scale}/joint/{dataset}/{method}.npz",
    log:
        "results/logs/{scale}/joint/{dataset}/{method}.log",
    benchmark:
        "results/benchmarks/{scale}/joint/{dataset}/{method}.tsv"
    wildcard_constraints:
        method="|".join(map(re.escape, GRAPHS)),
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        **needs("joint"),
    params:
        code=provenance.digest("kcde.experiments.joint"),
    shell:
        "python -m kcde run joint --factors {input.factors} --out {output.scores} > {log} 2>&1"


rule joint_network:
    input:
        record=records_of,
    output:
        scores="results/{scale}/joint/{dataset}/{method}.csv",
        info="results/{scale}/joint/{dataset}/{method}.json",
        arrays="results/{scale}/joint/{dataset}/{method}.npz",
    log:
        "results/logs/{scale}/joint/{dataset}/{method}.log",
    benchmark:
        "results/benchmarks/{scale}/joint/{dataset}/{method}.tsv"
    wildcard_constraints:
        method="|".join(map(re.escape, NETWORKS)),
    conda:
        ENVIRONMENT
    threads: THREADS
    resources:
        **needs("joint_network"),
    params:
        code=code_of("kcde.experiments.joint_network"),
        data=data_digest,
        options=lambda w: flags.network(config, w.scale, w.dataset, w.method),
        places=raw_data,
    shell:
        "python -m kcde run joint-network --dataset {wildcards.dataset} --method {wildcards.method}"
        " {params.options} {params.places} --out {output.scores} > {log} 2>&1"


rule exact:
    output:
        scores=f"results/{{scale}}/joint/{{dataset}}/{joints.EXACT}.csv",
        info=f"results/{{scale}}/joint/{{dataset}}/{joints.EXACT}.json",
        arrays=f"results/{{scale}}/joint/{{dataset}}/{joints.EXACT}.npz",
    log:
        f"results/logs/{{scale}}/joint/{{dataset}}/{joints.EXACT}.log",
    benchmark:
        f"results/benchmarks/{{scale}}/joint/{{dataset}}/{joints.EXACT}.tsv"
    wildcard_constraints:
        dataset="grid-[0-9]+",
    group:
        group_of("exact")
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        **needs("exact"),
    params:
        code=provenance.digest("kcde.experiments.exact"),
        options=lambda w: flags.exact(config, w.scale, w.dataset),
    shell:
        "python -m kcde run exact --dataset {wildcards.dataset} {params.options}"
        " --out {output.scores} > {log} 2>&1"


rule samples:
    input:
        record=records_of,
        factors=factors_if_any,
        parts=parts_of("samples"),
    output:
        scores="results/{scale}/samples/{dataset}/{method}.csv",
        info="results/{scale}/samples/{dataset}/{method}.json",
        arrays="results/{scale}/samples/{dataset}/{method}.npz",
    log:
        "results/logs/{scale}/samples/{dataset}/{method}.log",
    benchmark:
        "results/benchmarks/{scale}/samples/{dataset}/{method}.tsv"
    conda:
        ENVIRONMENT
    threads: THREADS
    resources:
        **needs("samples"),
    params:
        code=code_of("kcde.experiments.samples"),
        data=data_digest,
        options=lambda w: flags.samples(config, w.scale, w.dataset, w.method),
        places=raw_data,
        chosen=chosen_flag,
        cut=cut_flags,
    shell:
        "python -m kcde run samples --dataset {wildcards.dataset} --method {wildcards.method}"
        " {params.options} {params.places} {params.chosen} {params.cut} --out {output.scores} > {log} 2>&1"


use rule samples as samples_part with:
    output:
        scores=temp("results/{scale}/parts/samples/{dataset}/{method}/{shard}-of-{shards}.npz"),
    log:
        "results/logs/parts/{scale}/samples/{dataset}/{method}/{shard}-of-{shards}.log",
    benchmark:
        "results/benchmarks/parts/{scale}/samples/{dataset}/{method}/{shard}-of-{shards}.tsv"


rule similarity:
    input:
        ours=f"results/{{scale}}/samples/{{dataset}}/{joints.OURS}.npz",
        rival="results/{scale}/samples/{dataset}/{method}.npz",
    output:
        scores="results/{scale}/similarity/{dataset}/{method}.csv",
        info="results/{scale}/similarity/{dataset}/{method}.json",
        arrays="results/{scale}/similarity/{dataset}/{method}.npz",
    log:
        "results/logs/{scale}/similarity/{dataset}/{method}.log",
    benchmark:
        "results/benchmarks/{scale}/similarity/{dataset}/{method}.tsv"
    group:
        group_of("similarity")
    conda:
        ENVIRONMENT
    threads: THREADS
    resources:
        **needs("similarity"),
    params:
        code=provenance.digest("kcde.experiments.similarity"),
        options=flags.similarity(config),
    shell:
        "python -m kcde run similarity --ours {input.ours} --rival {input.rival}"
        " --rival-name {wildcards.method} {params.options} --out {output.scores} > {log} 2>&1"
