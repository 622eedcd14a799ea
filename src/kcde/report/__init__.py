"""The report: all that is known of the four papers as one HTML page, from tracked files alone."""

from pathlib import Path

TEMPLATE = Path(__file__).with_name("page.html.j2")


def write(figures: str | Path, out: str | Path, paper: str | None = None) -> Path:
    """Write the report, one file that needs no network and no other file.

    Parameters
    ----------
    figures
        The folder of the outputs, with `scorecard.csv`. What it lacks besides is said to be absent.
    out
        The file to write.
    paper
        Only this one, e.g. `kcef`, or `across` for what belongs to no single paper; the methods
        are left out then.

    Returns
    -------
    pathlib.Path
        `out`. The same folder gives the same bytes.

    Raises
    ------
    FileNotFoundError
        If there is no scorecard in the folder.
    ValueError
        If there is no such paper.
    """
    from kcde import webpage
    from kcde.files import atomic
    from kcde.report.content import content

    page = webpage.render(TEMPLATE, content(Path(figures), paper))
    with atomic(out) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return Path(out)
