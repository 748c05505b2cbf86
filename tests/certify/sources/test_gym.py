"""Gymnasium environments: three ways to choose the hidden value, and one line for what cannot be chosen."""

import math
import sys
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from certify import UserError, certify
from certify.sources.adapter import Adapter, History, check_task, to_model
from certify.sources.gym import StateExpert, by_attribute, by_options, by_seed, from_gym
from certify.zoo import build


class Maze(gymnasium.Env[Any, Any]):
    """The goal is shown at the start only; `noise` adds a random bit to what is seen at step 2."""

    action_space = spaces.Discrete(3)
    observation_space = spaces.Discrete(8)

    def __init__(self, length: int = 2, noise: bool = False, obeys: bool = True) -> None:
        self.length, self.noise, self.obeys = length, noise, obeys
        self.world = SimpleNamespace(goal=0)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        self.at = 0
        drawn, self.bit = (int(b) for b in self.np_random.integers(2, size=2))
        self.world.goal = (options or {}).get("goal", drawn) if self.obeys else drawn
        return self.show(), {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        assert self.action_space.contains(action)
        self.at += 1
        return self.show(), 0.0, self.at > self.length, False, {}

    def show(self) -> int:
        if self.at == 0:
            return self.world.goal
        return 3 if self.at == self.length else 4 + self.noise * (self.at == 1) * self.bit

    @property
    def fixed(self) -> int:
        return 0


class Seedless(Maze):
    def reset(self, *, seed: int | None = None) -> tuple[int, dict[str, Any]]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return super().reset(seed=seed)


class Ancient:
    """The interface that Gymnasium left behind."""

    action_space = spaces.Discrete(2)

    def __init__(self) -> None:
        self.unwrapped = self

    def reset(self, **_: Any) -> int:
        return 0

    def step(self, action: int) -> tuple[int, float, bool, dict[str, Any]]:
        return 0, 0.0, False, {}


class Unseeded:
    action_space = spaces.Discrete(2)

    def __init__(self) -> None:
        self.unwrapped = self

    def reset(self) -> int:
        return 0

    step = Ancient.step


def turn(goal: int, history: History) -> int:
    return 1 + goal if history[-1] == "3" else 0


WAYS = {
    "key": lambda: by_options("goal"),
    "function": lambda: by_options(lambda goal: {"goal": goal}, lambda env: env.world.goal),
    "attribute": lambda: by_attribute("world.goal", lambda env: env.show()),
    "seed": lambda: by_seed(lambda env: env.world.goal),
    "hand": lambda: lambda env, goal: env.reset(options={"goal": goal}),
}


def maze(env: Any = None, **changes: Any) -> Adapter[Any]:
    parts = {"hidden": [0, 1], "expert": turn, "horizon": 3, "set_hidden": by_options("goal"), **changes}
    return from_gym(env or Maze(), **parts)


# ---- the three ways


@pytest.mark.parametrize("way", WAYS)
def test_every_way_leads_to_the_same_model(way: str) -> None:
    adapter = maze(set_hidden=WAYS[way]())
    assert check_task(adapter)[-1] == "0 of 20 live episodes go on after the horizon, 3 steps"
    model = to_model(adapter)
    assert model.digest == to_model(maze()).digest
    assert [s.rate for s in certify(model).steps] == [0.0, 1.0, 1.0]


def test_a_gymnasium_maze_certifies_as_the_maze_of_the_zoo() -> None:
    ours = certify(to_model(maze(Maze(10), horizon=11)))
    assert [s.rate for s in ours.steps] == [s.rate for s in certify(build("passive-t-maze", L=10)).steps]


@pytest.mark.parametrize("way", ["key", "function", "attribute", "seed"])
def test_whatever_else_is_random_shows(way: str) -> None:
    with pytest.raises(UserError, match=r"is not deterministic at step 2: first .*[45] \(0 1\), then .*[45] \(0 1\)"):
        check_task(maze(Maze(noise=True), set_hidden=WAYS[way]()))


def test_a_single_seed_for_each_value_can_be_asked_for() -> None:
    check_task(
        maze(
            Maze(noise=True),
            set_hidden=by_seed(lambda env: (env.world.goal, env.bit)),
            hidden=[(0, 1)],
            expert=lambda *_: 0,
        )
    )
    check_task(maze(Maze(noise=True), set_hidden=by_seed(lambda env: env.world.goal, each=1)))


def test_weights_are_those_given() -> None:
    model = to_model(maze(hidden={0: "1/4", 1: "3/4"}, set_hidden=WAYS["seed"]()))
    assert model.episodes is not None
    assert sorted(model.episodes.weight.tolist()) == [1, 3]


def test_wrappers_are_looked_through_and_truncation_ends_an_episode() -> None:
    wrapped = gymnasium.wrappers.TimeLimit(Maze(9), 2)
    for way in ("attribute", "seed", "function"):
        model = to_model(maze(wrapped, set_hidden=WAYS[way](), horizon=4))
        assert [model.graph.observations[int(o)] for o in model.graph.levels[2].observation] == ["end", "end"]


# ---- actions and experts


def test_actions_are_named_by_number_or_by_name() -> None:
    assert to_model(maze()).graph.actions == ("0", "1", "2")
    named = maze(actions=["on", "up", "down"])
    assert to_model(named).graph.actions == ("on", "up", "down")
    by_name = maze(actions=["on", "up", "down"], expert=lambda goal, h: ["up", "down"][goal] if h[-1] == "3" else "on")
    assert to_model(by_name).digest == to_model(named).digest


def test_discrete_actions_may_start_elsewhere() -> None:
    env = Maze()
    env.action_space = spaces.Discrete(3, start=5)
    assert to_model(maze(env, expert=lambda goal, history: 5 + turn(goal, history))).graph.actions == ("5", "6", "7")


def test_other_action_spaces_take_named_values() -> None:
    class Push(Maze):
        action_space = spaces.Box(-1, 1, (1,))

    left, right = np.array([-1], np.float32), np.array([1], np.float32)
    with pytest.raises(UserError, match=r"^Push\.actions: Box\(.*\) is not discrete; give actions="):
        maze(Push())
    adapter = maze(Push(), actions={"left": left, "right": right}, expert=lambda goal, _: [left, "right"][goal])
    assert to_model(adapter).graph.actions == ("left", "right")


def test_an_expert_may_act_on_the_live_state() -> None:
    at_state = StateExpert(lambda env: 1 + env.world.goal if env.at == env.length else np.int64(0))
    for way in WAYS.values():
        assert to_model(maze(expert=at_state, set_hidden=way())).digest == to_model(maze()).digest


def test_an_expert_may_be_stochastic() -> None:
    def law(goal: int, history: History) -> Mapping[Any, Any]:
        return {1 + goal: "2/3", "0": "1/3"} if history[-1] == "3" else {0: 1}

    model = to_model(maze(expert=law))
    assert model.episodes is not None
    assert sorted(model.episodes.weight.tolist()) == [1, 1, 2, 2]


@pytest.mark.parametrize("choice", [3, -1, "up", None, 0.5])
def test_an_action_that_does_not_exist_is_refused(choice: Any) -> None:
    with pytest.raises(UserError, match=r"^Maze\.expert: chose .*, which is not an action; the actions are 0, 1, 2$"):
        to_model(maze(expert=lambda *_: choice))


@pytest.mark.parametrize("names", [["a", "b"], ["a", "b", "b"], [0, 1, 2]])
def test_names_of_actions_fit_the_space(names: Any) -> None:
    with pytest.raises(UserError, match=r"^Maze\.actions: expected 3 different names"):
        maze(actions=names)


# ---- environments that are in Gymnasium


def test_a_taxi_that_must_remember_where_its_rider_wants_to_go() -> None:
    """Taxi-v4 as it is, but what the driver sees no longer tells the destination once the rider is aboard."""
    taxi: Any = gymnasium.make("Taxi-v4", disable_env_checker=True).unwrapped
    far = dict.fromkeys(taxi.P, 99)
    for _ in range(30):  # steps to the end, by value iteration
        for state, moves in taxi.P.items():
            far[state] = min(1 if done else 1 + far[to] for [(_, to, _, done)] in moves.values())

    def shortest(env: Any) -> int:
        steps = {a: 1 if done else 1 + far[to] for a, [(_, to, _, done)] in env.P[env.s].items()}
        return min(steps, key=lambda action: steps[action])

    def start(env: Any, destination: int) -> tuple[int, dict[str, Any]]:
        env.reset(seed=0)
        env.s = env.encode(4, 0, 2, destination)  # beside the rider, in the south-west
        return env.s, {}

    def symbol(state: int) -> str:
        row, column, rider, destination = taxi.decode(state)
        return f"{row} {column} aboard" if rider == 4 else f"{row} {column} to {destination}"

    adapter = from_gym(taxi, [0, 1, 3], StateExpert(shortest), 14, set_hidden=start, symbol=symbol)
    assert adapter.name == "Taxi-v4"
    check_task(adapter)
    rates = [s.rate or 0.0 for s in certify(to_model(adapter)).steps]
    # three destinations share two cells and a turn; then the two in the east share a cell and a turn
    assert rates == pytest.approx([0.0, *[math.log2(3)] * 3, 2 / 3, 2 / 3, *[0.0] * 8])


def test_an_environment_id_is_made() -> None:
    corner = from_gym("CliffWalking-v1", [36], StateExpert(lambda env: 0), 4, set_hidden=by_seed(lambda env: env.s))
    assert corner.name == "CliffWalking-v1"
    assert [s.rate for s in certify(to_model(corner)).steps] == [0.0] * 4


def test_an_unknown_id_is_one_line() -> None:
    with pytest.raises(UserError, match=r"^NoSuchMaze-v0: .*NoSuchMaze.*") as caught:
        maze("NoSuchMaze-v0")
    assert "\n" not in str(caught.value)


# ---- what cannot be reset to a hidden value


def test_without_gymnasium_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with pytest.raises(UserError, match=r"^needs gymnasium; install the extra 'sources'$"):
        maze("CliffWalking-v1")


def test_reset_without_options_is_told() -> None:
    with pytest.raises(UserError, match=r"^Seedless: reset takes no options: choose the hidden value by_attribute or"):
        to_model(maze(Seedless()))


def test_options_that_are_ignored_are_told() -> None:
    deaf = maze(Maze(obeys=False), set_hidden=WAYS["function"]())
    with pytest.raises(UserError, match=r"^Maze: was reset with options \{'goal': \d\}, but its hidden value is \d$"):
        to_model(deaf)
    with pytest.raises(UserError, match=r"^Maze with hidden value \d: is not deterministic at step 1"):
        check_task(maze(Maze(obeys=False)))


@pytest.mark.parametrize(
    ("path", "reason"), [("gaol", "has no attribute 'gaol'"), ("hall.goal", "'hall'"), ("fixed", "setter")]
)
def test_an_attribute_that_cannot_be_set_is_told(path: str, reason: str) -> None:
    with pytest.raises(UserError, match=rf"^Maze: its hidden value cannot be set as '{path}': .*{reason}"):
        to_model(maze(set_hidden=by_attribute(path, lambda env: env.show())))


def test_a_value_that_no_seed_gives_is_told() -> None:
    with pytest.raises(
        UserError, match=r"^Maze: no seed below 50 gives hidden value 2 \(seen: [01], [01]\); raise tries"
    ):
        to_model(maze(hidden=[0, 1, 2], set_hidden=by_seed(lambda env: env.world.goal, tries=50)))


def test_a_value_that_too_few_seeds_give_is_told() -> None:
    with pytest.raises(
        UserError, match=r"^Maze: only 1 of the seeds below \d gives hidden value [01], but 2 are needed"
    ):
        to_model(maze(set_hidden=by_seed(lambda env: env.world.goal, tries=2)))


def test_a_seed_that_does_not_repeat_itself_is_told() -> None:
    class Forgetful(Maze):
        def reset(
            self, *, seed: int | None = None, options: dict[str, Any] | None = None
        ) -> tuple[int, dict[str, Any]]:
            return super().reset(seed=None if hasattr(self, "at") else 0, options=options)

    with pytest.raises(UserError, match=r"^Forgetful\.reset\(seed=\d+\): does not repeat itself: its hidden value was"):
        check_task(maze(Forgetful(), set_hidden=WAYS["seed"]()), episodes=100)


def test_a_hidden_value_that_is_no_value_is_told() -> None:
    with pytest.raises(UserError, match=r"^Maze\.hidden_of: gave array\(.*\); a hidden value is a number, text or a"):
        to_model(maze(set_hidden=by_seed(lambda env: np.array([env.world.goal]))))  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("env", "reason"),
    [
        (object(), "^object: is neither a Gymnasium environment nor the id of one$"),
        (Unseeded(), "^Unseeded: reset takes no seed; expected the interface of Gymnasium 1.x$"),
        (gymnasium.vector.SyncVectorEnv([Maze]), "^SyncVectorEnv: is a vector of environments; give one of them$"),
    ],
)
def test_what_is_no_single_environment_is_told(env: Any, reason: str) -> None:
    with pytest.raises(UserError, match=reason):
        maze(env)


def test_the_old_interface_is_told() -> None:
    with pytest.raises(UserError, match=r"^Ancient: a reset must return the observation and an info dictionary"):
        to_model(maze(Ancient()))
    half = maze(Ancient(), set_hidden=lambda env, goal: (env.reset(), {}), expert=lambda *_: 0)
    with pytest.raises(UserError, match=r"^Ancient: step does not return five values"):
        to_model(half)


def test_a_set_hidden_that_is_none_of_the_ways_is_told() -> None:
    with pytest.raises(UserError, match=r"^Maze: set_hidden must be by_options\(…\), by_attribute"):
        maze(set_hidden="goal")
