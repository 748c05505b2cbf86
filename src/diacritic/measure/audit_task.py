"""Tasks to audit third-party policies on: episodes, decisions, classes and nuisances; here the symbolic tasks."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Union

import numpy as np

from certify import Model
from certify.errors import UserError
from diacritic.measure.decoding import Label, labels_of
from diacritic.measure.evaluate import plateaus
from diacritic.measure.gates import SUCCESS
from diacritic.measure.interventions import model_episodes
from diacritic.measure.plugin import Ints, conditional_entropy, joint
from diacritic.measure.policy_adapters import Observation, leaves
from diacritic.measure.scores import Requirement, episode_nodes
from diacritic.measure.scripted_policy import Script, ScriptedPolicy, whole_episodes
from diacritic.measure.verdict import Control, Finding
from diacritic.measure.windows import derived_windows
from diacritic.rollout.exact import BRANCH_LIMIT
from diacritic.rollout.occupancy import law_table
from diacritic.tasks.world import WorldState, world_of

if TYPE_CHECKING:
    from diacritic.measure.audit_task_recorded import RecordedAuditTask

MOST_EPISODES = 4096


@dataclass(frozen=True)
class Behaviour:
    """Whether the decisions are right, and the controls that say so."""

    finding: Finding
    controls: tuple[Control, ...]


class SymbolicAuditTask:
    """Every history of a finite model, with its exact weight; steps count from 0."""

    occupancy = "every history"
    least = 0.0
    """Share of the pairs that must be distinguished to count as a decision."""
    most_pairs = 128

    def __init__(self, model: Model, encode: Callable[[str], Any] | None = None) -> None:
        listed = model_episodes(model)
        count = listed.symbols.shape[1]
        if count > MOST_EPISODES:
            said = f"has {count:,} episodes, and a policy is driven along {MOST_EPISODES:,} at most"
            raise UserError(model.name or "model", f"{said}; give a smaller instance")
        self.model, self.title = model, model.name or "model"
        tables = model.graph.observations, model.graph.actions
        self._names = tuple(tuple(names[k] for k in range(len(names))) for names in tables)
        self.action_index = {name: k for k, name in enumerate(self._names[1])}
        self._eyes = tuple(np.eye(len(names), dtype=np.float32) for names in self._names)
        self._shown = list(self._eyes[0]) if encode is None else [np.asarray(encode(name)) for name in self._names[0]]
        self.episodes = replace(listed, observations=self._events(listed.observations, listed.previous))
        requirement = Requirement.of(model)
        self.required = requirement.bits
        self._relations, self._nodes = requirement.relations, episode_nodes(model)
        bits = [conditional_entropy(g, o, listed.weights) for g, o in zip(listed.laws, listed.symbols, strict=True)]
        self.decisions = list(derived_windows(requirement.bits, bits).decisions.values())
        self.stretches = plateaus(requirement.bits)
        self._laws = law_table(model.graph) > 0

    def _events(self, observation: Any, previous: Any) -> Any:
        """What is seen and what was done before it, as one number."""
        return observation * (len(self._names[1]) + 1) + previous

    def show(self, event: int) -> tuple[Observation, Observation]:
        """The observation, and the action executed before it."""
        seen, before = divmod(event, len(self._names[1]) + 1)
        observation = Observation(self._shown[seen], seen, self._names[0][seen])
        if before == len(self._names[1]):
            return observation, Observation(np.zeros(before, np.float32), absent=True)
        return observation, Observation(self._eyes[1][before], before, self._names[1][before])

    def understand(self, raw: Any) -> int:
        """From a name, a number, or one score an action."""
        names = self._names[1]
        if isinstance(raw, str):
            if raw not in names:
                raise UserError("policy", f"does {raw!r}, which is not an action of the task: {', '.join(names[:8])}")
            return names.index(raw)
        parts = list(leaves(raw))
        values = parts[0] if len(parts) == 1 else np.concatenate([np.zeros(0), *parts])
        if values.size == 1 and values.dtype.kind in "iu" and 0 <= values[0] < len(names):
            return int(values[0])
        if values.shape != (len(names),) or not np.isfinite(values).all():
            told = f"{values.dtype} of {values.size} entries" if values.size != 1 else f"{values[0]}"
            wanted = f"a name, a number 0…{len(names) - 1}, or {len(names)} finite scores"
            raise UserError("policy", f"its action is {told}; expected {wanted}")
        return int(values.argmax())

    def decide(self, actions: Sequence[Any], step: int) -> Ints:
        """The decision that each action is."""
        return np.array(actions, np.int64)

    def rows(self, step: int) -> Ints:
        """Episodes whose states are decoded as they go into this step: one for each history before it."""
        return np.unique(self._nodes[step - 1], return_index=True)[1]

    def labels(self, window: str, step: int) -> Iterator[Label]:
        """The observations before are what is hidden: each way in which they part the histories, once."""
        rows, relation = self.rows(step), self._relations[step]
        if not relation.transitive:
            return
        seen, memory = self.episodes.symbols[step][rows], relation.kind[self._nodes[step][rows]]
        ways: dict[bytes, int] = {}
        for before in range(step):
            ways.setdefault(joint(self.episodes.symbols[before][rows]).tobytes(), before)
        hidden = {f"seen at step {before + 1}": self.episodes.symbols[before][rows] for before in ways.values()}
        yield from labels_of(window, step, seen, memory, hidden)

    def behave(self, scripted: ScriptedPolicy) -> Behaviour:
        """On the expert's histories, and in closed loop with every branch."""
        scripts = whole_episodes(self.episodes)
        acts = np.array([[scripted.action(script[: t + 1]) for t in range(len(script))] for script in scripts]).T
        right = self._laws[self.episodes.laws, acts]  # [T, N]
        weights = self.episodes.weights
        wrong = {f"step {t + 1}": float(weights[~row].sum()) for t, row in enumerate(right) if not row.all()}
        teacher_forced = float(weights[right.all(0)].sum())
        shown = ", ".join(f"{name} ({share:.1%})" for name, share in list(wrong.items())[:4])
        said = f"right throughout with probability {teacher_forced:.3f}" + (f"; wrong at {shown}" if wrong else "")
        controls = [Control("sufficiency", "expert's histories", teacher_forced >= SUCCESS, said, wrong)]
        success = self.closed_loop(scripted)
        if success is None:
            text = f"more than {BRANCH_LIMIT:,} branches, so it was not enumerated"
            controls.append(Control("sufficiency", "closed loop", None, text))
            judged, where = teacher_forced, "on the expert's histories"
        else:
            exact = f"success {success:.3f}, exact"
            controls.append(Control("sufficiency", "closed loop", success >= SUCCESS, exact, success))
            judged, where = success, "in closed loop"
        because = f"{where} every action is the expert's with probability {judged:.3f}"
        return Behaviour(Finding("yes" if judged >= SUCCESS else "no", because), tuple(controls))

    def closed_loop(self, scripted: ScriptedPolicy) -> float | None:
        """P(every action lies in the support of the expert's law where it is taken); None: too many branches."""
        world = world_of(self.model)
        starts = world.starts()
        total = sum(weight for _, weight in starts)
        none = len(self._names[1])
        stack: list[tuple[WorldState, Script, int, float]] = [(state, (), none, w / total) for state, w in starts]
        success, branches = 0.0, 0
        while stack:
            state, script, before, weight = stack.pop()
            branches += 1
            if branches > BRANCH_LIMIT:
                return None
            seen, correct = world.look(state)
            if seen is None:
                continue
            script = (*script, int(self._events(seen, before)))
            action = scripted.action(script)
            if action not in correct:
                continue
            if len(script) == self.model.horizon:
                success += weight
                continue
            answers = world.answer(state, action)
            mass = sum(share for _, share in answers)
            stack += [(target, script, action, weight * share / mass) for target, share in answers]
        return min(1.0, success)


AuditTask = Union[SymbolicAuditTask, "RecordedAuditTask"]
"""What a policy is audited on."""
