"""Every known interface is played as its own documentation says; everything else is refused by name."""

from collections import deque
from typing import Any

import numpy as np
import pytest
import torch
from sb3_contrib import RecurrentPPO
from third_party_policies import Bypassing, Cell, Closed, Held, Open, Queued

from certify.errors import UserError
from certify.sources.policy import MachinePolicy
from certify.zoo import build
from diacritic.measure.policy_adapters import (
    IMAGE,
    Acting,
    Forward,
    Observation,
    Predicting,
    Selecting,
    Stepping,
    adapt,
    leaves,
    whole,
)
from diacritic.tasks.symbolic import SymbolicEnv

NONE = Observation(np.zeros(2, np.float32), absent=True)


def symbol(number: int, name: str, size: int = 4) -> Observation:
    return Observation(np.eye(size, dtype=np.float32)[number], number, name)


def test_each_interface_is_recognised() -> None:
    model = build("gap")
    policies = {Acting: Open(), Forward: Cell(2), Selecting: Queued(2), Stepping: Bypassing(model)}
    for kind, policy in policies.items():
        assert type(adapt(policy)) is kind
    assert adapt(kept := adapt(Open())) is kept
    with pytest.raises(UserError, match=r"policy: a Linear has none of the known interfaces: reset\(\) and act"):
        adapt(torch.nn.Linear(2, 2))
    with pytest.raises(UserError, match="policy: a str has none"):
        adapt("gap")


def test_what_can_be_done_with_a_state_is_found_out() -> None:
    certified = MachinePolicy.__new__(MachinePolicy)  # its state is a read-only property
    certified._now = None
    actual = {type(p).__name__: adapt(p) for p in (Open(), Closed(), certified, Queued(2))}
    assert {name: (p.readable, p.writable) for name, p in actual.items()} == {
        "Open": (True, True),
        "Closed": (False, False),
        "MachinePolicy": (True, False),
        "Queued": (False, False),
    }
    for attempt in (actual["Queued"].read, lambda: actual["Queued"].write(None)):
        with pytest.raises(UserError, match=r"policy: its state cannot be .* through reset\(\) and select_action"):
            attempt()


def test_names_and_previous_actions_reach_an_object() -> None:
    class Echo:
        def reset(self) -> None:
            self.heard: list[Any] = []

        def act(self, observation: Any, previous: Any) -> Any:
            self.heard.append((observation, previous))
            return 0

        def get_state(self) -> list[Any]:
            return self.heard

        def set_state(self, state: list[Any]) -> None:
            self.heard = state

    policy = adapt(echo := Echo())
    policy.reset()
    policy.act(symbol(1, "hall"), NONE)
    before = policy.read()
    policy.act(Observation(np.ones(3)), symbol(0, "wait"))
    policy.act(Observation(np.ones(3), frame=(image := np.zeros((64, 64, 3), np.uint8))), NONE)
    assert echo.heard[0] == ("hall", None)
    assert echo.heard[1][1] == "wait"
    np.testing.assert_array_equal(echo.heard[1][0], np.ones(3))
    assert echo.heard[2][0][IMAGE] is image
    assert before == [("hall", None)]  # a copy, not the list that went on growing
    policy.write(before)
    assert echo.heard == before
    assert echo.heard is not before


def test_a_module_gets_rows_and_its_own_state_back() -> None:
    policy = adapt(Cell(2))
    policy.reset()
    first = policy.act(symbol(1, "b"), NONE)
    held = policy.read()
    second = policy.act(symbol(0, "a"), NONE)
    assert (first.tolist(), second.tolist()) == ([[0, 1]], [[1, 2]])
    policy.write(held)
    assert torch.equal(policy.act(symbol(0, "a"), NONE), second)
    policy.reset()
    assert torch.equal(policy.act(symbol(1, "b"), NONE), first)


def test_a_module_may_take_the_previous_action_and_name_its_first_state() -> None:
    class Informed(torch.nn.Module):
        def initial_state(self, batch: int) -> torch.Tensor:
            return torch.full((batch, 1), 7.0)

        def forward(self, observation: Any, state: Any, previous: Any) -> tuple[Any, Any]:
            return torch.cat([state, previous], -1), state

    policy = adapt(Informed())
    policy.reset()
    assert policy.act(symbol(0, "a"), NONE).tolist() == [[7, 0, 0]]

    class Silent(torch.nn.Module):
        def forward(self, observation: Any, state: Any) -> Any:
            return observation

    with pytest.raises(UserError, match=r"policy.forward: gave a Tensor; expected \(action, state\)"):
        adapt(Silent()).act(symbol(0, "a"), NONE)


def test_a_lerobot_policy_gets_a_batch_by_its_names() -> None:
    policy = adapt(queued := Queued(2))
    policy.reset()
    first = policy.act(symbol(1, "b"), NONE)
    frame = np.full((64, 64, 3), 255, np.uint8)
    second = policy.act(Observation(np.zeros(4, np.float32), frame=frame), NONE)
    assert first.tolist() == second.tolist() == [[0, 1]]  # a chunk of two
    assert list(queued.batches[0]) == ["observation.state"]
    image = queued.batches[1][IMAGE]
    assert (tuple(image.shape), float(image.max()), image.dtype) == ((1, 3, 64, 64), 1.0, torch.float32)


def test_frames_are_refused_by_what_has_no_place_for_them() -> None:
    seen = Observation(np.zeros(16, np.float32), frame=np.zeros((64, 64, 3), np.uint8))
    for policy in (Cell(2), Bypassing(build("gap"))):
        with pytest.raises(UserError, match="policy: camera frames are shown through"):
            adapt(policy).act(seen, NONE)


@pytest.fixture(scope="module")
def recurrent_ppo() -> RecurrentPPO:
    env = SymbolicEnv("cue-corridor", L=1)
    small = {"lstm_hidden_size": 8, "net_arch": []}
    return RecurrentPPO("MlpLstmPolicy", env, n_steps=8, batch_size=8, policy_kwargs=small, seed=0, device="cpu")


def test_recurrent_ppo_is_played_as_its_documentation_says(recurrent_ppo: RecurrentPPO) -> None:
    policy = adapt(recurrent_ppo)
    assert type(policy) is Predicting
    numbers, state, start = [3, 0, 1], None, np.array([True])
    policy.reset()
    for step, number in enumerate(numbers):
        wanted, state = recurrent_ppo.predict(np.asarray(number), state, start, deterministic=True)
        start = np.array([False])
        held = policy.read()
        assert policy.act(symbol(number, str(number), 6), NONE) == wanted
        for mine, theirs in zip(leaves(policy.read()[1]), leaves(state), strict=True):
            np.testing.assert_array_equal(mine, theirs)
        if step:
            policy.write(held)  # the same step again from the state before it
            assert policy.act(symbol(number, str(number), 6), NONE) == wanted


def test_a_carrier_steps_and_its_code_can_be_moved_alone() -> None:
    model = build("gap")
    whole_state, code_alone = Stepping(Bypassing(model)), Stepping(Bypassing(model), code_alone=True)
    other = Held(torch.tensor([5]), torch.ones(1, 3))
    for policy in (whole_state, code_alone):
        policy.reset()
        policy.act(
            Observation(np.eye(len(model.graph.observations), dtype=np.float32)[0]),
            Observation(np.zeros(5, np.float32)),
        )
        policy.write(other)
    assert (whole_state.read().code.item(), whole_state.read().hidden.sum()) == (5, 3)
    assert (code_alone.read().code.item(), code_alone.read().hidden[0, 1]) == (5, 0)


def test_states_come_apart_into_numbers() -> None:
    state = {"b": torch.ones(2, 2), "a": (1, [np.array([0.5])], None), "c": Held(torch.zeros(1), torch.ones(1))}
    assert np.concatenate(list(leaves(state))).tolist() == [1, 0.5, 1, 1, 1, 1, 0, 1]
    assert [part.tolist() for part in leaves(deque([1, 2]))] == [[1], [2]]
    with pytest.raises(UserError, match=r"policy\.state: holds a str, which is not an array of numbers"):
        list(leaves(("seen", 1)))


@pytest.mark.parametrize(
    ("code", "wanted"),
    [(3, 3), (torch.tensor([4]), 4), (np.int32(2), 2), (None, None), ("a", None), (0.5, None), ([1, 2], None)],
)
def test_a_code_is_one_whole_number(code: Any, wanted: int | None) -> None:
    assert whole(code) == wanted


def test_a_code_beside_the_state_is_seen() -> None:
    class Coded(Open):
        code = np.int64(3)

    assert adapt(Coded()).code == 3
    assert adapt(Open()).code is None
