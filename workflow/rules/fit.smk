# What is fitted on what: one rule for all experiments, that is, one of each name. A job does all
# repetitions of a data set with a method, or with the methods of a group, which have the same bases;
# log and benchmark bear the name of the first. Where `shards` cuts an experiment, its rule collects
# what the rule of the same command with `_part` in its name leaves in the place of scores. The
# digests in `params` make an edit of one estimator re-run that estimator's jobs and no others.
localrules:
    joint,


for experiment, group, cut in steps():

    rule:
        name:
            embeddings.job_name(f"{experiment}_part" if cut else experiment, group)
        input:
            **inputs_of(experiment, group),
        output:
            **outputs_of(experiment, group, cut),
        log:
            kept("logs", ".log", experiment, group, cut),
        benchmark:
            kept("benchmarks", ".tsv", experiment, group, cut)
        wildcard_constraints:
            **constraints_of(experiment),
        group:
            group_of(experiment, group)
        conda:
            ENVIRONMENT
        threads: THREADS
        resources:
            **needs(experiment, group),
        params:
            code=code_of(experiment, group),
            data=digest_of(experiment),
            command=experiment.replace("_", "-"),
            job=job_of(experiment, group),
            places=places_of(experiment),
            cut=cut_flags,
            outs=out_flags,
            environment=environment_of(experiment),
        shell:
            "{params.environment} python -m kcde run {params.command} --job {params.job}"
            " {params.places} {params.cut} {params.outs} > {log} 2>&1"
