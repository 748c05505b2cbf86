"""Action laws from floating-point numbers: exact rationals of a chosen denominator, and a network as an expert."""

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from certify.errors import UserError

DENOMINATOR = 1000


def round(p: Any, denominator: int = DENOMINATOR, actions: Sequence[str] | None = None) -> dict[str, Fraction]:
    """Probabilities (a softmax, say) as multiples of 1/denominator that sum to exactly one.

    Each entry moves by less than 1/denominator. Actions are named by number unless names are given or `p` is a mapping;
    those that become zero are left out.
    """
    names = list(p) if isinstance(p, Mapping) else actions
    values = _numbers(list(p.values()) if isinstance(p, Mapping) else p)
    names = [str(k) for k in range(len(values))] if names is None else [str(name) for name in names]
    if denominator < 1:
        raise UserError("denominator", f"expected a whole number, at least 1, not {denominator}")
    if len(names) != len(values):
        raise UserError("actions", f"{len(names)} names for {len(values)} probabilities")
    if not np.isfinite(values).all() or values.min(initial=0) < 0 or abs(values.sum() - 1) > 1e-3:
        raise UserError("law", f"{values.tolist()} is not a distribution; apply the softmax first")
    exact = [Fraction(value) for value in values.tolist()]
    exact = [value * denominator / sum(exact) for value in exact]
    whole = [math.floor(value) for value in exact]
    for k in sorted(range(len(exact)), key=lambda k: (whole[k] - exact[k], k))[: denominator - sum(whole)]:
        whole[k] += 1
    return {name: Fraction(n, denominator) for name, n in zip(names, whole, strict=True) if n}


def expert(
    network: Callable[[Any], Any],
    encode: Callable[[tuple[str, ...]], Any],
    actions: Sequence[str] | None = None,
    denominator: int = DENOMINATOR,
) -> Callable[[Any, tuple[str, ...]], dict[str, Fraction]]:
    """A network that gives probabilities, as the expert of an adapter: it reads `encode(history)` and nothing else."""
    return lambda hidden, history: round(network(encode(history)), denominator, actions)


def _numbers(p: Any) -> np.ndarray:
    """An array, a list or a tensor with one row of numbers."""
    p = p.detach().cpu().numpy() if hasattr(p, "detach") else p
    return np.asarray(p, np.float64).reshape(-1)
