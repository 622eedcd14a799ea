"""Choosing the size of a flow and its training by the likelihood of rows held out."""

from collections.abc import Sequence
from numbers import Integral
from typing import NamedTuple

import numpy as np

from kcde.estimators._flows.model import Architecture, Flow
from kcde.estimators._flows.training import train_watched
from kcde.seeding import rng_of
from kcde.selection import kfold

HELD_OUT_PARTS = 5
"""One of so many parts of the rows chooses."""

PATIENCE = 30
"""Steps without a better held-out likelihood after which a training stops."""


class Candidate(NamedTuple):
    """What is chosen together."""

    hidden_units: int
    blocks: int
    learning_rate: float


class Choice(NamedTuple):
    """A candidate, the flow that it was trained to, its history, and how all did."""

    candidate: Candidate
    flow: Flow
    history: np.ndarray
    cv_results: dict


def check_candidates(given, counts: Sequence[int], n: int) -> list[Candidate]:
    """Return candidates, checked against the stages of the training and n rows.

    Raises
    ------
    ValueError
        If there are several stages, fewer rows than parts, or a candidate is not one.
    """
    if len(counts) > 1:
        raise ValueError(f"candidates are trained in one stage; got {len(counts)} in steps")
    if n < HELD_OUT_PARTS:
        raise ValueError(f"holding out a fifth needs at least {HELD_OUT_PARTS} rows; got {n}")
    found = [Candidate(*each) if np.shape(each) == (3,) else None for each in given]
    if not found or not all(map(_is_one, found)):
        raise ValueError(
            "candidates must be triples of hidden units, blocks and a learning rate, two positive "
            f"whole numbers and a positive number; got {given!r}"
        )
    return found


def _is_one(candidate: Candidate | None) -> bool:
    if candidate is None:
        return False
    *counts, rate = candidate
    whole = all(isinstance(count, Integral) and count >= 1 for count in counts)
    return whole and 0 < rate < np.inf


def choose(
    tried: Sequence[tuple[Architecture, Candidate]],
    seeds: np.ndarray,
    X: np.ndarray,
    Y: np.ndarray,
    states: Sequence,
    most_steps: int,
) -> list[Choice]:
    """Choose for each of P problems, and train the choice on all rows.

    Candidates of one architecture are trained together, for all problems; so are those chosen.

    Parameters
    ----------
    tried
        Candidates with their architectures.
    seeds, X, Y
        As for `train`.
    states
        Seed of the rows held out, one a problem.
    most_steps
        Most steps of a training.
    """
    P, n = X.shape[:2]
    held = np.zeros((P, n), dtype=bool)
    for p, state in enumerate(states):
        held[p, kfold(n, HELD_OUT_PARTS, rng_of("selection", state))[0]] = True
    score, steps = np.full((P, len(tried)), -np.inf), np.zeros((P, len(tried)), dtype=int)
    groups = _groups(tried)
    for architecture, members in groups:
        problems = np.tile(np.arange(P), len(members))
        rates = np.repeat([tried[k][1].learning_rate for k in members], P)
        data = seeds[problems], X[problems], Y[problems], held[problems]
        found = train_watched(architecture, *data, rates, most_steps, PATIENCE)
        score[:, members] = found.held_out.reshape(-1, P).T
        steps[:, members] = found.steps.reshape(-1, P).T
    best = np.argmax(score, axis=1)
    done: dict[int, Choice] = {}
    candidates = [candidate for _, candidate in tried]
    for architecture, members in groups:
        own = np.flatnonzero(np.isin(best, members))
        if not len(own):
            continue
        # As many problems as before, some of them again: another number would recompile.
        problems = np.resize(own, P * len(members))
        rates = np.array([candidates[k].learning_rate for k in best[problems]])
        data = seeds[problems], X[problems], Y[problems], np.zeros_like(held[problems])
        given = steps[problems, best[problems]]
        found = train_watched(architecture, *data, rates, most_steps, PATIENCE, given)
        for place, p in enumerate(own):
            results = {"candidates": candidates, "score": score[p], "steps": steps[p]}
            parts = found.flows[place], found.histories[place]
            done[p] = Choice(candidates[best[p]], *parts, results)
    return [done[p] for p in range(P)]


def _groups(tried: Sequence[tuple[Architecture, Candidate]]) -> list[tuple[Architecture, list]]:
    """Return the numbers of the candidates of each architecture."""
    members: dict[Architecture, list[int]] = {}
    for k, (architecture, _) in enumerate(tried):
        members.setdefault(architecture, []).append(k)
    return list(members.items())
