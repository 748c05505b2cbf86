"""A cue, a wait, a decision: the cue corridor, the memory chain and the passive T-maze."""

from itertools import product

from certify.core.model import Model
from certify.zoo.registry import instance, require, uniform


@instance("cue-corridor")
def cue_corridor(R: int = 2, L: int = 5, textures: int = 2, end: int = 1) -> Model:
    """A cue and a texture at the start, L equal cells, a junction where the cue says the turn, an end (or none)."""
    require(min(R, textures) >= 1 and L >= 0, "cue-corridor", "R and textures are at least 1, L at least 0")
    require(end in (0, 1), "cue-corridor.end", f"expected 1, or 0 for no step after the junction, not {end}")

    def step(latent: tuple[int, int], actions: tuple[str, ...]) -> tuple[str, str]:
        cue, texture = latent
        t = len(actions)
        if t == 0:
            return f"cue {cue} texture {texture}", "forward"
        if t <= L:
            return "corridor", "forward"
        return ("junction", f"turn {cue}") if t == L + 1 else ("end", "stay")

    return Model.from_latents(L + 2 + end, uniform(product(range(R), range(textures))), step)


@instance("memory-chain")
def memory_chain(bits: int = 1, delay: int = 10, raw: int = 0) -> Model:
    """Context bits shown at the first two steps; after the delay one of them is asked for.

    With `raw` observations are named by bsuite's own numbers: the time to go, the query, and the context as ±1.
    """
    require(bits >= 1 and delay >= 1, "memory-chain", "bits and delay are at least 1")
    require(raw in (0, 1), "memory-chain.raw", f"expected 1 for the environment's own numbers, or 0, not {raw}")

    def step(latent: tuple[tuple[int, ...], int], actions: tuple[str, ...]) -> tuple[str, str]:
        context, query = latent
        t = len(actions)
        if raw:
            left = f"{1 - max(t - 1, 0) / delay:.6g}"
            numbers = [2 * bit - 1 for bit in context] if t < 2 else [0] * bits
            asked = query if t == delay else 0
            return " ".join(map(str, [left, asked, *numbers])), str(context[query]) if t == delay else "0"
        shown = ["context " + "".join(map(str, context))] if t < 2 else []
        if t == delay:
            return " ".join([*shown, f"query {query}"]), str(context[query])
        return (shown or ["dark"])[0], "0"

    return Model.from_latents(delay + 1, uniform(product(product(range(2), repeat=bits), range(bits))), step)


@instance("passive-t-maze")
def passive_t_maze(L: int = 10, raw: int = 0) -> Model:
    """The goal is shown in the first observation only; L steps to the right, then up or down.

    With `raw` observations are named by MIKASA-Base's own numbers: whether this is the junction, and the goal as ±1.
    """
    require(L >= 1, "passive-t-maze.L", "the corridor has at least one step")
    require(raw in (0, 1), "passive-t-maze.raw", f"expected 1 for the environment's own numbers, or 0, not {raw}")

    def step(goal: str, actions: tuple[str, ...]) -> tuple[str, str]:
        t = len(actions)
        if raw:
            sign = 0 if t else 1 if goal == "up" else -1
            return f"{int(t == L)} {sign}", goal if t == L else "right"
        if t == L:
            return "junction", goal
        return ("corridor" if t else f"goal {goal}"), "right"

    return Model.from_latents(L + 1, uniform(["up", "down"]), step)
