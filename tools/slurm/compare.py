"""Which outputs a run of the workflow had finished, and whether they are still those files.

`compare.py finished CHECKOUT` lists the outputs that Snakemake takes for complete, with what the
file system says of each; `compare.py kept CHECKOUT LIST` fails where one of such a list was written
again.
"""

import json
import sys
from base64 import urlsafe_b64decode
from pathlib import Path

OUTPUTS = {".csv", ".gz", ".json", ".npz"}


def finished(checkout: Path, recorded: bool = False) -> dict[str, list[int]]:
    """Return the outputs that no job would be run for, with inode and time of modification.

    Snakemake marks the outputs of a job as incomplete from its submission until it ends on its
    node, and may be ended between the marks of two; the files of one job differ in their suffix.
    Those `recorded` are fewer: of them Snakemake has been told by Slurm that the job is over.
    """
    outputs = {
        f"{path.relative_to(checkout)}": [path.stat().st_ino, path.stat().st_mtime_ns]
        for path in sorted((checkout / "results").rglob("*"))
        if path.suffix in OUTPUTS
        and path.is_file()
        and not {"figures", "judged"} & {*path.parts}
        # A job writes its table last: without it, it was ended before.
        and ("scores" not in path.parts or path.with_suffix(".csv").is_file())
    }
    open_jobs = {Path(name).with_suffix("") for name in _named(checkout / ".snakemake/incomplete")}
    over = {name for name in outputs if Path(name).with_suffix("") not in open_jobs}
    if recorded:
        over &= _named(checkout / ".snakemake/metadata")
    return {name: stat for name, stat in outputs.items() if name in over}


def _named(folder: Path) -> set[str]:
    # Files are called as the output in base64, cut into folders with an @ where that is long.
    names = ("".join(p.relative_to(folder).parts) for p in folder.rglob("*") if p.is_file())
    return {urlsafe_b64decode(name.replace("@", "")).decode() for name in names}


def kept(checkout: Path, before: dict[str, list[int]]) -> bool:
    """Print how many of the outputs finished before are still those files; return whether all."""
    now = finished(checkout)
    again = [name for name, stat in before.items() if now.get(name) != stat]
    new = len(now.keys() - before.keys())
    print(f"{len(before)} outputs were finished, {len(again)} of them written again, {new} are new")
    print(*(f"    {name}" for name in again), sep="\n", end="\n" if again else "")
    return bool(before) and not again


if __name__ == "__main__":
    command, checkout, *rest = sys.argv[1:]
    if command == "finished":
        print(json.dumps(finished(Path(checkout), "--recorded" in rest), indent=1))
    else:
        sys.exit(not kept(Path(checkout), json.loads(Path(rest[0]).read_text(encoding="utf-8"))))
