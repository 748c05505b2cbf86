"""Blahut–Arimoto for one finite source under total variation, with a Newton step and a bound on what is left.

A source letter is an action law; a reproduction letter is any action law. Only finitely many reproductions matter.
Given the posterior weights of the source letters, the expected total variation is separable, convex and piecewise
linear in the reproduction, with breakpoints at the letters' own probabilities; so some best reproduction has every
coordinate but one at a breakpoint, and each between the least and the greatest of them. These are the vertices.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np
from numpy.typing import NDArray

Law = Mapping[str, Fraction]
Array = NDArray[np.float64]

VERTEX_LIMIT = 4096
_ROUNDS = 500
_GAP_BITS = 4e-15
_STALLED_ROUNDS = 20
_ENTERING = 8


@dataclass(frozen=True)
class CurvePoint:
    """A test channel's rate in bits and distortion; `gap` bounds its Lagrangian's excess over the least, in bits."""

    rate: float
    distortion: float
    gap: float


def total_variation(left: Law, right: Law) -> Fraction:
    """δ(p, q) = ½ Σ_a |p(a) − q(a)|."""
    actions = left.keys() | right.keys()
    return sum((abs(left.get(a, Fraction(0)) - right.get(a, Fraction(0))) for a in actions), Fraction(0)) / 2


def distortion_matrix(laws: Sequence[Law]) -> Array:
    """Total variation from each law (rows) to each vertex that no other vertex beats for every law (columns)."""
    actions = sorted({action for law in laws for action in law})
    whole = lcm(*{p.denominator for law in laws for p in law.values()})
    scaled = [tuple(int(law.get(action, 0) * whole) for action in actions) for law in laws]
    columns = {
        tuple(sum(abs(x - y) for x, y in zip(letter, vertex, strict=True)) for letter in scaled)
        for vertex in _vertices(scaled, whole)
    }
    return np.array([[distance / (2 * whole) for distance in column] for column in _undominated(columns)]).T


def _vertices(letters: Sequence[tuple[int, ...]], whole: int) -> set[tuple[int, ...]]:
    """Points with sum `whole`, every coordinate but one at a letter's value and all within the letters' range."""
    values = [sorted(set(column)) for column in zip(*letters, strict=True)]
    vertices: set[tuple[int, ...]] = set()
    for free in range(len(values)):
        others = [column for index, column in enumerate(values) if index != free]
        least = values[free][0] + sum(column[0] for column in others)
        most = values[free][-1] + sum(column[-1] for column in others)
        partial: list[tuple[tuple[int, ...], int]] = [((), whole)]
        for column in others:
            least, most = least - column[0], most - column[-1]
            partial = [((*head, v), rest - v) for head, rest in partial for v in column if least <= rest - v <= most]
            _check_size(len(partial), letters)
        vertices.update((*head[:free], rest, *head[free:]) for head, rest in partial)
        _check_size(len(vertices), letters)
    return vertices


def _check_size(count: int, letters: Sequence[tuple[int, ...]]) -> None:
    if count > VERTEX_LIMIT:
        raise ValueError(
            f"{len(set(letters))} laws over {len(letters[0])} actions have more than {VERTEX_LIMIT} candidate decoders"
        )


def _undominated(columns: set[tuple[int, ...]]) -> list[tuple[int, ...]]:
    # A dominating column has the smaller sum, so it is kept before the one it dominates is met.
    kept: list[tuple[int, ...]] = []
    largest = max(max(column) for column in columns)
    table = np.empty((len(columns), len(next(iter(columns)))), dtype=np.int64 if largest < 2**62 else object)
    for column in sorted(columns, key=lambda column: (sum(column), column)):
        row = np.array(column, dtype=table.dtype)
        if not np.all(table[: len(kept)] <= row, axis=1).any():
            table[len(kept)] = row
            kept.append(column)
    return kept


def minimise(masses: Array, distortions: Array, slope: float) -> CurvePoint:
    """Least I(C;G) + slope·E[d] in bits over test channels into the columns of `distortions`.

    Each round takes the Blahut–Arimoto update of the output law, or a constrained Newton step where that is better:
    plain Blahut–Arimoto is slow when output letters die out. The gap is Blahut's upper minus lower bound, in floats.
    """
    kernel = np.exp2(-slope * distortions)
    state = _State(masses, kernel, _own_letters(masses, distortions))
    best, stalled, rounds = state, 0, 0
    while best.gap > _GAP_BITS and stalled < _STALLED_ROUNDS and rounds < _ROUNDS:
        state = _advance(state)
        rounds, stalled = rounds + 1, 0 if state.gap < best.gap else stalled + 1
        best = min(best, state, key=lambda s: s.gap)
    distortion = float((masses / best.mixture) @ (kernel * distortions) @ best.output)
    rate = best.objective - slope * distortion - best.divergence
    return CurvePoint(max(rate, 0.0), distortion, max(best.gap, 0.0))


class _State:
    """An output law q with Blahut's quantities: (Aq)_g, c = Aᵀ(p/Aq), F = −Σ p log₂ Aq, and the bounds on min F."""

    def __init__(self, masses: Array, kernel: Array, output: Array) -> None:
        self.masses, self.kernel, self.output = masses, kernel, output
        # A trial that gives some source letter no output is infinite or nan here, and so never preferred.
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            self.mixture = kernel @ output
            self.ratio = (masses / self.mixture) @ kernel
            self.objective = -float(masses @ np.log2(self.mixture))
            self.updated = output * self.ratio
            used = self.updated > 0
            self.divergence = float(self.updated[used] @ np.log2(self.ratio[used]))
            self.gap = float(np.log2(self.ratio.max())) - self.divergence

    def at(self, output: Array) -> "_State":
        return _State(self.masses, self.kernel, output)

    def step(self) -> "_State":
        """One Blahut–Arimoto update: q_y becomes q_y·c_y."""
        return self.at(self.updated / self.updated.sum())


def _own_letters(masses: Array, distortions: Array) -> Array:
    """Output law of the lossless channel: every source letter is reproduced by its own law."""
    output = np.zeros(distortions.shape[1])
    np.add.at(output, distortions.argmin(axis=1), masses)
    return output


def _advance(state: _State) -> _State:
    """The next output law: a step that halves the gap, or a damped Newton step that beats the plain one, or that."""
    plain = state.step()
    target = state.at(_newton_target(state))
    closest = min(plain, target, state.at(_polish(target)), key=lambda s: s.gap)
    if closest.gap < state.gap / 2:
        return closest
    for share in (1.0, 0.5, 0.25, 0.1, 0.01, 1e-3):
        trial = state.at(state.output + share * (target.output - state.output))
        if trial.objective < plain.objective:
            return trial
    return plain


def _polish(state: _State) -> Array:
    """Newton's correction on the support in relative terms, so that rare output letters keep all their digits."""
    if not np.isfinite(state.gap):
        return state.output
    used = state.output > 0
    root = np.sqrt(state.output[used])
    rows = np.sqrt(state.masses)[:, None] / state.mixture[:, None] * state.kernel[:, used] * root
    change = np.linalg.lstsq(rows.T @ rows, root * (state.ratio[used] - 1), rcond=None)[0] / root
    output = state.output.copy()
    output[used] *= np.maximum(1 + change, 0.5)
    return output / output.sum()


def _newton_target(state: _State) -> Array:
    """Minimiser over the simplex of the second-order model of F at q, on q's support and a few entering letters.

    Where Σq = 1 the model is ½ Σ_g p_g ((Aq')_g / (Aq)_g − 2)² up to a constant: a least-norm point of a convex hull,
    which is a non-negative least-squares problem with a row of ones appended, and then normalised.
    """
    entering = np.argsort(state.ratio)[-_ENTERING:]
    letters = np.union1d(np.flatnonzero(state.output > 0), entering)
    rows = np.sqrt(state.masses)[:, None] * (state.kernel[:, letters] / state.mixture[:, None] - 2)
    weights = _non_negative_least_squares(np.vstack([rows, np.ones(len(letters))]))
    target = np.zeros_like(state.output)
    target[letters] = weights / weights.sum()
    return target


def _non_negative_least_squares(matrix: Array) -> Array:
    """Lawson and Hanson: least |matrix·x − e| with x ≥ 0, where e is the last unit vector."""
    goal = np.zeros(matrix.shape[0])
    goal[-1] = 1.0
    x = np.zeros(matrix.shape[1])
    passive = np.zeros(matrix.shape[1], dtype=bool)
    for _ in range(3 * matrix.shape[1]):
        gradient = np.where(passive, -np.inf, matrix.T @ (goal - matrix @ x))
        entering = int(gradient.argmax())
        if gradient[entering] <= 1e-15:
            break
        passive[entering] = True
        x = _retreat(matrix, goal, x, passive)
        if not passive[entering]:  # rounding alone made it look useful
            break
    return x


def _retreat(matrix: Array, goal: Array, x: Array, passive: NDArray[np.bool_]) -> Array:
    """Move x towards the least squares on the passive columns; a column that reaches zero leaves `passive`."""
    while True:
        trial = np.zeros_like(x)
        trial[passive] = np.linalg.lstsq(matrix[:, passive], goal, rcond=None)[0]
        blocked = np.flatnonzero(passive & (trial <= 0))
        if not len(blocked):
            return trial
        steps = x[blocked] / np.maximum(x[blocked] - trial[blocked], 1e-300)
        x = np.maximum(x + steps.min() * (trial - x), 0.0)
        passive[blocked[steps.argmin()]] = False
        x[~passive] = 0.0
