"""Balanced draws of what is hidden: every value, and as far as the episodes reach every combination, equally often."""

from collections.abc import Mapping
from math import prod

import numpy as np
from numpy.typing import NDArray

from certify.errors import UserError


def stratified(
    strata: Mapping[str, int], episodes: int, seed: int, nuisances: Mapping[str, int] | None = None
) -> dict[str, NDArray[np.int32]]:
    """Latents of each episode, so that every prefix of the recording is balanced.

    The largest stratum passes through all its values in every round, in random order. The others start from random
    balanced assignments and are shifted from round to round, the first of them fastest: after as many rounds as it has
    values every pair with the largest occurred once, and so on until every combination did. Nuisances are balanced over
    the whole recording and otherwise independent, so that none becomes a function of another latent.
    """
    others = dict(nuisances or {})
    for name, size in {**strata, **others}.items():
        if size < 1:
            raise UserError(f"strata[{name}]", f"expected at least one value, not {size}")
    if episodes < 1:
        raise UserError("episodes", f"expected at least one episode, not {episodes}")
    draw = np.random.default_rng(seed)
    drawn = _structured(strata, episodes, draw) if strata else {}
    drawn |= {name: _balanced(size, episodes, draw) for name, size in others.items()}
    return {name: values.astype(np.int32) for name, values in drawn.items()}


def _structured(strata: Mapping[str, int], episodes: int, draw: np.random.Generator) -> dict[str, NDArray[np.int64]]:
    leader = max(strata, key=lambda name: strata[name])
    names = [leader, *(name for name in strata if name != leader)]
    blocks: dict[str, list[NDArray[np.int64]]] = {name: [] for name in names}
    size = prod(strata.values())
    for _ in range(-(-episodes // size)):
        for name, values in _block(names, strata, draw).items():
            blocks[name].append(values)
    return {name: np.concatenate(blocks[name])[:episodes] for name in strata}


def _block(names: list[str], strata: Mapping[str, int], draw: np.random.Generator) -> dict[str, NDArray[np.int64]]:
    """Every combination once, in rounds over the leading stratum."""
    leader, *others = names
    width = strata[leader]
    rounds = prod(strata[name] for name in others)
    start = {name: _balanced(strata[name], width, draw) for name in others}
    columns: dict[str, list[NDArray[np.int64]]] = {name: [] for name in names}
    for number in range(rounds):
        order = draw.permutation(width)
        columns[leader].append(order)
        shift = 0
        for name in others:
            number, digit = divmod(number, strata[name])
            shift += digit  # a faster one carries the slower ones along, so that none stays a function of the leader
            columns[name].append((start[name][order] + shift) % strata[name])
    return {name: np.concatenate(parts) for name, parts in columns.items()}


def _balanced(values: int, width: int, draw: np.random.Generator) -> NDArray[np.int64]:
    """`width` values in random order, each as often as the others, give or take one."""
    return draw.permutation(np.arange(width) % values)
