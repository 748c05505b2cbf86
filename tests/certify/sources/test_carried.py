"""How many of the required bits a policy carries: thirty policies built to carry none, some, all or too much."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from certify import Model
from certify.sources.policy import machine_of
from certify.zoo import build

CHAIN = build("memory-chain", bits=3, delay=4)  # three bits at first, dark, then a query for one of them
DARK = 2  # the step (from 0) at which nothing is seen and all three bits are needed


class Keeps:
    """Remembers `keep` of the first observation, and the step if it counts; answers a query from what it has."""

    def __init__(self, keep: Callable[[str], Any], counts: bool = False, forgets: int = 99) -> None:
        self.keep, self.counts, self.forgets = keep, counts, forgets
        self.reset()

    def reset(self) -> None:
        self.seen, self.t = "", 0

    @property
    def state(self) -> tuple[Any, int]:
        return (self.keep(self.seen) if self.seen and self.t < self.forgets else None, self.t if self.counts else 0)

    def act(self, observation: str) -> str:
        self.t += 1
        self.seen = self.seen or observation
        return "0"


def bits_of(observation: str) -> str:
    return observation.removeprefix("context ")


def kept(*positions: int) -> Callable[[str], Any]:
    return lambda seen: tuple(bits_of(seen)[k] for k in positions)


PARITY: Callable[[str], Any] = lambda seen: bits_of(seen).count("1") % 2  # noqa: E731
MAJORITY: Callable[[str], Any] = lambda seen: bits_of(seen).count("1") > 1  # noqa: E731
COUNT: Callable[[str], Any] = lambda seen: bits_of(seen).count("1")  # noqa: E731
ENTROPY_OF_COUNT = 2 * 3 / 8 * np.log2(8 / 3) + 2 / 8 * 3  # 1, 3, 3, 1 of 8
EXACT = {
    "none": (Keeps(lambda seen: 0), 0.0),
    "none, but counts": (Keeps(lambda seen: 0, counts=True), 0.0),
    **{f"bit {k}": (Keeps(kept(k)), 1.0) for k in range(3)},
    **{f"bit {k}, and counts": (Keeps(kept(k), counts=True), 1.0) for k in range(3)},
    **{f"bits {a}{b}": (Keeps(kept(a, b)), 2.0) for a in range(3) for b in range(a)},
    "all": (Keeps(kept(0, 1, 2)), 3.0),
    "all, in another order": (Keeps(kept(2, 0, 1)), 3.0),
    "all, and counts": (Keeps(kept(0, 1, 2), counts=True), 3.0),
    "the whole text": (Keeps(lambda seen: seen), 3.0),
    "parity": (Keeps(PARITY), 1.0),
    "majority": (Keeps(MAJORITY), 1.0),
    "count": (Keeps(COUNT), ENTROPY_OF_COUNT),
    "parity and majority": (Keeps(lambda seen: (PARITY(seen), MAJORITY(seen))), ENTROPY_OF_COUNT),
    "all ones or not": (Keeps(lambda seen: COUNT(seen) == 3), 3 / 8 + 7 / 8 * np.log2(8 / 7)),
    "forgets at once": (Keeps(kept(0, 1, 2), forgets=1), 0.0),
    "forgets in the dark": (Keeps(kept(0, 1, 2), forgets=2), 0.0),
    "forgets later": (Keeps(kept(0, 1, 2), forgets=3), 3.0),
}


@pytest.mark.parametrize("name", EXACT)
def test_a_policy_that_keeps_a_known_part(name: str) -> None:
    policy, bits = EXACT[name]
    report = machine_of(policy, CHAIN)
    assert report.state is not None
    assert report.needed[DARK] == pytest.approx(3)
    assert report.state.carried[DARK] == pytest.approx(bits)
    short = f"by state it carries {bits:.3f} of 3.000 bits at step {DARK + 1}"
    assert (short in report.text()) == (bits < 2.999)


def stack(frames: int) -> Callable[[Any, Any], tuple[str, Any]]:
    """A frame stack as a callable of (observation, state): the last few one-hot rows."""

    def step(row: np.ndarray, state: Any) -> tuple[str, Any]:
        return "0", ((*(state or ()), tuple(row[0].tolist())))[-frames:]

    return step


@pytest.mark.parametrize(("frames", "bits"), [(1, 0.0), (2, 3.0), (3, 3.0), (9, 3.0)])
def test_a_stack_carries_what_lies_within_it(frames: int, bits: float) -> None:
    """The context is shown at step 1 and again at step 2: two dark steps later one frame has lost it."""
    report = machine_of(stack(frames), CHAIN)
    assert report.state is not None
    assert report.state.carried[DARK + 1] == pytest.approx(bits)


def test_networks_and_encoders() -> None:
    torch = pytest.importorskip("torch")

    class Gru(torch.nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.cell, self.head = torch.nn.GRUCell(width, 8), torch.nn.Linear(8, 2)

        def forward(self, row: Any, state: Any) -> Any:
            state = self.cell(row, state)
            return self.head(state), state

    class Attention(torch.nn.Module):
        """Reads the whole past; its cache is its state."""

        def __init__(self, width: int) -> None:
            super().__init__()
            self.head = torch.nn.Linear(width, 2)

        def forward(self, row: Any, state: Any) -> Any:
            state = row if state is None else torch.cat([state, row])
            return self.head(torch.softmax(state @ row.T, 0).T @ state), state

    torch.manual_seed(0)
    width = len(CHAIN.observation_index)
    for net in (Gru(width), Attention(width)):
        report = machine_of(net, CHAIN)
        assert report.state is not None
        assert report.state.carried[DARK] == pytest.approx(3)
    blind = machine_of(Gru(2), CHAIN, encode=lambda name: np.array([[name.startswith("context"), 0]], np.float32))
    assert blind.state is not None
    assert blind.state.carried[DARK] == 0


def test_without_a_state_behaviour_is_what_counts() -> None:
    class Answers:
        """Keeps the first bit alone, and shows nothing of it until it is asked."""

        def reset(self) -> None:
            self._bit = ""

        def act(self, observation: str) -> str:
            self._bit = self._bit or bits_of(observation)[0]
            return self._bit if "query" in observation else "0"

    report = machine_of(Answers(), CHAIN)
    assert report.state is None
    assert report.behaviour.carried[DARK] == pytest.approx(1)
    assert "by behaviour it carries 1.000 of 3.000 bits at step 3" in report.text()


def test_the_numbering_of_observations_is_part_of_the_model() -> None:
    assert isinstance(CHAIN, Model)
    assert sorted(CHAIN.observation_index.values()) == list(range(len(CHAIN.graph.observations)))
    for name, number in CHAIN.observation_index.items():
        assert CHAIN.graph.observations[number] == name
