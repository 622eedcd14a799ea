# Fits: a job does all repetitions of a data set with a method. {job} is experiment/data set/method, for
# a factor of a joint density with its columns, or the experiment alone. A job is computed in parts where
# several methods share its bases, and where `shards` divides it; its scores are then collected.
# The digests in `params` make an edit of one estimator re-run that estimator's jobs and no others.


def job_of(w):
    """Return experiment, data set and method."""
    name, dataset, method = (w.job.split("/", 2) + ["", ""])[:3]
    return name, dataset, method


def changes_of(job):
    return json.dumps(config["set"].get(job[0], {}))


def raw_data(w):
    """Return what says that the raw data of a job are there."""
    found = plan.raw_data(w.scale, job_of(w))
    if w.scale == SMOKE:
        return [f"{SMOKE_RAW}/catalogue.csv"] if found else []
    return [f"results/data/{CATALOGUE[name].name}.txt" for name in found]


def parts(w):
    """Return the parts that a job collects, none where it computes all itself."""
    job = job_of(w)
    first = plan.together(job)[0]
    count = plan.shards(w.scale, job, config["shards"].get(job[0], 1))
    if count == 1 and len(plan.together(job)) == 1:
        return []
    folder = f"results/{w.scale}/parts/{'/'.join(filter(None, [*job[:2], first]))}"
    return [f"{folder}/{i + 1}-of-{count}.npz" for i in range(count)]


def words(w, methods):
    """Return the command of a job but for its files: names, scale, sizes and raw data."""
    name, dataset, _ = job_of(w)
    own = {method: config["methods"][method] for method in methods if method in config["methods"]}
    said = [name, *filter(None, [dataset, *methods]), "--scale", w.scale]
    said += ["--backend", config["backend"]]
    said += [
        f"--set={key}={json.dumps(value)}" for key, value in config["set"].get(name, {}).items()
    ]
    said += ["--define", json.dumps(own)] if own else []
    if w.scale == SMOKE:
        said += ["--data-dir", SMOKE_RAW, "--catalogue", f"{SMOKE_RAW}/catalogue.csv"]
    return shlex.join(said)


def named(flag):
    """Return the function of a rule that names its inputs, each with a flag."""
    return lambda w, input: shlex.join(
        x for path in input.get(flag, []) for x in (f"--{flag}", path)
    )


def data_digest(w):
    if w.scale == SMOKE:
        return provenance.digest("kcde.data.smoke")
    return [CATALOGUE[name].load_digest() for name in plan.raw_data(w.scale, job_of(w))]


def environment(w):
    # On made-up data XLA would compile the networks for longer than they are trained.
    return "XLA_FLAGS=--xla_backend_optimization_level=1" if w.scale == SMOKE else ""


def memory(w, attempt):
    return plan.resources(RESOURCES, w.scale, job_of(w))[0] * attempt


def minutes(w, attempt):
    return plan.resources(RESOURCES, w.scale, job_of(w))[1] * attempt


rule fit:
    input:
        raw=raw_data,
        files=lambda w: plan.needs(w.scale, job_of(w)),
        part=parts,
    output:
        multiext("results/{scale}/scores/{job}", ".csv", ".json", ".npz"),
    log:
        "results/logs/{scale}/{job}.log",
    benchmark:
        "results/{scale}/benchmarks/{job}.tsv"
    priority: lambda w: plan.priority(config["papers"], job_of(w))
    conda:
        CONDA
    threads: THREADS
    resources:
        mem_mb=lambda w, attempt: 1000 if parts(w) else memory(w, attempt),
        runtime=lambda w, attempt: 15 * attempt if parts(w) else minutes(w, attempt),
        gpu=lambda w: 0 if parts(w) else int(HAS_GPU and plan.on_gpu(job_of(w))),
    params:
        words=lambda w: words(w, [job_of(w)[2]]),
        parameters=lambda w: plan.parameters(w.scale, job_of(w), changes_of(job_of(w))),
        code=lambda w: plan.code(job_of(w)),
        data=data_digest,
        files=named("files"),
        part=named("part"),
        environment=environment,
    message:
        "fit {wildcards.job} (experiment/data set/method), {wildcards.scale}"
    shell:
        "{params.environment} python -m kcde run {params.words} {params.files} {params.part}"
        " --out {output[0]} > {log} 2>&1"


rule part:
    input:
        raw=raw_data,
        files=lambda w: plan.needs(w.scale, job_of(w)),
    output:
        "results/{scale}/parts/{job}/{shard}-of-{shards}.npz",
    log:
        "results/logs/{scale}/{job}/{shard}-of-{shards}.log",
    benchmark:
        "results/{scale}/benchmarks/{job}/{shard}-of-{shards}.tsv"
    priority: lambda w: plan.priority(config["papers"], job_of(w))
    conda:
        CONDA
    threads: THREADS
    resources:
        mem_mb=memory,
        runtime=minutes,
        gpu=lambda w: int(HAS_GPU and plan.on_gpu(job_of(w))),
    params:
        methods=lambda w: "+".join(plan.together(job_of(w))),
        words=lambda w: words(w, plan.together(job_of(w))),
        parameters=lambda w: [
            plan.parameters(w.scale, (*job_of(w)[:2], method), changes_of(job_of(w)))
            for method in plan.together(job_of(w))
        ],
        code=lambda w: plan.code(job_of(w)),
        data=data_digest,
        files=named("files"),
        environment=environment,
    message:
        "fit {params.methods} in {wildcards.job}, part {wildcards.shard} of {wildcards.shards}, {wildcards.scale}"
    shell:
        "{params.environment} python -m kcde run {params.words} {params.files}"
        " --shard {wildcards.shard}/{wildcards.shards} --out {output} > {log} 2>&1"
