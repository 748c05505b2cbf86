"""A certify model as training data: unique episodes with weights, exact or counted from drawn demonstrations."""

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray

from certify import Model
from certify.core.graph import Graph
from certify.core.merged import unfold
from certify.errors import UserError
from diacritic.memory.shape import Shape
from diacritic.tasks.shown import shown
from diacritic.training.data import Data, check

LISTED = 4096
"""Merged histories are listed one by one up to so many."""
Labeller = Callable[[list[str]], str]
"""What a hidden value was, from the observations of a whole episode."""


def from_model(model: Model, demonstrations: int | None = None, seed: int = 0, label: Labeller | None = None) -> Data:
    """Every episode of the model with its probability and the expert's exact law, or counts of drawn demonstrations.

    Drawn demonstrations show drawn actions; equal ones are merged, and their counts become weights.
    """
    exact = demonstrations is None
    observation, action, law, weight = _episodes(model) if exact else _draw(model, demonstrations, seed)
    N, T = observation.shape
    seen, A = len(model.graph.observations), len(model.graph.actions)
    eye = torch.eye(A, dtype=torch.float64)
    target = eye[torch.from_numpy(action.T.copy())] if law is None else torch.from_numpy(law[1][law[0].T])
    previous = np.concatenate([np.zeros((N, 1), np.int64), action[:, :-1] + 1], 1)
    values, labels = _labels(model, observation, label)
    vectors = torch.from_numpy(shown(model))
    data = Data(
        Shape(vectors.shape[1], A, True, symbols=seen, classes=A, horizon=T, labels=values),
        vectors,
        torch.from_numpy(observation.T.copy()),
        torch.cat([torch.zeros(1, A, dtype=torch.float64), eye]),
        torch.from_numpy(previous.T.copy()),
        torch.from_numpy(weight / weight.sum()),
        target,
        symbol=torch.from_numpy(observation.T.copy()),
        classes=target.argmax(-1),
        label=labels,
    )
    check(data)
    return data


def _episodes(model: Model) -> tuple[NDArray[np.int64], NDArray[np.int64], tuple[NDArray, NDArray] | None, NDArray]:
    """Episodes of the history graph, each with the law P(A_t | H_t) that a history knows."""
    graph = model.graph
    if merged(graph) and sum(map(int, graph.levels[-1].paths)) <= LISTED:
        graph = unfold(graph)
    paths = _paths(graph)
    last = graph.levels[-1]
    observation = np.stack([level.observation[paths[:, t]] for t, level in enumerate(graph.levels)], 1)
    law = np.stack([level.law[paths[:, t]] for t, level in enumerate(graph.levels)], 1)
    action = np.zeros_like(observation)
    for t, level in enumerate(graph.levels[1:]):
        action[:, t] = level.arrival[paths[:, t + 1]]
    action[:, -1] = [graph.laws[number][0][0] for number in law[:, -1]]
    weight = np.array([float(m) for m in last.mass], np.float64)[paths[:, -1]]
    return observation, action, (law, _law_table(graph)), weight


def merged(graph: Graph) -> bool:
    """Whether some node stands for more than one history."""
    return any(int(paths) != 1 for level in graph.levels for paths in level.paths)


def _paths(graph: Graph) -> NDArray[np.int64]:
    """The node of every level on the way to each last history; histories form a tree, so parents tell it."""
    if merged(graph):
        raise UserError("model", "its histories are merged, so they cannot all be listed; draw demonstrations instead")
    node = np.arange(graph.levels[-1].size)
    path = [node]
    for level in graph.levels[:0:-1]:
        node = level.parent[node]
        path.append(node)
    return np.stack(path[::-1], 1)


def _draw(model: Model, count: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64], None, NDArray]:
    """Demonstrations walked through the history graph; equal ones once, with their counts."""
    generator = np.random.Generator(np.random.Philox(key=[seed, 0x6465]))
    graph = model.graph
    first = graph.levels[0]
    masses = np.array([float(m) for m in first.mass])
    node = generator.choice(first.size, count, p=masses / masses.sum())
    observation, action = [first.observation[node]], []
    for t, level in enumerate(graph.levels[:-1]):
        bounds = np.searchsorted(level.source, np.arange(level.size + 1))
        flow = np.concatenate([[0.0], np.cumsum([float(f) for f in level.flow])])
        low, high = flow[bounds[node]], flow[bounds[node + 1]]
        edge = np.searchsorted(flow, low + generator.random(count) * (high - low), side="right") - 1
        edge = np.clip(edge, bounds[node], bounds[node + 1] - 1)
        action.append(level.action[edge])
        node = level.child[edge]
        observation.append(graph.levels[t + 1].observation[node])
    chance = np.cumsum(_law_table(graph)[graph.levels[-1].law[node]], 1)
    action.append((generator.random((count, 1)) * chance[:, -1:] > chance).sum(1))
    joined = np.stack([*observation, *action], 1)
    unique, counts = np.unique(joined, axis=0, return_counts=True)
    T = graph.horizon
    return unique[:, :T].copy(), unique[:, T:].copy(), None, counts.astype(np.float64)


def _law_table(graph: Graph) -> NDArray[np.float64]:
    """P(action) under every law of the expert."""
    table = np.zeros((len(graph.laws), len(graph.actions)))
    for row, entries in zip(table, graph.laws, strict=True):
        for a, p in entries:
            row[a] = float(p)
    return table


def _labels(model: Model, observation: NDArray, label: Labeller | None) -> tuple[int, torch.Tensor | None]:
    """How many hidden values there are, and the number of every episode's."""
    if label is None:
        return 0, None
    names = model.graph.observations
    values, number = np.unique([label([names[o] for o in row]) for row in observation], return_inverse=True)
    return len(values), torch.from_numpy(number)
