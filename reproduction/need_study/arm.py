"""The arm's tasks in the study: recordings kept small, their certified bits, and what `need` says of them."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse.csgraph import connected_components

from certify.errors import UserError
from certify.progress import track
from diacritic.demos.readers import from_arrays
from diacritic.demos.record import record
from diacritic.demos.requirement import certify_recording, recording
from diacritic.files.arrays import read_npz
from diacritic.files.atomic import make_folder, open_atomic
from diacritic.files.demos import REMEDY, Demos, metadata, read_metadata
from diacritic.need.answer import Need
from diacritic.need.classes import GAP, entropy, information, majority, one_hot
from diacritic.need.cues import combined
from diacritic.need.ridge import EMPTY, Floats, Ints
from diacritic.tasks.protocol import Simulation, policy_view
from diacritic.tasks.registry import make, task_of

RECORDED = 256  # episodes of a recording; its quarters are datasets of their own
UNIT = 1e-4  # metres, to which numbers are rounded: a twentieth of the noise
DEVELOPED, JUDGED, JUDGED_FRAMES = (0, 1), (2, 3), (2, 3, 4, 5)  # seeds: settings were chosen on the first two alone
FILMED = "two-cues frames"  # poses are seen in camera frames alone
FAMILIES = (
    *(f"two-cues gap={gap}" for gap in (6, 10, 20, 60)),
    "two-cues classes=4",
    *(f"full-reveal modes={modes}" for modes in (4, 8, 16, 32, 64, 128, 256, 512)),
    *(f"readout-{bits} modes={modes}" for bits in (2, 3) for modes in (8, 32, 128)),
    *(f"hidden-mass modes={modes}" for modes in (4, 8, 16, 32)),
    *(f"weighing gap={gap}" for gap in (6, 20)),
    FILMED,
)


def seeds_of(family: str) -> tuple[int, ...]:
    """Recordings of a family."""
    return (*DEVELOPED, *(JUDGED_FRAMES if family == FILMED else JUDGED))


def path_of(folder: Path, family: str, seed: int) -> Path:
    return folder / f"{family.replace(' ', '_')}_{seed}.npz"


def record_arm(folder: Path) -> None:
    """Record what the folder lacks; needs the simulator, and OpenGL for frames."""
    make_folder(folder)
    every = [(family, seed) for family in FAMILIES for seed in seeds_of(family)]
    for family, seed in track([each for each in every if not path_of(folder, *each).exists()], "recording the arm"):
        name, _, text = family.partition(" ")
        key, _, value = text.partition("=")
        task = make(name, **({key: int(value)} if value else {}))
        demos, _ = record(task, RECORDED, seed, simulation=Simulation(frames=family == FILMED))
        keep(demos, path_of(folder, family, seed))


def keep(demos: Demos, path: Path) -> None:
    """Write a recording in whole units of UNIT, channel by channel."""
    whole = {name: np.round(getattr(demos, name) / UNIT).astype(np.int16) for name in ("observations", "actions")}
    arrays = demos.arrays | {name: np.moveaxis(values, 2, 0) for name, values in whole.items()}
    with open_atomic(path) as file:
        np.savez_compressed(file, allow_pickle=False, metadata=json.dumps(metadata(demos)), **arrays)


def kept(folder: Path, family: str, seed: int, episodes: int) -> Demos:
    """A recording of the folder; of 64 episodes, a random quarter: seed 4 r + k is quarter k of recording r."""
    parts = RECORDED // episodes
    path = path_of(folder, family, seed // parts)
    if not path.exists():
        raise UserError(str(path), "is missing; record it with `python -m reproduction need --arm FOLDER`")
    arrays: dict[str, Any] = dict(read_npz(path, REMEDY))
    meta = read_metadata(json.loads(str(arrays.pop("metadata"))), str(path), REMEDY)
    for name in ("observations", "actions"):
        arrays[name] = np.moveaxis(arrays[name] * np.float32(UNIT), 0, 2)
    latents = {name.removeprefix("latent:"): arrays.pop(name) for name in list(arrays) if name.startswith("latent:")}
    order = np.random.default_rng(seed // parts).permutation(RECORDED)
    return Demos(**meta, **arrays, latents=latents).take(np.sort(order[seed % parts :: parts]))


def visible(demos: Demos) -> Demos:
    """What `need` is given: everything, or frames and what the camera lacks, read by a network of their own."""
    if demos.frames is None:
        return demos
    from diacritic.need.embedding import with_embedding

    seen = policy_view(task_of(demos), demos.observations, demos.frames)
    return with_embedding(from_arrays(seen, demos.actions, frames=demos.frames, task=demos.task), None)


def told_apart(observations: Floats, labels: Ints) -> Ints:
    """Class → block of one frame, [N, d]: classes nearer than GAP deviations are merged, pair by pair."""
    hot = one_hot(labels)
    size = hot.sum(0)
    varying = observations[:, observations.std(0) > EMPTY].astype(np.float64)
    means = (hot.T @ varying) / size[:, None]
    rest = varying - hot @ means
    noise = rest.T @ rest / (len(rest) - len(size))
    between = means[:, None] - means[None]
    squares = np.einsum("abi,ij,abj->ab", between, np.linalg.inv(noise), between)
    squares -= varying.shape[1] * (1 / size[:, None] + 1 / size[None])  # what equal means give on average
    return connected_components(squares < GAP**2, directed=False)[1]


def as_shown(demos: Demos, whole: Demos) -> Demos:
    """The recording with symbols that say which masses its frames distinguish.

    The task's own rule counts a load as hidden unless all masses sag apart; where the arm puts it down, the frames
    still tell the lightest from the others.
    """
    if not any(factor.separation for factor in demos.convention.factors):
        return demos
    sag, names = demos.latents["sag"].astype(np.int64), list(demos.symbol_names)
    symbols = demos.symbols.copy()
    for t, row in enumerate(whole.symbols):
        if len(np.unique(row)) == 1:
            blocks = told_apart(whole.observations[t], whole.latents["sag"].astype(np.int64))
            if blocks.max():
                symbols[t] = len(names) + blocks[sag]
                names += [f"{names[row[0]]} load {block}" for block in range(blocks.max() + 1)]
    return replace(demos, symbols=symbols, symbol_names=tuple(names))


def compared_with_certificate(demos: Demos, whole: Demos, answer: Need, close: float) -> dict[str, Any]:
    """Bits, cue frames and classes beside what the recording's own symbols certify.

    Where most trajectories of a quarter are unique, its certificate is an artefact, and that of the whole is taken.
    """
    demos, whole = as_shown(demos, whole), as_shown(whole, whole)
    certified = certify_recording(whole if recording(demos).artefact else demos)
    truth = np.array([step.upper for step in certified.steps])[answer.data.index[:, 0]]
    error = float(np.abs(truth - np.array(answer.bits)).max())
    showing = [
        t for t, raw in enumerate(answer.data.index[:, 0]) if demos.symbols[raw].min() < demos.symbols[raw].max()
    ]
    last_seen = np.flatnonzero(np.diff(truth) > close)  # a cue is hidden from the next step on
    said = {t for d in answer.remembered for cue in d.cues for t in range(len(truth)) if cue.names(t).max() > 0}
    first = min((d.steps[0] for d in answer.remembered), default=0)
    near = all(any(abs(t - u) <= 1 for u in said) for t in last_seen)
    near &= all(any(abs(t - u) <= 1 for u in showing) for t in said if t < first)
    shares = [1.0]
    for t in np.flatnonzero(truth > close):
        raw = answer.data.index[t, 0]
        choices = np.unique(demos.choices[raw], return_inverse=True)[1].ravel()
        if information(choices, symbols := demos.symbols[raw].astype(np.int64)) < entropy(choices) - close:
            labels = [d.labels for d in answer.remembered if {t - 1, t, t + 1} & set(d.steps)]
            shares.append(float((majority(choices, combined([symbols, *labels], len(choices))) == choices).mean()))
    return {
        "bits_error": round(error, 4),
        "bits_right": error <= close,
        "most_bits": round(float(truth.max()), 4),
        "frames_right": near,
        "classes_right": round(float(min(shares)), 4),
    }
