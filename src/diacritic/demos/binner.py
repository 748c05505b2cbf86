"""The frozen binner f_t: nearest class mean of the end-effector position, where the means are far enough apart."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from certify.errors import UserError
from diacritic.files.atomic import read_json, write_text
from diacritic.files.convention import Convention, Factor
from diacritic.files.demos import Floats
from diacritic.tasks.protocol import Latents

FORMAT = "diacritic-binner/1"
NULL = -1  # the class that is not seen
UNSEEN = -1  # a symbol that never occurred in the recording

Ints = NDArray[np.int64]


class Reading(NamedTuple):
    """How one factor reads: means of its cells (given classes, own class) at every step, and where it is seen."""

    means: NDArray[np.float64]  # [T, joint given classes, own classes, axes]; NaN where no episode fell
    visible: NDArray[np.bool_]  # [T]


class Agreement(NamedTuple):
    """Held-out (episode, step) pairs at which a factor is seen, and how often the binner names another class."""

    pairs: int
    wrong: int  # nearest mean of all: what an online reader does
    wrong_given: int  # nearest mean, told the classes of the given factors

    @property
    def share(self) -> float:
        return 1 - self.wrong / self.pairs if self.pairs else 1.0


@dataclass(frozen=True)
class Binner:
    """The observation convention with its means: fitted once, then frozen."""

    convention: Convention
    readings: Mapping[str, Reading]
    keys: Ints = field(default_factory=lambda: np.zeros(0, np.int64))  # of the known symbols, sorted
    names: tuple[str, ...] = ()  # of the known symbols, in the same order

    @staticmethod
    def fit(convention: Convention, observations: Floats, latents: Latents) -> "Binner":
        """Means from the first half of the episodes; the known symbols from all of them."""
        half = _half(observations.shape[1])
        position = _position(convention, observations)
        shown = phases(convention, observations)
        mixed = np.flatnonzero((shown != shown[:, :1]).any(1))
        if len(mixed):
            where = f"observations[{mixed[0]}]"
            raise UserError(where, "the episodes are in different phases; record them on one timeline")
        readings: dict[str, Reading] = {}
        for factor in convention.factors:
            means = _means(convention, factor, position[:, :half], latents)
            visible = separation(means) > convention.threshold(factor)
            if factor.assumed is not None:
                visible = np.isin(np.arange(len(means)), factor.assumed)
            readings[factor.name] = Reading(means, visible)
        fitted = Binner(convention, readings)
        keys, first = np.unique(fitted._keys(observations, fitted.labels(latents)), return_index=True)
        return Binner(convention, readings, keys, fitted._names(observations, latents, first))

    def labels(self, latents: Latents) -> dict[str, Ints]:
        """The class of every factor at every step, [T, N], from what was hidden: null where it is not seen."""
        return {
            factor.name: np.where(self.readings[factor.name].visible[:, None], latents[factor.latent][None], NULL)
            for factor in self.convention.factors
        }

    def classes(self, observations: Floats, start: int = 0, told: Latents | None = None) -> dict[str, Ints]:
        """The class of every factor, [T, N], from observations alone (`start` is the step of the first row).

        `told` gives the other factors' classes away: nearest mean within their cells only.
        """
        position = _position(self.convention, observations)
        return {factor.name: self._nearest(factor, position, start, told) for factor in self.convention.factors}

    def symbols(self, observations: Floats, latents: Latents | None = None, start: int = 0) -> NDArray[np.int32]:
        """Ō_t as indices into `names`, [T, N]; classes from the hidden values if they are given, else from the pose.

        What never occurred in the recording is `UNSEEN`.
        """
        classes = self.classes(observations, start) if latents is None else self.labels(latents)
        keys = self._keys(observations, classes)
        index = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[index] == keys, index, UNSEEN).astype(np.int32)

    def agreement(self, observations: Floats, latents: Latents, phase: str | None = None) -> dict[str, Agreement]:
        """Held-out agreement of each factor (in one phase, if named), on the episodes that gave no means."""
        half = _half(observations.shape[1])
        held, hidden = observations[:, half:], {name: values[half:] for name, values in latents.items()}
        truth, alone, told = self.labels(hidden), self.classes(held), self.classes(held, told=hidden)
        inside = np.ones(held.shape[:2], np.bool_)
        if phase is not None:
            inside = phases(self.convention, held) == self.convention.phases.index(phase)
        result: dict[str, Agreement] = {}
        for name, labels in truth.items():
            seen = inside & (labels != NULL)
            wrong, given = ((read[name] != labels) & seen for read in (alone, told))
            result[name] = Agreement(int(seen.sum()), int(wrong.sum()), int(given.sum()))
        return result

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write as JSON, by atomic rename."""
        write_text(Path(path), self.to_json())

    def to_json(self) -> str:
        """The text of the file."""
        document = {
            "format": FORMAT,
            "convention": self.convention.to_dict(),
            "readings": {
                name: {
                    "means": np.where(np.isnan(reading.means), np.array(None), reading.means).tolist(),  # not NaN
                    "visible": reading.visible.tolist(),
                }
                for name, reading in self.readings.items()
            },
            "keys": self.keys.tolist(),
            "names": list(self.names),
        }
        return json.dumps(document, ensure_ascii=False) + "\n"

    @staticmethod
    def load(path: str | os.PathLike[str]) -> "Binner":
        document = read_json(Path(path), FORMAT, "fit the binner again")
        try:
            readings = {
                name: Reading(np.array(item["means"], np.float64), np.array(item["visible"], np.bool_))
                for name, item in document["readings"].items()
            }
            convention = Convention.from_dict(document["convention"])
            keys, names = np.array(document["keys"], np.int64), tuple(document["names"])
            if len(keys) != len(names) or readings.keys() != {factor.name for factor in convention.factors}:
                raise ValueError("its tables do not fit together")
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise UserError(str(path), f"is not a binner ({error}); fit the binner again") from None
        return Binner(convention, readings, keys, names)

    def _nearest(self, factor: Factor, position: NDArray[np.float64], start: int, told: Latents | None) -> Ints:
        reading = self.readings[factor.name]
        steps = len(position)
        if start + steps > len(reading.visible):
            raise UserError(f"step {start + steps - 1}", f"the binner knows {len(reading.visible)} steps only")
        result = np.full(position.shape[:2], NULL, np.int64)
        for t in np.flatnonzero(reading.visible[start : start + steps]):
            means = reading.means[start + t]  # [given, own, axes]
            distance = np.square(position[t][:, None, None, list(factor.axes)] - means).sum(-1)
            distance = np.where(np.isnan(distance), np.inf, distance)
            if told is not None:
                group, _ = _group(self.convention, factor, told)
                distance = distance[np.arange(len(distance)), group][:, None]
            result[t] = distance.reshape(len(distance), -1).argmin(1) % means.shape[1]
        return result

    def _keys(self, observations: Floats, classes: Mapping[str, Ints]) -> Ints:
        """One number for each combination of phase, probe and classes."""
        keys = phases(self.convention, observations)
        for level in np.moveaxis(_probe(self.convention, observations), -1, 0):
            keys = keys * 3 + level + 1
        for factor in self.convention.factors:
            keys = keys * (factor.classes + 1) + classes[factor.name] + 1
        return keys

    def _names(self, observations: Floats, latents: Latents, first: Ints) -> tuple[str, ...]:
        """The names of the symbols that stand at these places of [T, N]."""
        t, n = np.unravel_index(first, observations.shape[:2])
        shown = observations[t, n]
        labels = self.labels(latents)
        columns = [[self.convention.phases[p] for p in phases(self.convention, shown)]]
        columns.append(["".join("-0+"[level + 1] for level in row) for row in _probe(self.convention, shown)])
        for name, values in labels.items():
            columns.append([f"{name}=?" if c == NULL else f"{name}={c}" for c in values[t, n]])
        return tuple(" ".join(parts) for parts in zip(*columns, strict=True))


class OnlineReader:
    """Ō_t step by step in closed loop, for a batch of episodes; it counts the symbols that were never recorded."""

    def __init__(self, binner: Binner) -> None:
        self.binner = binner
        self.unseen = 0
        self._step = 0

    def reset(self) -> None:
        """A new batch of episodes begins; the count goes on."""
        self._step = 0

    def read(self, observations: Floats) -> NDArray[np.int32]:
        """The symbols [N] of the next step from its observations [N, channels]."""
        symbols = self.binner.symbols(observations[None], start=self._step)[0]
        self._step += 1
        self.unseen += int((symbols == UNSEEN).sum())
        return symbols


def separation(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """The least distance of two class means with the same given classes, at each step; 0 where there is no pair."""
    classes = means.shape[2]
    one, two = np.triu_indices(classes, 1)
    distance = np.sqrt(np.square(means[:, :, one] - means[:, :, two]).sum(-1)).reshape(len(means), -1)
    finite = ~np.isnan(distance)
    least = np.where(finite, distance, np.inf).min(axis=1, initial=np.inf)
    return np.where(finite.any(axis=1), least, 0.0)


def phases(convention: Convention, observations: Floats) -> Ints:
    """The phase that the observation shows."""
    start, stop = convention.phase_columns
    if start == stop:  # nobody said where the phase is shown
        return np.zeros(observations.shape[:-1], np.int64)
    return observations[..., start:stop].argmax(-1).astype(np.int64)


def _probe(convention: Convention, observations: Floats) -> Ints:
    """The probe symbol: every channel as −1, 0 or 1."""
    start, stop = convention.probe_columns
    return np.clip(np.rint(observations[..., start:stop]), -1, 1).astype(np.int64)


def _position(convention: Convention, observations: Floats) -> NDArray[np.float64]:
    return observations[..., list(convention.position_columns)].astype(np.float64)


def _half(episodes: int) -> int:
    if episodes < 2:
        raise UserError("episodes", f"{episodes} recorded; the binner needs one half to fit and one to be tested on")
    return episodes // 2


def _means(
    convention: Convention, factor: Factor, position: NDArray[np.float64], latents: Latents
) -> NDArray[np.float64]:
    """Mean position of every cell (given classes, own class) at every step."""
    fitted = {name: values[: position.shape[1]] for name, values in latents.items()}
    group, groups = _group(convention, factor, fitted)
    cell = group * factor.classes + fitted[factor.latent]
    member = np.eye(groups * factor.classes)[cell]  # [episodes, cells]
    count = member.sum(0)
    total = np.einsum("tna,nc->tca", position[..., list(factor.axes)], member)
    means = np.divide(total, count[:, None], out=np.full_like(total, np.nan), where=count[:, None] > 0)
    return means.reshape(len(position), groups, factor.classes, len(factor.axes))


def _group(convention: Convention, factor: Factor, latents: Latents) -> tuple[Ints, int]:
    """The joint class of the given factors, of each episode, and how many there are."""
    group, groups = np.zeros(len(latents[factor.latent]), np.int64), 1
    for name in factor.given:
        other = convention.factor(name)
        group, groups = group * other.classes + latents[other.latent], groups * other.classes
    return group, groups
