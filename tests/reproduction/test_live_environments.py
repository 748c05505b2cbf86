"""Machines in environments of others: the same symbols, their own rewards."""

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rollout_twin import random_machine

from certify import Model, UserError, certify
from certify.zoo import build
from diacritic.rollout.exact import closed_loop
from diacritic.rollout.machine import CodeMachine, from_certified
from reproduction.live_environments import MemoryChain, PassiveTMaze, live, play

MAZE = """
import numpy as np


class TMazeClassicPassive:
    \"\"\"The interface of the suite's: steps into walls are lost, and the goal pays at the last step.\"\"\"

    def __init__(self, corridor_length):
        self.length = corridor_length

    def reset(self, seed=None):
        np.random.seed(seed)
        self.goal_y, self.x, self.y, self.t = np.random.choice([-1, 1]), 0, 0, 0
        return np.array([0.0, self.goal_y]), {}

    def step(self, action):
        self.t += 1
        if action == 0 and self.x < self.length:
            self.x += 1
        elif action in (1, 3) and self.x == self.length:
            self.y = 1 if action == 1 else -1
        over = self.t > self.length
        seen = [1.0, self.y] if self.x == self.length else [0.0, 0.0]
        return np.array(seen), float(over and self.y == self.goal_y), over, False, {}
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Iterator[Path]:
    """A folder laid out as MIKASA-Base is; what was loaded from it is forgotten in the end."""
    path = tmp_path / "mikasa_base" / "Passive_T_Maze" / "env" / "env_passive_t_maze.py"
    path.parent.mkdir(parents=True)
    path.write_text(MAZE)
    (tmp_path / "mikasa_base" / "__init__.py").write_text("raise RuntimeError('needs every simulator')")
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("mikasa_base")]:
        del sys.modules[name]


def solver(model: Model) -> CodeMachine:
    return from_certified(certify(model).machine, model)


@given(bits=st.integers(1, 3), delay=st.integers(2, 30), actions=st.data())
@settings(max_examples=40, deadline=None)
def test_the_chain_shows_what_the_zoo_shows_whatever_is_done(bits: int, delay: int, actions: st.DataObject) -> None:
    env = MemoryChain(bits, delay, seed=actions.draw(st.integers(0, 2**31 - 1)))
    seen, over = [env.begin()], False
    context, query = "".join(map(str, env.env._context)), env.env._query
    while not over:
        asked = len(seen) == delay + 1
        action = actions.draw(st.sampled_from("01"))
        name, over = env.act(action)
        assert over == asked
        assert env.solved == (over and action == context[query])
        seen += [] if over else [name]
    shown = [f"context {context}"] * min(2, delay) + ["dark"] * (delay - 2)
    assert seen == [*shown, f"query {query}"]


@pytest.mark.parametrize(("bits", "delay"), [(1, 2), (2, 10), (3, 30)])
def test_what_certify_solves_is_solved_in_bsuite(bits: int, delay: int) -> None:
    model = build("memory-chain", bits=bits, delay=delay)
    opened = live("memory-chain", {"bits": bits, "delay": delay}, seed=3)
    assert opened is not None
    where, env = opened
    assert where.startswith("bsuite ")
    assert play(solver(model), model, env, 64) == 1


@pytest.mark.parametrize("seed", range(5))
def test_the_share_is_that_of_the_last_answers(seed: int) -> None:
    """The model asks for every action, the environment for the last one alone."""
    model = build("memory-chain", bits=1, delay=4)
    machine = random_machine(model, 3, seed).greedy()
    rollout = play(machine, model, MemoryChain(1, 4, seed), 400)
    assert rollout >= closed_loop(machine, model).success - 0.15
    always = CodeMachine(machine.move, np.broadcast_to([1.0, 0.0], machine.act.shape))
    assert 0.35 < play(always, model, MemoryChain(1, 4, seed), 400) < 0.65


def test_a_machine_walks_the_maze_of_a_checkout(checkout: Path) -> None:
    model = build("passive-t-maze", L=7)
    opened = live("passive-t-maze", {"L": 7}, seed=0, checkout=checkout)
    assert opened is not None
    where, env = opened
    assert (where, play(solver(model), model, env, 32)) == ("MIKASA-Base", 1)
    up = solver(model)
    names = [model.graph.actions[k] for k in range(len(model.graph.actions))]
    junction = [model.graph.observations[k] for k in range(len(model.graph.observations))].index("junction")
    act = up.act.copy()
    act[:, junction] = np.eye(len(names))[names.index("up")]
    assert 0.2 < play(CodeMachine(up.move, act), model, PassiveTMaze(7, 0, checkout), 64) < 0.8


def test_a_step_that_is_lost_is_not_made_up_for(checkout: Path) -> None:
    model = build("passive-t-maze", L=3)
    machine = random_machine(model, 2, 0)
    up = [model.graph.actions[k] for k in range(len(model.graph.actions))].index("up")
    act = np.broadcast_to(np.eye(machine.actions)[up], machine.act.shape)
    assert play(CodeMachine(machine.move, act), model, PassiveTMaze(3, 0, checkout), 8) == 0


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    assert live("passive-t-maze", {"L": 3}, 0) is None
    assert live("cue-corridor", {"L": 3, "R": 2}, 0) is None
    with pytest.raises(UserError, match="is not a MIKASA-Base checkout"):
        live("passive-t-maze", {"L": 3}, 0, tmp_path)
    with pytest.raises(UserError, match="at delay 1 the query is shown twice"):
        MemoryChain(1, 1, 0)
    model = build("memory-chain", bits=1, delay=4)
    with pytest.raises(UserError, match="context 00: the environment shows what the model does not know"):
        play(solver(model), model, _Constant(), 1)


class _Constant:
    solved = False

    def begin(self) -> str:
        return "context 00"

    def act(self, action: str) -> tuple[str, bool]:
        return action, True
