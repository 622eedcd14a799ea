"""`run`: one job of an experiment."""

import json
import re
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from kcde.cli.options import Backend, Catalogue, DataDir, importing, json_object

app = typer.Typer()


@app.command("run")
def run_command(
    name: Annotated[str, Argument(metavar="EXPERIMENT", help="By default their list.")] = "",
    dataset: Annotated[str, Argument(help="One of its data sets.")] = "",
    methods: Annotated[list[str], Argument(help="A method, or several that share bases.")] = (),
    out: Annotated[list[Path], Option("--out", "-o", help="The score CSV of each method.")] = (),
    scale: Annotated[str, Option(help="Its sizes: smoke, laptop or paper.")] = "laptop",
    changes: Annotated[list[str], Option("--set", help="NAME=VALUE of a parameter.")] = (),
    define: Annotated[list[str], Option(help="JSON: {NAME: {estimator, options}}.")] = (),
    backend: Backend = "auto",
    files: Annotated[list[Path], Option(help="A score CSV that this job reads.")] = (),
    shard: Annotated[str, Option(help="i/k: every k-th repetition from the i-th on.")] = "",
    part: Annotated[list[Path], Option(help="What each shard wrote: collects.")] = (),
    data_dir: DataDir = Path("data"),
    catalogue: Catalogue = None,
) -> None:
    """Run one job of an experiment, a method on a data set, and write its scores.

    Beside each score CSV it writes .json and .npz; with --shard --out is one .npz for all methods.
    --out, --set, --define (methods of your own), --files and --part may be repeated.

    Without a data set it shows the parameters of the experiment with their sizes at every scale,
    its data sets and its methods.

    \b
    python -m kcde run                                           the experiments
    python -m kcde run terrain                                   one of them
    python -m kcde fetch rough-terrain
    python -m kcde run terrain rough-terrain CDO --set folds=2 -o out.csv
    python -m kcde run moments gaussian-1-1000 JDL CME -o JDL.csv -o CME.csv
    """  # noqa: D301
    import logging

    with importing():
        from kcde.experiments import experiment, experiments
        from kcde.experiments.base import SCALES
        from kcde.experiments.runner import run
        from kcde.methods import define as add
        from kcde.methods import key_of

        experiments()
    if not name:
        for each, cls in experiments().items():
            typer.echo(f"{each:16} {(cls.__doc__ or '').splitlines()[0]}")
        return
    cls = experiment(name)
    if not (methods or out):
        typer.echo(_described(cls))
        return
    if not out or (cls.datasets and not methods):
        raise ValueError(f"{name}: give a data set, a method and --out")
    if scale not in SCALES:
        raise ValueError(f"--scale must be one of {', '.join(SCALES)}; got {scale!r}")
    for text in define:
        add(json_object(text, "--define", '{"Mine": {"estimator": "LSCDE"}}'))
    if dataset:
        fitting = [method for method in cls.methods if dataset in cls.only.get(method, [dataset])]
        # A factor's method is followed by its columns: KCEF-F/01-03.
        named = [each.partition("/") for each in methods]
        keys = [first if first in cls.beside else key_of(first, fitting) for first, _, _ in named]
        methods = [key + slash + of for key, (_, slash, of) in zip(keys, named, strict=True)]
    given = dict(map(_assigned, changes)) | {"data_dir": data_dir, "catalogue": catalogue}
    given["files"] = tuple(files)
    given |= {"backend": backend} if "backend" in cls.parameters() else {}
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    jobs = [cls.at(scale, dataset, method, **given) for method in methods or [""]]
    if not (found := re.fullmatch(r"(\d+)/(\d+)|", shard)):
        raise ValueError(f"--shard is i/k with 1 ≤ i ≤ k, as 2/4; got {shard!r}")
    run(jobs, out, shard=tuple(map(int, found.groups())) if shard else None, parts=part)
    typer.echo(f"wrote {', '.join(map(str, out))}")


def _described(cls) -> str:
    """Return what an experiment is, for a person who wants to run it."""
    from kcde.methods import shown

    lines = [f"{cls.name}: {cls.__doc__}", "", "parameters (smoke, laptop, paper):"]
    for each in cls.parameters().values():
        if each.metadata.get("help") and not each.metadata.get("is_file"):
            sizes = each.metadata.get("sizes")
            said = f" ({', '.join(map(str, sizes.values()))})" if sizes else ""
            lines.append(f"  {each.name}{said}: {each.metadata['help']}")
    lines += [
        f"data sets: {', '.join(cls.datasets)}",
        f"methods: {', '.join(map(shown, cls.methods))}",
    ]
    return "\n".join(lines)


def _assigned(text: str) -> tuple[str, object]:
    """Return the name and the value of NAME=VALUE; the value is JSON where it can be."""
    name, _, value = text.partition("=")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value
