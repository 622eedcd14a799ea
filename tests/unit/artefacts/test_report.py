"""The report: one page that needs nothing else, escaped, the same each time, and complete."""

import shutil
from collections import Counter
from html.parser import HTMLParser

import pytest
import report_figures

from kcde import webpage
from kcde.papers import published
from kcde.papers import registry
from kcde.cli import main
from kcde.estimators import estimator_names
from kcde.report import findings, markdown, papers, write

VOID = {"meta", "link", "img", "input", "br", "hr"}


class Tags(HTMLParser):
    """All tags of a page with their attributes, and which elements each stands in."""

    def __init__(self, text):
        super().__init__()
        self.found, self.words, self.inside = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs), tuple(self.inside)))
        if tag not in VOID:
            self.inside.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.found.append((tag, dict(attrs), tuple(self.inside)))

    def handle_endtag(self, tag):
        assert self.inside.pop() == tag, f"</{tag}> at {self.getpos()}"

    def handle_data(self, data):
        self.words.append(data)

    def of(self, *names):
        return [attrs for tag, attrs, _ in self.found if tag in names]


@pytest.fixture(scope="module")
def figures(tmp_path_factory):
    return report_figures.make(tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="module")
def text(figures):
    return write(figures, figures.parent / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def tags(text):
    return Tags(text)


def test_the_test_that_decides_comes_first_in_the_reason():
    row = {"verdict": "holds", "reason": "a < b", "amended": "", "amended_reason": ""}
    assert findings._why(row) == "a < b"
    amended = row | {"amended": "fails", "amended_reason": "p = 0.2."}
    assert findings._why(amended) == "Amended test: p = 0.2. First test (holds): a < b"


def test_the_same_folder_gives_the_same_bytes(figures, text, tmp_path):
    assert write(figures, tmp_path / "again.html").read_bytes() == text.encode()


def test_words_of_the_folder_are_words_on_the_page(text, tags):
    assert not tags.inside  # every element is closed
    assert len(tags.of("script")) == 1
    assert "<script>alert" not in text
    said = "".join(tags.words)
    places = {  # title, caption and table of five pages; reasons in scorecard and claims; a reading
        f"a title with {report_figures.NASTY}": 5,
        f"*words*, {report_figures.NASTY}": 0,
        f"words, {report_figures.NASTY}": 5,
        f"K1 {report_figures.NASTY}": 2,
    }
    assert {words: said.count(words) for words in places} == places


def test_backticks_are_code_and_the_rest_is_escaped(tmp_path):
    (tmp_path / "page.j2").write_text("<p>{{ reason | code }}</p>")
    made = webpage.render(tmp_path / "page.j2", {"reason": "y is `perf` <b>, not `a<b`"})
    assert made == "<p>y is <code>perf</code> &lt;b&gt;, not <code>a&lt;b</code></p>"


def test_nothing_is_fetched(text, tags):
    sources = [attrs["src"] for attrs in tags.of("img", "script", "iframe") if "src" in attrs]
    assert sources
    assert all(source.startswith("data:image/png;base64,") for source in sources)
    assert all(attrs["href"] == "data:," for attrs in tags.of("link"))
    assert not [
        attrs for _, attrs, _ in tags.found if {"srcset", "data", "background"} & set(attrs)
    ]
    assert not [name for name in ("@import", "url(", "fetch(", "XMLHttp") if name in text]
    (policy,) = (attrs for attrs in tags.of("meta") if "http-equiv" in attrs)
    assert policy["content"].startswith("default-src 'none'; img-src data:;")
    assert not [attrs for _, attrs, _ in tags.found if any(name.startswith("on") for name in attrs)]


def test_links_lead_to_places_on_the_page(tags):
    places = Counter(attrs["id"] for _, attrs, _ in tags.found if "id" in attrs)
    assert set(places.values()) == {1}
    assert {attrs["href"][0] for attrs in tags.of("a")} == {"#"}
    assert {attrs["href"][1:] for attrs in tags.of("a")} <= set(places)


def test_pictures_have_words_and_a_size(tags):
    assert len(tags.of("img")) == 5 + 1  # and the one that stands for kcef
    for attrs in tags.of("img"):
        assert attrs["alt"].startswith("Picture of ")
        assert (attrs["width"], attrs["height"], attrs["loading"]) == ("1", "1", "lazy")
    drawn = [attrs for attrs in tags.of("svg") if attrs["role"] == "img"]
    (words,) = (attrs["aria-label"] for attrs in drawn)
    assert words.startswith("Histogram of F(y|x) of NADE: 1.00 at the ends and 1.00 in the middle")


def test_the_scorecard_sorts_by_buttons_and_its_filters_have_labels(tags):
    heads = [attrs for attrs in tags.of("th") if "aria-sort" in attrs]
    assert {attrs["aria-sort"] for attrs in heads} == {"none"}
    inside = [place for tag, _, place in tags.found if tag == "button" and "th" in place]
    assert len(inside) == len(heads) == 10
    fields = [place for tag, _, place in tags.found if tag in ("select", "input")]
    assert len(fields) == 7
    assert all("label" in place for place in fields)
    regions = [attrs for attrs in tags.of("div") if attrs.get("role") == "region"]
    assert all(attrs["aria-label"] and attrs["tabindex"] == "0" for attrs in regions)


def test_every_number_and_claim_has_a_row_and_every_claim_a_place(tags):
    rows = [attrs for attrs in tags.of("tr") if "data-kind" in attrs]
    assert Counter(attrs["data-kind"] for attrs in rows) == {"number": 122, "copy": 20, "claim": 43}
    places = {attrs["id"] for attrs in tags.of("article") if "id" in attrs}
    assert {f"claim-{name}" for name in published.claims()["claim"]} <= places
    by_claim = [row for row in rows if row["data-readings"]]
    assert [row["data-readings"] for row in by_claim] == ["some readings", "no reading"]
    judged = [row["data-verdict"] for row in rows if row["data-verdict"] != "not-run"]
    assert judged == ["reproduced", "better", "worse", "better", "holds", "fails", "holds"]


def test_a_figure_stands_beside_the_claims_about_it(text):
    def beside(anchor):
        return text.partition(f'id="{anchor}"')[2].partition("</article>")[0]

    said = beside("kcef-fig1")
    assert [f"claim-K{k}" in said for k in (1, 2, 5, 7, 12, 13)] == [
        True,
        True,
        True,
        False,
        False,
        True,
    ]
    assert "claim-K12" in beside("kcef-consistency")  # which decides theorem 2
    assert "Not in the paper: made here." not in said
    assert "Read off the published picture" in beside("cdo-fig4")
    assert "None of them has it: made here." in beside("across-calibration")
    table = beside("kcef-table1")
    assert "claim-K7" in table
    assert '<td class="number">1.36 ± 0.05</td>' in table  # all its numbers


def test_what_is_not_drawn_is_said(text):
    said = text.partition("Not drawn yet: ")[2].partition(".</p>")[0].split(", ")
    assert "kcef/table2" in said
    assert not set(said) & set(report_figures.DRAWN)


def test_three_sentences_a_paper_from_the_counts(text):
    card = text.partition('<a href="#kcef">kcef</a></h3>')[2].partition("</article>")[0]
    assert (
        "Of its 61 published numbers 1 is reproduced, 1 better here, 1 worse, 1 with too many "
        "failed fits and 57 not run; of the 2 where the spread over splits is small enough to "
        "tell, 1 is compatible with ours."
    ) in card
    assert (
        "Of its 14 claims 2 hold, 1 fails and 11 are not run; of the 2 tested under several "
        "readings of what it leaves open, 0 hold under every reading, 1 under some and 1 under "
        "none."
    ) in card


def test_every_paper_has_a_line_and_a_picture_that_exists():
    named = set(published.claims()["paper"])
    assert set(papers.papers()) == named
    for paper in papers.papers().values():
        assert f"{paper.name}/{paper.picture}" in registry.ARTEFACTS
        assert paper.proposes.count(".") == 1


def test_cards_have_formula_cost_source_and_standing(text):
    cards = {
        each.partition('"')[0]: each.partition("</article>")[0]
        for each in text.split('id="method-')[1:]
    }
    assert list(cards)[:2] == ["NADE", "LSCDE"]  # by rank, then by name
    assert set(cards) == set(estimator_names())
    assert "(Sugiyama et al., IEICE Transactions 2010)" in cards["LSCDE"]
    assert "p(y|x) ∝ Σ_l α_l φ_l(x, y), α = max(0, (H + λI)⁻¹ h)" in cards["LSCDE"]
    assert "Fitting costs O(n b² + b³) for b centres" in cards["LSCDE"]
    assert '<td class="number">2.50</td><td class="number">17 of 20</td>' in cards["LSCDE"]
    assert '<td class="number">50%</td><td class="number">90%</td>' in cards["NADE"]
    assert "Not in the table of all methods." in cards["CME"]


def test_provenance_says_what_is_recorded_and_what_is_not(figures, text, tmp_path):
    said = text.partition('id="provenance"')[2]
    assert "Scores of single splits, with versions" in said
    assert "no machine" in said
    assert "abc (readings)" in said
    other = shutil.copytree(figures, tmp_path / "figures")
    report_figures.scored(other)
    said = write(other, tmp_path / "r.html").read_text().partition('id="provenance"')[2]
    assert "Computed with numpy 2.0." in said
    assert "<td>donut</td>" in said
    assert "Scores of single splits, with versions" not in said


def test_a_page_of_one_paper(figures, tmp_path):
    tags = Tags(write(figures, tmp_path / "cdo.html", "cdo").read_text())
    rows = [attrs for attrs in tags.of("tr") if "data-kind" in attrs]
    assert {attrs["data-paper"] for attrs in rows} == {"cdo"}
    assert len(tags.of("img")) == 1
    assert not Tags(write(figures, tmp_path / "a.html", "across").read_text()).of("form")


def test_refusals_name_the_remedy(tmp_path, figures, capsys):
    with pytest.raises(FileNotFoundError, match="python -m kcde scorecard --into"):
        write(tmp_path, tmp_path / "r.html")
    with pytest.raises(SystemExit):
        main(
            ["report", "--figures", f"{figures}", "--paper", "kcfe", "--out", f"{tmp_path}/r.html"]
        )
    assert "no paper 'kcfe' (did you mean `kcef`?)" in capsys.readouterr().err
    assert not (tmp_path / "r.html").exists()


def test_a_page_in_markdown_loses_links_to_files_and_its_fold():
    page = markdown.parse(report_figures.PAGE.format(key="kcef/fig1"))
    assert page.title == f"a title with {report_figures.NASTY}"
    assert "a file and a [trap](javascript:alert(1))" in page.caption
    assert "<em>words</em>" in page.caption
    assert "At the scale" in page.caption
    assert "Details" not in page.rest
    assert "<h5>Against the published numbers</h5>" in page.rest
    assert 'aria-label="Table"><table>' in page.rest
    kept = markdown.html("[a](https://example.org/x), [b](b.csv), [c](http://example.org)")
    assert kept == '<p><a href="https://example.org/x">a</a>, b, c</p>\n'
