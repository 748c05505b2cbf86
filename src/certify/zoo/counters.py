"""Counting random events: models with astronomically many histories and a handful of classes."""

from fractions import Fraction

from certify.core.model import Model
from certify.zoo.registry import instance, require


@instance("running-parity")
def running_parity(horizon: int = 20, p: Fraction = Fraction(1, 2)) -> Model:
    """A random bit at every step; asked at the last one, the expert says whether their sum is odd."""
    return _counter("running-parity", 2, horizon, p)


@instance("modulo-counter")
def modulo_counter(modulus: int = 3, horizon: int = 12, p: Fraction = Fraction(1, 2)) -> Model:
    """A random event or none at every step; asked at the last one, the expert says their number modulo `modulus`."""
    return _counter("modulo-counter", modulus, horizon, p)


def _counter(name: str, modulus: int, horizon: int, p: Fraction) -> Model:
    require(modulus >= 1 and horizon >= 1 and 0 <= p <= 1, name, "modulus and horizon are at least 1, p a probability")

    def next_states(count: int) -> dict[tuple[int, int], Fraction]:
        law = {(1, (count + 1) % modulus): p, (0, count % modulus): 1 - p}
        return {state: weight for state, weight in law.items() if weight}

    return Model.from_generative(
        horizon,
        next_states(0),
        observe=lambda t, state: f"event {state[0]}" + (" asked" if t == horizon else ""),
        expert=lambda t, state: f"say {state[1]}" if t == horizon else "wait",
        move=lambda _, state, action: next_states(state[1]),
    )
