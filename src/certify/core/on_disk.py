"""Models larger than memory: the tree of histories lies on disk, and histories with equal futures are merged.

Forwards, every step of the episodes refines their histories; a level is written down and forgotten. Backwards, two
histories of a level are one node if observation, law and continuations are equal and each continuation leads to one
node (strong equivalence). Only two levels are in memory at a time. The sorting of a level is cut into parts, which an
engine works off: here in threads, or on a Ray cluster. Masses, laws, rates and counts of histories are those of the
tree; what the merged histories do next is kept on the average, so that a tree cannot be unfolded again.
"""

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import fields, replace
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from certify.core.exact import Ints, fold, group_sums, pair, representatives
from certify.core.graph import Episodes, Graph, Level, tree_levels
from certify.errors import UserError
from certify.optional import import_optional
from certify.progress import working

Engine = Literal["local", "ray"]
Part = tuple[Ints, Ints, Ints]  # labels of some nodes; whose edge each is (ascending), and what it says
_PART = 1_000_000  # nodes of one part, at least
_ARRAYS = ("observation", "law", "mass", "parent", "arrival")  # of a level of a tree: the next level knows its edges


class Kept(NamedTuple):
    """An array on disk, as narrow as its values allow."""

    path: Path
    store: "Store"  # which removes the file when nothing refers to it any more

    def load(self) -> Ints:
        return np.load(self.path).astype(np.int64, copy=False)


class Store:
    """A folder for arrays that goes away with the last reference to it."""

    def __init__(self, folder: str | os.PathLike[str] | None) -> None:
        try:
            self._home = Path(tempfile.mkdtemp(prefix="certify-", dir=folder))
        except OSError as error:
            raise UserError("folder", f"no arrays can be written to {str(folder)!r}: {error.strerror}") from None
        self._count = 0
        weakref.finalize(self, shutil.rmtree, self._home, ignore_errors=True)

    def keep(self, array: Ints) -> Kept:
        self._count += 1
        path = self._home / f"{self._count}.npy"
        narrow = np.min_scalar_type(int(array.max())) if len(array) and array.min() >= 0 else array.dtype
        try:
            np.save(path, array.astype(narrow))
        except OSError as error:
            raise UserError("folder", f"the disk of {str(path.parent)!r} is full ({error.strerror})") from None
        return Kept(path, self)


class StoredLevel(Level):
    """A level whose arrays are read when they are first asked for."""

    def __init__(self, **row: Any) -> None:
        self.__dict__["_row"] = row

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._row:
            raise AttributeError(name)
        kept = self._row[name]
        return self.__dict__.setdefault(name, kept.load() if isinstance(kept, Kept) else kept)


class StoredLevels(Sequence[Level]):
    """The levels of a graph on disk; the two that were used last are in memory."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.size = 0  # nodes of all levels that were put in
        self._rows: list[dict[str, Any]] = []
        self._recent: dict[int, Level] = {}

    def insert(self, level: Level) -> None:
        """Put a level before all others."""
        row = {one.name: getattr(level, one.name) for one in fields(level)}
        kept = {name: self._store.keep(x) if isinstance(x, np.ndarray) else x for name, x in row.items()}
        self._rows.insert(0, kept)
        self.size += level.size
        self._recent.clear()

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, k: Any) -> Any:
        if isinstance(k, slice):
            part = StoredLevels(self._store)
            part._rows = self._rows[k]
            return part
        k = range(len(self))[k]
        if k not in self._recent:
            while len(self._recent) > 1:
                del self._recent[next(iter(self._recent))]
            self._recent[k] = StoredLevel(**self._rows[k])
        return self._recent[k]


def merge_on_disk(
    episodes: Episodes, folder: str | os.PathLike[str] | None = None, engine: Engine = "local", part: int = _PART
) -> Graph:
    """The merged graph of the episodes; the larger of its levels stay on disk."""
    if episodes.weight.dtype == object:
        raise UserError("weights", "sum to more than 2^61, which is too much for a model on disk")
    store = Store(folder)
    tree: list[tuple[dict[str, Kept], dict[str, Any]]] = []
    with working("building the model on disk") as say:
        for t, level in enumerate(tree_levels(episodes)):
            say(f"step {t + 1} of {episodes.observation.shape[1]}, {level.size:,} histories")
            rest = {"total": level.total, "history_entropy": level.history_entropy, "mixed": level.mixed}
            tree.append(({name: store.keep(getattr(level, name)) for name in _ARRAYS}, rest))
        levels = StoredLevels(store)
        with _runner(engine) as run:
            _merge(tree, levels, len(episodes.observations), run, part, say)
    small = levels.size <= _PART
    names = episodes.observations, episodes.actions, tuple(episodes.laws.table)
    here = (Level(**{one.name: getattr(level, one.name) for one in fields(Level)}) for level in levels)
    return Graph(tuple(here) if small else levels, *names)


Run = Callable[[Callable[[Part], Any], list[Part]], Iterator[Any]]


def _merge(
    tree: list[tuple[dict[str, Kept], dict[str, Any]]],
    levels: StoredLevels,
    width: int,
    run: Run,
    part: int,
    say: Callable[[str], None],
) -> None:
    """From the last level to the first: the nodes of each, and the arrows to those of the next."""
    above: tuple[Ints, Level] | None = None  # of the next level: the node of each history, and the merged level
    came: tuple[Ints, Ints, Ints, Ints] | None = None  # of each history of the next level: parent, action, seen, mass
    for t, (arrays, rest) in reversed(list(enumerate(tree))):
        say(f"merging step {t + 1} of {len(tree)}")
        now = {name: kept.load() for name, kept in arrays.items()}
        for kept in arrays.values():
            kept.path.unlink()
        tip = Level(paths=np.ones(len(now["mass"]), np.int64), **now, **rest)
        if above is None or came is None:
            node, count = tip.group
            edges: dict[str, Ints] = {}
        else:
            source, action, seen, flow = came
            token = pair(action * width + seen, above[0])
            node, count = merge_level(tip.group[0], source, token, run, part)
            edges = _arrows(node, count, source, action, above[0], flow)
        first = representatives(node, count)
        apart = count == len(node)  # no two histories are merged
        merged = Level(
            tip.observation[first],
            tip.law[first],
            tip.mass[first] if apart else group_sums(node, tip.mass, count),
            tip.total,
            tip.parent[first],  # as a history of the level before, until that is merged
            tip.arrival[first],
            np.ones(count, np.int64) if apart else np.bincount(node, minlength=count),
            tip.history_entropy,
            {int(node[k]): shares for k, shares in tip.mixed.items()},
            **edges,
        )
        if above is not None:
            levels.insert(replace(above[1], parent=node[above[1].parent]))
        above, came = (node, merged), (tip.parent, tip.arrival, tip.observation, tip.mass)
    assert above is not None, "a model has at least one step"
    levels.insert(above[1])


def merge_level(base: Ints, source: Ints, token: Ints, run: Run, part: int = _PART) -> tuple[Ints, int]:
    """What `fold` gives, part by part: equal nodes within each part first, then among one of each."""
    starts = list(range(0, len(base), part))
    if len(starts) == 1:
        return fold(base, source, token)
    begin = np.searchsorted(source, [*starts, len(base)])
    ends = [*starts[1:], len(base)]
    jobs = [
        (base[a:b], source[i:j] - a, token[i:j]) for a, b, i, j in zip(starts, ends, begin[:-1], begin[1:], strict=True)
    ]
    sample = _distinct(jobs[0])
    if 2 * len(sample[1]) > part:  # hardly any nodes are equal: parts would only be work
        return fold(base, source, token)
    labels = np.empty(len(base), np.int64)
    chosen: list[Ints] = []
    for first, (label, one) in zip(starts, chain([sample], run(_distinct, jobs[1:])), strict=True):
        labels[first : first + len(label)] = label + sum(map(len, chosen))
        chosen.append(one + first)
    nodes = np.concatenate(chosen)
    degree = np.bincount(source, minlength=len(base))
    start, many = (np.cumsum(degree) - degree)[nodes], degree[nodes]
    edge = np.repeat(start - (np.cumsum(many) - many), many) + np.arange(int(many.sum()))
    label, count = fold(base[nodes], np.repeat(np.arange(len(nodes)), many), token[edge])
    return label[labels], count


def _distinct(part: Part) -> tuple[Ints, Ints]:
    """Equal nodes of one part: a label for each node, and one node of each label."""
    label, count = fold(*part)
    return label, representatives(label, count)


def _arrows(node: Ints, count: int, source: Ints, action: Ints, target: Ints, flow: Ints) -> dict[str, Ints]:
    """The arrows of merged nodes: those of one history each, with the flow of all of them."""
    first, one_by_one = representatives(node, count), np.arange(count)
    if count == len(node) == len(source) and np.array_equal(source, one_by_one):  # nothing merged, one arrow each
        return {"source": one_by_one, "action": action[first], "child": target[first], "flow": flow[first]}
    degree = np.bincount(source, minlength=len(node))
    start = np.cumsum(degree) - degree
    many = degree[first]
    begin = np.cumsum(many) - many
    edge = np.repeat(start[first] - begin, many) + np.arange(int(many.sum()))
    own = begin[node[source]] + np.arange(len(source)) - start[source]  # the merged arrow of each single one
    total = group_sums(own, flow, len(edge))
    return {"source": node[source[edge]], "action": action[edge], "child": target[edge], "flow": total}


@contextmanager
def _runner(engine: Engine) -> Iterator[Run]:
    """Work off parts in threads here, or on a Ray cluster; one that is running is used, else one is started."""
    if engine not in ("local", "ray"):
        raise UserError("engine", f"expected 'local' or 'ray', not {engine!r}")
    if engine == "local":
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            yield pool.map
        return
    ray: Any = import_optional("ray", "cluster")
    started = not ray.is_initialized()
    if started:
        ray.init(include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    try:
        yield lambda work, jobs: map(ray.get, [ray.remote(work).remote(job) for job in jobs])
    finally:
        if started:
            ray.shutdown()
