# What is fitted on what: one rule for all experiments, that is, one of each name. A job does all
# repetitions of a data set with a method, or with several methods that have the same bases; its log
# and benchmark bear the name of the first. Where `shards` divides an experiment, its rule collects
# what the rule with `_part` in its name, which has the same command, writes in the place of scores.
# The digests in `params` make an edit of one estimator re-run that estimator's jobs and no others.
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
            cut=shard_flags,
            outs=out_flags,
            environment=step.environment,
        shell:
            "{params.environment} python -m kcde run {params.command} --job {params.job}"
            " {params.places} {params.cut} {params.outs} > {log} 2>&1"
