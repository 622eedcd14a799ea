"""The README: its summary of the scorecard, its length, and that what it links to is there."""

import re
from collections import Counter
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def summary() -> str:
    """Return the counts of the tracked scorecard, claims by their amended tests where there are."""
    card = pd.read_csv(ROOT / "figures/scorecard.csv")
    compatible = Counter(card.loc[card["kind"] == "number", "compatible"])
    claims = card[card["kind"] == "claim"]
    verdicts = Counter(claims["amended"].fillna(claims["verdict"]))
    return (
        f"Of {compatible['yes'] + compatible['no']} published numbers that our runs can decide, "
        f"{compatible['yes']} are compatible with ours; of {len(claims)} claims "
        f"{verdicts['holds']} hold, {verdicts['fails']} fail, "
        f"{verdicts['undecided']} are undecided and "
        f"{verdicts['not-run']} could not be run."
    )


def test_the_summary_is_that_of_the_scorecard():
    assert summary() in " ".join(TEXT.split()), f"write in README.md: {summary()}"


def test_it_is_short():
    assert len(TEXT.split()) < 900


def test_what_it_links_to_is_there():
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", TEXT)
    local = [link for link in links if "://" not in link]
    assert len(local) > 5
    assert not [link for link in local if not (ROOT / link).exists()]
