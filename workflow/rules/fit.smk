# Fits: a job does all repetitions of a data set with a method. {job} is experiment/data set/method, for
# a factor of a joint density with its columns, or the experiment alone. A job is computed in parts where
# several methods share its bases, and where `shards` divides it; its scores are then collected.
# The digests in `params` make an edit of one estimator re-run that estimator's jobs and no others.


rule fit:
    input:
        raw=raw_data,
        files=lambda w: plan.needs(w.scale, job_of(w)),
        part=parts,
    output:
        csv="results/{scale}/scores/{job}.csv",
        info="results/{scale}/scores/{job}.json",
        arrays="results/{scale}/scores/{job}.npz",
    log:
        "results/logs/{scale}/{job}.log",
    benchmark:
        "results/{scale}/benchmarks/{job}.tsv"
    priority: lambda w: plan.priority(config["papers"], job_of(w), resources_of(w)[1])
    conda:
        CONDA
    threads: THREADS
    resources:
        mem_mb=lambda w, attempt: 1000 if parts(w) else attempt * resources_of(w)[0],
        runtime=lambda w, attempt: attempt * (15 if parts(w) else resources_of(w)[1]),
        gpu=lambda w: 0 if parts(w) else int(HAS_GPU and plan.on_gpu(job_of(w))),
        long=lambda w: 0 if parts(w) else is_long(w),
    params:
        words=lambda w: words(w, [job_of(w)[2]]),
        parameters=lambda w: parameters(w, job_of(w)[2]),
        code=lambda w: plan.code(job_of(w)),
        data=data_digest,
        files=named("files"),
        part=named("part"),
        shard="",
        out=lambda w, output: output[0],
        # On made-up data XLA would compile the networks for longer than they are trained.
        environment=lambda w: XLA_FLAGS if w.scale == SMOKE else "",
    message:
        "fit {wildcards.job} (experiment/data set/method), {wildcards.scale}"
    shell:
        "{params.environment} python -m kcde run {params.words} {params.files} {params.part}"
        " {params.shard} --out {params.out} > {log} 2>&1"


# The methods that share bases, one shard of the repetitions.
use rule fit as part with:
    input:
        raw=raw_data,
        files=lambda w: plan.needs(w.scale, job_of(w)),
    output:
        "results/{scale}/parts/{job}/{shard}-of-{shards}.npz",
    log:
        "results/logs/{scale}/{job}/{shard}-of-{shards}.log",
    benchmark:
        "results/{scale}/benchmarks/{job}/{shard}-of-{shards}.tsv"
    resources:
        mem_mb=lambda w, attempt: attempt * resources_of(w)[0],
        runtime=lambda w, attempt: attempt * resources_of(w)[1],
        gpu=lambda w: int(HAS_GPU and plan.on_gpu(job_of(w))),
        long=is_long,
    params:
        methods=lambda w: "+".join(plan.together(job_of(w))),
        words=lambda w: words(w, plan.together(job_of(w))),
        parameters=lambda w: [parameters(w, each) for each in plan.together(job_of(w))],
        shard=lambda w: f"--shard {w.shard}/{w.shards}",
    message:
        "fit {params.methods} in {wildcards.job}, part {wildcards.shard} of {wildcards.shards}, {wildcards.scale}"
