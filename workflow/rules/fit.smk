# Fits: one rule for each experiment. A job does all repetitions of a data set with a method, or with
# several methods that have the same bases; its log and benchmark have the name of the first. If
# `shards` divides an experiment, the rule with `_part` in its name computes the shards with the same
# command, and the rule of the experiment collects their parts. The digests in `params` make an edit
# of one estimator re-run that estimator's jobs and no others.
localrules:
    joint,


for step in steps(config, CATALOGUE):

    rule:
        name:
            step.name
        input:
            **step.inputs(),
        output:
            **step.outputs(temp),
        log:
            step.beside("logs", ".log"),
        benchmark:
            step.beside("benchmarks", ".tsv")
        wildcard_constraints:
            **step.constraints(),
        priority: partial(ORDER.priority, step.experiment, step.methods)
        group:
            group_of(step.experiment, step.methods)
        conda:
            ENVIRONMENT
        threads: THREADS
        resources:
            **needs(step.experiment, step.methods),
        params:
            code=step.code,
            data=step.data,
            command=step.command,
            job=step.job,
            places=place_flags,
            shards=shard_flags,
            outs=out_flags,
            environment=step.environment,
        shell:
            "{params.environment} python -m kcde run {params.command} --job {params.job}"
            " {params.places} {params.shards} {params.outs} > {log} 2>&1"
