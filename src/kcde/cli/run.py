"""`run`: one job of an experiment."""

import json
import re
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer()


@app.command("run")
def run_command(
    name: Annotated[
        str | None, typer.Argument(metavar="EXPERIMENT", help="By default the list of them.")
    ] = None,
    dataset: Annotated[str, typer.Argument(help="One of its data sets.")] = "",
    methods: Annotated[
        list[str] | None, typer.Argument(help="A method, or several that share bases.")
    ] = None,
    out: Annotated[
        list[Path] | None,
        typer.Option(
            "--out",
            "-o",
            help="The score CSV, one for each method; .json and .npz are written beside it. With "
            "--shard one .npz for all methods.",
        ),
    ] = None,
    scale: Annotated[str, typer.Option(help="Its sizes: smoke, laptop or paper.")] = "laptop",
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", help="NAME=VALUE: another size or parameter; repeatable."),
    ] = None,
    define: Annotated[
        list[str] | None,
        typer.Option(help="A method of your own as JSON: {NAME: {estimator, options}}."),
    ] = None,
    backend: Annotated[str, typer.Option(help="auto, numpy or cupy.")] = "auto",
    files: Annotated[
        list[Path] | None,
        typer.Option(help="A score CSV of another job that this one reads; repeatable."),
    ] = None,
    shard: Annotated[
        str | None, typer.Option(help="i/k: compute every k-th repetition from the i-th on.")
    ] = None,
    part: Annotated[
        list[Path] | None, typer.Option(help="What a shard wrote, for each of the k: collects.")
    ] = None,
    data_dir: Annotated[Path, typer.Option(help="Folder of the raw data.")] = Path("data"),
    catalogue: Annotated[Path | None, typer.Option(help="Another catalogue (CSV).")] = None,
) -> None:
    """Run one job of an experiment, a method on a data set, and write its scores.

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

    from kcde.experiments import experiment, experiments
    from kcde.experiments.base import SCALES
    from kcde.experiments.runner import run
    from kcde.methods import define as add

    if name is None:
        for each, cls in experiments().items():
            typer.echo(f"{each:16} {(cls.__doc__ or '').splitlines()[0]}")
        return
    cls = experiment(name)
    if not (methods or out):
        typer.echo(_described(cls))
        return
    if not out or (cls.datasets and not methods):
        raise ValueError(f"{name}: give a data set, a method and --out")
    if shard and part:
        raise ValueError("--shard computes and --part collects: give one of the two")
    if scale not in SCALES:
        raise ValueError(f"--scale must be one of {', '.join(SCALES)}; got {scale!r}")
    for text in define or ():
        add(_object(text, "--define"))
    given = dict(map(_assigned, changes or ())) | {"data_dir": data_dir, "catalogue": catalogue}
    given |= {"files": tuple(files)} if files else {}
    given |= {"backend": backend} if "backend" in cls.parameters() else {}
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    jobs = [cls.at(scale, dataset, method, **given) for method in methods or [""]]
    run(jobs, out, shard=_shard(shard), parts=part or ())
    typer.echo(f"wrote {', '.join(map(str, out))}")


def _described(cls) -> str:
    """Return what an experiment is, for a person who wants to run it."""
    lines = [f"{cls.name}: {cls.__doc__}", "", "parameters (smoke, laptop, paper):"]
    for each in cls.parameters().values():
        if each.metadata.get("help") and not each.metadata.get("is_file"):
            sizes = each.metadata.get("sizes")
            said = f" ({', '.join(map(str, sizes.values()))})" if sizes else ""
            lines.append(f"  {each.name}{said}: {each.metadata['help']}")
    lines += [f"data sets: {', '.join(cls.datasets)}", f"methods: {', '.join(cls.methods)}"]
    return "\n".join(lines)


def _assigned(text: str) -> tuple[str, object]:
    """Return the name and the value of NAME=VALUE; the value is JSON where it can be."""
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise ValueError(f"--set is NAME=VALUE, as folds=2; got {text!r}")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


def _object(text: str, option: str) -> dict:
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"{option} is not JSON ({error}): {text}") from None
    if not isinstance(found, dict):
        raise ValueError(f"{option} must be a JSON object; got {text}")
    return found


def _shard(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    if not (found := re.fullmatch(r"(\d+)/(\d+)", text)):
        raise ValueError(f"--shard is i/k with 1 ≤ i ≤ k, as 2/4; got {text!r}")
    return int(found[1]), int(found[2])
