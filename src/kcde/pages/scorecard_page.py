"""The scorecard as pages: Markdown, one offline HTML file, and the report with every picture."""

import io
import math
from pathlib import Path

from kcde import webpage
from kcde.evidence.scorecard import CLASSES, INFORMATIVE, NUMBER_CLASSES
from kcde.pages.words import display, number, pipe_table, significant
from kcde.papers.artefact import ACROSS
from kcde.papers.registry import ARTEFACTS

_HERE = Path(__file__).parent

_SIGNS = {
    "holds": ("●", "holds"),
    "fails": ("✕", "fails"),
    "mixed": ("◐", "holds under some of its readings"),
    "undecided": ("?", "undecided"),
    "not-run": ("–", "not run"),
    "reproduced": ("●", "holds as drawn and under every reading tried"),
    "depends": ("◐", "holds under some readings and fails under others"),
    "contradicted": ("✕", "fails under every reading tried"),
    "untested": ("?", "undecided, or not run, as drawn"),
    "compatible": ("●", "inside our 95% prediction interval"),
    "better": ("▲", "ours is better than the interval allows"),
    "worse": ("▼", "ours is worse than the interval allows"),
    "different": ("≠", "on the other side of 5%, or of the order of two methods"),
    "uninformative": ("?", "our interval is too wide to say anything"),
    "published-na": ("–", "printed as N/A"),
}
"""Shape and meaning of verdicts and classes; colours stand in `scorecard.css`."""

_WORDS = {"signs": _SIGNS, "classes": CLASSES, "number_classes": NUMBER_CLASSES}
_WORDS |= {"informative": INFORMATIVE}

_METRICS = {
    "negative_log_likelihood": "negative log-likelihood, nats",
    "mmd": "MMD² × 1000",
    "smae": "SMAE",
    "p_value": "p-value",
    "sampling_time": "sampling time, s",
}
_WIDTH = 320  # of a dumbbell, in its own units
_COLOURS = 128  # of a picture in the report


def pages(context: dict) -> dict[str, str]:
    """Return the text of `scorecard.md`, `scorecard.html` and each paper's page, by name."""
    told = _WORDS | context | {"table": pipe_table}
    made = {"scorecard.md": _text("scorecard", told), "scorecard.html": html(context)}
    for paper in context["papers"]:
        made[f"{paper['name']}/README.md"] = _text("paper", {**told, "paper": paper})
    return made


def _text(name: str, told: dict) -> str:
    blocks = dict.fromkeys(("trim_blocks", "lstrip_blocks", "keep_trailing_newline"), True)
    return webpage.render(_HERE / f"{name}.md.j2", told, autoescape=False, **blocks)


def html(context: dict, figures: Path | None = None, paper: str | None = None) -> str:
    """Return the scorecard as one offline page; with a folder of outputs, with its pictures.

    With a paper it shows that alone; by default all, `across` last.
    """
    shown = [each for each in context["papers"] if paper in (None, each["name"])]
    kept = [each["name"] for each in shown]
    numbers = [each for each in context["numbers"] if each["paper"] in kept]
    drawn = {}
    if figures is not None:
        drawn = {name: [] for name in ([paper] if paper else [*kept, ACROSS])}
        for key, each in ARTEFACTS.items():
            if each.paper in drawn and (figures / f"{key}.png").exists():
                drawn[each.paper].append(_artefact(key, figures, context, numbers))
    told = {"groups": _dumbbells(numbers), "artefacts": drawn, "scale": context["scale"]}
    return webpage.render(_HERE / "scorecard.html.j2", told | _WORDS | {"papers": shown})


def _spoken(row: dict) -> dict:
    """Return a number's row in words."""
    shown = number if row["metric"] == "negative_log_likelihood" else significant
    published = "N/A" if math.isnan(row["published"]) else shown(row["published"])
    ours = shown(row["ours"])
    if row["failed"] > 0:
        ours = f"median {shown(row['median'])} ({shown(row['q25'])} to {shown(row['q75'])}), "
        ours += f"{row['failed']:.0f} of {row['n']:.0f} failed"
    elif not math.isnan(row["stderr"]):
        ours += f" ± {shown(row['stderr'])}"
    return {**row, "method": display(row["method"]), "published": published, "ours": ours}


def _dumbbells(numbers: list[dict]) -> list[dict]:
    """Return the informative numbers by table and metric, each with its places on their axis."""
    shown: dict[tuple[str, str], list[dict]] = {}
    for row in numbers:
        if row["verdict"] in INFORMATIVE and not math.isnan(row["ours"]):
            key = f"{row['paper']}/{row['artefact']}", row["metric"]
            shown.setdefault(key, []).append(row)
    groups = []
    for (key, metric), rows in shown.items():
        ends = [row[name] for row in rows for name in ("published", "ours")]
        place, ticks = _axis(ends, logarithmic=metric != "negative_log_likelihood")
        spoken = [
            _spoken(row) | {"theirs_at": place(row["published"]), "ours_at": place(row["ours"])}
            for row in rows
        ]
        ticks = [(place(tick), f"{tick:g}") for tick in ticks]
        groups.append({"key": key, "words": _METRICS[metric], "ticks": ticks, "rows": spoken})
    return groups


def _axis(values: list[float], *, logarithmic: bool):
    """Return a function from a value to its place in 0 … `_WIDTH`, and ticks."""
    scaled = (lambda x: math.log10(max(x, 1e-4))) if logarithmic else float
    low, high = math.floor(scaled(min(values))), math.ceil(scaled(max(values)))
    ticks = range(low, high + 1, 1 if logarithmic else max(1, round((high - low) / 6)))

    def place(value: float) -> float:
        share = (scaled(value) - low) / max(high - low, 1)
        return round(8 + (_WIDTH - 16) * min(max(share, 0.0), 1.0), 1)

    return place, [10.0**k if logarithmic else k for k in ticks]


def _artefact(key: str, figures: Path, context: dict, numbers: list[dict]) -> dict:
    """Return a picture with what its paper says of it."""
    artefact = ARTEFACTS[key]
    return {
        "key": key,
        "text": artefact.text,
        **_picture(figures / f"{key}.png"),
        "claims": [claim for claim in context["claims"] if claim["key"] == key],
        "numbers": [_spoken(row) for row in numbers if f"{row['paper']}/{row['artefact']}" == key],
    }


def _picture(path: Path) -> dict:
    """Return a PNG in few colours as a data URI, with its size on a screen in pixels."""
    from PIL import Image

    with Image.open(path) as image:
        buffer = io.BytesIO()
        image.convert("RGB").quantize(_COLOURS).save(buffer, "PNG", optimize=True)
        width, height = (round(0.62 * side) for side in image.size)
    uri = webpage.uri(buffer.getvalue(), "image/png")
    return {"uri": uri, "width": width, "height": height}


def report(into: Path, out: Path, scale: str, paper: str | None = None) -> Path:
    """Write the report: the scorecard with every picture beside what its paper says."""
    from kcde.evidence import readings, scorecard
    from kcde.files import atomic
    from kcde.names import nearest
    from kcde.papers import published

    known = [*published.PAPERS, ACROSS]
    if paper is not None and paper not in known:
        hint = f"{nearest(paper, known)}; known: {', '.join(known)}"
        raise ValueError(f"there is no paper {paper!r}{hint}")
    context = scorecard.context(scorecard.read(into), readings.read(into), scale)
    page = html(context, Path(into), paper)
    with atomic(out) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return Path(out)
