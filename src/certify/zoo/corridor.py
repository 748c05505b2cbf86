"""The signpost corridor: signs spell a goal, two halls with a sideways drift, a junction after each."""

from fractions import Fraction
from itertools import product

from certify.core.model import Model
from certify.zoo.registry import instance, require, uniform

_WALL = 2
_SIDE = {"left": -1, "right": 1}


@instance("signpost-corridor")
def signpost_corridor(M: int = 16, W: int = 1, hall1: int = 3, hall2: int = 3, sign: int = 0) -> Model:
    """log2 M signs, a hall, a turn by the last sign but one, a hall, a turn by the last; W drifts, never relevant.

    The lateral cell is clipped to [−2, 2] and re-centred at the start of each hall; the drift is shown on the start
    sign and applied at every hall step; in the first cell of each hall the expert sidesteps left or right at random.
    A `sign` says which one decides the first turn, and the next one decides the second: 1 as the authors released it.
    """
    signs = M.bit_length() - 1
    require(M >= 4 and M == 1 << signs, "signpost-corridor.M", f"expected a power of two, at least 4, not {M}")
    require(W >= 1 and W % 2 == 1, "signpost-corridor.W", f"the drift is symmetric, so W is odd, not {W}")
    require(min(hall1, hall2) >= 1, "signpost-corridor", "a hall has at least one cell")
    require(0 <= sign < signs, "signpost-corridor.sign", f"expected 1 to {signs - 1}, or 0 for the last but one")
    first = sign - 1 if sign else signs - 2
    latents = product(range(2), product(range(2), repeat=signs), range(-(W // 2), W // 2 + 1))
    horizon = 1 + signs + hall1 + 1 + hall2 + 1

    def hall(name: str, walked: tuple[str, ...], drift: int) -> tuple[str, str | dict[str, Fraction]]:
        lateral = 0
        for action in walked:
            lateral = max(-_WALL, min(_WALL, lateral + _SIDE.get(action, 0) + drift))
        sidestep = {side: Fraction(1, 2) for side in _SIDE}
        return f"{name} {lateral:+d}", "forward" if walked else sidestep

    def step(latent: tuple[int, tuple[int, ...], int], actions: tuple[str, ...]):
        texture, bits, drift = latent
        t = len(actions) - 1
        if t < 0:
            return f"start {texture} drift {drift:+d}", "forward"
        if t < signs:
            return f"sign{t + 1} {bits[t]}", "forward"
        t -= signs
        if t < hall1:
            return hall("hall1", actions[len(actions) - t :] if t else (), drift)
        if t == hall1:
            return "junction1", f"turn {bits[first]}"
        t -= hall1 + 1
        if t < hall2:
            return hall("hall2", actions[len(actions) - t :] if t else (), drift)
        return "junction2", f"turn {bits[first + 1]}"

    return Model.from_latents(horizon, uniform(latents), step)
