"""A saved run on a symbolic task, examined without sampling: every episode of the model with its probability."""

from collections.abc import Mapping
from dataclasses import asdict, replace

import numpy as np
import torch
from torch import Tensor

from certify import Model
from certify.errors import UserError
from diacritic.measure.evaluate import EpisodeTrace, Evaluation, evaluate_symbolic, plateaus
from diacritic.measure.gates import THRESHOLDS, judge_scores
from diacritic.measure.interventions import Episodes, MachinePolicy, Policy, attribute, model_episodes
from diacritic.measure.own_occupancy import own_scores
from diacritic.measure.persistence import play_episodes, reset_leak
from diacritic.measure.plugin import conditional_entropy
from diacritic.measure.scores import POSITIVE, Requirement
from diacritic.measure.verdict import Control, Profile, Subject, Verdict, intervention_controls, judge, same_verdict
from diacritic.measure.windows import derived_windows
from diacritic.memory.kinds import is_sole_carrier, memory_of
from diacritic.memory.shape import Architecture, Shape
from diacritic.rollout.machine import CodeMachine
from diacritic.rollout.occupancy import law_table
from diacritic.rollout.policies import RunPolicy
from diacritic.rollout.trained_machines import machines
from diacritic.training.forgetting import ExpertTrace
from diacritic.training.revision import conflicts


@torch.no_grad()
def examine_symbolic(
    subject: Subject, requirement: Requirement, shape: Shape, architecture: Architecture, weights: Mapping[str, Tensor]
) -> Verdict:
    """One run: exact scores and closed loop where it is a finite machine, its episodes watched where it is not."""
    model, graph = requirement.model, requirement.model.graph
    if (shape.observation, shape.action) != (len(graph.observations), len(graph.actions)):
        sizes = f"{len(graph.observations)} observations and {len(graph.actions)} actions"
        raise UserError(subject.run, f"was trained on another task than this one with {sizes}; give it with --task")
    listed = model_episodes(model)
    if memory_of(architecture).state == "history":
        said = f"{architecture.memory!r} keeps everything that it saw; there is no state to examine"
        raise UserError("architecture.memory", said)
    policy = RunPolicy(architecture, weights)
    shown = _one_hot(listed, model)
    decision = [conditional_entropy(g, o, listed.weights) for g, o in zip(listed.laws, listed.symbols, strict=True)]
    windows = derived_windows(requirement.bits, decision)
    if is_sole_carrier(architecture):
        machine = machines({name: value[None] for name, value in weights.items()}, architecture, model)[0].greedy()
        evaluation = evaluate_symbolic(machine, requirement)
        controls = [*_machine_controls(machine, requirement, evaluation), _confused(machine, listed)]
        attribution = attribute(MachinePolicy(machine), listed, list(windows.decisions.values()))
    else:
        evaluation = evaluate_symbolic(_episodes(policy, shown, model), requirement)
        peak = f"the readout code alone has up to {max(evaluation.rate):.2f} bit; no rate is claimed"
        controls = [_closed_loop(evaluation), Control("rate", "readout", None, peak)]
        attribution = attribute(policy, shown, list(windows.decisions.values()))
    controls.append(construction(architecture))
    controls += intervention_controls(attribution, "every history")
    leak = reset_leak(policy, shown.observations, shown.previous)
    controls.append(Control("attribution", "episode boundary", not leak.detected, leak.line()))
    profile = Profile(evaluation.rate.tolist(), list(requirement.bits), decision, plateaus(requirement.bits))
    return judge(subject, evaluation.judgement, profile, controls, is_sole_carrier(architecture))


def construction(architecture: Architecture) -> Control:
    """What persists by construction."""
    extra = memory_of(architecture).beside_the_code(architecture)
    text = "; ".join(extra) or "the state holds a code and its vector, nothing else"
    return Control("attribution", "construction", not extra, text)


def _confused(machine: CodeMachine, listed: Episodes) -> Control:
    """The heaviest state in which histories meet that need different actions, and where what parts them was lost."""
    every = np.arange(len(listed.weights))
    codes, _ = play_episodes(MachinePolicy(machine), listed.observations, listed.previous, every)
    code, symbol, previous, law = (
        np.stack(list(rows)).astype(np.int64) for rows in (codes, listed.symbols, listed.previous, listed.laws)
    )
    trace = ExpertTrace(code, symbol, previous, law, listed.weights)
    confusions = conflicts(trace)
    text = (
        f"{len(confusions)}; the heaviest: {confusions[0]}"
        if confusions
        else "no state holds histories that need different actions"
    )
    return Control("sufficiency", "conflicts", None, text, [asdict(one) for one in confusions])


def _one_hot(listed: Episodes, model: Model) -> Episodes:
    """The same episodes as a network reads them; no action yet is a row of zeros."""
    actions = len(model.graph.actions)
    seen = torch.eye(len(model.graph.observations))[torch.from_numpy(np.array(listed.observations))]
    before = torch.cat([torch.eye(actions), torch.zeros(1, actions)])[torch.from_numpy(np.array(listed.previous))]
    return replace(listed, observations=seen, previous=before)


def thresholds(evaluation: Evaluation) -> Control:
    """Whether the verdict is the same at other thresholds."""
    levels = {level: evaluation.judge(level).passed for level in THRESHOLDS}
    alike = len(set(levels.values())) == 1
    said = "the same verdict at thresholds" if alike else "the verdict depends on the threshold among"
    return Control("sufficiency", "threshold", alike, f"{said} {', '.join(map(str, THRESHOLDS))}", levels)


def _machine_controls(machine: CodeMachine, requirement: Requirement, evaluation: Evaluation) -> list[Control]:
    surplus = [bits for bits in evaluation.conditional_surplus.tolist() if not np.isnan(bits)]
    controls = [
        _closed_loop(evaluation),
        thresholds(evaluation),
        _own_gate(machine, requirement, evaluation),
    ]
    if surplus:
        mean = float(np.mean(surplus))
        controls.append(Control("rate", "redundancy", None, f"H(C|Γ,Ō) is {mean:.3f} bit on average", surplus))
    return controls


def _closed_loop(evaluation: Evaluation) -> Control:
    text = f"success {evaluation.success:.3f}, exact"
    return Control("sufficiency", "closed loop", None, text, evaluation.success)


def _own_gate(machine: CodeMachine, requirement: Requirement, evaluation: Evaluation) -> Control:
    """Whether the same gate says the same of the histories that the machine itself brings about."""
    try:
        steps = own_scores(machine, requirement.model, requirement)
    except UserError as problem:
        return Control("sufficiency", "own occupancy", None, str(problem))
    passed = judge_scores("external", steps, evaluation.success).passed
    return same_verdict("own occupancy", (evaluation.sufficient, passed), "under own occupancy")


def _episodes(policy: Policy, shown: Episodes, model: Model) -> EpisodeTrace:
    """A policy that is not a machine, on every episode of the model."""
    codes, actions = play_episodes(policy, shown.observations, shown.previous, np.arange(len(shown.weights)))
    right = law_table(model.graph)[shown.laws, actions.argmax(-1)] > POSITIVE
    return EpisodeTrace(codes, right, shown.symbols, shown.weights)
