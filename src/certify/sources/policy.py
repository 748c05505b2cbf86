"""What a given policy remembers, against what the expert requires.

The policy is driven along every history of a model, the expert's actions being executed (teacher forcing). Two
histories with the same observation are distinguished by its *behaviour* if it acts differently after some continuation
that both can have, and by its *state* if it exposes one and that differs. A policy that reproduces the expert has the
expert's behaviour, so what it carries beyond the requirement shows in its state alone.
"""

import inspect
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import islice
from typing import Any, Protocol

import numpy as np

from certify.answer import Answer, certify
from certify.core.assignments import verify
from certify.core.exact import Ints, pair, rank, representatives, total_of
from certify.core.graph import Graph
from certify.core.merged import as_tree
from certify.core.model import Model
from certify.core.rates import conditional_rate
from certify.core.relations import Matrix, blocks
from certify.errors import UserError
from certify.machines.machine import Machine, State
from certify.optional import import_optional
from certify.sources.adapter import readable
from certify.witness import distinguish, history_text, word_text

MOST_HISTORIES = 10_000  # at the last step
MOST_EXAMPLES = 5

Separates = Callable[[Ints], Matrix]  # labels → which of them are distinguished


class Policy(Protocol):
    """Deterministic, and brought back to its beginning by `reset`.

    `act` may take the previously executed action as a second argument, which is None at the first step.
    """

    def reset(self) -> Any: ...

    @property
    def act(self) -> Callable[..., Any]: ...


@dataclass(frozen=True)
class Difference:
    """A history (step `t` from 1) after which the policy does not do what the expert does."""

    t: int
    history: str
    expert: str
    policy: str


@dataclass(frozen=True)
class Pair:
    """Two histories with one observation; `continuation` leads to where the expert's laws differ, if it must."""

    t: int
    first: str
    second: str
    continuation: str = ""
    laws: tuple[str, str] = ("", "")

    def text(self) -> str:
        words = f"step {self.t}: ({self.first}) and ({self.second})"
        if not self.continuation:
            return words
        return f"{words}: after {self.continuation} the expert does {self.laws[0]} or {self.laws[1]}"


@dataclass(frozen=True)
class Distinctions:
    """What the policy distinguishes, by `by` (behaviour or state): counts of pairs of histories, one per step."""

    by: str
    bits: tuple[float | None, ...]  # H(class | O_t); None where behaviour is not transitive and no minimum is proved
    surplus: tuple[int, ...]  # distinguished, though one memory state would do
    missed: tuple[int, ...]  # treated alike, though the expert will act differently
    surplus_pairs: tuple[Pair, ...]  # the first few
    missed_pairs: tuple[Pair, ...]
    carried: tuple[float, ...]  # of the required bits, those that it has: I(Γ_t; what it goes into the step with | O_t)


@dataclass(frozen=True)
class PolicyReport:
    """A policy against the requirement; `text()` says it in words."""

    name: str
    histories: int
    wrong: tuple[Fraction, ...]  # of each step: the probability of the histories where it differs from the expert
    wrong_histories: int
    differences: tuple[Difference, ...]  # the first few
    needed: tuple[float, ...]  # of each step: the bits of the best machine, of which `carried` is a part
    required: tuple[tuple[float, float], ...]  # of each step: the bracket of the requirement in bits
    behaviour: Distinctions
    state: Distinctions | None  # None: the policy exposes no state
    incomplete: str | None  # why the exposed state is not all of its memory
    graph: Graph = field(repr=False, compare=False)  # the model's histories, with the policy's actions as laws
    cells: list[Ints] = field(repr=False, compare=False)  # the machine's states, as labels of the histories

    @property
    def reproduces(self) -> bool:
        """Whether it does what the expert does after every history."""
        return not self.wrong_histories

    @cached_property
    def machine(self) -> Machine:
        """Of its exposed states where these are all of its memory, else the smallest found that behaves like it."""
        return Machine.from_cells(self.graph, self.cells)

    def text(self) -> str:
        """The report for people."""
        verdict = f"differs from the expert on {self.wrong_histories:,} of {self.histories:,} histories"
        if self.reproduces:
            verdict = f"reproduces the expert on all {self.histories:,} histories"
        lines = [f"{self.name or 'policy'}: {verdict}", *self._table()]
        lines += [f"differs at step {d.t}, after {d.history}: {d.policy}, not {d.expert}" for d in self.differences]
        for told in (self.behaviour, self.state):
            if told is not None:
                lines += self._short(told)
                lines += [f"surplus by {told.by}, {two.text()}" for two in told.surplus_pairs]
                lines += [f"missed by {told.by}, {two.text()}" for two in told.missed_pairs]
        if self.incomplete:
            lines.append(f"the exposed state is not all of its memory: {self.incomplete}")
        return "\n".join(lines)

    def _short(self, told: Distinctions) -> Iterator[str]:
        """Where it carries less than is needed."""
        for t, (bits, need) in enumerate(zip(told.carried, self.needed, strict=True)):
            if need - bits > 1e-9:
                yield f"by {told.by} it carries {bits:.3f} of {need:.3f} bits at step {t + 1}"

    def _table(self) -> Iterator[str]:
        groups = [self.behaviour] if self.state is None else [self.behaviour, self.state]
        heads = ["step", "required", "wrong"]
        for told in groups:
            heads += [f"{told.by}", "carried", "surplus", "missed"]
        yield "  ".join(head.rjust(9) for head in heads)
        for t, (low, high) in enumerate(self.required):
            cells = [
                str(t + 1),
                f"{high:.3f}" if low == high else f"{low:.2f}-{high:.2f}",
                f"{float(self.wrong[t]):.3g}",
            ]
            for told in groups:
                bits = told.bits[t]
                shown = ["?" if bits is None else f"{bits:.3f}", f"{told.carried[t]:.3f}"]
                cells += [*shown, str(told.surplus[t]), str(told.missed[t])]
            yield "  ".join(cell.rjust(9) for cell in cells)


class MachinePolicy:
    """A machine as a policy: follows the executed actions, exposes its memory state, needs deterministic laws."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._now: State | None = None

    def reset(self) -> None:
        self._now = None

    def act(self, observation: str, previous: str | None = None) -> str:
        if self._now is None or previous is None:
            self._now = self.machine.begin(observation)
        else:
            self._now = self.machine.advance(self._now, previous, observation)
        if len(self._now.law) != 1:
            raise UserError(f"machine state {self._now.name!r}", "acts at random, so it is not a deterministic policy")
        return next(iter(self._now.law))

    @property
    def state(self) -> int | None:
        return None if self._now is None else self._now.index


class Recurrent:
    """A callable of (observation, state) that gives (scores or an action, state), as a policy with a state."""

    def __init__(self, step: Callable[..., Any], model: Model, encode: Callable[[str], Any] | None) -> None:
        self.step, self.actions, self.encode = step, model.graph.actions, encode
        self.eye, self.index = np.eye(len(model.graph.observations), dtype=np.float32), model.observation_index
        self.torch = import_optional("torch", "learn") if hasattr(step, "parameters") else None
        self.reset()

    def reset(self) -> None:
        self._state: Any = None

    @property
    def state(self) -> Any:
        """Rounded, so that equal states are equal whatever the order of a sum."""
        return _rounded(self._state)

    def act(self, observation: str) -> str:
        seen = self.encode(observation) if self.encode else self.eye[self.index[observation]][None]
        if self.torch is None:
            action, self._state = self.step(seen, self._state)
        else:
            with self.torch.no_grad():
                action, self._state = self.step(self.torch.as_tensor(seen), self._state)
        if isinstance(action, str):
            return action
        scores = np.asarray(action).reshape(-1)
        return self.actions[int(scores.argmax() if scores.size > 1 else scores[0])]


def as_policy(policy: Any, model: Model, encode: Callable[[str], Any] | None = None) -> Policy:
    """The policy itself, or a `Recurrent` one around a callable of (observation, state)."""
    if hasattr(policy, "act") or not callable(policy):
        return policy
    return Recurrent(policy, model, encode)


def _rounded(state: Any) -> Any:
    if isinstance(state, tuple | list):
        return tuple(_rounded(item) for item in state)
    if isinstance(state, float) or hasattr(state, "tolist"):
        return np.round(np.asarray(state, np.float64), 6).tolist()
    return state


def machine_of(
    policy: Any, model: Model, name: str = "", seconds: float = 10.0, encode: Callable[[str], Any] | None = None
) -> PolicyReport:
    """Build the machine of a policy on the model's histories and compare it with the requirement.

    A policy is a `Policy`, or a callable of (observation, state) that gives (action, state), an `nn.Module` say, which
    is shown one-hot rows by `model.observation_index`, or what `encode` makes of an observation's name. `seconds`
    bounds each of the searches for the requirement and for the smallest machine that behaves so.
    """
    graph = _tree(model)
    acts, states, into = _drive(as_policy(policy, model, encode), graph)
    own = _as_expert(graph, acts)
    answer, behaviour = (certify(Model(histories), seconds=seconds) for histories in (graph, own))
    if not all(relation.decided for relation in answer.relations + behaviour.relations):
        raise UserError(model.name or "model", "has too many histories to compare; shorten the horizon")
    labels = _labels(graph, states) if states is not None else None
    state = incomplete = None
    if labels is not None:
        incomplete = (verify(own, labels) or "").replace("cell", "state") or None
        bits = [conditional_rate(level, label) for level, label in zip(graph.levels, labels, strict=True)]
        carried = _carried(answer, _labels(graph, into))
        state = _distinctions(
            answer, "state", bits, labels, [lambda label: label[:, None] != label] * graph.horizon, carried
        )
    wrong = [_wrong(graph, t, names) for t, names in enumerate(acts)]
    return PolicyReport(
        name or model.name,
        sum(level.size for level in graph.levels),
        tuple(
            Fraction(sum(int(level.mass[node]) for node in nodes), level.total)
            for level, nodes in zip(graph.levels, wrong, strict=True)
        ),
        sum(map(len, wrong)),
        tuple(islice(_differences(graph, acts, wrong), MOST_EXAMPLES)),
        answer.joint.rates,
        tuple((step.lower, step.upper) for step in answer.steps),
        _distinctions(
            answer,
            "behaviour",
            [step.rate for step in behaviour.steps],
            [relation.kind for relation in behaviour.relations],
            [relation.conflict_matrix for relation in behaviour.relations],
            _carried(answer, behaviour.joint.cells),
        ),
        state,
        incomplete,
        own,
        labels if labels is not None and incomplete is None else behaviour.joint.cells,
    )


def _tree(model: Model) -> Graph:
    """One node a history; merged graphs are unfolded where that is small."""
    histories = total_of(model.graph.levels[-1].paths)
    if histories > MOST_HISTORIES:
        raise UserError(
            model.name or "model", f"has {histories:,} histories; a policy is driven along {MOST_HISTORIES:,} at most"
        )
    return as_tree(model.graph, MOST_HISTORIES * model.horizon)


def _carried(answer: Answer, labels: list[Ints]) -> tuple[float, ...]:
    """I(class; label | O_t) of every step."""
    bits: list[float] = []
    for level, cell, label in zip(answer.joint.graph.levels, answer.joint.cells, labels, strict=True):
        both = conditional_rate(level, rank(pair(rank(cell)[0], rank(label)[0]))[0])
        bits.append(max(0.0, conditional_rate(level, cell) + conditional_rate(level, label) - both))
    return tuple(bits)


Drive = tuple[list[list[str]], list[list[Hashable]] | None, list[list[Hashable]]]


def _drive(policy: Policy, graph: Graph) -> Drive:
    """After every history what the policy does, its state then, and its state and input before; played twice."""
    if not callable(getattr(policy, "reset", None)) or not callable(getattr(policy, "act", None)):
        raise UserError("policy", "needs reset() and act(observation)")
    acts: list[list[str | None]] = [[None] * level.size for level in graph.levels]
    states: list[list[Hashable]] = [[None] * level.size for level in graph.levels]
    into: list[list[Hashable]] = [[None] * level.size for level in graph.levels]
    informed = _takes_previous(policy.act)
    leaves = range(graph.levels[-1].size)
    for leaf in (*leaves, *reversed(leaves)):
        previous = None
        policy.reset()
        state = None
        for t, node in enumerate(_path(graph, leaf)):
            level = graph.levels[t]
            observation = graph.observations[level.observation[node]]
            if t:
                previous = graph.actions[level.arrival[node]]
            into[t][node] = (state, previous if informed else None)
            action = _act(policy, (observation, previous) if informed else (observation,), graph, t, node)
            state = _frozen(getattr(policy, "state", None))
            if acts[t][node] is None:
                acts[t][node], states[t][node] = action, state
            for before, now, what in ((acts[t][node], action, "does"), (states[t][node], state, "is in state")):
                if before != now:
                    history = history_text(graph, t, node)
                    raise UserError("policy", f"does not repeat itself: after {history} it {what} {before}, then {now}")
    names = [[action for action in level if action is not None] for level in acts]
    return names, states if hasattr(policy, "state") else None, into


def _act(policy: Policy, seen: tuple[str | None, ...], graph: Graph, t: int, node: int) -> str:
    try:
        return readable(policy.act(*seen))
    except UserError:
        raise
    except Exception as error:  # whatever a policy raises, the user needs the history that it raised it on
        reason = str(error) or type(error).__name__
        raise UserError(f"policy after {history_text(graph, t, node)}", f"act failed: {reason}") from error


def _takes_previous(act: Callable[..., Any]) -> bool:
    try:
        inspect.signature(act).bind("observation", None)
    except TypeError:
        return False
    return True


def _path(graph: Graph, leaf: int) -> list[int]:
    nodes = [leaf]
    for level in reversed(graph.levels[1:]):
        nodes.append(int(level.parent[nodes[-1]]))
    return nodes[::-1]


def _frozen(state: Any) -> Hashable:
    """A state as a value: arrays and lists become tuples; what can only be compared by identity is refused."""
    if hasattr(state, "tolist"):
        state = state.tolist()
    if isinstance(state, list | tuple):
        return tuple(_frozen(item) for item in state)
    if isinstance(state, dict):
        return frozenset((key, _frozen(item)) for key, item in state.items())
    if not isinstance(state, Hashable) or (type(state).__hash__ is object.__hash__ and state is not None):
        raise UserError("policy.state", f"is a {type(state).__name__}, which has no value to compare; expose a tuple")
    return state


def _labels(graph: Graph, states: list[list[Hashable]]) -> list[Ints]:
    """(observation, state) of every history, numbered level by level: the memory is read beside the observation."""
    result: list[Ints] = []
    for level, exposed in zip(graph.levels, states, strict=True):
        numbers: dict[Hashable, int] = {}
        seen = zip(level.observation.tolist(), exposed, strict=True)
        result.append(np.array([numbers.setdefault(key, len(numbers)) for key in seen], np.int64))
    return result


def _as_expert(graph: Graph, acts: list[list[str]]) -> Graph:
    """The same histories, with the policy's action as the law: its behaviour is then this expert's requirement."""
    numbers = {graph.actions[k]: k for k in range(len(graph.actions))}
    law = [np.array([numbers.setdefault(action, len(numbers)) for action in level], np.int64) for level in acts]
    levels = tuple(replace(level, law=ids, mixed={}) for level, ids in zip(graph.levels, law, strict=True))
    return Graph(levels, graph.observations, tuple(numbers), tuple(((k, Fraction(1)),) for k in range(len(numbers))))


def _wrong(graph: Graph, t: int, acts: list[str]) -> list[int]:
    """The nodes after which the policy does not follow a law that is certain."""
    laws = [graph.laws[law] for law in graph.levels[t].law]
    return [
        node
        for node, (law, action) in enumerate(zip(laws, acts, strict=True))
        if len(law) > 1 or graph.actions[law[0][0]] != action
    ]


def _differences(graph: Graph, acts: list[list[str]], wrong: list[list[int]]) -> Iterator[Difference]:
    for t, nodes in enumerate(wrong):
        for node in nodes:
            expert = graph.law_text(int(graph.levels[t].law[node]))
            yield Difference(t + 1, history_text(graph, t, node), expert, acts[t][node])


def _distinctions(
    answer: Answer,
    by: str,
    bits: list[float] | list[float | None],
    labels: list[Ints],
    separates: list[Separates],
    carried: tuple[float, ...],
) -> Distinctions:
    graph = answer.model.graph
    counts = {needed: [0] * graph.horizon for needed in (True, False)}
    examples: dict[bool, list[Pair]] = {True: [], False: []}
    for t, relation in enumerate(answer.relations):
        for nodes in blocks(graph.levels[t].observation):
            cell, size = rank(pair(relation.kind[nodes], labels[t][nodes]))
            first, sizes = nodes[representatives(cell, size)], np.bincount(cell)
            required, made = relation.conflict_matrix(relation.kind[first]), separates[t](labels[t][first])
            for needed, apart in ((True, required & ~made), (False, made & ~required)):
                counts[needed][t] += int(sizes @ (apart @ sizes)) // 2
                pairs = np.argwhere(np.triu(apart))[: MOST_EXAMPLES - len(examples[needed])]
                examples[needed] += [_pair(answer, t, one, two, needed) for one, two in first[pairs].tolist()]
    shown = tuple(examples[False]), tuple(examples[True])
    return Distinctions(by, tuple(bits), tuple(counts[False]), tuple(counts[True]), *shown, carried)


def _pair(answer: Answer, t: int, first: int, second: int, needed: bool) -> Pair:
    graph = answer.model.graph
    histories = history_text(graph, t, first), history_text(graph, t, second)
    if not needed:
        return Pair(t + 1, *histories)
    word, one, two = distinguish(graph, answer.relations, t, first, second)
    return Pair(t + 1, *histories, word_text(graph, word), (graph.law_text(one), graph.law_text(two)))
