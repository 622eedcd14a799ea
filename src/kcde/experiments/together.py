"""Jobs that differ in nothing but the method, and run together to share bases."""

from collections.abc import Sequence
from dataclasses import asdict

from kcde.experiments.shards import Cut
from kcde.provenance import digest, estimator_module

OWN_TO_A_METHOD = frozenset({"method", "estimator", "variant", "options"})
"""Fields of a job in which those that run together may differ."""


def check(jobs: Sequence, outs: Sequence, cut: Cut) -> None:
    """Refuse jobs that cannot share bases, and files that cannot be told apart.

    Parameters
    ----------
    jobs
        Dataclasses: they may differ in method, estimator, variant and options.
    outs
        Where the scores of each go; of a shard, where its one part goes.
    cut
        Whether this is a shard.

    Raises
    ------
    ValueError
        If there is no job, a name stands twice, or the jobs differ in anything else.
    """
    if cut.shard is not None and len(outs) != 1:
        raise ValueError(
            f"a shard leaves one part for all of its methods: give --out once; got {len(outs)}"
        )
    if not jobs or (cut.shard is None and len(outs) != len(jobs)):
        raise ValueError(
            f"name a file (--out) for each method (--method); got {len(outs)} for {len(jobs)}"
        )
    for what, names in (("method", [job.method for job in jobs]), ("file", list(map(str, outs)))):
        if len(set(names)) < len(names):
            raise ValueError(f"name each {what} once; got {', '.join(names)}")
    first, *others = (asdict(job) for job in jobs)
    for name in set(first) - OWN_TO_A_METHOD:
        for other in others:
            if other[name] != first[name]:
                raise ValueError(
                    f"methods that run together must agree in {name}: {first['method']} has "
                    f"{first[name]!r} and {other['method']} {other[name]!r}; run them apart"
                )


def identity(experiment: str, jobs: Sequence, module: str, data: object = None) -> dict:
    """Return what parts of the same jobs have in common.

    Parameters
    ----------
    experiment, jobs
        What was asked for.
    module
        Of the experiment: parts of other code are parts of another job.
    data
        Which data were read, or why there were none.
    """
    code = [digest(module, estimator_module(job.estimator)) for job in jobs]
    asked = [asdict(job) for job in jobs]
    return {"experiment": experiment, "jobs": asked, "data": data, "code": code}
