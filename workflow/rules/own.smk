# A table of one's own (`experiments.own`): its plan, a job for each share of a method's splits, and
# the page of `kcde compare`. Scores of single splits are no outputs: their number is not known to a
# rule with wildcards. A job leaves a mark, and scores all of its splits when it runs again.
rule own:
    input:
        lambda w: own.page(config),


rule own_plan:
    input:
        table=lambda w: own.table(config),
    output:
        plan=f"{own.FOLDER}/plan.json",
        rows=f"{own.FOLDER}/rows.npz",
    log:
        "results/logs/{scale}/own/plan.log",
    benchmark:
        "results/benchmarks/{scale}/own/plan.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        **needs("own_plan"),
    params:
        code=lambda w: provenance.digest("kcde.comparison.plan"),
        table=lambda w: own.flags(config),
        folder=lambda w, output: Path(output.plan).parent.as_posix(),
    shell:
        "python -m kcde compare {params.table} --out {params.folder} --step plan > {log} 2>&1"


rule own_score:
    input:
        plan=rules.own_plan.output.plan,
        rows=rules.own_plan.output.rows,
    output:
        touch(f"{own.FOLDER}/splits/{{method}}/{{shard}}-of-{{shards}}.done"),
    log:
        "results/logs/{scale}/own/{method}/{shard}-of-{shards}.log",
    benchmark:
        "results/benchmarks/{scale}/own/{method}/{shard}-of-{shards}.tsv"
    group:
        group_of("own_score")
    conda:
        ENVIRONMENT
    threads: THREADS
    resources:
        **needs("own_score"),
    params:
        code=lambda w: provenance.digest(
            "kcde.comparison.worker",
            provenance.estimator_module(config["methods"][w.method]["estimator"]),
        ),
        folder=lambda w, input: Path(input.plan).parent.as_posix(),
        splits=lambda w: own.numbers(config, w),
    shell:
        "python -m kcde.comparison.worker --again {params.folder} {wildcards.method} {params.splits}"
        " > {log} 2>&1"


rule own_page:
    input:
        table=lambda w: own.table(config),
        plan=rules.own_plan.output,
        scored=own.scored(config),
        pages=OWN_PAGE,
    output:
        page=f"{own.FOLDER}/comparison.html",
        table=f"{own.FOLDER}/comparison.csv",
        splits=f"{own.FOLDER}/splits.csv",
        picture=f"{own.FOLDER}/comparison.png",
    log:
        "results/logs/{scale}/own/page.log",
    benchmark:
        "results/benchmarks/{scale}/own/page.tsv"
    conda:
        ENVIRONMENT
    threads: THREADS
    resources:
        **needs("own_page"),
    params:
        code=lambda w: provenance.digest("kcde.comparison"),
        table=lambda w: own.flags(config),
        methods=lambda w: own.method_flags(config),
        folder=lambda w, output: Path(output.page).parent.as_posix(),
    shell:
        "python -m kcde compare {params.table} {params.methods} --out {params.folder} --step page"
        " > {log} 2>&1"
