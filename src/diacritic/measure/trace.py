"""Teacher-forced traces: what trained policies remember and would do while the expert acts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from certify import Model
from diacritic.files.demos import Demos
from diacritic.measure.evaluate import EpisodeTrace, SymbolicTrace, evaluate_symbolic
from diacritic.measure.flags import class_error
from diacritic.measure.gates import Symbolic
from diacritic.measure.recorded import until_the_end
from diacritic.measure.scores import Requirement
from diacritic.memory.kinds import memory_of
from diacritic.rollout.policies import Player
from diacritic.rollout.trained_machines import machines
from diacritic.tasks.protocol import Floats, Ints, Task, policy_view
from diacritic.tasks.recorded import decision_class
from diacritic.training.cohort import Cohort
from diacritic.training.kl_bound import kl_profile


@torch.no_grad()
def symbolic_traces(cohort: Cohort, model: Model) -> list[SymbolicTrace]:
    """Of every run on a symbolic task: a finite machine where a code is all it remembers, its episodes otherwise."""
    carrier, data = cohort.plan.carrier, cohort.data
    if memory_of(carrier).finite(carrier):
        return list(machines(cohort.parameters, carrier, model))
    trace = cohort.trace(sampled=False)
    logits = trace.actions if trace.actions is not None else trace.read("act")
    chosen = trace.steps(logits).argmax(-1)
    law = data.target.unsqueeze(0).expand(len(chosen), -1, -1, -1)
    right = (law.gather(-1, chosen.unsqueeze(-1)).squeeze(-1) > 0).cpu().numpy()
    codes, symbols = trace.step_code.cpu().numpy(), data.observation_index.cpu().numpy()
    weight, at_means = data.weight.double().cpu().numpy(), kl_profile(trace)
    bounds = None if at_means is None else kl_profile(cohort.trace())
    apart = (trace.steps(logits).softmax(-1) - law).abs().sum(-1).double() @ data.weight.double() / 2
    return [
        EpisodeTrace(
            codes[run],
            right[run],
            symbols,
            weight,
            bound=None if bounds is None else tuple(bounds[run]),
            at_means=None if at_means is None else tuple(at_means[run]),
            variation=tuple(apart[run].tolist()),
        )
        for run in range(len(codes))
    ]


def sufficient(cohort: Cohort, model: Model, requirement: Requirement, gate: Symbolic = "external") -> list[bool]:
    """Which runs pass the gate now: what `training.train` may be given to judge by."""
    return [evaluate_symbolic(trace, requirement, gate).sufficient for trace in symbolic_traces(cohort, model)]


@dataclass(frozen=True)
class RecordedTrace:
    """Policies on the episodes of a recording while the expert acts."""

    demos: Demos
    codes: Ints  # [S, T, N]
    actions: Floats  # [S, T, N, A]

    def decision_errors(self, task: Task) -> dict[str, Floats]:
        """Of every run the share of episodes whose action at a decision is nearest to the mean of another class."""
        errors = {}
        for name, t in task.decisions.items():
            runs = slice(None) if self.demos.mask is None else self.demos.mask[t]
            expert, label = self.demos.actions[t, runs], decision_class(self.demos, name, t)[runs]
            errors[name] = np.array([class_error(run[t, runs], expert, label) for run in self.actions])
        return errors


def teacher_forced(
    player: Player, demos: Demos, task: Task, symbol_names: Sequence[str] | None = None
) -> RecordedTrace:
    """Every policy of a player along every episode.

    `symbol_names` are those of the recording that the policies learned from, where `demos` is another one.
    """
    symbols = demos.symbols if symbol_names is None else _translated(demos, symbol_names)

    def each(values: NDArray[Any]) -> NDArray[Any]:
        return np.repeat(values[None], player.runs, 0)

    player.begin(demos.episodes)
    codes, actions = [], []
    for t in range(demos.steps):
        seen = policy_view(task, demos.observations[t], demos.frames)
        before = None if t == 0 else each(demos.actions[t - 1])
        shown = None if demos.frames is None else demos.frames[t]
        frames = None if shown is None else np.broadcast_to(shown, (player.runs, *shown.shape))  # one copy for all
        code, action = player.step(each(seen), before, each(symbols[t]), frames)
        codes.append(code)
        actions.append(action)
    return RecordedTrace(demos, until_the_end(np.stack(codes, 1), demos.mask), np.stack(actions, 1))


def _translated(demos: Demos, symbol_names: Sequence[str]) -> Ints:
    """Symbols numbered as in the recording that was learned from; one that it lacks has the next number."""
    number: Mapping[str, int] = {name: k for k, name in enumerate(symbol_names)}
    return np.array([number.get(name, len(number)) for name in demos.symbol_names])[demos.symbols]
