"""Codes counted once: how often each code meets each cell of a recording, for all runs and steps together.

Every plug-in quantity of a code is a sum over these counts: H(C|Ō), H(Γ|C,Ō), H(C|Γ,Ō), I(C;X|Ō), and the occupied
cells that a bias correction asks for.
"""

from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import ArrayLike, NDArray

from certify.core.exact import Ints
from certify.errors import UserError
from diacritic.measure.plugin import Floats, joint

_DENSE = 1 << 22  # a table of so many entries is cheaper than sorting, however few of them are met


@dataclass(frozen=True)
class Partition:
    """Cells of the pairs (step, episode), numbered over all steps; a coarser variable has one number a cell."""

    cell: Ints  # [T, N]
    step: Ints  # of each cell
    coarse: dict[str, Ints]  # of each cell, by name

    @staticmethod
    def of(**variables: ArrayLike) -> "Partition":
        """The common refinement of variables [T, N], each distinguished separately at every step."""
        arrays = {name: np.asarray(values, np.int64) for name, values in variables.items()}
        shape = next(iter(arrays.values())).shape
        for name, values in arrays.items():
            if values.ndim != 2 or values.shape != shape or not values.size:
                raise UserError(name, f"shape {list(values.shape)}, expected [steps, episodes] as in {list(shape)}")
        step = np.repeat(np.arange(shape[0]), shape[1])
        numbered = {name: joint(step, values.ravel()) for name, values in arrays.items()}
        cell = joint(*numbered.values())
        one = np.unique(cell, return_index=True)[1]
        return Partition(cell.reshape(shape), step[one], {name: values[one] for name, values in numbered.items()})

    @property
    def cells(self) -> int:
        return len(self.step)


@dataclass(frozen=True)
class Counts:
    """n(run, cell, code) where it is not zero; results have the axes [runs, steps]."""

    partition: Partition
    runs: int
    codebook: int
    run: Ints
    cell: Ints
    code: Ints
    count: Ints

    @staticmethod
    def of(codes: ArrayLike, partition: Partition, codebook: int | None = None) -> "Counts":
        """From hard codes [S, T, N]; `codebook` is K, if codes beyond it are to be refused."""
        table, size = checked_codes(codes, partition.cell.shape, codebook)
        width, key = partition.cells * size, np.empty(partition.cell.shape, np.int64)
        base = partition.cell * size
        per_run = [
            _occupied(np.add(base, run, out=key).ravel()) for run in table
        ]  # one run at a time stays in the cache
        keys = np.concatenate([occupied + k * width for k, (occupied, _) in enumerate(per_run)])
        counts = np.concatenate([count for _, count in per_run])
        run, rest = np.divmod(keys, width)
        return Counts(partition, len(table), size, run, *np.divmod(rest, size), counts)

    def code_entropy(self, given: Ints) -> Floats:
        """H(C_t|Y_t), with `given` the number of Y of each cell."""
        return self._sum(self._met(given), self._whole(given))

    def left(self, about: Ints, given: Ints) -> Floats:
        """H(X_t|C_t,Y_t), where X refines Y: `about` is the number of the pair (X, Y) of each cell."""
        return self._sum(self._met(about), self._met(given))

    def occupied(self, given: Ints) -> Floats:
        """The number of pairs (c, y) that occur at each step."""
        key = self._place(given) * self.codebook + self.code
        first = np.unique(key, return_index=True)[1]
        return self._by_step(np.ones(len(first)), first)

    def _sum(self, part: Floats, whole: Floats) -> Floats:
        """Σ n·log₂(whole/part) / N: exactly 0 where every part is its whole."""
        return self._by_step(np.asarray(self.count * np.log2(whole / part), np.float64)) / self.partition.cell.shape[1]

    def _by_step(self, values: Floats, entries: Ints | slice = slice(None)) -> Floats:
        steps = self.partition.cell.shape[0]
        index = self.run[entries] * steps + self.partition.step[self.cell[entries]]
        total = np.bincount(index, values, minlength=self.runs * steps).astype(np.float64, copy=False)
        return total.reshape(self.runs, steps)

    def _place(self, labels: Ints) -> Ints:
        return self.run * (int(labels.max()) + 1) + labels[self.cell]

    def _met(self, labels: Ints) -> Floats:
        """n(run, label, code) of each entry."""
        return _group_totals(self._place(labels) * self.codebook + self.code, self.count)

    def _whole(self, labels: Ints) -> Floats:
        """n(run, label) of each entry."""
        return _group_totals(self._place(labels), self.count)


def correction(occupied: ArrayLike, given: ArrayLike, episodes: int) -> Floats:
    """(m_{xy} − m_y) / (2 N ln 2) bits (Miller, Madow), by which a plug-in H(X|Y) of N episodes falls short.

    m counts occupied cells.
    """
    return (np.asarray(occupied, np.float64) - np.asarray(given, np.float64)) / (2 * episodes * log(2))


def checked_codes(
    codes: ArrayLike, shape: tuple[int, ...], codebook: int | None = None
) -> tuple[NDArray[np.integer], int]:
    """Codes [S, T, N] as whole numbers, and how many a codebook must have; refused where they do not fit."""
    table = np.asarray(codes)
    if table.dtype.kind not in "iu" or table.ndim != 3:
        raise UserError("codes", f"expected whole numbers [runs, steps, episodes], not {table.dtype} {table.shape}")
    if table.shape[1:] != shape or not len(table):
        raise UserError("codes", f"shape {table.shape}, but the recording has {shape[0]} steps of {shape[1]} episodes")
    low, high = int(table.min()), int(table.max())
    if low < 0 or (codebook is not None and high >= codebook):
        allowed = "whole numbers from 0" if codebook is None else f"0…{codebook - 1}"
        raise UserError("codes", f"the entry {low if low < 0 else high} is not a code; expected {allowed}")
    return table.astype(np.int64) if table.dtype == np.uint64 else table, codebook or high + 1


def _occupied(key: Ints) -> tuple[Ints, Ints]:
    """The keys that occur, ascending, and how often."""
    if int(key.max()) < max(_DENSE, 4 * len(key)):
        table = np.bincount(key)
        occupied = np.flatnonzero(table)
        return occupied, table[occupied]
    occupied, count = np.unique(key, return_counts=True)
    return occupied, count


def _group_totals(key: Ints, count: Ints) -> Floats:
    """Of each entry the total of those that share its key."""
    if int(key.max()) >= max(_DENSE, 4 * len(key)):
        key = np.unique(key, return_inverse=True)[1]
    return np.bincount(key, count).astype(np.float64, copy=False)[key]
