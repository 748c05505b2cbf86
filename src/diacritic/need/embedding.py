"""Numbers from frames: a small network trained on the dataset itself, or what a user gives."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certify.errors import UserError
from certify.optional import import_optional
from certify.progress import track
from diacritic.demos.episodes import as_columns
from diacritic.files.demos import Demos

FOLDS, EPOCHS, BATCH, RATE = 2, 12, 128, 2e-3
UPDATES = 500  # at least, of each network: two that learned too little read the two halves differently
LATER = 6  # principal components of an episode's actions that a frame is asked to predict
MOST_FRAMES = 40_000  # in training, drawn evenly
Floats = NDArray[np.float32]
Embedding = NDArray[Any] | Callable[[NDArray[np.uint8]], Any]


def with_embedding(demos: Demos, embedding: Embedding | None, seed: int = 0) -> Demos:
    """The recording with what its frames show as further columns: given, or learned where nothing is given.

    `embedding` is an array [T, N, e], or a function from frames [n, height, width, 3] to [n, e].
    """
    if callable(embedding):
        if demos.frames is None:
            raise UserError("--embedding", f"{demos.task} has no frames; name a camera with --camera")
        values = embedding(demos.frames.reshape(-1, *demos.frames.shape[2:]))
        columns = as_columns(values, "--embedding")
    elif embedding is not None:
        given = np.asarray(embedding)
        if given.ndim != 3 or given.shape[:2] != demos.observations.shape[:2]:
            expected = f"[{demos.steps}, {demos.episodes}, e]"
            raise UserError("--embedding", f"expected axes {expected}, not {given.shape}")
        columns = as_columns(given.reshape(-1, given.shape[2]), "--embedding")
    else:
        columns = learned_columns(demos, seed)
    if len(columns) != demos.steps * demos.episodes:
        raise UserError("--embedding", f"gives {len(columns)} rows for {demos.steps * demos.episodes} frames")
    shaped = columns.reshape(demos.steps, demos.episodes, -1).astype(np.float32)
    return replace(demos, observations=np.concatenate([demos.observations, shaped], 2))


def targets(demos: Demos) -> Floats:
    """What a frame is asked for, [T, N, …]: its action, and the main components of all actions of its episode."""
    actions = demos.actions.reshape(*demos.actions.shape[:2], -1).astype(np.float64)
    actions = (actions - actions.mean((0, 1))) / (actions.std((0, 1)) + 1e-9)
    whole = actions.transpose(1, 0, 2).reshape(demos.episodes, -1)
    left, values, _ = np.linalg.svd(whole - whole.mean(0), full_matrices=False)
    parts = (left * values)[:, :LATER]
    parts = parts / (parts.std(0) + 1e-9)
    return np.concatenate([actions, np.broadcast_to(parts, (demos.steps, *parts.shape))], 2).astype(np.float32)


def learned_columns(demos: Demos, seed: int) -> Floats:
    """[T·N, …]: predictions for each half of the episodes by a network that learned from the other half.

    No episode is embedded by a network that has seen it: one that had could tell episodes apart by heart.
    """
    torch: Any = import_optional("torch", "learn")
    if demos.frames is None:
        raise UserError("--embedding", f"{demos.task} has no frames; name a camera with --camera")
    wanted, rng = targets(demos), np.random.default_rng(seed)
    frames = demos.frames.reshape(-1, *demos.frames.shape[2:])
    goals, results = wanted.reshape(len(frames), -1), np.zeros((len(frames), wanted.shape[2]), np.float32)
    half = np.tile(rng.permutation(demos.episodes) % FOLDS, demos.steps)
    halves = [rng.permutation(np.flatnonzero(half != fold))[:MOST_FRAMES] for fold in range(FOLDS)]
    rounds = [max(EPOCHS, -(-UPDATES // -(-len(train) // BATCH))) for train in halves]
    epochs = iter(track(range(sum(rounds)), "learning to read frames"))
    for fold, (train, count) in enumerate(zip(halves, rounds, strict=True)):
        network = _trained(torch, frames, goals, train, islice(epochs, count), seed + fold)
        test = np.flatnonzero(half == fold)
        results[test] = _applied(torch, network, frames, test)
    next(epochs, None)
    return results


def _trained(
    torch: Any, frames: NDArray[np.uint8], goals: Floats, chosen: NDArray[np.int64], epochs: Iterable[int], seed: int
) -> Any:
    from torch import nn

    same = torch.backends.cudnn.flags(benchmark=False, deterministic=True)  # equal seeds give equal networks
    with torch.random.fork_rng(devices=[]), same:
        torch.manual_seed(seed)
        network = nn.Sequential(
            *(nn.Conv2d(3, 16, 5, 2, 2), nn.ReLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.ReLU()),
            *(nn.Conv2d(32, 32, 3, 2, 1), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten()),
            *(nn.Linear(512, 64), nn.ReLU(), nn.Linear(64, goals.shape[1])),
        ).to(_device(torch))
        optimiser = torch.optim.AdamW(network.parameters(), RATE, weight_decay=1e-2)
        for _ in epochs:
            for part in torch.randperm(len(chosen)).split(BATCH):
                rows = chosen[part.numpy()]
                wanted = torch.from_numpy(goals[rows]).to(_device(torch))
                loss = ((network(_pixels(torch, frames[rows])) - wanted) ** 2).mean()
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
    return network.eval()


def _applied(torch: Any, network: Any, frames: NDArray[np.uint8], rows: NDArray[np.int64]) -> Floats:
    with torch.no_grad():
        parts = [network(_pixels(torch, frames[rows[k : k + 1024]])).cpu().numpy() for k in range(0, len(rows), 1024)]
    return np.concatenate(parts)


def _pixels(torch: Any, frames: NDArray[np.uint8]) -> Any:
    whole = torch.from_numpy(np.ascontiguousarray(frames.transpose(0, 3, 1, 2))).to(_device(torch))
    return whole.float() / 255 - 0.5


def _device(torch: Any) -> str:
    return "cuda" if torch.cuda.is_available() else "cpu"
