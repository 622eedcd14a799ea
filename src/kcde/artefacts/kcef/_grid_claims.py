"""Claims K2 to K6 and K13 of kcef, decided from log-likelihoods on the grid data."""

import pandas as pd

from kcde.artefacts.core.cells import mean_and_stderr
from kcde.artefacts.core.declaration import Decision
from kcde.artefacts.judging.deciding import Missing, decider
from kcde.artefacts.kcef._grid import EXACT, against_d, against_n
from kcde.artefacts.kcef._grid_pairs import ALL, SIZES, left_out, paired

_DIMENSIONS = (2, 20)
"""Ends of the published range of d, which a decision must have."""


@decider
def markov_beats_full(scores: pd.DataFrame) -> Decision:
    """Decide claim K2: the mean over n of loglik(M) - loglik(F) exceeds two standard errors.

    For KCEF and for LSCDE, over the runs.

    Parameters
    ----------
    scores
        Of the experiment `joint` on the grid data.

    Returns
    -------
    Decision
        `undecided` where scores are missing.
    """
    names = ("KCEF-F", "KCEF-M", "LSCDE-F", "LSCDE-M")
    curves = paired(scores, against_n, names, SIZES, at_least=2)
    held, parts = [], []
    for method in ("KCEF", "LSCDE"):
        gain = (curves[f"{method}-M"] - curves[f"{method}-F"]).mean(axis=1).to_numpy()
        mean, stderr = mean_and_stderr(gain)
        held.append(mean > 2 * stderr)
        parts.append(f"{method} {mean:.4f} (standard error {stderr:.4f})")
    reason = f"mean over n of loglik(M) - loglik(F), {len(gain)} runs: {', '.join(parts)}"
    reason += left_out(scores, against_n, names, len(gain))
    return Decision("holds" if all(held) else "fails", reason)


@decider
def nade_needs_data(scores: pd.DataFrame) -> Decision:
    """Decide claim K3: NADE's gap to the best is clear at n = 200 and a third of it at n = 2000.

    More than two standard errors, and less than one third. The best is the method other than NADE
    with the highest mean at that n.

    Parameters
    ----------
    scores
        Of the experiment `joint` on the grid data.

    Returns
    -------
    Decision
        `undecided` where scores are missing.
    """
    curves = paired(scores, against_n, ALL, SIZES, at_least=2)
    others = [name for name in ALL if name != "NADE"]
    gaps, parts = [], []
    for n in SIZES:
        best = max(others, key=lambda name: curves[name][n].mean())
        gaps.append(mean_and_stderr((curves[best][n] - curves["NADE"][n]).to_numpy()))
        mean, stderr = gaps[-1]
        parts.append(f"{mean:.4f} at n = {n} (standard error {stderr:.4f}; best {best})")
    (small, small_se), (large, _) = gaps
    reason = f"gap of NADE to the best in nats: {', '.join(parts)}"
    reason += left_out(scores, against_n, ALL, len(curves["NADE"]))
    return Decision("holds" if small > 2 * small_se and large < small / 3 else "fails", reason)


@decider
def full_kcef_like_lscde(scores: pd.DataFrame) -> Decision:
    """Decide claim K4: KCEF-F minus LSCDE-F is positive for d <= 5, not below -25% beyond.

    As a fraction of the attainable dependence, the entropy bound minus independence.

    Parameters
    ----------
    scores
        Of the experiment `joint` on the grid data.

    Returns
    -------
    Decision
        `undecided` where scores are missing.
    """
    share, reason = _share(scores, "KCEF-F", "LSCDE-F")
    share = share.mean()
    small, large = share[share.index <= 5], share[share.index > 5]
    return Decision("holds" if (small > 0).all() and (large >= -0.25).all() else "fails", reason)


@decider
def nade_like_full(scores: pd.DataFrame) -> Decision:
    """Decide claim K5: NADE within 50% of KCEF-F at every d, below it at the largest.

    As a fraction of the attainable dependence.

    Parameters
    ----------
    scores
        Of the experiment `joint` on the grid data.

    Returns
    -------
    Decision
        `undecided` where scores are missing.
    """
    share, reason = _share(scores, "NADE", "KCEF-F")
    share = share.mean()
    held = (share.abs() <= 0.5).all() and share.iloc[-1] < 0
    return Decision("holds" if held else "fails", reason)


@decider
def isotropic_drops(scores: pd.DataFrame) -> Decision:
    """Decide claim K6: what an isotropic kernel loses against the anisotropic one grows with d.

    More than 25% of the attainable dependence at the largest d, and more than at d = 2 by two
    standard errors of the paired difference of these shares.

    Parameters
    ----------
    scores
        Of the experiment `joint` on the grid data.

    Returns
    -------
    Decision
        `undecided` where scores are missing.
    """
    drop, reason = _share(scores, "KCEF-F", "KCEF-F-isotropic", at_least=2)
    last = drop.columns[-1]
    growth, stderr = mean_and_stderr((drop[last] - drop[_DIMENSIONS[0]]).to_numpy())
    reason += (
        f"; growth from d = {_DIMENSIONS[0]} to {last}: {growth:.3f} (standard error {stderr:.3f})"
    )
    held = drop[last].mean() > 0.25 and growth > 2 * stderr
    return Decision("holds" if held else "fails", reason)


@decider
def full_like_markov(scores: pd.DataFrame) -> Decision:
    """Decide claim K13: KCEF-M minus KCEF-F is below 25% of the attainable dependence at every d.

    Parameters
    ----------
    scores
        Of the experiment `joint` on the grid data.

    Returns
    -------
    Decision
        `undecided` where scores are missing.
    """
    share, reason = _share(scores, "KCEF-M", "KCEF-F")
    return Decision("holds" if (share.mean() < 0.25).all() else "fails", reason)


def _share(
    scores: pd.DataFrame, first: str, second: str, at_least: int = 1
) -> tuple[pd.DataFrame, str]:
    """Return first minus second as a share of the attainable dependence, by run and d, in words."""
    names = (first, second)
    curves = paired(scores, against_d, names, _DIMENSIONS, at_least)
    bounds = [against_d(scores, EXACT, name).mean() for name in ("entropy", "independence")]
    attainable = (bounds[0] - bounds[1]).reindex(curves[first].columns)
    if attainable.isna().any():
        raise Missing("no exact entropy of the grid data at every d")
    share = (curves[first] - curves[second]) / attainable
    # All of them: the reader should see where a limit is crossed.
    each = ", ".join(f"{d}: {round(100 * value):+d}%" for d, value in share.mean().items())
    said = f"({first} - {second}) / attainable, mean of {len(share)} runs: d = {each}"
    return share, said + left_out(scores, against_d, names, len(share))
