"""`check_policy` finds every memory beside the code, by construction and by intervention."""

from dataclasses import replace

import pytest
import torch
from carrier_twin import NARROW, TINY, lively
from torch import Tensor

from certify.errors import UserError
from diacritic.memory.check import check_policy
from diacritic.memory.kinds import memory_of
from diacritic.memory.module import Carrier, one_run
from diacritic.memory.shape import Architecture, Shape
from diacritic.memory.sole_carrier import State
from diacritic.training.objectives.imitation import Imitation

SHAPE = Shape(observation=4, action=2, symbols=5)
SWAP = "swapping codes between histories does not swap what follows: something else carries memory"
ERASE = "resetting the code does not erase the past"


def _carrier(architecture: Architecture, kind: type[Carrier] = Carrier) -> Carrier:
    layers = memory_of(architecture).weights(SHAPE, architecture) | Imitation().weights(SHAPE, architecture)
    return kind(SHAPE, architecture, one_run(lively(layers, [3], torch.float32), 0))


def _episodes() -> tuple[Tensor, Tensor, Tensor]:
    made = torch.Generator().manual_seed(0)
    symbol = torch.eye(5)[torch.randint(5, (8, 40), generator=made)]
    return torch.randn(8, 40, 4, generator=made), torch.randn(8, 40, 2, generator=made), symbol


@pytest.mark.parametrize(
    "architecture",
    [TINY, replace(TINY, bound="tanh"), replace(TINY, persistent=False), replace(TINY, path="scaffold"), NARROW],
)
def test_a_sole_carrier_passes(architecture: Architecture) -> None:
    problems = check_policy(_carrier(architecture), *_episodes()[:2])
    assert problems.sole_carrier
    assert problems.findings == ()


def test_matched_side_information_passes_with_its_symbols() -> None:
    carrier = _carrier(replace(TINY, side="symbol"))
    assert check_policy(carrier, *_episodes()).sole_carrier
    with pytest.raises(UserError, match="symbol"):
        check_policy(carrier, *_episodes()[:2])


def test_a_bypass_is_found_in_three_ways() -> None:
    problems = check_policy(_carrier(replace(TINY, path="bypass")), *_episodes()[:2])
    assert not problems.sole_carrier
    assert problems.findings == ("the state also holds 'hidden'", SWAP, ERASE)


def test_a_second_carrier_and_a_gaussian_are_found_by_construction() -> None:
    dual = check_policy(_carrier(replace(TINY, identification=4)), *_episodes()[:2])
    assert dual.findings == ("the state also holds 'identification'",)  # the actions do not depend on it
    gaussian = check_policy(_carrier(replace(TINY, memory="gaussian")), *_episodes()[:2])
    assert gaussian.findings == ("the memory is 'gaussian', not a code",)


class Sly(Carrier):
    """Remembers its last observation outside the state."""

    past: Tensor | None = None

    def step(
        self,
        state: State,
        observation: Tensor,
        previous_action: Tensor,
        symbol: Tensor | None = None,
        frame: Tensor | None = None,
    ) -> tuple[State, Tensor, Tensor]:
        state, code, action = super().step(state, observation, previous_action, symbol, frame)
        action = action if self.past is None else action + self.past[: len(action), :2]
        self.past = observation
        return state, code, action


def test_what_hides_outside_the_state_is_found_by_playing_again() -> None:
    problems = check_policy(_carrier(TINY, Sly), *_episodes()[:2])
    assert not problems.sole_carrier
    assert problems.findings[-1] == "the same episodes played twice differ: something persists between episodes"


def test_too_little_to_intervene_on_is_refused() -> None:
    seen, did, _ = _episodes()
    for few in ((seen[:, :1], did[:, :1]), (seen[:1], did[:1]), (seen, did[:3])):
        with pytest.raises(UserError, match="needs at least two episodes of two steps"):
            check_policy(_carrier(TINY), *few)
