"""A slow twin of the solver, straight from the definitions, and the random models that both are run on.

Histories are tuples O_1, A_1, O_2, …, O_t; masses and laws are Fractions; every pair of histories of a level is looked
at once.
"""

import random
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import combinations, product
from math import fsum, log2
from typing import Any

from hypothesis import strategies as st

from certify import Model
from certify.core.graph import Graph

Document = dict[str, Any]
History = tuple[str, ...]
Continuation = tuple[str, str]  # (A_t, O_{t+1})
Law = frozenset[tuple[str, Fraction]]
Pairs = set[tuple[History, History]]  # a relation on one level: symmetric, reflexive pairs included


@dataclass
class Facts:
    """What is known of one reachable history h."""

    mass: Fraction = Fraction(0)  # P(H_t = h)
    privileged: dict[Law, Fraction] = field(default_factory=dict)  # laws of the states consistent with h, with masses
    support: set[Continuation] = field(default_factory=set)  # U_t(h)

    @cached_property
    def law(self) -> Law:
        """P(A_t | H_t = h)."""
        mean: dict[str, Fraction] = {}
        for law, mass in self.privileged.items():
            for action, p in law:
                mean[action] = mean.get(action, Fraction(0)) + p * mass / self.mass
        return frozenset(mean.items())


class Twin:
    """Relations, checks and entropies of a `certify-model/1` document, steps counted from 0."""

    def __init__(self, document: Document) -> None:
        self.horizon = int(document["horizon"])
        self.levels: list[dict[History, Facts]] = [{} for _ in range(self.horizon)]
        for episode in document["episodes"]:
            if Fraction(episode["weight"]):
                self._follow(Fraction(episode["weight"]), episode["steps"])

    def _follow(self, weight: Fraction, steps: list[Document]) -> None:
        history: History = ()
        for t, step in enumerate(steps):
            history = (*history, step["obs"])
            facts = self.levels[t].setdefault(history, Facts())
            facts.mass += weight
            law = frozenset((a, Fraction(p)) for a, p in step["action_law"].items() if Fraction(p))
            facts.privileged[law] = facts.privileged.get(law, Fraction(0)) + weight
            if t + 1 < self.horizon:
                facts.support.add((step["action"], steps[t + 1]["obs"]))
            history = (*history, step["action"])

    # ---- relations

    @cached_property
    def compatible(self) -> list[Pairs]:
        """~_t at every step, each pair of histories looked at once."""
        relations: list[Pairs] = [set()]
        for t in reversed(range(self.horizon)):
            relations.insert(0, self._related(t, self._common_futures(t, relations[0])))
        return relations[:-1]

    def within(self, steps: int) -> list[Pairs]:
        """~^(J)_t at every step, J = `steps`."""
        relations = [self._related(t, lambda h, k: True) for t in range(self.horizon)]
        for _ in range(steps):
            following = [*relations[1:], set()]
            relations = [self._related(t, self._common_futures(t, following[t])) for t in range(self.horizon)]
        return relations

    @cached_property
    def strong(self) -> list[Pairs]:
        """~ˢ_t at every step."""
        relations: list[Pairs] = [set()]
        for t in reversed(range(self.horizon)):
            futures, facts = self._common_futures(t, relations[0]), self.levels[t]
            relations.insert(
                0, self._related(t, lambda h, k, f=futures, x=facts: x[h].support == x[k].support and f(h, k))
            )
        return relations[:-1]

    def _related(self, t: int, further: Callable[[History, History], bool]) -> Pairs:
        """Pairs with equal observation and law for which something further holds."""
        facts = self.levels[t]
        pairs: Pairs = {(h, h) for h in facts}
        for h, k in combinations(facts, 2):
            if h[-1] == k[-1] and facts[h].law == facts[k].law and further(h, k):
                pairs |= {(h, k), (k, h)}
        return pairs

    def _common_futures(self, t: int, following: Pairs) -> Callable[[History, History], bool]:
        facts = self.levels[t]
        return lambda h, k: all(((*h, *u), (*k, *u)) in following for u in facts[h].support & facts[k].support)

    # ---- checks

    def a2(self, t: int) -> bool:
        """All states consistent with a history act by one law."""
        return all(len(facts.privileged) == 1 for facts in self.levels[t].values())

    def a4(self, t: int) -> bool:
        """Equal observation and law imply equal continuation supports."""
        facts = self.levels[t]
        return all(
            facts[h].support == facts[k].support
            for h, k in combinations(facts, 2)
            if h[-1] == k[-1] and facts[h].law == facts[k].law
        )

    def transitive(self, t: int) -> bool:
        """Whether ~_t is."""
        return is_transitive(self.levels[t], self.compatible[t])

    # ---- entropies

    def entropy(self, t: int, label: Callable[[History], Hashable]) -> float:
        """H(label(H_t) | O_t) in bits."""
        cells: dict[tuple[str, Hashable], Fraction] = {}
        fibers: dict[str, Fraction] = {}
        for history, facts in self.levels[t].items():
            cell = (history[-1], label(history))
            cells[cell] = cells.get(cell, Fraction(0)) + facts.mass
            fibers[history[-1]] = fibers.get(history[-1], Fraction(0)) + facts.mass
        return fsum(float(p) * log2(fibers[cell[0]] / p) for cell, p in cells.items())

    def history_entropy(self, t: int) -> float:
        return self.entropy(t, lambda h: h)

    def behavioural_entropy(self, t: int) -> float:
        """H(G_t | O_t)."""
        return self.entropy(t, lambda h: self.levels[t][h].law)

    def class_entropy(self, t: int, relation: Pairs) -> float:
        """H of the classes of an equivalence given O_t."""
        return self.entropy(t, lambda h: frozenset(k for k in self.levels[t] if (h, k) in relation))


def is_transitive(histories: Sequence[History] | dict[History, Facts], relation: Pairs) -> bool:
    """Every triple, one by one."""
    return all(
        (a, c) in relation
        for a in histories
        for b in histories
        if (a, b) in relation
        for c in histories
        if (b, c) in relation
    )


def node_histories(graph: Graph, t: int) -> list[History]:
    """The history of every node of a tree's level."""
    return [tuple(graph.history(t, node)) for node in range(graph.levels[t].size)]


# ---- random models -------------------------------------------------------------------------------------------------

LAWS: tuple[dict[str, str], ...] = (
    {"a": "1"},
    {"b": "1"},
    {"a": "1", "b": "0"},  # the first again, written differently
    {"a": "1/2", "b": "1/2"},
    {"a": "1/3", "b": "2/3"},
    {"a": "0.50", "b": "5e-1"},  # the fourth again
)
Row = tuple[str, str, int]  # observation after action a (or at first), observation after action b, index of the law


def latent_document(latents: Sequence[tuple[int, Sequence[Row]]]) -> Document:
    """Weighted latents, each a list of rows, followed through every action that its laws allow."""
    total = sum(weight for weight, _ in latents)
    episodes = [
        {"weight": str(weight * share / total), "steps": steps}
        for weight, rows in latents
        for share, steps in _trajectories(rows, "a")
    ]
    return {"horizon": len(latents[0][1]), "episodes": episodes}


def _trajectories(rows: Sequence[Row], last: str) -> Iterator[tuple[Fraction, list[Document]]]:
    if not rows:
        yield Fraction(1), []
        return
    law = LAWS[rows[0][2]]
    for action, p in ((a, Fraction(p)) for a, p in law.items() if Fraction(p)):
        step = {"obs": rows[0][0 if last == "a" else 1], "action_law": law, "action": action}
        for share, steps in _trajectories(rows[1:], action):
            yield share * p, [step, *steps]


@st.composite
def documents(draw: st.DrawFn, steps: int = 4, latents: int = 7) -> Document:
    """Random models: stochastic experts, several laws after one history, twin trajectories, zero weights.

    After the first cue some steps are quiet: everyone sees the same and does the same, so that memory is needed.
    """
    horizon = draw(st.integers(1, steps))
    quiet = draw(st.integers(0, max(0, horizon - 2)))
    codes = st.lists(st.integers(0, 4 * 4 * 9 - 1), min_size=horizon - quiet, max_size=horizon - quiet)
    drawn = draw(st.lists(st.tuples(st.integers(0, 3), codes), min_size=1, max_size=latents))
    if not any(weight for weight, _ in drawn):
        drawn = [(1, codes) for _, codes in drawn]
    dark: list[Row] = [("dark", "dark", 0)] * quiet
    return latent_document([(weight, [_cue(codes[0]), *dark, *map(_row, codes[1:])]) for weight, codes in drawn])


def _cue(code: int) -> Row:
    return f"cue {code % 4}", f"cue {code % 4}", max(0, code // 16 - 3)


def _row(code: int) -> Row:
    return f"o{code % 4}", f"o{code // 4 % 4}", max(0, code // 16 - 3)  # most laws are certain


def loose_document(rng: random.Random) -> Document:
    """Few words and supports that only partly overlap, so that ~ is often not transitive.

    Every cue is followed by quiet steps, then by one or two futures of its own.
    """
    horizon = rng.choice((3, 4, 4, 5, 5))
    latents: list[tuple[int, list[Row]]] = []
    for cue in range(rng.choice((3, 4, 4, 5, 5, 6, 7))):
        rows: list[Row] = [(f"cue {cue}", f"cue {cue}", 0), ("dark", "dark", 0)]
        while len(rows) < horizon - 1 and rng.random() < 0.3:
            rows.append(("dark", "dark", 0))
        for _ in range(rng.choice((1, 1, 2, 2, 2))):
            future = [_future(rng, t == horizon - 1) for t in range(len(rows), horizon)]
            latents.append((rng.randint(1, 3), [*rows, *future]))
    return latent_document(latents)


def _future(rng: random.Random, last: bool) -> Row:
    words = ("o0", "o1") if last else ("dark", "dark", "o0")
    law = rng.choice((0, 1)) if last else rng.choice((0, 0, 0, 0, 0, 0, 1, 3))
    return rng.choice(words), rng.choice(words), law


def loose_models(seed: int, count: int, histories: int = 7) -> Iterator[tuple[Document, Twin]]:
    """That many random documents with a step where ~ is not transitive and at most so many histories per level."""
    rng = random.Random(seed)
    while count:
        document = loose_document(rng)
        twin = Twin(document)
        if max(map(len, twin.levels)) <= histories and not all(map(twin.transitive, range(twin.horizon))):
            count -= 1
            yield document, twin


Weights = dict[Any, Fraction]


@dataclass(frozen=True)
class Chain:
    """A hidden chain: `show[t][s]` is the law of what state s shows, `act[t][s]` of what the expert does there."""

    start: Weights
    show: list[list[Weights]]
    act: list[list[Weights]]
    go: list[Weights]  # of state s after action a: go[2 * s + (a == "b")]

    def model(self) -> Model:
        """With histories of equal posterior merged."""
        return Model.from_generative(
            len(self.act),
            self.start,
            lambda t, state: self.show[t - 1][state],
            lambda t, state: self.act[t - 1][state],
            lambda t, state, action: self.go[2 * state + (action == "b")],
        )

    def document(self) -> Document:
        """Every hidden path, one episode each."""
        return {
            "horizon": len(self.act),
            "episodes": [{"weight": p, "steps": steps} for p, steps in self._paths(0, self.start)],
        }

    def _paths(self, t: int, states: Weights) -> Iterator[tuple[Fraction, list[Document]]]:
        if t == len(self.act):
            yield Fraction(1), []
            return
        for state, p in states.items():
            for (observation, q), (action, r) in product(self.show[t][state].items(), self.act[t][state].items()):
                step = {"obs": observation, "action_law": self.act[t][state], "action": action}
                for share, steps in self._paths(t + 1, self.go[2 * state + (action == "b")]):
                    yield p * q * r * share, [step, *steps]


@st.composite
def chains(draw: st.DrawFn) -> Chain:
    """Hidden chains of two kinds: anything at all; or a cue, two quiet steps with a coin, and a question."""

    def law(values: Sequence[Any], whole: int) -> Weights:
        """One or two of the values."""
        one, two, share = draw(st.sampled_from(values)), draw(st.sampled_from(values)), draw(st.integers(1, whole))
        if one == two or share == whole:
            return {one: Fraction(1)}
        return {one: Fraction(share, whole), two: 1 - Fraction(share, whole)}

    if draw(st.booleans()):
        states = range(draw(st.integers(3, 4)))
        calm = [{"a": Fraction(1)} for _ in states]
        coin = {"heads": Fraction(1, 3), "tails": Fraction(2, 3)}
        cues, dark = [{f"cue {s}": Fraction(1)} for s in states], [{"dark": Fraction(1)} for _ in states]
        words, answers = [law(("x", "y", "z"), 3) for _ in states], [law(("a", "b"), 1) for _ in states]
        start = {s: Fraction(1, len(states)) for s in states}
        stay = [{s: Fraction(1)} for s in states for _ in "ab"]
        return Chain(start, [cues, [coin for _ in states], dark, words], [calm, calm, calm, answers], stay)
    states, steps = range(draw(st.integers(2, 3))), range(draw(st.integers(1, 3)))
    return Chain(
        law(states, 3),
        [[law(("x", "y", "z"), 2) for _ in states] for _ in steps],
        [[law(("a", "b"), 2) for _ in states] for _ in steps],
        [law(states, 2) for _ in states for _ in "ab"],
    )
