"""Cues that decide together: classes in single channels of the past, searched for one by one, in pairs and triples."""

from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np
from scipy.special import chdtrc

from diacritic.need.classes import entropy, information, joint, same, split
from diacritic.need.ridge import TOLERANCE, Floats, Ints

MOST_COLUMNS, MOST_CUES, MOST_IN_TRIPLES, MOST_TOGETHER = 12, 20, 12, 5  # columns of each frame
ENOUGH = 0.8  # of H(D), that cues must determine together
LEVEL = 0.01


def class_columns(columns: Floats) -> list[Ints]:
    """Different labellings by single columns that fall into classes, the most distinctly divided first."""
    third, fourth = (columns**3).mean(0), (columns**4).mean(0)
    order = np.argsort(fourth - third**2, kind="stable")  # 1 for two values, 1.6 for four equal ones, 1.8 uniform
    order = order[(fourth - third**2)[order] < 1.75][:MOST_COLUMNS]
    labellings = (split(columns[:, [k]] / TOLERANCE) for k in order)
    return distinct(labels for labels in labellings if labels is not None)


def distinct(labellings: Iterable[Ints]) -> list[Ints]:
    """The first MOST_CUES that differ."""
    results: list[Ints] = []
    for labels in labellings:
        if len(results) == MOST_CUES:
            break
        if not any(same(labels, other) for other in results):
            results.append(labels)
    return results


def deciding_cues(labels: Ints, candidates: Sequence[Ints], tests: int) -> tuple[float, list[Ints]]:
    """The fewest cues found that determine D together, and the p-value of the first; no cues where none do."""
    chosen: list[Ints] = []
    first = 1.0
    while len(chosen) < MOST_TOGETHER:
        given = combined(chosen, len(labels))
        p, group = _best_group(labels, given, [c for c in candidates if not any(c is d for d in chosen)], tests)
        if p >= LEVEL:
            break
        first = p if not chosen else first
        chosen += group
        if information(labels, combined(chosen, len(labels))) >= ENOUGH * entropy(labels):
            for cue in list(chosen):
                rest = [other for other in chosen if other is not cue]
                if rest and information(labels, combined(rest, len(labels))) >= ENOUGH * entropy(labels):
                    chosen = rest
            return first, chosen
    return 1.0, []


def combined(cues: Sequence[Ints], episodes: int) -> Ints:
    """The labelling by several cues at once."""
    result = np.zeros(episodes, np.int64)
    for cue in cues:
        result = joint(result, cue)
    return result


def _best_group(labels: Ints, given: Ints, candidates: Sequence[Ints], tests: int) -> tuple[float, list[Ints]]:
    """The single cue, pair or triple that adds most significantly to what is given; singles first."""
    before = information(labels, given)
    best: tuple[float, list[Ints]] = (1.0, [])
    for size in (1, 2, 3):
        groups = list(combinations(candidates if size < 3 else candidates[:MOST_IN_TRIPLES], size))
        if groups:
            surprises = [_surprise(labels, combined([given, *group], len(labels)), given, before) for group in groups]
            p, group = min(zip(surprises, groups, strict=True), key=lambda item: item[0])
            best = (min(1.0, p * len(groups) * tests), list(group))
        if best[0] < LEVEL:
            break
    return best


def _surprise(labels: Ints, together: Ints, given: Ints, before: float) -> float:
    """p-value of the likelihood ratio test that a group adds nothing to what is given."""
    gained = max(information(labels, together) - before, 0.0)
    freedom = int(labels.max()) * (np.count_nonzero(np.bincount(together)) - np.count_nonzero(np.bincount(given)))
    return float(chdtrc(freedom, 2 * np.log(2) * len(labels) * gained)) if freedom > 0 else 1.0
