"""Short labels that show what differs: equal fields are dropped, repeats collapsed, long texts numbered in a legend."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import groupby
from typing import TypeVar

from certify.core.graph import Graph

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)
LONGEST = 28  # characters; a longer observation becomes obs#12
MOST_COMPARED = 400  # histories of a step among which differences are looked for


def differing(texts: Sequence[str]) -> list[str]:
    """Of each text the fields (words) that are not the same in all.

    Whole texts where their fields do not line up, or where bare numbers would be left.
    """
    fields = [text.split() for text in texts]
    if len({len(words) for words in fields}) != 1 or len(set(texts)) < 2:
        return list(texts)
    kept = [k for k, words in enumerate(zip(*fields, strict=True)) if len(set(words)) > 1]
    short = [" ".join(words[k] for k in kept) for words in fields]
    return short if all(any(letter.isalpha() for letter in text) for text in short) else list(texts)


def stretches(values: Iterable[T]) -> list[tuple[int, int, T]]:
    """Where a value stays: its first place (from 0), its length, and the value."""
    runs, at = [], 0
    for value, same in groupby(values):
        length = sum(1 for _ in same)
        runs.append((at, length, value))
        at += length
    return runs


def grouped(items: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """Items of one key together, in order."""
    groups: dict[K, list[T]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


class Labels:
    """Labels of the observations of a graph, step by step; `legend` explains the numbered ones."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.legend: dict[str, str] = {}
        self._numbers: dict[str, str] = {}
        self._at = [self._of_step(sorted(set(level.observation.tolist()))) for level in graph.levels]

    def _of_step(self, seen: Sequence[int]) -> dict[int, str]:
        texts = [self.graph.observations[k] for k in seen]
        short = differing(texts)
        if len(texts) == 1 and len(texts[0]) > LONGEST and len(words := texts[0].split()) <= 8:
            short = words[:1]  # the same for everybody: its first field names the step
        return {k: self._numbered(text, whole) for k, text, whole in zip(seen, short, texts, strict=True)}

    def _numbered(self, text: str, whole: str) -> str:
        if len(text) <= LONGEST:
            return text
        name = self._numbers.setdefault(whole, f"obs#{len(self._numbers) + 1}")
        self.legend[name] = whole
        return name

    def seen(self, t: int, observation: int) -> str:
        """An observation at step t (from 0)."""
        return self._at[t][observation]

    def path(self, t: int, node: int) -> list[int]:
        """The observations of one history that leads to a node."""
        path = []
        for step in range(t, -1, -1):
            level = self.graph.levels[step]
            path.append(int(level.observation[node]))
            node = int(level.parent[node])
        return path[::-1]

    def histories(self, t: int, nodes: Sequence[int], among: Sequence[int]) -> list[str]:
        """Histories by what they showed where some `among` others differ: ``2: cue1=0 · 3: cue2=1``."""
        others = [self.path(t, node) for node in among[:MOST_COMPARED]]
        steps = [s for s in range(t + 1) if len({path[s] for path in others}) > 1]
        return [self._told(self.path(t, node), steps) for node in nodes]

    def _told(self, path: Sequence[int], steps: Sequence[int]) -> str:
        parts = []
        alike = [
            (step - k, self.seen(step, path[step])) for k, step in enumerate(steps)
        ]  # neighbours that show the same
        for at, length, _ in stretches(alike):
            inside = steps[at : at + length]
            first, last = inside[0] + 1, inside[-1] + 1
            where = f"{first}" if first == last else f"{first}–{last}"
            parts.append(f"{where}: {self.seen(inside[0], path[inside[0]])}")
        if len(parts) > 8:
            parts = [*parts[:4], "…", *parts[-3:]]
        return " · ".join(parts) or "the only history"
