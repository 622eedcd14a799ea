"""`kcde verify` on made-up tables, each with one difference."""

import subprocess

import pandas as pd
import pytest

from kcde.evidence.tracked import BEYOND, SAME, WITHIN, verify
from kcde.papers.artefact import FIGURE_COLUMNS, TABLE_COLUMNS

CLAIM_COLUMNS = ("claim", "artefact", "verdict", "reason")
NLL = {"metric": "negative_log_likelihood", "unit": "nats", "n": "20", "failed": "0"}
KCEF = NLL | {"dataset": "caution", "method": "KCEF", "mean": "1.08133", "std": "0.428128"}
KCEF |= {"published_mean": "1.08", "difference": "0.00133", "best": "True", "p_value": "0.03"}
NADE = NLL | {"dataset": "parkinsons", "method": "NADE", "mean": "4.60463", "verdict": "worse"}
FAILED = NADE | {"failed": "1", "mean": "80.5"}
CHAIN = KCEF | {"metric": "mmd", "method": "KEF", "verdict": "worse"}
CLAIM = {"claim": "K1", "artefact": "table1", "verdict": "holds", "reason": "0.1 < 0.2"}
CURVE = {"panel": "a", "kind": "curve", "method": "LSCDE", "series": "s", "stat": "mean", "n": "5"}
POINTS = [CURVE | {"x": f"{x}", "y": f"{y}"} for x, y in ((0, "1e-05"), (1, "-2.5"), (2, "7"))]
TABLE, FIGURE, DRAWN_BY_CHAINS, CLAIMS = "kcef/table2-rows", "jdl/fig2", "dde/table1", "readings"
COLUMNS = {FIGURE: FIGURE_COLUMNS, CLAIMS: CLAIM_COLUMNS}


def write(path, rows, columns=TABLE_COLUMNS):
    path.parent.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(rows, columns=columns).to_csv(path, index=False)


@pytest.fixture
def compared(tmp_path):
    """Return the difference of two tables, of which the first is tracked."""

    def compare(one, other, name=TABLE, columns=None):
        for folder, rows in (("tracked", one), ("made", other)):
            path = tmp_path / folder / f"{name}.csv"
            write(path, rows, columns or COLUMNS.get(name, TABLE_COLUMNS))
        (drift,) = verify(tmp_path / "made", tmp_path / "tracked")
        return drift

    return compare


@pytest.mark.parametrize(
    ("row", "change", "verdict"),
    [
        (CHAIN, {"mean": "31", "p_value": "1"}, WITHIN),
        (CHAIN, {"verdict": "better"}, BEYOND),
        (CLAIM, {"verdict": "fails"}, BEYOND),
        (KCEF, {}, SAME),
        # The last digit that is printed, and two of them.
        (KCEF, {"mean": "1.08134"}, WITHIN),
        (KCEF, {"mean": "1.08136"}, BEYOND),
        # A difference is as near to nothing as its mean is exact.
        (KCEF, {"difference": "0.001331"}, WITHIN),
        (KCEF, {"difference": "0.00134"}, BEYOND),
        (KCEF, {"p_value": "0.03001"}, BEYOND),
        (KCEF, {"verdict": "worse"}, BEYOND),
        (KCEF, {"failed": "1"}, BEYOND),
        # What is trained in float32: numbers are near, verdicts the same, the rest is left out.
        (NADE, {"mean": "4.56227"}, WITHIN),
        (NADE, {"mean": "4.3"}, BEYOND),
        (NADE, {"verdict": "reproduced"}, BEYOND),
        # One fit of twenty that explodes is the mean.
        (FAILED, {"mean": "3e6"}, WITHIN),
    ],
)
def test_a_number_has_the_tolerance_of_its_method(compared, row, change, verdict):
    name = {id(CHAIN): DRAWN_BY_CHAINS, id(CLAIM): CLAIMS}.get(id(row), TABLE)
    assert compared([row], [row | change], name).verdict == verdict


@pytest.mark.parametrize("what", [{"metric": "fit_seconds"}, {"unit": "MiB"}, {"metric": "time"}])
def test_what_is_measured_never_counts(compared, what):
    row = KCEF | what
    drift = compared([row], [row | {"mean": "700", "verdict": "worse"}])
    assert (drift.verdict, drift.compared) == (WITHIN, 0)
    one, other = ([KCEF | {"seconds": value}] for value in ("1.5", "9.5"))
    assert compared(one, other, columns=[*TABLE_COLUMNS, "seconds"]).verdict == WITHIN


@pytest.mark.parametrize(("value", "verdict"), [("1.6e-05", WITHIN), ("1.8e-05", BEYOND)])
def test_points_of_a_curve_are_as_exact_as_its_largest(compared, value, verdict):
    """7e-6 is the tolerance of a curve that reaches 7."""
    changed = [POINTS[0] | {"y": value}, *POINTS[1:]]
    assert compared(POINTS, changed, FIGURE).verdict == verdict


def test_rows_are_matched_by_their_words_and_one_that_lacks_is_beyond(compared):
    other = KCEF | {"dataset": "topo"}
    assert compared([KCEF, other], [other, KCEF]).verdict == WITHIN
    assert compared([KCEF], [KCEF, other]).verdict == WITHIN
    drift = compared([KCEF, other], [KCEF])
    assert (drift.verdict, "topo" in str(drift)) == (BEYOND, True)


def test_the_last_commit_is_compared_on_the_command_line(tmp_path, monkeypatch, call):
    monkeypatch.chdir(tmp_path)
    tracked, made = (tmp_path / f"{at}figures/{TABLE}.csv" for at in ("", "results/laptop/"))
    write(tracked, [KCEF])
    known = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    for words in (["init"], ["add", "."], ["commit", "-m", "tables"]):
        subprocess.run(["git", *known, *words], check=True, capture_output=True)
    write(made, [KCEF])
    tracked.write_text("as the run has left it")
    assert call("verify")[0] == 0
    write(made, [KCEF | {"mean": "1.09"}])
    for words in ([], ["results/laptop/figures", "kcef"]):
        code, said, _ = call("verify", *words)
        assert code == 1
        assert f"{TABLE}.csv" in said
        assert "caution KCEF" in said
    assert call("verify", "results/laptop/figures", "dde")[0] == 2
    write(tmp_path / "other/kcef/table1.csv", [KCEF])
    assert call("verify", "--tracked", "other")[0] == 2
