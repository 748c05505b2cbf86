"""Rules on beliefs as controllers, against the rule itself along every short history."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from certify.errors import UserError
from certify.sources.planning import Planner
from certify.sources.pomdp import classic, classics
from certify.stationary.beliefs import AlphaVectors, belief_controller
from certify.stationary.world import START, Controller, World


def disagreement(world: World, rule: AlphaVectors, controller: Controller, steps: int) -> str | None:
    """Follow the rule and the controller through every history of so many steps, with plain fractions."""
    waiting = [(dict(world.start), controller.begin(START), 0)]
    for belief, node, depth in waiting:
        action = rule.vectors[rule.best(belief)][0]
        if controller.act(node) != action:
            return f"{belief}: {controller.act(node)}, not {action}"
        a = world.actions.index(action)
        after: dict[int, dict[int, Fraction]] = {}
        for s, p in belief.items():
            for t, q in world.transitions[a][s].items():
                for o, r in world.emissions[a][t].items():
                    row = after.setdefault(o, {})
                    row[t] = row.get(t, Fraction(0)) + p * q * r
        for o, row in after.items():
            if depth < steps:
                (target,) = controller.advance(node, action, world.observations[o])
                whole = sum(row.values())
                waiting.append(({t: p / whole for t, p in row.items()}, target, depth + 1))
    return None


def chances(size: int) -> st.SearchStrategy[dict[int, Fraction]]:
    weights = st.lists(st.integers(0, 3), min_size=size, max_size=size).filter(any)
    return weights.map(lambda w: {k: Fraction(x, sum(w)) for k, x in enumerate(w) if x})


@st.composite
def worlds(draw: st.DrawFn) -> tuple[World, AlphaVectors]:
    size, acts, seen = 3, 2, 2
    moves = [[draw(chances(size)) for _ in range(size)] for _ in range(acts)]
    shown = [[draw(chances(seen)) for _ in range(size)] for _ in range(acts)]
    values = st.lists(st.integers(-3, 3), min_size=size, max_size=size)
    vectors = [(f"a{a}", {s: Fraction(v) for s, v in enumerate(draw(values))}) for a in (0, 1, 0)]
    names = (("x", "y", "z"), ("a0", "a1"), ("p", "q"))
    return World(*names, draw(chances(size)), moves, shown), AlphaVectors(tuple(vectors))


@given(worlds())
def test_a_controller_that_is_found_plays_the_rule(case: tuple[World, AlphaVectors]):
    world, rule = case
    try:
        controller = belief_controller(world, rule, window=3, beliefs=40, most=400)
    except UserError:
        return
    assert disagreement(world, rule, controller.controller, 5) is None


def test_windows_fix_a_rule_where_beliefs_do_not_repeat():
    half, most = Fraction(1, 2), Fraction(9, 10)
    stay = [{0: most, 1: 1 - most}, {1: most, 0: 1 - most}]
    show = [{0: most, 1: 1 - most}, {1: most, 0: 1 - most}]
    world = World(("l", "r"), ("a", "b"), ("L", "R"), {0: half, 1: half}, [stay, stay], [show, show])
    rule = AlphaVectors((("a", {0: Fraction(1), 1: Fraction(0)}), ("b", {0: Fraction(0), 1: Fraction(1)})))
    controller = belief_controller(world, rule, beliefs=200)
    assert controller.method == "windows"
    assert disagreement(world, rule, controller.controller, 7) is None


def test_a_rule_that_no_short_window_fixes_is_refused():
    quarter = Fraction(1, 4)
    stay = [{0: Fraction(1)}, {1: Fraction(1)}]
    show = [{0: 1 - quarter, 1: quarter}, {1: 1 - quarter, 0: quarter}]
    world = World(
        ("l", "r"), ("a", "b"), ("L", "R"), {0: Fraction(1, 3), 1: Fraction(2, 3)}, [stay, stay], [show, show]
    )
    rule = AlphaVectors((("a", {0: Fraction(1), 1: Fraction(0)}), ("b", {0: Fraction(0), 1: Fraction(1)})))
    with pytest.raises(UserError, match="2 labels leave the best vector open"):
        belief_controller(world, rule, window=2, beliefs=50)


@pytest.mark.parametrize("name", classics())
def test_planned_experts_act_in_the_classic_worlds(name: str):
    problem = classic(name)
    world, planner = World.from_problem(problem), Planner(problem)
    for expert in (planner.policy_graph(8), planner.privileged()):
        assert world.process(expert).size >= 1
    rule = planner.qmdp()
    try:
        controller = belief_controller(world, rule, window=2, beliefs=500, most=500)
    except UserError:
        return
    assert disagreement(world, rule, controller.controller, 4) is None
