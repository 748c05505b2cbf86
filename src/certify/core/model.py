"""The finite symbolic model: an expert and what it can observe, as a layered history graph with exact weights."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, SupportsIndex, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike

from certify.core import graph_format
from certify.core.array_format import load_arrays
from certify.core.enumerated import enumerate_latents
from certify.core.exact import Ints, as_masses, pair, rank
from certify.core.graph import Episodes, Graph, Laws, Names, build
from certify.core.merged import generate
from certify.core.on_disk import Engine, merge_on_disk
from certify.core.reading import (
    FORMAT,
    Rational,
    load_document,
    parse_document,
    rational,
    read_episodes,
    read_name,
    text,
)
from certify.errors import UserError

L = TypeVar("L")
S = TypeVar("S", bound=Hashable)
_MOST_EPISODES = 2_000_000  # that are enumerated
_MOST_NODES = 1_000_000  # of one step of a merged graph
_TREE = 1_000_000  # entries of arrays that are never put on disk


@dataclass(frozen=True)
class Dynamics:
    """The world behind a model: what it shows, and what the expert would do, after any actions whatever."""

    latents: tuple[tuple[Any, Fraction], ...]  # hidden values with their weights
    step: Callable[[Any, tuple[str, ...]], tuple[str, Mapping[str, Rational] | str]]  # as `from_latents` takes it
    owner: tuple[int, ...]  # of each episode enumerated, the place of its latent


@dataclass(frozen=True)
class Model:
    """Weighted episodes of observations and expert action laws, or a merged graph that stands for them.

    Build one with `from_episodes`, `from_arrays`, `from_latents`, `from_generative`, or read one with `load`.
    """

    graph: Graph
    episodes: Episodes | None = None
    name: str = ""
    dynamics: Dynamics | None = field(default=None, compare=False, repr=False)  # only `from_latents` knows them

    @property
    def horizon(self) -> int:
        return self.graph.horizon

    @cached_property
    def observation_index(self) -> dict[str, int]:
        """The number of each observation, for policies that take a number or a one-hot vector."""
        return {self.graph.observations[k]: k for k in range(len(self.graph.observations))}

    @staticmethod
    def from_episodes(document: Mapping[str, Any] | Sequence[Mapping[str, Any]], name: str = "") -> Model:
        """From the JSON format `certify-model/1` as plain Python values, or from its list of episodes alone."""
        if isinstance(document, list | tuple):
            steps = document[0].get("steps") if document and isinstance(document[0], Mapping) else None
            document = {"horizon": max(1, len(steps)) if isinstance(steps, list) else 1, "episodes": list(document)}
        document = cast(Mapping[str, Any], document)  # whatever it is, the reader says what is wrong with it
        episodes = read_episodes(document)
        return Model(build(episodes), episodes, name or str(document.get("name", "")))

    @staticmethod
    def from_json(text: str | bytes) -> Model:
        """From the text of a `certify-model/1` or `certify-graph/1` document."""
        return _from_document(parse_document(text))

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Model:
        """From a file: JSON, or npz arrays as `from_arrays` takes them."""
        path = Path(path)
        if path.suffix == ".npz":
            return Model.from_arrays(**load_arrays(path))
        return _from_document(load_document(path))

    @staticmethod
    def from_arrays(
        observations: ArrayLike,
        actions: ArrayLike,
        weights: ArrayLike | None = None,
        laws: ArrayLike | None = None,
        law_table: ArrayLike | None = None,
        *,
        observation_names: Sequence[str] | None = None,
        action_names: Sequence[str] | None = None,
        empirical: bool = False,
        name: str = "",
        folder: str | os.PathLike[str] | None = None,
        engine: Engine | None = None,
    ) -> Model:
        """From integer arrays, one row an episode, one column a step.

        `weights` are integer counts (all 1 if absent) and stand for weight/total. `laws` holds an index into
        `law_table` for each step, whose rows are integer weights over actions; without them the expert is
        deterministic and its law is the action it drew.

        With a `folder` or an `engine` ("local", "ray") the histories lie on disk, in a temporary folder inside of it,
        and those with equal futures become one node of a merged graph: 10⁷ histories of ten steps in a few gigabytes.
        """
        large = (folder is not None or engine is not None) and np.size(observations) > _TREE
        obs, act = _matrix("observations", observations, large), _matrix("actions", actions, large)
        if obs.shape != act.shape:
            raise UserError("actions", f"shape {act.shape}, but observations have shape {obs.shape}")
        weight = np.ones(len(obs), np.int64) if weights is None else _integers("weights", weights, 1)
        if len(weight) != len(obs):
            raise UserError("weights", f"{len(weight)} weights for {len(obs)} episodes")
        kept = np.flatnonzero(weight != 0)
        if not len(kept):
            raise UserError("weights", "every weight is zero")
        width = max(int(act.max()) + 1, len(action_names or ()))
        table, law = Laws(), act
        if laws is None:
            for action in range(width):
                table.intern({action: Fraction(1)})
        else:
            law, width = _read_laws(table, laws, law_table, act, width)
        if len(kept) < len(obs):
            obs, act, law, weight = obs[kept], act[kept], law[kept], weight[kept]
        mass = (
            weight if weight.dtype != object and float(weight.sum(dtype=float)) < 2**61 else as_masses(map(int, weight))
        )
        episodes = Episodes(
            obs,
            act,
            law,
            mass,
            _names("observation_names", observation_names, int(obs.max()) + 1, "o"),
            _names("action_names", action_names, width, "a"),
            table,
            kept,
            bool(empirical),
        )
        if large:
            return Model(merge_on_disk(episodes, folder, engine or "local"), None, text(str(name), "name"))
        return Model(build(episodes), episodes, text(str(name), "name"))

    @staticmethod
    def from_latents(
        horizon: int,
        latents: Mapping[L, Rational] | Iterable[tuple[L, Rational]],
        step: Callable[[L, tuple[str, ...]], tuple[str, Mapping[str, Rational] | str]],
        name: str = "",
        most: int = _MOST_EPISODES,
    ) -> Model:
        """From a callable: `step(latent, actions so far)` gives the observation and the expert's law.

        Every latent is enumerated, and every action that a law allows is followed with its exact probability. The
        callable stays with the model as its `dynamics`, so that policies other than the expert can be played in it.
        More than `most` episodes are refused, and at once where a few random ones show it.
        """
        if horizon < 1:
            raise UserError("horizon", f"expected a whole number of steps, at least 1, not {horizon}")
        items = cast(Iterable[tuple[L, Rational]], latents.items() if isinstance(latents, Mapping) else latents)
        weighted = tuple((latent, rational(weight, f"latents[{latent!r}]")) for latent, weight in items)
        episodes, owner = enumerate_latents(horizon, weighted, step, most)
        return Model(build(episodes), episodes, text(name, "name"), Dynamics(weighted, step, tuple(owner)))

    @staticmethod
    def from_generative(
        horizon: int,
        start: Mapping[S, Rational],
        observe: Callable[[int, S], Mapping[str, Rational] | str],
        expert: Callable[[int, S], Mapping[str, Rational] | str],
        move: Callable[[int, S, str], Mapping[S, Rational] | S],
        name: str = "",
        most: int = _MOST_NODES,
    ) -> Model:
        """From hidden states: who starts, what each shows, how the expert acts on it, where it leads (t = 1…T).

        Histories with equal observation and equal exact posterior are merged, so that the number of histories may be
        astronomical while the graph stays small. Probabilities are rationals; a plain value is certain. If there are
        more than `most` different posteriors at one step, they are refused.
        """
        return Model(generate(horizon, start, observe, expert, move, most), None, name)

    def canonical(self) -> Iterator[bytes]:
        """What the digest is taken over, in pieces: equal episodes merged, sorted, lowest terms, sorted keys."""
        try:
            yield from graph_format.canonical(self.graph) if self.episodes is None else [_episodes(self.episodes)]
        except ValueError:  # Python writes no integer of more than 4300 digits
            raise UserError("", "a weight has too many digits to be written down") from None

    @cached_property
    def canonical_bytes(self) -> bytes:
        """The canonical text, without spaces."""
        return b"".join(self.canonical())

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the canonical bytes, in hexadecimal."""
        digest = hashlib.sha256()
        for piece in self.canonical():
            digest.update(piece)
        return digest.hexdigest()

    def to_json(self) -> str:
        """The model as a document that `load` and the certificate checker read."""
        return self.canonical_bytes.decode() + "\n"


def episode_nodes(model: Model) -> list[Ints]:
    """Of each episode its node at every level, in the order in which the tree was built."""
    episodes = model.episodes
    if episodes is None:
        raise UserError("model", "a merged graph has no episodes")
    nodes = [rank(episodes.observation[:, 0])[0]]
    for t in range(model.horizon - 1):
        nodes.append(rank(pair(pair(nodes[-1], episodes.action[:, t]), episodes.observation[:, t + 1]))[0])
    return nodes


def _from_document(document: Any) -> Model:
    if not isinstance(document, Mapping):
        raise UserError("", 'expected an object with "horizon" and "episodes"')
    if document.get("format") == graph_format.FORMAT:
        return Model(graph_format.read(document), None, read_name(document))
    return Model.from_episodes(document, read_name(document))


def _episodes(episodes: Episodes) -> bytes:
    laws = [
        json.dumps(
            {episodes.actions[a]: str(p) for a, p in law}, sort_keys=True, ensure_ascii=False, separators=(",", ":")
        )
        for law in episodes.laws.table
    ]
    quoted = [
        [json.dumps(name, ensure_ascii=False) for name in names] for names in (episodes.observations, episodes.actions)
    ]
    merged: dict[str, int] = {}
    for obs, act, law, weight in zip(
        episodes.observation.tolist(), episodes.action.tolist(), episodes.law.tolist(), episodes.weight, strict=True
    ):
        steps = ",".join(
            f'{{"action":{quoted[1][a]},"action_law":{laws[k]},"obs":{quoted[0][o]}}}'
            for o, a, k in zip(obs, act, law, strict=True)
        )
        merged[steps] = merged.get(steps, 0) + int(weight)
    total = sum(merged.values())
    body = ",".join(
        f'{{"steps":[{steps}],"weight":"{Fraction(weight, total)}"}}' for steps, weight in sorted(merged.items())
    )
    empirical = '"empirical":true,' if episodes.empirical else ""
    return f'{{{empirical}"episodes":[{body}],"format":"{FORMAT}","horizon":{episodes.observation.shape[1]}}}'.encode()


def _integers(where: str, values: ArrayLike, dimensions: int, narrow: bool = False) -> np.ndarray:
    array = np.asarray(values)
    if array.ndim != dimensions or not array.size:
        raise UserError(where, f"expected {dimensions} axes with at least one entry, not shape {array.shape}")
    whole = array.dtype.kind in "iu" or (array.dtype == object and all(type(x) is int for x in array.flat))
    if not whole:
        raise UserError(where, f"expected integers, not {array.dtype}")
    if array.min() < 0:
        raise UserError(where, f"the entry {array.min()} is negative")
    if array.dtype.kind == "u" and array.max() > 2**62:
        return array.astype(object)
    return array if narrow or array.dtype == object else array.astype(np.int64, copy=False)


def _matrix(where: str, values: ArrayLike, narrow: bool = False) -> Ints:
    array = _integers(where, values, 2, narrow)
    if array.dtype == object or array.max() >= 2**31:
        raise UserError(where, "an id is too large; number the symbols from 0")
    return array


def _read_laws(table: Laws, laws: ArrayLike, law_table: ArrayLike | None, act: Ints, width: int) -> tuple[Ints, int]:
    index = _matrix("laws", laws)
    if law_table is None:
        raise UserError("law_table", "missing, but laws are given")
    rows = _integers("law_table", law_table, 2)
    if index.shape != act.shape or index.max() >= len(rows):
        raise UserError("laws", f"expected shape {act.shape} with entries below {len(rows)}")
    ids: list[int] = []
    for k, row in enumerate(rows.tolist()):
        if not sum(row):
            raise UserError(f"law_table[{k}]", "the row is all zero, so it is not a distribution")
        ids.append(table.intern({a: Fraction(w, sum(row)) for a, w in enumerate(row)}))
    support = np.zeros((len(rows), max(width, rows.shape[1])), bool)
    support[:, : rows.shape[1]] = rows != 0
    outside = np.argwhere(~support[index, act])
    if len(outside):
        episode, t = outside[0].tolist()
        raise UserError(f"actions[{episode}, {t}]", f"action {act[episode, t]} is outside the support of its law")
    return np.array(ids, np.int64)[index], support.shape[1]


@dataclass(frozen=True)
class _Numbered:
    """The names o0, o1, …, made when asked for."""

    letter: str
    size: int

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, k: SupportsIndex, /) -> str:
        return f"{self.letter}{range(self.size)[k]}"


def _names(where: str, names: Sequence[str] | None, count: int, letter: str) -> Names:
    if names is None:
        return _Numbered(letter, count)
    if len(names) < count or len(set(names)) != len(names):
        raise UserError(where, f"expected {count} different names, not {len(names)} with {len(set(names))} different")
    return tuple(text(str(name), where) for name in names)
