"""A saved run on a symbolic task, examined without sampling: every episode of the model with its probability."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from certify import Model
from certify.errors import UserError
from diacritic.measure.gates import SUCCESS, THRESHOLDS, Judgement, judge_scores
from diacritic.measure.interventions import Episodes, MachinePolicy, Policy, attribute, model_episodes
from diacritic.measure.own_occupancy import own_scores
from diacritic.measure.persistence import reset_leak
from diacritic.measure.plugin import conditional_entropy
from diacritic.measure.scores import POSITIVE, Requirement, law_table, scores
from diacritic.measure.verdict import Control, Profile, Subject, Verdict, intervention_controls, judge, same_verdict
from diacritic.measure.windows import derived_windows
from diacritic.memory import gru
from diacritic.memory.module import Carrier
from diacritic.memory.shape import Architecture, Shape
from diacritic.rollout.exact import closed_loop
from diacritic.rollout.machine import CodeMachine
from diacritic.rollout.occupancy import watch
from diacritic.training.evaluate import machines

Floats = NDArray[np.float64]


@torch.no_grad()
def examine_symbolic(
    subject: Subject,
    model: Model,
    shape: Shape,
    architecture: Architecture,
    weights: Mapping[str, Tensor],
    requirement: Requirement | None = None,
) -> Verdict:
    """One run: exact scores and closed loop where it is a finite machine, its episodes watched where it is not."""
    graph = model.graph
    if (shape.observation, shape.action) != (len(graph.observations), len(graph.actions)):
        sizes = f"{len(graph.observations)} observations and {len(graph.actions)} actions"
        raise UserError(subject.run, f"was trained on another task than this one with {sizes}; give it with --task")
    requirement = requirement or Requirement.of(model)
    listed = model_episodes(model)
    policy = _policy(shape, architecture, weights)
    shown = _one_hot(listed, model)
    decision = [conditional_entropy(g, o, listed.weights) for g, o in zip(listed.laws, listed.symbols, strict=True)]
    windows = derived_windows(requirement.bits, decision)
    if architecture.sole_carrier:
        machine = machines({name: value[None] for name, value in weights.items()}, architecture, model)[0].greedy()
        judgement, rate, controls = _machine(machine, model, requirement)
        found = attribute(MachinePolicy(machine), listed, list(windows.decisions.values()))
    else:
        judgement, rate, controls = _watched(policy, shown, model)
        found = attribute(policy, shown, list(windows.decisions.values()))
    controls.append(construction(architecture))
    controls += intervention_controls(found, "every history")
    leak = reset_leak(policy, shown.observations, shown.previous)
    controls.append(Control("attribution", "episode boundary", not leak.found, leak.line()))
    profile = Profile(rate, list(requirement.bits), decision, plateaus(requirement.bits))
    return judge(subject, judgement, profile, controls, architecture.sole_carrier)


def plateaus(bits: Sequence[float | None]) -> dict[str, tuple[int, ...]]:
    """Stretches of steps (from 0) with the same positive requirement."""
    runs: list[tuple[float, list[int]]] = []
    for t, need in enumerate(bits):
        if need is None or need <= POSITIVE:
            continue
        if runs and runs[-1][1][-1] == t - 1 and abs(runs[-1][0] - need) < POSITIVE:
            runs[-1][1].append(t)
        else:
            runs.append((need, [t]))
    return {
        f"steps {steps[0] + 1}–{steps[-1] + 1}" if len(steps) > 1 else f"step {steps[0] + 1}": tuple(steps)
        for _, steps in runs
    }


def construction(architecture: Architecture) -> Control:
    """What persists by construction."""
    extra = []
    if architecture.memory != "code":
        extra.append(f"its memory is {architecture.memory!r}, not a code")
    if architecture.path == "bypass":
        extra.append("a continuous state persists beside the code")
    if architecture.identification:
        extra.append("a second carrier persists beside the code")
    text = "; ".join(extra) or "the state holds a code and its vector, nothing else"
    return Control("attribution", "construction", not extra, text)


class GruPolicy:
    """A GRU policy with its state made explicit; there is no code, 0 stands for that."""

    def __init__(self, weights: Mapping[str, Tensor]) -> None:
        self.parameters = {name: value[None] for name, value in weights.items()}

    def begin(self, batch: int) -> Tensor:
        return gru.start(self.parameters, batch)[0]

    def step(self, state: Tensor, observation: Tensor, previous_action: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        after, action = gru.step(self.parameters, state[None], observation, previous_action)
        return after[0], torch.zeros(len(state), dtype=torch.long), action[0]


class _ReadsSymbols:
    """A carrier with matched side information; on a symbolic task the observation is the symbol."""

    def __init__(self, carrier: Carrier) -> None:
        self.carrier = carrier

    def begin(self, batch: int) -> object:
        return self.carrier.begin(batch)

    def step(self, state, observation: Tensor, previous_action: Tensor) -> tuple[object, Tensor, Tensor]:
        return self.carrier.step(state, observation, previous_action, observation)


def _policy(shape: Shape, architecture: Architecture, weights: Mapping[str, Tensor]) -> Policy:
    if architecture.memory == "gru":
        return GruPolicy(weights)
    if architecture.memory == "history":
        raise UserError("architecture.memory", "'history' keeps everything that it saw; there is no state to examine")
    carrier = Carrier(shape, architecture, weights)
    return _ReadsSymbols(carrier) if architecture.side == "symbol" else carrier


def _one_hot(listed: Episodes, model: Model) -> Episodes:
    """The same episodes as a network reads them; no action yet is a row of zeros."""
    actions = len(model.graph.actions)
    seen = torch.eye(len(model.graph.observations))[torch.from_numpy(np.array(listed.observations))]
    before = torch.cat([torch.eye(actions), torch.zeros(1, actions)])[torch.from_numpy(np.array(listed.previous))]
    return replace(listed, observations=seen, previous=before)


def _machine(
    machine: CodeMachine, model: Model, requirement: Requirement
) -> tuple[Judgement, list[float | None], list[Control]]:
    steps = scores(watch(machine, model), requirement)
    loop = closed_loop(machine, model)
    judgement = judge_scores("external", steps, loop.success)
    others = {level: judge_scores("external", steps, loop.success, level).passed for level in THRESHOLDS}
    alike = len(set(others.values())) == 1
    said = "the same verdict at thresholds" if alike else "the verdict depends on the threshold among"
    surplus = [s.surplus for s in steps if s.surplus is not None]
    controls = [
        Control("sufficiency", "closed loop", None, f"success {loop.success:.3f}, exact", loop.success),
        Control("sufficiency", "threshold", alike, f"{said} {', '.join(map(str, THRESHOLDS))}", others),
        _own_gate(machine, model, requirement, judgement, loop.success),
    ]
    if surplus:
        mean = float(np.mean(surplus))
        controls.append(Control("rate", "redundancy", None, f"H(C|Γ,Ō) is {mean:.3f} bit on average", surplus))
    return judgement, [s.rate for s in steps], controls


def _own_gate(
    machine: CodeMachine, model: Model, requirement: Requirement, judgement: Judgement, success: float
) -> Control:
    """Whether the same gate says the same of the histories that the machine itself brings about."""
    try:
        steps = own_scores(machine, model, requirement)
    except UserError as problem:
        return Control("sufficiency", "own occupancy", None, str(problem))
    passed = judge_scores("external", steps, success).passed
    return same_verdict("own occupancy", (judgement.passed, passed), "under own occupancy")


def _watched(policy: Policy, shown: Episodes, model: Model) -> tuple[Judgement, list[float | None], list[Control]]:
    """A policy that is no machine: its actions are a function of the history, so success is that of the episodes."""
    laws, weights = law_table(model.graph), shown.weights
    state, codes, right = policy.begin(len(weights)), [], []
    for seen, before, law in zip(shown.observations, shown.previous, shown.laws, strict=True):
        state, code, action = policy.step(state, seen, before)
        codes.append(np.asarray(code))
        right.append(laws[law, np.asarray(action).argmax(-1)] > POSITIVE)
    success = float(weights[np.all(right, 0)].sum())
    rate = [conditional_entropy(code, seen, weights) for code, seen in zip(codes, shown.symbols, strict=True)]
    passed = success >= SUCCESS
    failures = () if passed else (f"success {success:.3f}",)
    controls = [Control("sufficiency", "closed loop", None, f"success {success:.3f}, exact", success)]
    controls.append(
        Control("rate", "readout", None, f"the readout code alone has up to {max(rate):.2f} bit; no rate is claimed")
    )
    return Judgement("behavioural", passed, success, {"success": success}, failures), list(rate), controls
