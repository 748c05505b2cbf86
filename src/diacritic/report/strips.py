"""Code strips: the code over time for every hidden case, coloured by what it stands for."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from certify import Model
from certify.errors import UserError
from diacritic.files.demos import Demos
from diacritic.report.labels import stretches
from diacritic.report.meanings import MOST_EPISODES, NOTHING, Ints, Look, Meanings, looks
from diacritic.report.runs import Run
from diacritic.tasks.protocol import Latents, Task

MOST_RUNS, MOST_ROWS = 32, 16
Shown = dict[str, Any]


class Coded(NamedTuple):
    """Codes of a run, and what its episodes showed and asked for, all [T, N]; no symbols where they are not known."""

    codes: Ints
    source: str
    seen: Ints | None = None
    acted: Ints | None = None
    actions: Sequence[str] = ()
    names: Sequence[str] | None = None  # of the episodes


def strip(run: Run, model: Model | None, recordings: Sequence[Demos], meanings: Meanings) -> Shown:
    """One run: a row for each hidden case, a stretch for as long as the code stays."""
    coded = coded_episodes(run, model, recordings)
    codes = coded.codes
    if coded.seen is None or coded.acted is None or codes.shape[1] > MOST_EPISODES:
        drawn: list[dict[int, Look]] = [{} for _ in codes]
        chosen, titles = list(range(min(codes.shape[1], MOST_ROWS))), None
    else:
        classes = meanings.of_episodes(coded.seen, coded.acted, coded.actions)
        drawn = looks(codes, classes, coded.seen)
        chosen, titles = _cases(codes, classes, meanings)
    names = titles or [coded.names[n] if coded.names else f"episode {n + 1}" for n in chosen]
    told = [coded.names[n] if coded.names else "" for n in chosen]
    return {
        "source": coded.source,
        "rows": [
            {"title": name, "told": more, "parts": _parts(codes[:, n], drawn)}
            for n, name, more in zip(chosen, names, told, strict=True)
        ],
    }


def coded_episodes(run: Run, model: Model | None, recordings: Sequence[Demos]) -> Coded:
    """Closed-loop episodes where they were played, else the episodes that the run's codes are of."""
    task = run.simulated
    played = run.played() if run.recorded else None
    if played is not None:
        latents = {name.removeprefix("latent:"): played[name] for name in played if name.startswith("latent:")}
        return _designed(played["codes"], "closed loop", task, latents)
    codes, learned = run.codes(), run.manifest.demos_sha256
    demos = next((demos for demos in recordings if demos.digest == learned), None)
    if demos is not None:
        chosen = run.manifest.episodes.indices
        if len(chosen) and chosen.max() >= demos.episodes:
            raise UserError(str(run.path), f"names episode {chosen.max()} of a recording of {demos.episodes}")
        if demos.symbols.size and demos.choices.size:
            arrays = demos.symbols[:, chosen], demos.choices[:, chosen]
            return Coded(codes, "the expert acts", *arrays, demos.choice_names)
        return _designed(codes, "the expert acts", task, {name: demos.latents[name][chosen] for name in demos.latents})
    exact = model if run.manifest.episodes.which == "all" else None
    return _exact(codes, exact)


def _designed(codes: Ints, source: str, task: Task | None, latents: Latents) -> Coded:
    """What the task is designed to show and to ask for, by the hidden values of the episodes."""
    if task is None or not task.latents.keys() <= latents.keys() or task.horizon != len(codes):
        return Coded(codes, source, names=_named(latents, codes.shape[1]))
    acted, actions = task.symbolic_actions(latents)
    return Coded(codes, source, task.symbolic_observations(latents)[0], acted, actions)


def _named(latents: Latents, episodes: int) -> list[str] | None:
    if not latents:
        return None
    return [", ".join(f"{name} {values[n]}" for name, values in latents.items()) for n in range(episodes)]


def _exact(codes: Ints, model: Model | None) -> Coded:
    """Episodes of a model, where their order is certain.

    Exact episodes are in the order of the graph, drawn ones sorted; they are known where both orders are one.
    """
    source = "the expert acts"
    if model is None or (model.horizon, model.graph.levels[-1].size) != codes.shape or codes.shape[1] > MOST_EPISODES:
        return Coded(codes, source)
    graph = model.graph
    seen, acted = np.zeros(codes.shape, np.int64), np.zeros(codes.shape, np.int64)
    node = np.arange(codes.shape[1])
    acted[-1] = [graph.laws[law][0][0] for law in graph.levels[-1].law]
    for t in range(model.horizon - 1, -1, -1):
        level = graph.levels[t]
        seen[t] = level.observation[node]
        if t:
            acted[t - 1] = level.arrival[node]
        node = level.parent[node]
    rows: list[list[int]] = [column.tolist() for column in seen.T]
    if rows != sorted(rows) or len({tuple(row) for row in rows}) < len(rows):
        return Coded(codes, source)
    varied = [t for t in range(len(seen)) if len(np.unique(seen[t])) > 1]
    names = [
        " · ".join(dict.fromkeys(graph.observations[row[t]] for t in varied[:4])) or "the only episode" for row in rows
    ]
    return Coded(codes, source, seen, acted, [graph.actions[k] for k in range(len(graph.actions))], names)


def _cases(codes: Ints, classes: Ints, meanings: Meanings) -> tuple[list[int], list[str]]:
    """An episode for every different course of classes and codes, by name of the classes it passes through."""
    names = meanings.names
    both = np.concatenate([classes, codes.astype(np.int64)])
    _, first = np.unique(both, axis=1, return_index=True)
    order = sorted(first.tolist(), key=lambda n: (classes[:, n].tolist(), n))
    titles: list[str] = []
    for n in order:
        passed = dict.fromkeys(number for number in classes[:, n].tolist() if number != NOTHING)
        longest = max(
            (names[number] for number in passed), key=lambda name: name.count(","), default="nothing required"
        )
        titles.append(longest)
    numbered = [f"{t} · {titles[:k].count(t) + 1}" if titles.count(t) > 1 else t for k, t in enumerate(titles)]
    if len(order) <= MOST_ROWS:
        return order, numbered
    unlike = [k for k, title in enumerate(titles) if title not in titles[:k]]
    chosen = sorted([*unlike, *(k for k in range(len(order)) if k not in unlike)][:MOST_ROWS])
    return [order[k] for k in chosen], [numbered[k] for k in chosen]


def _parts(codes: Ints, drawn: Sequence[dict[int, Look]]) -> list[Any]:
    """Stretches [first step, length, code, class, 1 for a second code]."""
    cells = [(code, *look.get(code, Look(NOTHING))) for code, look in zip(codes.tolist(), drawn, strict=True)]
    return [[at, length, code, number, int(second)] for at, length, (code, number, second) in stretches(cells)]
