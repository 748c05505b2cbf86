"""Code film strips: the code over time for every latent, one colour a code, so that storing and forgetting show."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certify import Model
from certify.errors import UserError
from diacritic.files.demos import Demos
from diacritic.report.runs import Run
from diacritic.report.titles import recorded_task
from diacritic.tasks.protocol import Ints, Latents

MOST_RUNS, MOST_ROWS = 32, 16
COLOURS = 16  # of the style sheet; further codes use them again, and are distinguished by their numbers
Shown = dict[str, Any]
Codes = NDArray[np.integer[Any]]


def strip(run: Run, model: Model | None, recordings: Sequence[Demos]) -> Shown:
    """One run: a row a latent, a stretch for as long as the code stays."""
    codes, titles, source = _rows(run, model, recordings)
    need = run.requirement if len(run.requirement) == len(codes) else []
    most = max((bits or 0.0 for bits in need), default=0.0) or 1.0
    return {
        "title": run.label,
        "sufficient": run.sufficient,
        "source": source,
        "steps": len(codes),
        "need": [part | {"share": round((part.pop("value") or 0.0) / most, 3)} for part in _stretches(need)],
        "rows": [{"title": title, "parts": _coloured(column)} for title, column in zip(titles, codes.T, strict=True)],
    }


def usage(codes: Codes) -> list[float]:
    """Share of all steps and episodes that each code has."""
    counts = np.bincount(codes.ravel().astype(np.int64))
    return (counts / counts.sum()).round(4).tolist()


def _rows(run: Run, model: Model | None, recordings: Sequence[Demos]) -> tuple[Codes, list[str], str]:
    """Codes [T, rows] with the name of each row: closed loop where it was played, else the episodes learned from."""
    played = run.played() if run.recorded else None
    if played is not None:
        latents = {name.removeprefix("latent:"): played[name] for name in played if name.startswith("latent:")}
        chosen, titles = _by_latent(latents | _classes(run, latents), _class_names(run), played["codes"].shape[1])
        return played["codes"][:, chosen], titles, "closed loop"
    codes = run.codes()
    known = next((demos for demos in recordings if demos.digest == run.manifest.demos_sha256), None)
    if known is not None:
        chosen, titles = _by_latent(_latents(run, known), _class_names(run), codes.shape[1])
        return codes[:, chosen], titles, "the expert acts"
    exact = None if run.manifest.episodes.which != "all" else model
    titles = (None if exact is None else _histories(exact, codes.shape)) or _numbered(codes.shape[1])
    return codes[:, :MOST_ROWS], titles[:MOST_ROWS], "the expert acts"


def _latents(run: Run, demos: Demos) -> Latents:
    """The hidden values of the episodes that the run's codes are of."""
    chosen = run.manifest.episodes.indices
    if len(chosen) and chosen.max() >= demos.episodes:
        raise UserError(str(run.path), f"names episode {chosen.max()} of a recording of {demos.episodes}")
    return {name: values[chosen] for name, values in demos.latents.items()}


def _classes(run: Run, latents: Latents) -> dict[str, Ints]:
    """The classes on which the expert acts, where the task and its hidden values are known."""
    task = recorded_task(run.manifest.task, run.manifest.parameters)
    return task.choices(latents) if task is not None and task.latents.keys() <= latents.keys() else {}


def _class_names(run: Run) -> list[str]:
    """The classes on which the expert acts, where the task is known."""
    task = recorded_task(run.manifest.task, run.manifest.parameters)
    return [] if task is None else list(task.levels)


def _by_latent(
    latents: Mapping[str, NDArray[Any]], classes: Sequence[str], episodes: int
) -> tuple[list[int], list[str]]:
    """The first episode of every combination of the classes that decide, or of the first hidden value."""
    names = [name for name in classes if name in latents] or list(latents)[:1]
    if not names:
        chosen = list(range(min(episodes, MOST_ROWS)))
        return chosen, _numbered(len(chosen))
    values = np.stack([latents[name] for name in names], 1)
    kinds, first = np.unique(values, axis=0, return_index=True)
    titles = [", ".join(f"{name} {value}" for name, value in zip(names, kind, strict=True)) for kind in kinds.tolist()]
    return first.tolist()[:MOST_ROWS], titles[:MOST_ROWS]


def _histories(model: Model, shape: tuple[int, ...]) -> list[str] | None:
    """What each episode shows that others do not, where the order of the episodes is certain.

    Exact episodes are in the order of the graph, drawn ones sorted; names are given where both orders are one.
    """
    graph = model.graph
    if (model.horizon, graph.levels[-1].size) != tuple(shape):
        return None
    words = [graph.history(model.horizon - 1, node) for node in range(shape[1])]
    seen = [[node[t] for t in range(0, len(node), 2)] for node in words]
    order = {name: k for k, name in enumerate(graph.observations[k] for k in range(len(graph.observations)))}
    numbers = [[order[name] for name in row] for row in seen]
    if numbers != sorted(numbers) or len({tuple(row) for row in numbers}) < len(numbers):
        return None
    telling = [t for t in range(model.horizon) if len({row[t] for row in seen}) > 1]
    return [" · ".join(dict.fromkeys(row[t] for t in telling[:4])) or "the only episode" for row in seen]


def _numbered(count: int) -> list[str]:
    return [f"episode {k + 1}" for k in range(count)]


def _coloured(codes: Codes) -> list[Shown]:
    return [part | {"colour": part["value"] % COLOURS} for part in _stretches(codes.tolist())]


def _stretches(values: Sequence[Any]) -> list[Shown]:
    """Where a value stays: its first step (from 0), its length and the value."""
    found, at = [], 0
    for value, same in groupby(values):
        length = len(list(same))
        found.append({"at": at, "length": length, "value": value})
        at += length
    return found
