"""The summary of a run: what was regenerated, what was not, why, and the remedy.

It depends on files alone, so that it can be made at any time. This module imports no numerics,
because the workflow imports it.
"""

import csv
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from kcde.files import finished, read_object

_WIDTH = 17

_KILLED = "it was killed, as the system does when memory is short"
_PROGRESS = re.compile(r"^backend \w+: |, about \d+ s left$")
"""The lines of a job that goes on: which backend it uses, and how much is done."""


@dataclass(frozen=True)
class Summary:
    """The summary of a run.

    Attributes
    ----------
    text
        For a terminal, several lines.
    problems
        A short phrase for each kind of missing thing; empty if nothing is missing.
    """

    text: str
    problems: list[str]


def summarise(
    results: str | Path,
    into: str | Path,
    expected: Iterable[str] | None = None,
    jobs: Iterable[tuple[str, str]] | None = None,
    stale: Iterable[str] = (),
    failed: Iterable[str] | None = None,
) -> Summary:
    """Summarise what was made, and the causes of what is missing.

    Parameters
    ----------
    results
        Folder of a scale, `results/<scale>`.
    into
        Where its artefacts are drawn.
    expected
        `paper/artefact` names that should have been regenerated; by default those with a record.
    jobs
        (output, log) of the jobs that should have run; by default those with a log.
    stale
        Outputs that the run should have replaced, and that are still those of an earlier run.
    failed
        Outputs of the jobs that failed; by default those with a log and no output, which includes
        interrupted jobs.

    Returns
    -------
    Summary
        `problems` counts artefacts, data sets and jobs; a data set whose record says that it is
        optional is named in the text but is not counted.
    """
    results = Path(results)
    jobs = _logged(results) if jobs is None else [(Path(out), Path(log)) for out, log in jobs]
    if expected is None:
        records = finished(results / "artefacts", "*/*.json")
        expected = [f"{path.parent.name}/{path.stem}" for path in records]
    stale = {Path(path) for path in stale}
    artefacts = {name: _artefact(results, name, stale) for name in sorted(set(expected))}
    absent = _unavailable(results, jobs, artefacts)
    data = {name: record for name, record in absent.items() if not record.get("optional")}
    optional = {name: record for name, record in absent.items() if record.get("optional")}
    unfinished = sorted((out, log) for out, log in jobs if not out.exists() or out in stale)
    broken = _broken(unfinished, stale, failed)
    made = [name for name, record in artefacts.items() if _is_made(record)]
    lines = [f"kcde: closing summary of {results}"]
    # Where a larger scale is tracked, this one is drawn beside its scores.
    beside = [name for name in made if _is_beside(artefacts[name], results, Path(into))]
    here = [name for name in made if name not in beside]
    larger = f"{results}/figures/, as {into}/ has a larger scale"
    shown = [
        f"{_by_paper(names)} (in {folder})"
        for names, folder in ((here, f"{into}/"), (beside, larger))
        if names
    ]
    lines += _entry("regenerated", shown)
    lines += _entry("not regenerated", _not_made(artefacts, into))
    lines += _entry("missing data", _absent(data))
    lines += _entry("remedy", _remedies(data, artefacts))
    lines += _entry("optional data", _done_without(optional))
    lines += _entry("failed jobs", _failures(log for _, log in broken))
    lines += _entry("all fits failed", _without_fits(out for out, _ in jobs if out not in stale))
    lines += _entry("not finished", _waiting(len(unfinished) - len(broken), bool(broken)))
    lines += _entry("scorecard", _scorecard(results, Path(into), stale))
    counts = [
        (len(artefacts) - len(made), "artefact", "not regenerated"),
        (len(data), "data set", "not available"),
        (len(unfinished), "job", "not finished"),
    ]
    problems = [f"{counted(count, noun)} {state}" for count, noun, state in counts if count]
    return Summary("\n".join(lines), problems)


def unavailable(results: str | Path) -> dict[str, dict]:
    """Return the records of unavailable data sets, by name.

    Parameters
    ----------
    results
        Folder of a scale; the records of made-up data are in it, those of real data beside it.
    """
    results = Path(results)
    own = results / "data"
    folder = own if own.is_dir() else results.parent / "data"
    records = _records(finished(folder, "*.json"))
    return {r["dataset"]: r for r in records if r["status"] != "available"}


def _records(paths: Iterable[Path]) -> list[dict]:
    """Return the content of records without damaged ones, which the next run makes again."""
    return [record for path in paths if (record := read_object(path)) is not None]


def _artefact(results: Path, name: str, stale: set[Path]) -> dict:
    path = results / "artefacts" / f"{name}.json"
    if not path.is_file() or path in stale:
        return {"status": "not regenerated", "reason": "jobs that it needs did not finish"}
    return read_object(path) or {
        "status": "not regenerated",
        "reason": f"its record {path} is damaged; the same command makes it again",
    }


def _is_made(record: dict) -> bool:
    return record["status"] == "regenerated"


def _is_beside(record: dict, results: Path, into: Path) -> bool:
    folder = results / "figures"
    drawn = map(Path, record.get("files") or ())
    return folder != into and any(path.is_relative_to(folder) for path in drawn)


def _unavailable(results: Path, jobs: list[tuple[Path, Path]], artefacts: dict) -> dict[str, dict]:
    """Return the records of the unavailable data sets that the run needed."""
    asked = {out.stem for out, _ in jobs if out.parent.name == "data"}
    asked |= {name for record in artefacts.values() for name in record.get("missing") or ()}
    return {name: record for name, record in unavailable(results).items() if name in asked}


def _logged(results: Path) -> list[tuple[Path, Path]]:
    """Return (output, log) of every job that left a log: logs mirror the tree of outputs."""
    root = results.parent
    found = []
    for log in sorted((root / "logs" / results.name).rglob("*.log")) + sorted(
        (root / "logs" / "data").glob("*.log")
    ):
        stem = root / log.relative_to(root / "logs").with_suffix("")
        outputs = (stem.with_name(f"{stem.name}{suffix}") for suffix in (".csv", ".json", ".txt"))
        found.append((next((out for out in outputs if out.exists()), stem), log))
    return found


def _broken(
    unfinished: list[tuple[Path, Path]], stale: set[Path], failed: Iterable[str] | None
) -> list[tuple[Path, Path]]:
    """Return (output, log) of the unfinished jobs that failed."""
    if failed is not None:
        known = {Path(path) for path in failed}
        return [(out, log) for out, log in unfinished if out in known]
    return [(out, log) for out, log in unfinished if log.exists() and out not in stale]


def _by_paper(names: list[str]) -> str:
    papers: dict[str, list[str]] = {}
    for name in names:
        paper, _, artefact = name.partition("/")
        papers.setdefault(paper, []).append(artefact)
    return "; ".join(f"{paper} {', '.join(drawn)}" for paper, drawn in papers.items())


def _not_made(artefacts: dict[str, dict], into: str | Path) -> list[str]:
    causes: dict[str, list[str]] = {}
    for name, record in artefacts.items():
        if not _is_made(record):
            needs = _some(record.get("missing") or [])
            because = (
                f"{needs} not available" if needs else record.get("reason") or "no reason given"
            )
            causes.setdefault(because, []).append(name)
    return [
        f"{_by_paper(names)}: {cause}; their files in {into}/ are unchanged"
        for cause, names in causes.items()
    ]


def _some(names: Iterable[str], shown: int = 6) -> str:
    names = list(names)
    more = [f"and {len(names) - shown} more"] if len(names) > shown else []
    return ", ".join([*names[:shown], *more])


def _why(record: dict) -> str:
    """Return why a data set is unavailable."""
    tried = record.get("tried") or []
    if not tried:
        return "there is no address to try"
    last = " ".join(str(tried[-1]["error"]).split())
    return f"no source has it; error of the last one: {last[:120]}"


def _absent(records: dict[str, dict]) -> list[str]:
    causes: dict[str, list[str]] = {}
    for name, record in records.items():
        causes.setdefault(_why(record), []).append(name)
    return [f"{_some(names)}: {cause}" for cause, names in causes.items()]


def _done_without(optional: dict[str, dict]) -> list[str]:
    """Return the optional data sets that are unavailable, each with its remedy."""
    lines = []
    for name, record in optional.items():
        lines.append(f"{name}: {_why(record)}; everything else was made without it")
        lines.append(record.get("remedy") or "")
    return lines


def _failures(logs: Iterable[Path]) -> list[str]:
    """Return the last messages of the logs of failed jobs, each message once."""
    causes: dict[str, list[str]] = {}
    for log in logs:
        causes.setdefault(last_line(log), []).append(f"{log}")
    return [
        f"{counted(len(names), 'job')}: {cause} ({_some(names, 2)})"
        for cause, names in causes.items()
    ]


def _without_fits(outputs: Iterable[Path]) -> list[str]:
    """Return the methods without one fit on a data set, by what most of their rows say.

    Nothing is wrong with such jobs, but an option of the configuration may be.
    """
    causes: dict[str, list[str]] = {}
    for path in outputs:
        if path.suffix != ".csv" or not path.is_file():
            continue
        with path.open(encoding="utf-8", newline="") as lines:
            rows = list(csv.DictReader(lines))
        if rows and all(row.get("status") == "failed" for row in rows):
            detail = Counter(row.get("detail", "") for row in rows).most_common(1)[0][0]
            causes.setdefault(detail, []).append(f"{rows[0]['method']} on {rows[0]['dataset']}")
    return [f"{_some(names)}: {detail}" for detail, names in causes.items()]


def last_line(log: str | Path) -> str:
    """Return the last line of the log of a failed job, shortened to 160 characters.

    A command that fails says why. One that was killed cannot: its last line is of its progress, or
    there is none, and what is returned says so.
    """
    log = Path(log)
    if not log.is_file():
        return "there is no log"
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    said = next((line.strip() for line in reversed(lines) if line.strip()), "")
    if not said:
        return f"nothing was logged: {_KILLED}, or the disk is full"
    shown = said.replace(" (KCDE_TRACEBACK=1 shows where)", "")[:160]
    return f"{shown}; then {_KILLED}" if _PROGRESS.search(said) else shown


def _waiting(count: int, broken: bool) -> list[str]:
    why = ", waiting for those that failed" if broken else ""
    return [f"{counted(count, 'job')}{why}; the same command goes on with them"] if count else []


def _remedies(data: dict[str, dict], artefacts: dict[str, dict]) -> list[str]:
    """Return each remedy once; that of an artefact is for all of its data sets."""
    records = [r for r in artefacts.values() if not _is_made(r)] or data.values()
    return list(dict.fromkeys(filter(None, (record.get("remedy") for record in records))))


def _scorecard(results: Path, into: Path, stale: set[Path]) -> list[str]:
    """Return the lines at the top of the scorecard, one for each paper, if this scale has one."""
    page = into / "scorecard.md"
    if results / "scorecard.txt" in stale:
        return [f"not made again; {page} is that of an earlier run"]
    if not (results / "scorecard.txt").is_file() or not page.is_file():
        return []
    lines = page.read_text(encoding="utf-8").splitlines()
    return [line[2:].replace("**", "") for line in lines if line.startswith("- **")]


def counted(count: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is 1."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _entry(title: str, lines: Iterable[str]) -> list[str]:
    titles = [title]
    return [f"  {titles.pop() if titles else '':<{_WIDTH}}{line}" for line in lines if line]
