"""The requirement of some episodes, or of some moments: rates given a label such as the phase or the hidden value.

Averages over episodes that are not aligned hide what each of them needs. Given a label L_t of every moment of every
episode, the bits of label l at step t are H(C_t | O_t, L_t = l), C_t being the state of the best machine.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from certify.answer import Answer
from certify.core.exact import label_entropy, total_of
from certify.core.model import Model, episode_nodes
from certify.errors import UserError, inert


@dataclass(frozen=True)
class LabelRates:
    """One label: of each step how likely it is and the bits it needs there (None where it does not occur)."""

    label: str
    weight: tuple[Fraction, ...]
    bits: tuple[float | None, ...]

    @property
    def mean(self) -> float:
        """Bits at a moment of this label, whatever the step."""
        total = sum(self.weight)
        return sum(float(w / total) * b for w, b in zip(self.weight, self.bits, strict=True) if b is not None)


Labels = Sequence[Any] | Callable[[Any, int], Any]


def rates_by_label(answer: Answer, labels: Labels) -> list[LabelRates]:
    """Rates given a label: of each episode, of each episode and step, or `label(hidden value, step from 1)`."""
    model, horizon = answer.model, answer.model.horizon
    if model.episodes is None or answer.joint.graph is not model.graph:
        raise UserError("labels", "a merged graph has no episodes to label; build the model from latents or episodes")
    rows = _rows(model, labels)
    names, number = np.unique(rows.ravel(), return_inverse=True)
    number = number.reshape(rows.shape)
    weight, nodes = model.episodes.weight, episode_nodes(model)
    result: dict[int, list[tuple[Fraction, float | None]]] = {k: [] for k in range(len(names))}
    for t in range(horizon):
        cells, seen = answer.joint.cells[t][nodes[t]], model.episodes.observation[:, t]
        for k, steps in result.items():
            here = np.flatnonzero(number[:, t] == k)
            mass = weight[here]
            if not len(here):
                steps.append((Fraction(0), None))
                continue
            bits = label_entropy(seen[here], cells[here], mass)
            steps.append((Fraction(total_of(mass), total_of(weight)), bits))
    return [LabelRates(str(names[k]), tuple(w for w, _ in s), tuple(b for _, b in s)) for k, s in result.items()]


def hidden_part(model: Model, part: int) -> list[str]:
    """One part of the hidden value of each episode, as text; a value that is not a tuple is its only part."""
    parts = [value if isinstance(value, tuple) else (value,) for value in _hidden_values(model)]
    if not 0 <= part < min(map(len, parts)):
        raise UserError("labels", f"the hidden values have {min(map(len, parts))} parts; {part} is not one of them")
    return [str(value[part]) for value in parts]


def _hidden_values(model: Model) -> list[Any]:
    """Of each episode."""
    if model.dynamics is None or model.episodes is None:
        raise UserError("labels", "this model does not know its hidden values; build it with Model.from_latents")
    return [model.dynamics.latents[model.dynamics.owner[k]][0] for k in model.episodes.origin]


def read_labels(path: Path) -> list[Any]:
    """A JSON list: one label for each episode of the model's file, or one list of labels with a label for each step."""
    try:
        labels = json.loads(path.read_bytes())
    except OSError as error:
        raise UserError("--by-label", f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise UserError("--by-label", f"{path} is not JSON: {error}") from None
    if not isinstance(labels, list) or len({len(row) if isinstance(row, list) else 0 for row in labels}) != 1:
        raise UserError("--by-label", f"{path}: expected a list of labels, or a list of equally long lists of them")
    return labels


def table(rates: Sequence[LabelRates]) -> str:
    """Labels by their mean bits, with the steps at which they need the most."""
    lines = [f"{'label':24}{'moments':>9}{'bits':>9}{'peak':>9}"]
    for one in sorted(rates, key=lambda one: -one.mean):
        share = float(sum(one.weight)) / len(one.weight)
        peak = max(bits for bits in one.bits if bits is not None)
        lines.append(f"{inert(one.label)[:23]:24}{share:9.3f}{one.mean:9.4f}{peak:9.4f}")
    return "\n".join(lines)


def to_dict(rates: Sequence[LabelRates]) -> dict[str, Any]:
    """The value of the answer's key `by_label`."""
    return {one.label: {"weight": [str(w) for w in one.weight], "bits": one.bits, "mean": one.mean} for one in rates}


def _rows(model: Model, labels: Labels) -> np.ndarray:
    """The labels as text, one row an episode, one column a step."""
    assert model.episodes is not None
    count, horizon, origin = len(model.episodes.weight), model.horizon, model.episodes.origin
    if callable(labels):
        return np.array([[str(labels(value, t + 1)) for t in range(horizon)] for value in _hidden_values(model)])
    rows = np.array([list(map(str, row)) if isinstance(row, list | tuple | np.ndarray) else str(row) for row in labels])
    if len(rows) > count and len(rows) > origin.max():  # labels of episodes without weight, too
        rows = rows[origin]
    if rows.shape not in ((count,), (count, horizon)):
        raise UserError("labels", f"expected {count} labels, or {count} rows of {horizon}, not shape {rows.shape}")
    return np.tile(rows[:, None], (1, horizon)) if rows.ndim == 1 else rows
