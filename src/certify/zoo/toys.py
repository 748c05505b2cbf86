"""Toys small enough to check by hand."""

from fractions import Fraction
from itertools import product

from certify.core.model import Model
from certify.zoo.registry import instance, require, uniform


@instance("reveal")
def reveal(modes: int = 8, p: Fraction = Fraction(1)) -> Model:
    """Two bits shown one after the other, then a decision on both; the rest of the hidden mode is a nuisance.

    The decision is right with probability p, and otherwise one of the three others, drawn evenly.
    """
    require(modes % 4 == 0 and modes > 0, "reveal.modes", f"expected a positive multiple of 4, not {modes}")
    require(0 <= p <= 1, "reveal.p", f"expected a probability, not {p}")
    classes = list(product(range(2), range(2)))

    def step(latent: tuple[int, int, int], actions: tuple[str, ...]) -> tuple[str, str | dict[str, Fraction]]:
        z, b1, b2 = latent
        shown = [f"start z={z}", f"b1={b1}", f"b2={b2}", "decide"][len(actions)]
        if shown != "decide":
            return shown, "wait"
        if p == 1:
            return shown, f"go {b1}{b2}"
        return shown, {f"go {x}{y}": p if (x, y) == (b1, b2) else (1 - p) / 3 for x, y in classes}

    return Model.from_latents(4, uniform(product(range(modes // 4), range(2), range(2))), step)


@instance("gap")
def gap(gap1: int = 3, gap2: int = 3, R1: int = 2, R2: int = 2) -> Model:
    """Two cues, a wait, a decision on the first, a wait, a decision on the second."""
    return _gap("gap", gap1, gap2, R1, R2, show_again=False)


@instance("re-reveal")
def re_reveal(gap1: int = 3, gap2: int = 3) -> Model:
    """The gap toy with the second cue shown again one step before it is used."""
    require(gap2 >= 1, "re-reveal.gap2", "the second cue is shown in the second gap, so the gap needs a step")
    return _gap("re-reveal", gap1, gap2, 2, 2, show_again=True)


def _gap(name: str, gap1: int, gap2: int, classes1: int, classes2: int, show_again: bool) -> Model:
    require(min(gap1, gap2) >= 0 and min(classes1, classes2) >= 1, name, "gaps are at least 0, classes at least 1")
    timeline = ["start", "cue1", "cue2", *["wait"] * gap1, "decide1", *["wait"] * gap2, "decide2"]
    if show_again:
        timeline[-2] = "cue2"

    def step(latent: tuple[int, int, int], actions: tuple[str, ...]) -> tuple[str, str]:
        z, first, second = latent
        now = timeline[len(actions)]
        shown = {"start": f"start z={z}", "cue1": f"cue1={first}", "cue2": f"cue2={second}"}.get(now, now)
        return shown, {"decide1": f"take {first}", "decide2": f"put {second}"}.get(now, "wait")

    return Model.from_latents(len(timeline), uniform(product(range(2), range(classes1), range(classes2))), step)


@instance("re-reveal-t0")
def re_reveal_t0() -> Model:
    """Two bits used, one used again, both shown again at the end: Γ falls 2, 1, 0 while Γˢ stays at 2."""

    def step(latent: tuple[int, int], actions: tuple[str, ...]) -> tuple[str, str]:
        x, y = latent
        shown = [f"cue {x}{y}", "use both", "use first", "wait", f"cue {x}{y}"][len(actions)]
        return shown, [shown, f"go {x}{y}", f"turn {x}", "wait", f"go {x}{y}"][len(actions)].replace("cue", "see")

    return Model.from_latents(5, uniform(product(range(2), range(2))), step)


@instance("three-histories")
def three_histories() -> Model:
    """Three histories, the middle one compatible with both others, which conflict: Γ does not exist."""
    futures = {"h1": ("u", "v1"), "h2": ("w",), "h3": ("u", "v3")}
    latents = [((h, after), Fraction(1, 3 * len(futures[h]))) for h in futures for after in futures[h]]

    def step(latent: tuple[str, str], actions: tuple[str, ...]) -> tuple[str, str]:
        h, after = latent
        return [(h, "wait"), ("same", "wait"), (after, f"do {h}" if after == "u" else "wait")][len(actions)]

    return Model.from_latents(3, latents, step)


@instance("stochastic-expert")
def stochastic_expert(p: Fraction = Fraction(7, 10)) -> Model:
    """Three states shown once, then an action drawn with P(L) = p, p, 1 − p: two of them are one class."""
    require(0 <= p <= 1, "stochastic-expert.p", f"expected a probability, not {p}")

    def step(state: int, actions: tuple[str, ...]) -> tuple[str, str | dict[str, Fraction]]:
        left = p if state < 2 else 1 - p
        return [(f"state {state}", "wait"), ("dark", "wait"), ("choose", {"L": left, "R": 1 - left})][len(actions)]

    return Model.from_latents(3, uniform(range(3)), step)


@instance("lost-cue", "a2-violation")
def lost_cue(loss: Fraction = Fraction(3, 10)) -> Model:
    """The reveal toy whose first bit is lost with some probability: the expert knows more than any history shows."""
    require(0 <= loss <= 1, "lost-cue.loss", f"expected a probability, not {loss}")
    latents = [
        ((z, b1, b2, seen), (1 - loss if seen else loss) / 8)
        for z, b1, b2, seen in product(range(2), range(2), range(2), (True, False))
    ]

    def step(latent: tuple[int, int, int, bool], actions: tuple[str, ...]) -> tuple[str, str]:
        z, b1, b2, seen = latent
        shown = [f"start z={z}", f"b1={b1}" if seen else "b1 lost", f"b2={b2}", "decide"][len(actions)]
        return shown, f"go {b1}{b2}" if shown == "decide" else "wait"

    return Model.from_latents(4, latents, step)


@instance("mass-sketch")
def mass_sketch(modes: int = 4, slots: int = 4) -> Model:
    """A mass shown early whose half is felt later and never matters; a slot is shown shortly before it is used."""
    require(modes >= 2 and modes % 2 == 0 and slots >= 1, "mass-sketch", "expected an even number of modes and a slot")

    def step(latent: tuple[int, int], actions: tuple[str, ...]) -> tuple[str, str]:
        mass, slot = latent
        half = f"half {2 * mass // modes}"
        return [
            ("approach", "reach"),
            (f"mass {mass}", "reach"),
            ("grasp", "close"),
            (f"lift {half}", "carry"),
            (f"carry {half}", "carry"),
            (f"carry {half} slot {slot}", "carry"),
            (f"carry {half}", "carry"),
            (f"place {half}", f"to {slot}"),
        ][len(actions)]

    return Model.from_latents(8, uniform(product(range(modes), range(slots))), step)
