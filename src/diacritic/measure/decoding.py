"""Which distinctions a continuous state carries: cross-validated decoding against shuffled labels.

Labels are shuffled among the rows that share what is given, Ō_t or (Ō_t, Γ_t). What the state tells of a label through
that alone it tells of the shuffled ones too, so only what goes beyond it counts. Decoding shows what is there to be
read; it is not a rate, and what the probes miss may be there all the same.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from certify.errors import UserError
from certify.optional import import_optional
from diacritic.measure.crossval import explained_surplus, one_hot, standardised
from diacritic.measure.plugin import Floats, Ints, conditional_entropy, joint, shuffled_within
from diacritic.measure.policy_adapters import leaves
from diacritic.measure.scores import POSITIVE

SHUFFLES = 499  # so that one of twenty nuisances can be found after Holm's correction
LEVEL = 0.05
FOLDS = 8
FEW = 24  # rows below which a label that is not found may still be there
ENOUGH = 64  # rows from which on a bound in bits is worth its name
PENALTY = 0.1


@dataclass(frozen=True)
class Decoding:
    """One label, read from the state that goes into a step by probes that never saw the row."""

    variable: str
    window: str
    t: int  # from 1
    required: bool  # a part of the class Γ_t, or a nuisance beyond it
    rows: int
    accuracy: float
    chance: float  # the share of the most frequent value
    shuffled: float  # mean accuracy on shuffled labels
    p: float  # share of shuffles that do as well
    adjusted: float  # Holm over the nuisances; of a class p itself, for all of them must be found
    hidden: float  # H(X | given), bits
    bits: float | None = None  # a lower bound on I(X; state | given), where the label is found

    @property
    def detected(self) -> bool | None:
        """Better than shuffled labels and than chance; None: not found, but among too few rows to be looked for."""
        better = self.adjusted <= LEVEL and self.accuracy > self.chance
        return True if better else None if self.rows < FEW else False

    def line(self) -> str:
        said = f"{self.accuracy:.2f} of {self.rows} right going into step {self.t}"
        odds = f"chance {self.chance:.2f}, shuffled {self.shuffled:.2f}, p = {self.adjusted:.2g}"
        more = "" if self.bits is None else f"; at least {self.bits:.2f} of {self.hidden:.2f} bit"
        return f"{said} ({odds}){more}"

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "found": self.detected}


@dataclass(frozen=True)
class Label:
    """What to decode: a label [N] of every row, and what is known beside the state."""

    variable: str
    window: str
    t: int
    required: bool
    values: Ints
    symbols: Ints  # Ō_t
    memory: Ints  # Γ_t for a nuisance, constant for what is required

    @property
    def given(self) -> Ints:
        return joint(self.symbols, self.memory)

    def obstacle(self) -> str | None:
        """Why it cannot be decoded."""
        if min(np.bincount(joint(self.values))) < 2:
            return "some class has a single history, so that decoding it would be memorising it"
        return None


def labels_of(window: str, t: int, symbols: Ints, memory: Ints, hidden: Mapping[str, Ints]) -> Iterator[Label]:
    """What to ask of a step: the parts of Γ_t among hidden values, or Γ_t where they do not make it up; then the rest.

    A value that (Ō_t, Γ_t) tells is required, any other a nuisance; what Ō_t itself shows is not memory.
    """
    given, none = joint(symbols, memory), np.zeros_like(memory)
    unseen = {name: values for name, values in hidden.items() if conditional_entropy(values, symbols) > POSITIVE}
    parts = {name: values for name, values in unseen.items() if conditional_entropy(values, given) <= POSITIVE}
    if conditional_entropy(memory, joint(symbols, *parts.values())) > POSITIVE:
        parts = {"Γ": given}
    for name, values in parts.items():
        yield Label(name, window, t, True, values, symbols, none)
    for name, values in unseen.items():
        if conditional_entropy(values, given) > POSITIVE:
            yield Label(name, window, t, False, values, symbols, memory)


def decode(label: Label, states: Floats, shuffles: int = SHUFFLES, seed: int = 0) -> Decoding:
    """One label from states [N, D]; the p-value is exact for any number of rows.

    Held out from balanced pairs, a label that is not there is guessed wrong more often than by chance.
    """
    values, given = joint(label.values), label.given
    if states.ndim != 2 or len(states) != len(values):
        raise UserError("states", f"shape {states.shape} beside {len(values)} labels; one row a label is needed")
    rng = np.random.default_rng(seed)
    sets = np.stack([values, *(shuffled_within(values, given, rng) for _ in range(shuffles))])
    scores = accuracies(features(states), sets, seed)
    p = float((1 + (scores[1:] >= scores[0]).sum()) / (1 + shuffles))
    hidden = conditional_entropy(values, given)
    return Decoding(
        label.variable,
        label.window,
        label.t + 1,
        label.required,
        len(values),
        float(scores[0]),
        float(np.bincount(values).max() / len(values)),
        float(scores[1:].mean()),
        p,
        p,
        hidden,
    )


def adjusted(decodings: Sequence[Decoding]) -> list[Decoding]:
    """Holm over the nuisances: one of them found by chance is not a surplus."""
    nuisances = [item for item in decodings if not item.required]
    if not nuisances:
        return list(decodings)
    test = import_optional("statsmodels.stats.multitest", "measure").multipletests
    holm = iter(test([item.p for item in nuisances], method="holm")[1])
    return [item if item.required else replace(item, adjusted=float(next(holm))) for item in decodings]


def bounded(item: Decoding, label: Label, states: Floats, seed: int = 0) -> Decoding:
    """The same with a lower bound on I(X; state | given) in bits, where it was found among enough rows."""
    if not item.detected or item.rows < ENOUGH:
        return item
    surplus = explained_surplus(label.values, label.memory, label.symbols, features(states), seed=seed)
    return replace(item, bits=surplus.least)


def state_table(states: Sequence[Any]) -> Floats:
    """States as rows of numbers; whole numbers are names, so each value gets a column of its own."""
    rows = [list(leaves(state)) for state in states]
    shapes = {tuple((array.shape, array.dtype.kind == "f") for array in row) for row in rows}
    if len(shapes) != 1:
        raise UserError("policy.state", "has different sizes in different episodes, so there is no table of it")
    columns: list[Floats] = []
    for parts in zip(*rows, strict=True):
        table = np.stack(parts)
        columns += [table.astype(np.float64)] if table.dtype.kind == "f" else [one_hot(column) for column in table.T]
    return np.hstack(columns) if columns else np.zeros((len(rows), 0))


def features(states: Floats) -> Floats:
    """Standardised columns; of more columns than rows as many as there are rows, turned and nothing lost."""
    if not states.shape[1] or not (np.ptp(states, axis=0) > 1e-9).any():
        return np.zeros((len(states), 1))
    values = standardised(states)
    if values.shape[1] <= len(values):
        return values
    left, size, _ = np.linalg.svd(values, full_matrices=False)
    return left * size


def accuracies(inputs: Floats, sets: Ints, seed: int = 0) -> Floats:
    """Held-out accuracy of each set of labels [L, N], by the better of a linear and a Gaussian kernel regression.

    Folds are blind to labels, and all sets share each regression, so that shuffled labels are treated as true ones are.
    """
    rows, count = sets.shape[1], int(sets.max()) + 1
    hot = np.eye(count)[sets.T].reshape(rows, -1)  # [N, L × K]
    scaled = inputs / np.sqrt(inputs.shape[1])
    product = scaled @ scaled.T
    square = np.diag(product)
    kernels = product, np.exp(2 * product - square - square[:, None])
    right = np.zeros((len(kernels), len(sets)))
    order = np.random.RandomState(seed).permutation(rows)
    for test in np.array_split(order, min(rows, FOLDS)):
        train = np.setdiff1d(np.arange(rows), test)
        share = hot[train].mean(0)
        for k, kernel in enumerate(kernels):
            dual = np.linalg.solve(kernel[np.ix_(train, train)] + PENALTY * np.eye(len(train)), hot[train] - share)
            guess = share + kernel[np.ix_(test, train)] @ dual
            right[k] += (guess.reshape(len(test), -1, count).argmax(-1) == sets.T[test]).sum(0)
    return right.max(0) / rows
