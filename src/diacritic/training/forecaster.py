"""The forecaster: a causal Transformer that learns, from recorded episodes alone, what the expert will do later.

From the prefix H_t it predicts later actions ã_{t,j}(H_t), or their probabilities where they are symbols. A student's
training-time head regresses these; after training both are thrown away.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor

from diacritic.memory import full_history
from diacritic.memory.layers import Parameters, Weight, dense, linear
from diacritic.memory.shape import Architecture, Shape
from diacritic.training.captured import Repeated
from diacritic.training.data import Data, check
from diacritic.training.objectives.base import Numbers
from diacritic.training.optimiser import Adam
from diacritic.training.preset import Preset
from diacritic.training.randomness import initial, uniform

_BATCH, _SPOILED, _DONOR = 101, 102, 103  # streams of random numbers


@dataclass(frozen=True)
class Form:
    """How forecasters are made and trained."""

    architecture: Architecture = field(default_factory=Architecture)
    state: bool = False
    """The head reads a state of d numbers, as codes do; otherwise the whole width."""
    rate: float = 3e-4
    clip: float | None = 1.0
    batch: int = 512
    redrawn: bool = False
    """Every update draws its episodes; otherwise up to `batch` of them, all are in every update."""
    numbers: Numbers = "mean"
    """The mean error of what is asked; or the sum over all outputs, averaged over steps and episodes."""


OURS = Form()


def form(how: Preset, frames: bool = False) -> Form:
    """The forecasters that go with a preset."""
    if not how.released:
        return OURS
    return Form(how.architecture(Architecture()), True, 1e-3, None, 64 if frames else 256, True, "sum")


@dataclass(frozen=True)
class Targets:
    """Which later steps a forecast at step t speaks of, and which of them are asked for; both [T, N or 1, J]."""

    when: Tensor  # step of the action, counted from zero
    asked: Tensor  # false beyond the end, and once the step is reached


def every_offset(steps: int, device: torch.device | str = "cpu") -> Targets:
    """Event-agnostic: the actions at t+1, …, T, by their offset j = 1, …, T−1."""
    now = torch.arange(steps, device=device).view(-1, 1, 1)
    when = now + torch.arange(1, steps, device=device)
    return Targets(when.clamp(max=steps - 1), when < steps)


def decisions(steps: int, at: Tensor, since: int = 0) -> Targets:
    """Task-informed: the action at each decision step, from step `since` (the last reveal) until that step is reached.

    `at` holds the decision steps, counted from zero: [J] for all episodes alike, or [N, J].
    """
    if at.numel() == 0 or int(at.min()) < 1 or int(at.max()) >= steps:
        raise ValueError(
            f"decision steps: must be in 1 … {steps - 1} (the first step has no past), found {at.tolist()}"
        )
    now = torch.arange(steps, device=at.device).view(-1, 1, 1)
    when = at.reshape(1, -1, at.shape[-1]).expand(steps, -1, -1)
    asked = (now < when) & (now >= since)
    if not bool(asked.any()):
        raise ValueError(f"decision steps {at.tolist()}: all are reached by step {since}, so that nothing is asked")
    return Targets(when, asked)


def recorded(actions: Tensor, targets: Targets) -> Tensor:
    """What was really done, [T, N, J, A]: the target of a student without a forecaster."""
    episodes = torch.arange(actions.shape[1], device=actions.device)
    return actions[targets.when, episodes.view(1, -1, 1)]


def weights(shape: Shape, targets: Targets, how: Form = OURS) -> dict[str, Weight]:
    """Two layers, four heads, width 128, d = 32, and a head of J · A numbers.

    Inputs and outputs are padded to a multiple of eight, as tensor cores want them; layers start as those of the size
    itself.
    """
    width, d, outputs = how.architecture.width, how.architecture.code_size, targets.when.shape[2] * shape.action
    padded = replace(shape, observation=_eights(shape.observation), action=_eights(shape.action))
    state = dense("state", width, d) if how.state else {}
    head = dense("forecast.hidden", d if state else width, width) | dense("forecast.out", width, _eights(outputs))
    return full_history.weights(padded, how.architecture) | state | head


def forecast(parameters: Parameters, data: Data, targets: Targets) -> Tensor:
    """ã_{t,j}(H_t), [runs, T, N, J, A], on the targets' device; where actions are symbols, their probabilities."""
    size = data.shape.action
    with torch.no_grad():
        raw = _predict(parameters, *_inputs(data, targets.when.device))
        raw = raw[..., : targets.when.shape[2] * size].unflatten(-1, (-1, size))
        return raw.softmax(-1) if data.shape.symbolic else raw


class Forecasters:
    """One forecaster for each seed in training, all at once, on the device of the targets; every episode counts alike.

    Standardised vectors cost their squared error, laws over symbols their cross-entropy. A run that diverges keeps its
    last finite values.
    """

    def __init__(self, data: Data, targets: Targets, seeds: Sequence[int], how: Form = OURS) -> None:
        check(data)
        device, episodes, shape = targets.when.device, data.episodes, data.shape
        start = {name: value.to(device) for name, value in initial(weights(shape, targets, how), seeds).items()}
        optimiser = Adam(start, torch.full((len(seeds),), how.rate, device=device), clip=how.clip)
        keys, step = _keys(seeds, device), torch.zeros((), dtype=torch.int64, device=device)
        low = torch.bfloat16 if device.type == "cuda" else torch.float32
        asked = targets.asked.expand(-1, episodes, -1).to(torch.float32)
        seen, previous, frames = _inputs(data, device)
        whole = _Episodes(seen.to(low), previous.to(low), recorded(data.target.to(device), targets), asked, frames)

        def update() -> None:  # it does not hold `self`, so that the captured graph goes when this object does
            drawn = how.redrawn or episodes > how.batch
            chosen = whole.pick(_draw(episodes, keys, step, how.batch)) if drawn else whole
            lowered = {name: value.to(low) for name, value in optimiser.parameters.items()}
            optimiser.descend(_loss(lowered, shape, chosen, how.numbers).sum())
            step.add_(1)

        self.parameters = optimiser.parameters
        self._updates = Repeated(update, device)

    def advance(self, steps: int) -> None:
        """So many updates."""
        self._updates.advance(steps)


def train_forecaster(
    data: Data, targets: Targets, seeds: Sequence[int], steps: int = 3000, how: Form = OURS
) -> dict[str, Tensor]:
    """The parameters of one trained forecaster for each seed, on the device of the targets."""
    training = Forecasters(data, targets, seeds, how)
    training.advance(steps)
    if targets.when.is_cuda:
        torch.cuda.synchronize(targets.when.device)
    return {name: value.detach().clone() for name, value in training.parameters.items()}


def mislead(forecasts: Tensor, classes: Tensor, share: float, seeds: Sequence[int]) -> Tensor:
    """Consistently wrong targets: a share of each run's episodes gets the forecast of an episode of another class.

    `forecasts` [runs, T, N, …], `classes` [N] the behavioural class of each episode; donors are drawn by the seed.
    """
    if not 0 <= share <= 1:
        raise ValueError(f"share of misled episodes: must be between 0 and 1, found {share}")
    if len(classes.unique()) < 2:
        raise ValueError("classes: all episodes are of one class, so that no forecast can be wrong; give at least two")
    keys, episodes = _keys(seeds, forecasts.device), len(classes)
    order = uniform(keys, 0, _SPOILED, (episodes,)).argsort(stable=True, dim=1)
    spoiled = torch.zeros_like(order, dtype=torch.bool).scatter_(1, order[:, : round(share * episodes)], True)
    luck = uniform(keys, 0, _DONOR, (episodes, episodes))
    other = torch.where(classes.unsqueeze(0) != classes.unsqueeze(1), luck, -1.0).argmax(2)
    source = torch.where(spoiled, other, torch.arange(episodes, device=forecasts.device))
    return torch.stack([run[:, rows] for run, rows in zip(forecasts, source, strict=True)])


@dataclass(frozen=True)
class _Episodes:
    """[T, N, …] shared by all runs, or [runs, T, N, …]."""

    observations: Tensor
    previous: Tensor
    target: Tensor  # [T, N, J, A]
    part: Tensor  # weight of what is asked, [T, N, J]
    frames: Tensor | None

    def pick(self, drawn: Tensor) -> "_Episodes":
        """The episodes `drawn` [runs, batch] of each run."""

        def take(x: Tensor) -> Tensor:
            return x.transpose(0, 1)[drawn].transpose(1, 2)

        frames = None if self.frames is None else take(self.frames)
        return _Episodes(take(self.observations), take(self.previous), take(self.target), take(self.part), frames)


def _predict(parameters: Parameters, observations: Tensor, previous: Tensor, frames: Tensor | None) -> Tensor:
    """The head's numbers with their padding, [runs, T, N, ·]."""
    prefix = full_history.encode(parameters, observations, previous, frames).transpose(1, 2)  # the encoder's own order
    read = prefix.flatten(1, 2)
    read = linear(parameters, "state", read) if "state.weight" in parameters else read
    hidden = torch.relu(linear(parameters, "forecast.hidden", read))
    return linear(parameters, "forecast.out", hidden).unflatten(1, prefix.shape[1:3]).transpose(1, 2)


def _loss(parameters: Parameters, shape: Shape, data: _Episodes, numbers: Numbers = "mean") -> Tensor:
    """Squared error or nats, one number for each run: the weighted mean over what is asked, or summed over outputs."""
    raw = _predict(parameters, data.observations, data.previous, data.frames)
    error = (_fused_error() if raw.is_cuda else _error)(raw, data.target, data.part, shape.symbolic)
    if numbers == "sum":
        steps, episodes = data.part.shape[-3:-1]
        return error * (1 if shape.symbolic else shape.action) / (steps * episodes)
    return error / data.part.flatten(-3).sum(-1)


def _error(raw: Tensor, target: Tensor, part: Tensor, symbolic: bool) -> Tensor:
    slots, size = target.shape[-2:]
    guess = raw[..., : slots * size].float().unflatten(-1, (slots, size))
    error = -(target * guess.log_softmax(-1)).sum(-1) if symbolic else (guess - target).square().mean(-1)
    return (error * part).flatten(1).sum(1)


@cache
def _fused_error() -> Callable[[Tensor, Tensor, Tensor, bool], Tensor]:
    """The same in one pass over the J · A numbers of every row instead of ten."""
    return torch.compile(_error)


def _eights(size: int) -> int:
    return -(-size // 8) * 8


def _pad(x: Tensor) -> Tensor:
    return F.pad(x, (0, _eights(x.shape[-1]) - x.shape[-1]))


def _keys(seeds: Sequence[int], device: torch.device) -> Tensor:
    return torch.tensor([seed & 0xFFFFFFFF for seed in seeds], device=device)


def _draw(episodes: int, keys: Tensor, step: Tensor, batch: int) -> Tensor:
    """Episodes with replacement, [runs, batch]."""
    return (uniform(keys, step, _BATCH, (batch,)) * episodes).long().clamp(max=episodes - 1)


def _inputs(data: Data, device: torch.device) -> tuple[Tensor, Tensor, Tensor | None]:
    """Observations and previous actions, padded, and frames of every step and episode."""
    seen, previous = data.observation[data.observation_index], data.previous[data.previous_index]
    frames = None if data.frames is None else data.frames[data.observation_index].to(device)
    return _pad(seen.to(device)), _pad(previous.to(device)), frames
