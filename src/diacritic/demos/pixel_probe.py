"""The single-frame probe: a small convolutional network that reads hidden variables from one image."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certify.errors import UserError
from certify.optional import import_optional
from diacritic.demos.binner import Binner
from diacritic.demos.leaks import HELD_OUT, Cell, Question, Values, coarse, most_values, status, table
from diacritic.files.demos import Demos

EPOCHS = 30
_BATCH = 64


def pixel_table(
    demos: Demos,
    binner: Binner,
    phases: Sequence[str] | None = None,
    held_out: int = HELD_OUT,
    epochs: int = EPOCHS,
    seed: int = 0,
    variables: Sequence[str] | None = None,
) -> list[Cell]:
    """First and last frame of every phase × every hidden variable (or those that are named), one network each.

    The first frame of a phase is where a frame taken one step late shows the decision before it is made.
    """
    if demos.frames is None:
        raise UserError("frames", "the recording has no images; record it with pixels")
    asked: list[Question] = []
    most = most_values(demos.episodes - held_out)
    asked_for = _chosen(demos.convention.hidden, variables)
    for phase in demos.convention.phases if phases is None else phases:
        steps = np.flatnonzero(demos.phase[:, 0] == demos.convention.phases.index(phase))
        for t in dict.fromkeys([*steps[:1].tolist(), *steps[-1:].tolist()]):
            for variable, size in asked_for.items():
                said = status(demos, binner, variable, np.array([t]), probe=False)
                said = "partial" if said == "visible" and size > most else said
                labels = coarse(demos.latents[variable], size, most)
                asked.append(Question(f"{phase}, step {t + 1}", variable, said, demos.frames[t], labels))
    return table(asked, {"cnn": partial(frame_probe, epochs=epochs, seed=seed)}, held_out, "probing frames")


def _chosen(hidden: Mapping[str, int], variables: Sequence[str] | None) -> dict[str, int]:
    for name in variables or ():
        if name not in hidden:
            raise UserError(name, f"is not a hidden variable of this recording; there are {', '.join(hidden)}")
    return {name: size for name, size in hidden.items() if not variables or name in variables}


def frame_probe(
    train: NDArray[np.uint8], labels: Values, test: NDArray[np.uint8], epochs: int = EPOCHS, seed: int = 0
) -> Values:
    """Predict labels of test frames [n, height, width, 3] by a network trained on labelled ones."""
    classes, targets = np.unique(labels, return_inverse=True)
    if (train == train[0]).all():  # one picture tells nothing
        return np.full(len(test), classes[np.bincount(targets).argmax()])
    torch = import_optional("torch", "learn")
    draw = torch.Generator().manual_seed(seed)
    images, answers = _prepared(train, train), torch.from_numpy(targets.astype(np.int64))
    network = _network(len(classes), draw)
    optimiser = torch.optim.AdamW(network.parameters(), lr=2e-3, weight_decay=1e-2)
    for _ in range(epochs):
        for batch in torch.randperm(len(images), generator=draw).split(_BATCH):
            loss = torch.nn.functional.cross_entropy(network(images[batch]), answers[batch])
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            optimiser.step()
    with torch.no_grad():
        scores = torch.cat([network(part) for part in _prepared(test, train).split(256)])
    return classes[scores.argmax(1).numpy()]


def _prepared(frames: NDArray[np.uint8], reference: NDArray[np.uint8]) -> Any:
    """Channels first, less the mean training frame, so that what never changes is zero."""
    torch = import_optional("torch", "learn")
    mean = reference.mean(0, dtype=np.float32)
    return torch.from_numpy(np.ascontiguousarray(np.moveaxis((frames - mean) / 64.0, -1, 1), np.float32))


def _network(classes: int, draw: Any) -> Any:
    torch = import_optional("torch", "learn")
    layers = torch.nn
    network = layers.Sequential(
        layers.Conv2d(3, 16, 5, stride=2, padding=2),
        layers.ReLU(),
        layers.Conv2d(16, 32, 3, stride=2, padding=1),
        layers.ReLU(),
        layers.Conv2d(32, 32, 3, stride=2, padding=1),
        layers.ReLU(),
        layers.AdaptiveAvgPool2d(8),
        layers.Flatten(),
        layers.Linear(32 * 64, classes),
    )
    with torch.no_grad():  # an own generator, so that nobody else's random numbers move
        for weight in network.parameters():
            if weight.ndim > 1:
                layers.init.kaiming_normal_(weight, nonlinearity="relu", generator=draw)
            else:
                weight.zero_()
    return network
