"""One frame of all episodes, and what it predicts: actions, other channels, classes."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from diacritic.need.classes import one_hot
from diacritic.need.cues import class_columns
from diacritic.need.ridge import EMPTY, Floats, Ints, Ridge, linear_kernel, rich_kernel, scaled

SURE = 0.9  # of episodes that the nearest mean must place correctly to be believed


class Frame:
    """The observation of every episode at one step, with a linear and a rich ridge; targets take the better one."""

    def __init__(self, observations: Floats) -> None:
        self.columns = scaled(observations)

    @cached_property
    def rich(self) -> Floats:
        return rich_kernel(self.columns)

    @cached_property
    def _ridges(self) -> tuple[Ridge, Ridge]:
        return Ridge(linear_kernel(self.columns)), Ridge(self.rich)

    @cached_property
    def classes(self) -> list[Ints]:
        """Labellings by single channels."""
        return class_columns(self.columns)

    def predict(self, targets: Floats) -> Floats:
        """Leave-one-out predictions of every column."""
        one, two = (ridge.leave_one_out(targets) for ridge in self._ridges)
        better = ((targets - two) ** 2).mean(0) < ((targets - one) ** 2).mean(0)
        return np.where(better, two, one)

    def linear(self, targets: Floats) -> Floats:
        """The same by the linear ridge alone."""
        return self._ridges[0].leave_one_out(targets)

    def decode(self, labellings: Sequence[Ints]) -> list[Ints]:
        """Of each labelling, every episode's class as the other episodes predict it.

        No second stage may learn from these scores: left-out scores lean away from an episode's own class.
        """
        hot = [one_hot(labels) for labels in labellings]
        ends = np.cumsum([part.shape[1] for part in hot])[:-1]
        scores = [np.split(ridge.leave_one_out(np.concatenate(hot, 1)), ends, 1) for ridge in self._ridges]
        decoded = [
            min(tried, key=lambda score, truth=truth: float(((score - truth) ** 2).sum())).argmax(1)
            for truth, tried in zip(hot, zip(*scores, strict=True), strict=True)
        ]
        return [self._by_centres(labels, guess) for labels, guess in zip(labellings, decoded, strict=True)]

    def _by_centres(self, labels: Ints, decoded: Ints) -> Ints:
        """The class of the nearest mean, in one channel or in all, where that is right nearly always; else as given."""
        right = float((decoded == labels).mean())
        if right == 1 or not self.columns.shape[1]:
            return decoded
        hot = one_hot(labels)
        size = hot.sum(0)
        centres = (self.columns.T @ hot) / np.maximum(size, 1)  # [d, classes]
        apart = np.abs(self.columns[:, :, None] - centres)
        own = np.arange(len(labels)), slice(None), labels
        apart[own] *= (size / np.maximum(size - 1, 0.5))[labels][:, None]  # as far as without the episode itself
        noise = (apart[own] ** 2).mean(0) + EMPTY
        together = (apart**2 / noise[:, None]).sum(1)
        guesses = np.concatenate([together.argmin(1)[:, None], apart.argmin(2)], 1)
        accuracy = (guesses == labels[:, None]).mean(0)
        best = int(accuracy.argmax())
        return guesses[:, best] if accuracy[best] > max(right, SURE) else decoded
