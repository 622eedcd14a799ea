"""`kcde verify` on made-up tables, each with one difference."""

import csv
import subprocess
from pathlib import Path

import pytest

from kcde import cli, verify
from kcde.artefacts.core import registry, scales, tolerances
from kcde.artefacts.core.declaration import FIGURE_COLUMNS, TABLE_COLUMNS
from kcde.artefacts.judging import claims
from kcde.estimators import estimator_names

ROOT = Path(__file__).parents[2]

CLAIM_COLUMNS = ("claim", "artefact", "verdict", "reason", "amended", "amended_reason", "parts")
NLL = {"metric": "negative_log_likelihood", "unit": "nats", "n": "20", "failed": "0"}
KCEF = NLL | {"dataset": "caution", "method": "KCEF", "mean": "1.08133", "std": "0.428128"}
KCEF |= {"published_mean": "1.08", "difference": "0.00133", "best": "True", "p_value": "0.03"}
NADE = NLL | {"dataset": "parkinsons", "method": "NADE", "mean": "4.60463", "verdict": "worse"}
CURVE = {"panel": "a", "kind": "curve", "method": "LSCDE", "series": "s", "stat": "mean", "n": "5"}
POINTS = [CURVE | {"x": f"{x}", "y": f"{y}"} for x, y in ((0, "1e-05"), (1, "-2.5"), (2, "7"))]


@pytest.fixture
def folders(tmp_path):
    """Write tables below two folders: as tracked, and as a run made them; None is no table."""

    def write(columns, **tables):
        for name, (one, other) in tables.items():
            for folder, rows in (("tracked", one), ("made", other)):
                if rows is None:
                    continue
                path = tmp_path / folder / f"{name.replace('__', '/')}.csv"
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("w", newline="") as handle:
                    table = csv.DictWriter(handle, columns, restval="")
                    table.writeheader()
                    table.writerows(rows)
        return tmp_path / "made", tmp_path / "tracked"

    return write


def compared(folders, one, other, name="kcef__table2-rows", columns=TABLE_COLUMNS):
    """Return the difference of two tables."""
    (drift,) = verify.verify(*folders(columns, **{name: (one, other)}))
    return drift


def test_the_same_bytes_are_the_same(folders):
    drift = compared(folders, [KCEF], [KCEF])
    assert (drift.verdict, verify.report([drift])) == (
        "same",
        "1 table: 1 byte for byte the same",
    )


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        # The last digit that is printed, and two of them.
        ({"mean": "1.08134"}, "within"),
        ({"mean": "1.08136"}, "beyond"),
        # A difference is as near to nothing as its mean is exact.
        ({"difference": "0.001331"}, "within"),
        ({"difference": "0.00134"}, "beyond"),
        ({"p_value": "0.0300005"}, "within"),
        ({"p_value": "0.03001"}, "beyond"),
        ({"best": "False"}, "beyond"),
        ({"verdict": "worse"}, "beyond"),
        ({"median": "1.0"}, "beyond"),
        ({"mean": ""}, "beyond"),
        ({"mean": "nan"}, "beyond"),
        ({"failed": "1"}, "beyond"),
    ],
)
def test_what_is_computed_in_float64_agrees_to_its_last_digit(folders, change, verdict):
    assert compared(folders, [KCEF], [KCEF | change]).verdict == verdict


@pytest.mark.parametrize(
    ("row", "change", "verdict"),
    [
        (NADE, {"mean": "4.56227"}, "within"),
        (NADE, {"mean": "4.3"}, "beyond"),
        (NADE, {"verdict": "reproduced"}, "beyond"),
        (NADE, {"failed": "1", "p_value": "0.5", "best": "True"}, "within"),
        # One fit of twenty that explodes is the mean.
        (NADE | {"failed": "1", "mean": "80.5"}, {"mean": "3e6"}, "within"),
        (NADE | {"failed": "1"}, {"verdict": "reproduced"}, "beyond"),
        # What a kernel method is compared with may be a network.
        (KCEF, {"p_value": "0.2", "best": "False"}, "within"),
        (KCEF, {"mean": "1.08136"}, "beyond"),
    ],
)
def test_beside_networks_numbers_are_near_and_verdicts_the_same(folders, row, change, verdict):
    beside = NADE | {"dataset": "topo"}
    drift = compared(folders, [row, beside], [row | change, beside])
    assert drift.verdict == verdict


def test_of_samples_of_chains_verdicts_alone_are_compared(folders):
    row = KCEF | {"metric": "mmd", "method": "KEF", "verdict": "worse"}
    name = "dde__table1"
    assert registry.ARTEFACTS["dde/table1"].tolerance == tolerances.VERDICTS
    assert (
        compared(folders, [row], [row | {"mean": "31", "p_value": "1"}], name).verdict == "within"
    )
    assert compared(folders, [row], [row | {"verdict": "better"}], name).verdict == "beyond"


def test_how_many_points_chains_draw_is_not_compared(folders):
    points = [CURVE | {"kind": "scatter", "x": "1", "y": "2"}] * 3
    assert compared(folders, points, points[:2], "dde__fig2", FIGURE_COLUMNS).verdict == "within"


@pytest.mark.parametrize("what", [{"metric": "fit_seconds"}, {"unit": "MiB"}, {"metric": "time"}])
def test_what_is_measured_never_counts(folders, what):
    row = KCEF | what
    drift = compared(folders, [row], [row | {"mean": "700", "verdict": "worse"}])
    assert (drift.verdict, drift.compared) == ("within", 0)
    row = KCEF | {"metric": "second_moment_loss"}
    assert compared(folders, [row], [row | {"mean": "700"}]).verdict == "beyond"
    columns = [*TABLE_COLUMNS, "seconds"]
    one, other = ([KCEF | {"seconds": value}] for value in ("1.5", "9.5"))
    assert compared(folders, one, other, columns=columns).verdict == "within"


def test_no_row_of_a_picture_of_seconds_is_compared():
    timed = [each for each in registry.ARTEFACTS.values() if tolerances.is_measured(each.title)]
    assert {"dde/cost", "jdl/fig6", "jdl/fig9"} <= {each.key for each in timed}
    for each in timed:
        with (ROOT / f"figures/{each.place}.csv").open(encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        says_so = all(any(map(tolerances.is_measured, row.values())) for row in rows)
        assert says_so or each.tolerance == tolerances.VERDICTS, each.key


@pytest.mark.parametrize(
    ("place", "value", "verdict"),
    [
        # 7e-6 is the tolerance of a curve that reaches 7, and 1e-10 the digit of its smallest.
        (0, "1.6e-05", "within"),
        (0, "1.8e-05", "beyond"),
        (1, "-2.50001", "within"),
        (1, "-2.50003", "beyond"),
    ],
)
def test_points_of_a_curve_are_as_exact_as_its_largest(folders, place, value, verdict):
    changed = [row | {"y": value} if i == place else row for i, row in enumerate(POINTS)]
    assert compared(folders, POINTS, changed, "jdl__fig2", FIGURE_COLUMNS).verdict == verdict


def test_rounding_errors_may_be_any(folders):
    one, other = ([CURVE | {"x": "1", "y": y}] for y in ("2.2e-16", "5.5e-15"))
    assert compared(folders, one, other, "jdl__fig2", FIGURE_COLUMNS).verdict == "within"
    one, other = ([CURVE | {"x": "1", "y": y}] for y in ("2.2e-6", "5.5e-6"))
    assert compared(folders, one, other, "jdl__fig2", FIGURE_COLUMNS).verdict == "beyond"


def test_rows_are_matched_by_their_words(folders):
    other = KCEF | {"dataset": "topo"}
    assert compared(folders, [KCEF, other], [other, KCEF]).verdict == "within"
    drift = compared(folders, [KCEF, other], [KCEF])
    assert drift.verdict == "beyond"
    assert drift.beyond == ["topo KCEF negative_log_likelihood nats: 0 rows, tracked 1"]
    assert "0 rows" not in verify.report([compared(folders, [KCEF], [KCEF, other])])


def test_the_largest_difference_is_named_with_its_place(folders):
    rows = [KCEF | {"mean": "1.0814"}, NADE | {"mean": "4.56227"}]
    drift = compared(folders, [KCEF, NADE], rows)
    where = "parkinsons NADE negative_log_likelihood nats, mean: 4.56227, tracked 4.60463"
    assert drift.where == where
    assert drift.largest == pytest.approx((4.60463 - 4.56227) / 4.60463)
    first, second, last = verify.report([drift]).splitlines()
    assert first.startswith("kcef/table2-rows.csv: 1 beyond, of ")
    assert first.endswith(f"largest difference 0.0092 ({where})")
    assert second == "  caution KCEF negative_log_likelihood nats, mean: 1.0814, tracked 1.08133"
    assert last == "1 table: 1 beyond"


def test_missing_and_new_tables_are_named(folders):
    tables = {"kcef__table1": ([KCEF], None), "kcef__table3": (None, [KCEF]), "runtime": ([], None)}
    found = verify.verify(*folders(TABLE_COLUMNS, **tables))
    assert [(each.name, each.verdict) for each in found] == [
        ("kcef/table1.csv", "missing"),
        ("kcef/table3.csv", "new"),
    ]
    assert "kcef/table1.csv: missing" in verify.report(found)


def test_another_column_is_beyond(folders):
    made, tracked = folders(TABLE_COLUMNS, kcef__table1=([KCEF], [KCEF]))
    text = (made / "kcef/table1.csv").read_text()
    (made / "kcef/table1.csv").write_text(text.replace("p_value_corrected", "corrected"))
    (drift,) = verify.verify(made, tracked)
    assert drift.beyond == ["columns: corrected, p_value_corrected"]


def test_another_scale_is_named_and_skipped_with_what_is_decided_from_it(folders):
    more = KCEF | {"n": "100", "mean": "1.2"}
    folders(TABLE_COLUMNS, kcef__table1=([KCEF], [more]))
    claim = {"claim": "K1", "artefact": "table1", "verdict": "holds"}
    made, tracked = folders(CLAIM_COLUMNS, kcef__claims=([claim], [claim | {"verdict": "fails"}]))
    table, decided = verify.verify(made, tracked)
    assert (table.verdict, decided.verdict) == ("another scale", "another scale")
    said = "kcef/table1.csv: skipped rows of another scale (n = 100 for 20): 1"
    assert said in verify.report([table, decided])


REASON = "mean over n, 5 runs: KCEF -0.0046 (standard error 0.0280), LSCDE 12"


@pytest.mark.parametrize(
    ("rows", "reason", "verdict"),
    [
        ([KCEF], REASON.replace("0.0280", "0.0281"), "within"),
        ([KCEF], REASON.replace("0.0280", "0.0290"), "beyond"),
        ([KCEF], REASON.replace("12", "13"), "beyond"),
        ([KCEF], REASON.replace("mean", "median"), "beyond"),
        ([KCEF, NADE], REASON.replace("0.0280", "0.0290"), "within"),
        ([KCEF | {"metric": "fit_seconds"}], REASON.replace("0.0280", "0.9"), "within"),
    ],
)
def test_reasons_of_claims_have_the_tolerance_of_their_artefact(folders, rows, reason, verdict):
    claim = {"claim": "K1", "artefact": "table1", "verdict": "holds", "reason": REASON}
    folders(TABLE_COLUMNS, kcef__table1=(rows, rows))
    changed = claim | {"reason": reason}
    _, drift = verify.verify(*folders(CLAIM_COLUMNS, kcef__claims=([claim], [changed])))
    assert drift.verdict == verdict
    fails = claim | {"verdict": "fails"}
    _, drift = verify.verify(*folders(CLAIM_COLUMNS, kcef__claims=([claim], [fails])))
    assert drift.verdict == "beyond"


@pytest.mark.parametrize(
    ("row", "verdict"),
    [(KCEF, "beyond"), (NADE, "beyond"), (KCEF | {"metric": "fit_seconds"}, "within")],
)
def test_clauses_of_what_times_decide_are_not_compared(folders, row, verdict):
    claim = {"claim": "K1", "artefact": "table1", "verdict": "fails", "parts": "d = 1: holds"}
    folders(TABLE_COLUMNS, kcef__table1=([row], [row]))
    changed = claim | {"parts": "d = 1: fails"}
    _, drift = verify.verify(*folders(CLAIM_COLUMNS, kcef__claims=([claim], [changed])))
    assert drift.verdict == verdict


def test_networks_are_known_by_what_trains_them():
    single = {name for name in estimator_names() if tolerances.is_single(name)}
    assert single == {"NADE", "DDE", "ConditionalMAF", "ConditionalRealNVP"}
    assert tolerances.of_method("DDE-features") == tolerances.of_method("NADE-joint") == 0.05
    assert tolerances.of_method("KCEF-LL") == tolerances.of_method("baseline") == 1e-6


# ---- command line --------------------------------------------------------------------------------


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as ended:
        cli.main(["verify", *map(str, arguments)])
    said = capsys.readouterr()
    return ended.value.code, said.out, said.err


@pytest.fixture
def checkout(folders, tmp_path):
    """A checkout whose last commit has a table and claims, and its folder of outputs."""

    def git(*arguments):
        known = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", "-C", tmp_path, *known, *arguments], check=True, capture_output=True)

    folders(TABLE_COLUMNS, kcef__table1=(None, [KCEF]))
    folders(CLAIM_COLUMNS, **{f"kcef__{claims.NAME[:-4]}": (None, [])})
    git("init")
    git("add", ".")
    git("commit", "-m", "tables")
    return tmp_path / "made"


def test_a_table_of_a_larger_scale_is_named_and_skipped(checkout, capsys):
    scales.write(checkout, checkout, {"kcef/table1": "paper"})
    code, said, _ = run(capsys, "--into", checkout)
    assert code == 0
    assert "kcef/table1.csv: of the scale paper, which no run of another replaces" in said
    assert "1 byte for byte the same, 1 of another scale, skipped" in said


def test_without_a_folder_the_last_commit_is_compared(checkout, capsys):
    assert run(capsys, "--into", checkout)[:2] == (0, "2 tables: 2 byte for byte the same\n")
    table = checkout / "kcef/table1.csv"
    table.write_text(table.read_text().replace("1.08133", "1.09"))
    code, out, _ = run(capsys, "kcef/table1", "--into", checkout)
    assert (code, out.splitlines()[-1]) == (1, "1 table: 1 beyond")
    table.unlink()
    code, out, _ = run(capsys, "kcef", "--into", checkout)
    assert (code, out.splitlines()[-1]) == (1, "2 tables: 1 byte for byte the same, 1 missing")


def test_a_row_too_long_is_named(folders):
    made, tracked = folders(TABLE_COLUMNS, kcef__table1=([KCEF], [KCEF]))
    table = made / "kcef/table1.csv"
    table.write_text(table.read_text().rstrip("\n") + ",1\n")
    with pytest.raises(ValueError, match=r"kcef/table1.csv is no table: a row has more cells"):
        verify.verify(made, tracked)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--against", "nowhere"], "nowhere holds no CSV: give a folder such as figures"),
        (["kcfe"], "no artefact is called 'kcfe'"),
        (["--against", "tracked"], "kcef/table1.csv is no table: "),
    ],
)
def test_mistakes_are_one_line(folders, capsys, tmp_path, monkeypatch, arguments, words):
    made, tracked = folders(TABLE_COLUMNS, kcef__table1=([KCEF], [KCEF]))
    (tracked / "kcef/table1.csv").write_bytes(b"\xff\xfe\0")
    monkeypatch.chdir(tmp_path)
    code, _, said = run(capsys, "--into", made, *arguments)
    assert code == 2
    assert said.startswith(f"kcde: {words}")
    assert said.count("\n") == 1


def test_outside_a_checkout_a_folder_is_asked_for(folders, capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    made, _ = folders(TABLE_COLUMNS, kcef__table1=([KCEF], [KCEF]))
    code, _, said = run(capsys, "--into", made)
    assert code == 2
    assert "git tracks no *.csv in" in said
    assert "name another folder or commit" in said
