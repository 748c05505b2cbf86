"""The finite toys as the paper's authors released them: bits shown one by one, a coin at first, numbered waits."""

from fractions import Fraction
from itertools import product

from certify.core.model import Model
from certify.zoo.registry import instance, require, uniform

Law = str | dict[str, Fraction]
_COIN = {"approach 0": Fraction(1, 2), "approach 1": Fraction(1, 2)}


def _chosen(name: str, right: int, classes: int, p: Fraction) -> Law:
    """The right action with probability p, and otherwise any of them, drawn evenly."""
    if p == 1:
        return f"{name} {right}"
    return {f"{name} {k}": (1 - p) / classes + (p if k == right else 0) for k in range(classes)}


@instance("gap-toy")
def gap_toy(
    modes: int = 16, textures: int = 4, gap1: int = 1, gap2: int = 6, again: int = 0, p: Fraction = Fraction(1)
) -> Model:
    """All bits of a mode, lowest first; its first two decide after two waits, whose steps are numbered.

    The first step shows a texture, and the expert tosses a coin. With `again` the second bit is shown once more in the
    last step of the second gap. A decision is drawn evenly with probability 1 − p.
    """
    bits = modes.bit_length() - 1
    require(modes >= 4 and modes == 1 << bits, "gap-toy.modes", f"expected a power of two, at least 4, not {modes}")
    require(min(gap1, gap2) >= 0 and textures >= 1, "gap-toy", "gaps are at least 0, textures at least 1")
    require(0 <= p <= 1, "gap-toy.p", f"expected a probability, not {p}")
    require(again in (0, 1) and gap2 >= again, "gap-toy.again", "the bit is shown again once, in a gap of some steps")
    horizon = 1 + bits + gap1 + 1 + gap2 + 1

    def step(latent: tuple[int, int], actions: tuple[str, ...]) -> tuple[str, Law]:
        texture, mode = latent
        t = len(actions)
        if t == 0:
            return f"texture {texture}", _COIN
        if t <= bits:
            return f"bit{t} {mode >> (t - 1) & 1}", "wait"
        if t == bits + gap1 + 1:
            return "decide1", _chosen("take", mode & 1, 2, p)
        if t == horizon - 1:
            return "decide2", _chosen("put", mode >> 1 & 1, 2, p)
        shown = f"bit2 {mode >> 1 & 1}" if again and t == horizon - 2 else "wait"
        return f"{shown} {t + 1}", "wait"

    return Model.from_latents(horizon, uniform(product(range(textures), range(modes))), step)


@instance("reveal-toy")
def reveal_toy(textures: int = 4, p: Fraction = Fraction(1), loss: Fraction = Fraction(0)) -> Model:
    """A texture and a coin, two bits one after the other, then a decision on both; the first bit may be lost.

    The decision is drawn evenly with probability 1 − p.
    """
    require(textures >= 1, "reveal-toy.textures", f"expected at least 1, not {textures}")
    require(0 <= p <= 1 and 0 <= loss <= 1, "reveal-toy", f"expected probabilities, not p = {p} and loss = {loss}")
    latents = [
        ((texture, group, seen), (1 - loss if seen else loss) / (4 * textures))
        for texture, group, seen in product(range(textures), range(4), (True, False))
        if seen or loss
    ]

    def step(latent: tuple[int, int, bool], actions: tuple[str, ...]) -> tuple[str, Law]:
        texture, group, seen = latent
        if len(actions) == 3:
            return "decide", _chosen("go", group, 4, p)
        first = f"bit1 {group & 1}" if seen else "bit1 lost"
        return [(f"texture {texture}", _COIN), (first, "wait"), (f"bit2 {group >> 1}", "wait")][len(actions)]

    return Model.from_latents(4, latents, step)
