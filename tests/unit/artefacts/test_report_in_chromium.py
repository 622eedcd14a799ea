"""The report in a browser: no errors, no requests, sorting, filters, and how soon it is there."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import report_figures

from kcde.report import write

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
ROOT = Path(__file__).parents[3]
pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not on the PATH"),
]
TRIED = """
<script>
const said = { ready: performance.getEntriesByName("scorecard")[0].startTime };
const body = document.getElementById("scores").tBodies[0];
const heads = [...document.querySelectorAll("#scores th")];
const head = heads.find((each) => each.textContent === "published");
const button = head.querySelector("button");
const cells = () => [...body.rows].map((row) => row.cells[head.cellIndex].dataset.sort);
button.focus();
said.focused = document.activeElement === button;
button.click();
said.up = [head.getAttribute("aria-sort"), cells()];
button.click();
said.down = [head.getAttribute("aria-sort"), cells()];
const form = document.getElementById("filters");
const kept = () => [...body.rows].filter((row) => !row.hidden).length;
said.all = kept();
function set(name, value) {
  form.elements[name].value = value;
  form.elements[name].dispatchEvent(new Event("input", { bubbles: true }));
  return kept();
}
said.paper = set("paper", "kcef");
said.verdict = set("verdict", "worse");
said.words = set("words", "no such words");
said.count = document.getElementById("count").textContent;
form.reset();
setTimeout(() => {
  said.reset = kept();
  said.filters = form.hidden;
  said.wide = document.documentElement.scrollWidth <= window.innerWidth;
  document.title = JSON.stringify(said);
}, 0);
</script>
</body>"""


def opened(page, *flags):
    """Open a page; return the document after its scripts, and what the console said."""
    flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", *flags]
    done = subprocess.run(
        [CHROMIUM, *flags, "--dump-dom", page.as_uri()],
        capture_output=True,
        text=True,
        timeout=240,
        check=True,
    )
    return done.stdout, re.findall(r".*CONSOLE.*", done.stderr)


def tried(page, *flags):
    """Press and filter on a page; return what came of it, and what the console said."""
    copy = page.with_name("tried.html")
    copy.write_text(page.read_text(encoding="utf-8").replace("</body>", TRIED), encoding="utf-8")
    document, console = opened(copy, *flags)
    title = re.search(r"<title>(.*?)</title>", document, re.DOTALL).group(1)
    return json.loads(title), console


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("chromium")
    return write(report_figures.make(folder), folder / "report.html")


@pytest.mark.parametrize("width", [390, 1300])
def test_it_sorts_and_filters_without_errors_on_any_width(page, width):
    said, console = tried(page, f"--window-size={width},900")
    assert not console
    for direction, sign in (("up", 1), ("down", -1)):
        state, cells = said[direction]
        assert state == {"up": "ascending", "down": "descending"}[direction]
        numbers = [sign * float(cell) for cell in cells if cell]
        assert numbers == sorted(numbers)
        assert len(set(numbers)) > 1
        assert not any(cells[len(numbers) :])  # empty ones last
    assert said["focused"]
    assert (said["all"], said["paper"], said["verdict"], said["words"]) == (185, 75, 1, 0)
    assert (said["count"], said["reset"], said["filters"]) == ("0 of 185 rows", 185, False)
    assert said["wide"]  # nothing reaches beyond the window


def test_a_request_would_be_seen(page):
    """The page forbids itself all requests, and the console tells of one."""
    copy = page.with_name("asking.html")
    text = page.read_text(encoding="utf-8")
    copy.write_text(text.replace("</main>", '<img src="https://example.org/x.png"></main>'))
    _, console = opened(copy)
    assert len(console) == 1
    assert "Content Security Policy" in console[0]


def test_the_scorecard_of_the_tracked_outputs_reacts_within_two_seconds(tmp_path):
    page = write(ROOT / "figures", tmp_path / "report.html")
    assert page.stat().st_size < 25e6
    runs = [tried(page) for _ in range(2)]
    assert not [line for _, console in runs for line in console]
    assert min(said["ready"] for said, _ in runs) < 2000  # milliseconds
