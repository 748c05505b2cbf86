"""Classes of action given the present."""

import numpy as np

from diacritic.need.classes import by_class, same, split
from diacritic.need.frame import Frame
from diacritic.need.ridge import Floats, Ints


def modes(actions: Floats, frame: Frame) -> tuple[Ints | None, Floats]:
    """Classes D and predictions f with action = f(present) + centre of D, found in turn.

    A frame that reveals half of D would otherwise blur the classes.
    """
    labels = split(actions - frame.predict(actions))
    labels = split(actions) if labels is None else labels
    told = np.zeros_like(actions)
    for _ in range(4):
        if labels is None:
            break
        told = frame.predict(actions - by_class(labels, actions - told))
        renewed = split(actions - told)
        if renewed is None or same(renewed, labels):
            break
        labels = renewed
    return labels, told
