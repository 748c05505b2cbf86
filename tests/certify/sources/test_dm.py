"""dm_env environments, and bsuite's tasks: what its memory tasks require, and that the others require nothing."""

import random
import sys
from typing import Any

import dm_env
import numpy as np
import pytest
from dm_env import specs

from certify import Answer, UserError, certify
from certify.core.merged import unfold
from certify.sources.adapter import Adapter, History, check_task, to_model
from certify.sources.dm import (
    StateExpert,
    discounting_chain,
    from_dm,
    memory_chain,
    umbrella_chain,
    umbrella_model,
)
from certify.sources.playing import Player
from certify.zoo import build


def rates(answer: Answer) -> list[float | None]:
    return [step.rate for step in answer.steps]


# ---- the memory chain


@pytest.mark.parametrize("bits", [1, 2, 3])
@pytest.mark.parametrize("delay", [10, 30, 100])
def test_the_chain_certifies_as_the_chain_of_the_zoo(bits: int, delay: int) -> None:
    ours = certify(to_model(memory_chain(bits, delay)))
    zoo = certify(build("memory-chain", bits=bits, delay=delay))
    assert rates(ours) == [0, 0, *[bits] * (delay - 2), 1]
    assert rates(ours) == rates(zoo)
    assert ours.certified
    assert ours.simultaneous
    assert ours.codes == zoo.codes == {"time_indexed": 2**bits, "stationary": 2**bits}
    for step in ours.steps:
        assert step.a2
        assert step.a4
        assert step.transitive


@pytest.mark.parametrize("bits", [1, 2, 3])
def test_a_chain_of_length_one_requires_nothing(bits: int) -> None:
    assert rates(certify(to_model(memory_chain(bits, 1)))) == [0.0, 0.0]


def test_memory_size_in_its_own_setting() -> None:
    """memory_size keeps a delay of two: the cue is there at the second step, so that only the answer is remembered."""
    assert rates(certify(to_model(memory_chain(5, 2)))) == [0.0, 0.0, 1.0]


def test_the_expert_of_the_chain_earns_every_reward() -> None:
    from bsuite.environments.memory_chain import MemoryChain

    adapter = memory_chain(3, 4)
    for (context, query), _ in adapter.weights():
        steps = Player(adapter).play((context, query))
        live = MemoryChain(4, 3, seed=0)
        live.reset()
        live._context, live._query = np.array(context), query
        moments = [live.step(int(action)) for action in steps.actions]
        assert [m.last() for m in moments] == [False] * 4 + [True]
        assert moments[-1].reward == 1


def test_cues_are_shown_twice_and_the_query_at_the_end() -> None:
    assert Player(memory_chain(2, 4)).play(((1, 0), 1)).seen == [
        "[1 0 1 -1]",
        "[1 0 1 -1]",
        "[0.75 0 0 0]",
        "[0.5 0 0 0]",
        "[0.25 1 0 0]",
    ]


def test_bsuite_tasks_pass_the_check() -> None:
    adapters: list[Adapter[Any]] = [memory_chain(2, 5), umbrella_chain(4, 1), umbrella_chain(6, 3, shown=0)]
    for adapter in [*adapters, discounting_chain(None)]:
        told = check_task(adapter, episodes=5)
        assert told[-1] == f"0 of 5 live episodes go on after the horizon, {adapter.horizon} steps"


# ---- the umbrella


@pytest.mark.parametrize("adapter", [umbrella_chain(1), umbrella_chain(20), umbrella_chain(4, 2)], ids=lambda a: a.name)
def test_the_umbrella_requires_nothing_because_the_forecast_stays_visible(adapter: Adapter[Any]) -> None:
    answer = certify(to_model(adapter))
    assert rates(answer) == [0.0] * adapter.horizon
    assert answer.codes == {"time_indexed": 1, "stationary": 1}
    assert not answer.observational
    assert not adapter.modified


def test_an_umbrella_whose_forecast_is_hidden_later_still_requires_nothing() -> None:
    """The decision is made at the first step, while the forecast is there: this is credit assignment, not memory."""
    adapter = umbrella_chain(5)
    blind = Adapter(
        adapter.name,
        adapter.horizon,
        adapter.hidden,
        adapter.reset,
        adapter.step,
        adapter.expert,
        symbol=lambda raw: str(raw[0] if raw[0, 2] == 1 else raw[0, 2]),
    )
    assert rates(certify(to_model(blind))) == [0.0] * 5


def test_the_expert_of_the_umbrella_earns_its_reward() -> None:
    adapter = umbrella_chain(3, 2)
    for hidden, _ in adapter.weights()[:8]:
        steps = Player(adapter).play(hidden)
        assert steps.actions == [str(hidden[0]), "0", "0"]
        assert [seen.split()[3:] for seen in steps.seen] == [[*map(str, row[:1]), f"{row[1]}]"] for row in hidden[2]]
        assert steps.seen[1].startswith(f"[{hidden[0]} {hidden[0]} ")  # the umbrella is there if it will rain


@pytest.mark.parametrize(("length", "distractors"), [(3, 0), (1, 2), (3, 1), (3, 2)])
def test_the_generative_umbrella_is_the_live_one(length: int, distractors: int) -> None:
    """Unfolded into the tree of histories, it has the observations and masses of the enumerated environment."""
    merged = umbrella_model(length, distractors)
    tree, live = unfold(merged.graph), to_model(umbrella_chain(length, distractors)).graph
    for ours, theirs in zip(tree.levels, live.levels, strict=True):

        def masses(graph: Any, level: Any) -> list[tuple[str, str, float]]:
            names = [graph.observations[int(o)] for o in level.observation]
            laws = [str(sorted((graph.actions[a], p) for a, p in graph.laws[int(k)])) for k in level.law]
            return sorted(zip(names, laws, [int(m) / level.total for m in level.mass], strict=True))

        assert masses(tree, ours) == masses(live, theirs)
    assert rates(certify(merged)) == [0.0] * length


def test_more_distractors_than_can_be_listed_are_left_out_and_said_so() -> None:
    """umbrella_length as bsuite ships it: twenty distractors, as random as ever, outside the symbol."""
    adapter = umbrella_chain(20, 20, shown=0)
    assert adapter.modified == "symbols show 0 of 20 distractors"
    assert rates(certify(to_model(adapter))) == [0.0] * 20
    assert to_model(adapter).digest == to_model(umbrella_chain(20)).digest
    assert rates(certify(to_model(umbrella_chain(3, 5, shown=1)))) == [0.0] * 3


# ---- the discounting chain


@pytest.mark.parametrize("mapping", [0, 3, 7])
def test_the_discounting_chain_requires_nothing(mapping: int) -> None:
    adapter = discounting_chain(mapping)
    answer = certify(to_model(adapter))
    assert rates(answer) == [0.0] * 100
    assert not answer.observational
    steps = Player(adapter).play(mapping % 5)
    assert steps.actions[:3] == [str(mapping % 5), "0", "0"]
    assert steps.seen[1] == f"[{mapping % 5} 0.01]"


def test_a_bonus_that_nobody_is_told_fails_a2_at_the_first_step_alone() -> None:
    answer = certify(to_model(discounting_chain(None)))
    assert answer.observational
    assert [step.t for step in answer.steps if not step.a2] == [1]
    assert rates(answer) == [0.0] * 100


def test_global_generators_are_left_alone() -> None:
    before, before_numpy = random.getstate(), np.random.get_state(legacy=False)
    adapters: list[Adapter[Any]] = [memory_chain(1, 3), umbrella_chain(2, 1), discounting_chain(None)]
    for adapter in adapters:
        Player(adapter).play(adapter.weights()[0][0])
    assert random.getstate() == before
    np.testing.assert_equal(np.random.get_state(legacy=False), before_numpy)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: memory_chain(0, 5), "bits and delay are at least 1"),
        (lambda: memory_chain(1, 0), "bits and delay are at least 1"),
        (lambda: memory_chain(40, 2), "too many bits to enumerate; 13 are possible"),
        (lambda: memory_chain(14, 2), "too many bits to enumerate; 13 are possible"),
        (lambda: umbrella_chain(0), "length is at least 1"),
        (lambda: umbrella_chain(3, 1, shown=2), "0 ≤ shown ≤ distractors"),
        (lambda: umbrella_chain(20, 20), "use umbrella_model, or leave some out by shown="),
        (lambda: umbrella_model(0), "length is at least 1"),
        (lambda: umbrella_model(20, 20), "leave some out: umbrella_chain"),
    ],
)
def test_impossible_parameters_are_refused_in_one_line(make: Any, reason: str) -> None:
    with pytest.raises(UserError, match=reason) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_thirteen_bits_are_possible() -> None:
    assert len(memory_chain(13, 2).weights()) == 13 * 2**13


def test_without_bsuite_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [name for name in sys.modules if name.split(".")[0] == "bsuite"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "bsuite", None)
    with pytest.raises(UserError, match=r"^needs bsuite; install the extra 'sources'$"):
        memory_chain(1, 3)


# ---- any dm_env environment


class Lamp(dm_env.Environment):
    """A colour is shown at the start, then darkness; actions are 1 and 2."""

    def __init__(self, flicker: bool = False) -> None:
        self.flicker, self.colour, self.at = flicker, 0, 0
        self.generator = np.random.RandomState(0)

    def reset(self) -> dm_env.TimeStep:
        self.at, self.colour = 0, self.generator.randint(2)
        return dm_env.restart(self.see())

    def step(self, action: int) -> dm_env.TimeStep:
        assert action in (1, 2)
        self.at += 1
        return dm_env.termination(0.0, self.see()) if self.at == 3 else dm_env.transition(0.0, self.see())

    def see(self) -> dict[str, np.ndarray]:
        light = 1 + self.colour if self.at == 0 else self.generator.randint(100) if self.flicker else 0
        return {"light": np.array([[light]]), "time": np.array([self.at / 3], np.float32)}

    def observation_spec(self) -> Any:
        return {"light": specs.Array((1, 1), int), "time": specs.Array((1,), np.float32)}

    def action_spec(self) -> Any:
        return specs.DiscreteArray(2, name="action") if self.flicker else specs.BoundedArray((), int, 1, 2)


def light(env: Lamp, colour: int) -> Any:
    env.reset()
    env.colour = colour
    return dm_env.restart(env.see())


def lamp(env: Any = None, **changes: Any) -> Adapter[int]:
    parts: dict[str, Any] = {
        "hidden": [0, 1],
        "set_hidden": light,
        "expert": lambda colour, history: "12"[colour] if len(history) == 5 else "1",
        "horizon": 3,
        "actions": {"1": 1, "2": 2},
        **changes,
    }
    return from_dm(env or Lamp(), **parts)


def test_an_environment_of_dm_env_is_certified() -> None:
    adapter = lamp()
    check_task(adapter)
    assert adapter.name == "Lamp"
    assert Player(adapter).play(1).seen[0] == "{light: [2], time: [0]}"
    assert rates(certify(to_model(adapter))) == [0.0, 1.0, 1.0]


def test_the_first_observation_or_time_step_may_be_returned() -> None:
    def bare(env: Lamp, colour: int) -> Any:
        return light(env, colour).observation

    assert to_model(lamp(set_hidden=bare)).digest == to_model(lamp()).digest


def test_an_expert_may_act_on_the_live_environment() -> None:
    expert = StateExpert(lambda env: 1 + env.colour if env.at == 2 else 1)
    assert to_model(lamp(expert=expert)).digest == to_model(lamp()).digest


def test_discrete_specs_give_the_actions() -> None:
    def expert(colour: int, history: History) -> int:
        return colour

    env = Lamp(flicker=True)
    with pytest.raises(UserError, match=r"^lamp\.actions: BoundedArray\(.*\) is not discrete; give actions="):
        lamp(actions=None, name="lamp")
    assert lamp(env, actions=None, expert=expert).expert(1, ()) == "1"
    assert lamp(env, actions=["left", "right"], expert=expert).expert(1, ()) == "right"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        (
            {"set_hidden": lambda env, colour: env.reset()},
            r"^Lamp with hidden value \d: is not deterministic at step 1",
        ),
        ({"env": Lamp(flicker=True)}, r"^Lamp with hidden value 0: is not deterministic at step 2: first .*, then "),
        ({"set_hidden": lambda env, colour: None}, r"^Lamp: set_hidden returned nothing"),
        ({"set_hidden": "colour"}, r"^Lamp: set_hidden must be a function"),
        ({"env": object()}, r"^object: is not a dm_env environment: it has no reset"),
    ],
)
def test_what_cannot_be_set_to_a_hidden_value_is_told(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(UserError, match=reason):
        check_task(lamp(**changes))
