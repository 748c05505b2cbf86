"""Which frames show a decision: decoding with each episode left out, against shuffled labels."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc

from diacritic.need.classes import entropy, information
from diacritic.need.frame import Frame
from diacritic.need.ridge import Ints

SHOWN, HIDDEN = 0.8, 0.1  # shares of H(D): a frame above shows D, one below hides it
RIGHT = 0.85  # of every class that a frame shows, episodes decoded correctly
MISREAD = 0.015  # of episodes, in which a frame that merges classes may still err
DEVIATIONS = 5.0  # from shuffled labels
HINTED = 1e-3  # p-value below which a frame reveals something within its blocks
SHUFFLES = 8  # of each frame; their spread is pooled over frames


@dataclass(frozen=True)
class Visibility:
    """How much one frame reveals of D: the share of H(D), and the classes that can be distinguished in it."""

    share: float
    clear: bool  # beyond what shuffled labels give
    blocks: Ints  # class → block; classes of one block look alike
    hint: float  # share of what the blocks leave open that the frame still reveals; 0 unless significant

    @property
    def shows_all(self) -> bool:
        return len(np.unique(self.blocks)) == len(self.blocks)


def usable(labels: Ints, decoded: Ints) -> float:
    """I(D; decoded), or nothing where the decoder is right no more often than the commonest class."""
    if (labels == decoded).mean() <= np.bincount(labels).max() / len(labels):
        return 0.0
    return information(labels, decoded)


def look(frames: Sequence[Frame], labels: Ints, rng: np.random.Generator, shuffles: int = SHUFFLES) -> list[Visibility]:
    """The sight of D in every frame."""
    many = [[labels, *(rng.permutation(labels) for _ in range(shuffles))] for _ in frames]
    decoded = [frame.decode(each) for frame, each in zip(frames, many, strict=True)]
    chance = [
        usable(truth, guess)
        for each, guesses in zip(many, decoded, strict=True)
        for truth, guess in zip(each[1:], guesses[1:], strict=True)
    ]
    level, spread = float(np.mean(chance)), max(float(np.std(chance)), 1 / len(labels))
    whole = entropy(labels)
    sights = []
    for frame, guesses in zip(frames, decoded, strict=True):
        bits = usable(labels, guesses[0]) - level
        clear = bits > DEVIATIONS * spread
        blocks = _blocks(frame, labels, guesses[0], level) if clear else np.zeros(int(labels.max()) + 1, np.int64)
        hint = _hint(labels, guesses[0], blocks)
        sights.append(Visibility(max(bits, 0.0) / whole if whole else 0.0, clear, blocks, hint))
    return sights


def _hint(labels: Ints, decoded: Ints, blocks: Ints) -> float:
    """What the decoder still reveals of D within the blocks, as a share of what these leave open."""
    revealed, left, freedom = 0.0, 0.0, 0
    for block in np.unique(blocks[labels]):
        inside = blocks[labels] == block
        names, truth = np.unique(labels[inside], return_inverse=True)
        if len(names) > 1:
            guess = np.searchsorted(names, decoded[inside]).clip(0, len(names) - 1)
            revealed += inside.mean() * usable(truth.ravel(), guess)
            left += inside.mean() * entropy(truth.ravel())
            freedom += (len(names) - 1) ** 2
    if not left or chdtrc(freedom, 2 * np.log(2) * len(labels) * revealed) > HINTED:
        return 0.0
    return revealed / left


def _blocks(frame: Frame, labels: Ints, decoded: Ints, level: float) -> Ints:
    """The finest merging of classes, the most confused first, that the frame shows."""
    blocks = np.arange(int(labels.max()) + 1)
    while len(names := np.unique(blocks)) > 1:
        truth, guess = (np.searchsorted(names, blocks[each]) for each in (labels, decoded))
        whole = len(names) == len(blocks)
        if _shown(truth, guess, level, whole) or (not whole and _shown(truth, frame.decode([truth])[0], level, whole)):
            break
        confused = [
            (int(((truth == a) & (guess == b)).sum() + ((truth == b) & (guess == a)).sum()), -k, a, b)
            for k, (a, b) in enumerate((a, b) for a in range(len(names)) for b in range(a))
        ]
        _, _, one, two = max(confused)
        blocks = np.where(blocks == names[one], names[two], blocks)
    return np.unique(blocks, return_inverse=True)[1].ravel()


def _shown(truth: Ints, guess: Ints, level: float, whole: bool) -> bool:
    """Whether the decoder gives SHOWN of the entropy, and every class RIGHT as often.

    Merged classes must be read nearly without error: they relieve a memory of what they show, and a policy that relied
    on them would err as often as they do.
    """
    if not whole and (truth != guess).mean() > MISREAD:
        return False
    right = min(float((guess[truth == name] == name).mean()) for name in np.unique(truth))
    return usable(truth, guess) - level >= SHOWN * entropy(truth) and right >= RIGHT
