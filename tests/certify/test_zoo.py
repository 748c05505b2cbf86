"""Every instance returns the values that the paper prints or that a pencil gives."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import fsum, log2

import pytest

from certify import UserError
from certify.core.exact import rank
from certify.core.floors import floors
from certify.core.graph import Graph
from certify.core.joint import best_machine
from certify.core.rates import conditional_rate
from certify.core.relations import compatibility, strong_classes, support_classes
from certify.zoo import build, find, instances

H2_THIRD = 0.9182958340544896  # log₂3 − 2/3
LOG2_3 = 1.584962500721156


@dataclass(frozen=True)
class Found:
    """What the solver says of an instance, one entry a step."""

    graph: Graph
    history: list[float]
    present: list[float]
    rate: list[float]
    strong: list[float]
    states: list[int | None]
    a2: list[bool]
    a4: list[bool]
    transitive: list[bool]
    simultaneous: bool | None


def solve(name: str, **parameters: str | int | Fraction) -> Found:
    graph = build(name, **parameters).graph
    relations, strong = compatibility(graph), strong_classes(graph)
    step_floors = floors(graph, relations, strong)
    assert all(floor.proved for floor in step_floors)
    levels = graph.levels
    return Found(
        graph,
        [level.history_entropy for level in levels],
        [conditional_rate(level, level.law) for level in levels],
        [floor.upper for floor in step_floors],
        [conditional_rate(level, label) for level, label in zip(levels, strong, strict=True)],
        [floor.states for floor in step_floors],
        [not level.mixed for level in levels],
        [rank(support_classes(graph, t))[1] == rank(r.group)[1] for t, r in enumerate(relations)],
        [relation.transitive for relation in relations],
        best_machine(graph, relations, step_floors).simultaneous,
    )


def near(values: list[float], expected: list[float]) -> bool:
    return len(values) == len(expected) and all(abs(a - b) <= 1e-14 for a, b in zip(values, expected, strict=True))


# ---- toys


@pytest.mark.parametrize("modes", [4, 8, 16])
def test_reveal(modes: int) -> None:
    """[0, 0, 1, 2] whatever the number of modes; only the history grows with it."""
    solution = solve("reveal", modes=modes)
    assert solution.rate == solution.strong == [0, 0, 1, 2]
    assert solution.present == [0, 0, 0, 2]
    nuisance = log2(modes / 4)
    assert solution.history == [0, nuisance, nuisance + 1, nuisance + 2]
    assert solution.states == [1, 1, 2, 4]
    assert all(solution.a2 + solution.a4 + solution.transitive)


def test_reveal_by_an_expert_that_errs() -> None:
    """Four laws, as many as right decisions, whatever p but a quarter; the sure expert is the model of always."""
    solution = solve("reveal", modes=16, p="7/10")
    assert solution.rate == solution.strong == [0, 0, 1, 2]
    assert all(solution.a2 + solution.transitive)
    graph = solution.graph
    decisions = {graph.laws[law] for law in graph.levels[-1].law}
    assert {tuple(sorted(p for _, p in law)) for law in decisions} == {(*[Fraction(1, 10)] * 3, Fraction(7, 10))}
    assert len(decisions) == 4
    assert solve("reveal", p=Fraction(1, 4)).rate == [0, 0, 0, 0]
    assert build("reveal").digest == "33f8bffc5de1ef085c86e6d43a33aabf84de4489d372920187708dd79f80087d"


def test_gap() -> None:
    solution = solve("gap")
    assert solution.rate == solution.strong == [0, 0, 1, 2, 2, 2, 2, 1, 1, 1, 1]
    assert solution.present == [0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1]
    assert [r - g for r, g in zip(solution.rate, solution.present, strict=True)] == [0, 0, 1, 2, 2, 2, 1, 1, 1, 1, 0]
    assert solution.simultaneous is True


@pytest.mark.parametrize(
    ("gap1", "gap2", "first", "second"), [(0, 0, 2, 2), (2, 6, 4, 4), (1, 15, 3, 5), (3, 10, 2, 1)]
)
def test_gap_of_other_sizes(gap1: int, gap2: int, first: int, second: int) -> None:
    """log₂(R₁R₂) until the first decision, log₂R₂ until the second."""
    solution = solve("gap", gap1=gap1, gap2=gap2, R1=first, R2=second)
    staircase = [0, 0, log2(first)] + [log2(first * second)] * (gap1 + 1) + [log2(second)] * (gap2 + 1)
    assert near(solution.rate, staircase)
    assert solution.states == [1, 1, first] + [first * second] * (gap1 + 1) + [second] * (gap2 + 1)


def test_re_reveal() -> None:
    """The second cue comes back, so only the first is carried, and nothing after it; Γˢ pays for both."""
    solution = solve("re-reveal")
    assert solution.rate == [0, 0, 1, 1, 1, 1, 1, 0, 0, 0, 1]
    assert solution.strong == [0, 0, 1, 2, 2, 2, 2, 1, 1, 0, 1]
    assert all(solution.transitive)
    assert solution.a4 == [True] * 8 + [False, True, True]
    assert round(fsum(solution.strong[7:10]) / 3, 2) == 0.67


def test_the_re_reveal_instance_of_the_gate() -> None:
    solution = solve("re-reveal-t0")
    assert solution.rate == [0, 2, 1, 0, 0]
    assert solution.strong == [0, 2, 2, 2, 0]
    assert all(solution.transitive)
    assert not all(solution.a4)


def test_three_histories() -> None:
    """0 / 0.918… / log₂3 with refusal: the minimum lies strictly inside the bracket."""
    solution = solve("three-histories")
    assert solution.transitive == [True, False, True]
    assert solution.a4 == [True, False, True]
    assert solution.present[1] == 0
    assert abs(solution.rate[1] - H2_THIRD) <= 1e-15
    assert abs(solution.strong[1] - LOG2_3) <= 1e-15
    assert solution.states[1] == 2
    assert solution.simultaneous is True


@pytest.mark.parametrize("p", ["0.7", "0.9", "1/3", "1", "0", "0.5000001"])
def test_stochastic_expert(p: str) -> None:
    """Two of three states act alike: h₂(1/3) for every p but one half, against log₂3 of the history."""
    solution = solve("stochastic-expert", p=p)
    assert near(solution.rate, [0, H2_THIRD, H2_THIRD])
    assert near(solution.history, [0, LOG2_3, LOG2_3])
    assert near(solution.present, [0, 0, H2_THIRD])


def test_stochastic_expert_at_one_half_needs_nothing() -> None:
    assert solve("stochastic-expert", p=Fraction(1, 2)).rate == [0, 0, 0]


def test_lost_cue() -> None:
    """(A2) fails at the decision alone; observationally the lost bit is a third value."""
    solution = solve("lost-cue")
    assert solution.a2 == [True, True, True, False]
    assert [round(rate, 2) for rate in solution.rate] == [0, 0, 1.58, 2.58]
    assert all(solution.transitive)
    assert solve("a2-violation").rate == solution.rate


def test_a_cue_never_lost_and_one_always_lost() -> None:
    assert solve("lost-cue", loss=0).rate == [0, 0, 1, 2]
    assert all(solve("lost-cue", loss="0").a2)
    assert solve("lost-cue", loss="1").rate == [0, 0, 0, 1]


@pytest.mark.parametrize("modes", [4, 16, 64])
def test_mass_that_never_matters(modes: int) -> None:
    """No bit for the mass before the grasp, although its half changes what is seen next; two bits for the slot."""
    solution = solve("mass-sketch", modes=modes)
    assert solution.rate == [0, 0, 0, 0, 0, 0, 2, 2]
    assert solution.strong == [0, 0, 1, 0, 0, 0, 2, 2]
    assert solution.a4.count(False) == 1
    assert all(solution.transitive)


# ---- cues


@pytest.mark.parametrize("R", [1, 2, 3, 4])
@pytest.mark.parametrize("L", [0, 1, 5, 80])
def test_cue_corridor(R: int, L: int) -> None:
    solution = solve("cue-corridor", R=R, L=L)
    assert near(solution.rate, [0, *[log2(R)] * (L + 1), 0])
    assert solution.states == [1, *[R] * (L + 1), 1]
    assert all(solution.a2 + solution.a4 + solution.transitive)


@pytest.mark.parametrize("textures", [1, 4])
def test_textures_are_never_carried(textures: int) -> None:
    solution = solve("cue-corridor", textures=textures)
    assert near(solution.rate, [0, 1, 1, 1, 1, 1, 1, 0])
    assert near(solution.history[1:], [log2(2 * textures)] * 7)


@pytest.mark.parametrize("bits", [1, 2, 3, 4])
@pytest.mark.parametrize("delay", [2, 3, 10, 30])
def test_memory_chain(bits: int, delay: int) -> None:
    """0, 0, b, …, b, 1: the cue is shown twice, and the question leaves one bit."""
    solution = solve("memory-chain", bits=bits, delay=delay)
    assert near(solution.rate, [0, 0, *[float(bits)] * (delay - 2), 1])
    assert all(solution.a2 + solution.a4 + solution.transitive)


def test_a_memory_chain_asked_while_the_cue_is_shown() -> None:
    assert solve("memory-chain", bits=3, delay=1).rate == [0, 0]


@pytest.mark.parametrize("L", [1, 10, 60])
def test_passive_t_maze(L: int) -> None:
    assert solve("passive-t-maze", L=L).rate == [0, *[1] * L]


# ---- counters


@pytest.mark.parametrize(
    ("modulus", "p"), [(2, Fraction(1, 2)), (3, Fraction(1, 2)), (5, Fraction(1, 3)), (1, Fraction(1, 2))]
)
def test_modulo_counter(modulus: int, p: Fraction) -> None:
    """The present event is seen, so what is carried at step t is the count of the t − 1 events before, modulo m."""
    solution = solve("modulo-counter", modulus=modulus, horizon=9, p=p)
    count = [Fraction(1)] + [Fraction(0)] * (modulus - 1)
    for t, rate in enumerate(solution.rate):
        assert abs(rate - fsum(float(q) * log2(1 / q) for q in count if q)) <= 1e-14
        assert solution.history[t] == pytest.approx(t * fsum(float(q) * log2(1 / q) for q in (p, 1 - p)), abs=1e-13)
        count = [count[k] * (1 - p) + count[k - 1] * p for k in range(modulus)]


def test_certain_events_need_no_counting() -> None:
    assert solve("modulo-counter", p=1).rate == [0] * 12
    assert solve("running-parity", p=0, horizon=3).rate == [0] * 3


# ---- the signpost corridor


def observations(graph: Graph, t: int) -> set[str]:
    return {graph.observations[o] for o in graph.levels[t].observation}


def hall(graph: Graph, name: str) -> list[int]:
    return [t for t in range(graph.horizon) if all(word.startswith(name) for word in observations(graph, t))]


@pytest.mark.parametrize("W", [1, 3, 5, 7])
def test_corridor(W: int) -> None:
    """128·W histories a level, halls at 2 and 1 bits for every W, one machine for all; classes only for W = 1."""
    solution = solve("signpost-corridor", W=W)
    sizes = [level.size for level in solution.graph.levels]
    assert max(sizes) == 128 * W
    assert sizes[-3:] == [128 * W] * 3
    staircase = [0, 0, 0, 0, 1, 2, 2, 2, 2, 1, 1, 1, 1]
    assert near(solution.rate, [float(bits) for bits in staircase])
    assert hall(solution.graph, "hall1") == [5, 6, 7]
    assert hall(solution.graph, "hall2") == [9, 10, 11]
    assert solution.states == [1, 1, 1, 1, 2, 4, 4, 4, 4, 2, 2, 2, 2]
    assert solution.simultaneous is True
    assert all(solution.transitive) == (W == 1)
    assert all(solution.a2)


def test_corridor_without_drift_is_a_staircase() -> None:
    solution = solve("signpost-corridor")
    assert solution.rate == solution.strong == [0, 0, 0, 0, 1, 2, 2, 2, 2, 1, 1, 1, 1]
    assert solution.history == [0, 1, 2, 3, 4, 5, 5, 5, 6, 6, 6, 6, 7]


@pytest.mark.parametrize(("W", "mean"), [(3, 2.86), (7, 3.82)])
def test_strong_classes_pay_for_the_drift(W: int, mean: float) -> None:
    solution = solve("signpost-corridor", W=W)
    assert round(fsum(solution.strong[t] for t in hall(solution.graph, "hall1")) / 3, 2) == mean


@pytest.mark.parametrize("W", [3, 5, 7, 9, 11, 13])
def test_few_kinds_in_a_fiber(W: int) -> None:
    """Histories with the same conflicts are one kind: at most twelve per observation."""
    graph = build("signpost-corridor", W=W).graph
    most = 0
    for level, relation in zip(graph.levels, compatibility(graph), strict=True):
        kinds: dict[int, set[int]] = {}
        for observation, kind in zip(level.observation.tolist(), relation.kind.tolist(), strict=True):
            kinds.setdefault(observation, set()).add(kind)
        most = max(most, *map(len, kinds.values()))
    assert 4 < most <= 12


def test_corridor_geometry() -> None:
    """Re-centred in each hall, clipped at ±2, a uniform sidestep in the first cell of each hall, forward elsewhere."""
    graph = build("signpost-corridor", W=5, hall2=4).graph
    assert observations(graph, 0) == {f"start {texture} drift {w:+d}" for texture in range(2) for w in range(-2, 3)}
    for name in ("hall1", "hall2"):
        first, *rest = hall(graph, name)
        assert observations(graph, first) == {f"{name} +0"}
        assert {graph.law_text(law) for law in graph.levels[first].law} == {"left 1/2, right 1/2"}
        for t in rest:
            assert {graph.law_text(law) for law in graph.levels[t].law} == {"forward"}
            assert observations(graph, t) <= {f"{name} {x:+d}" for x in range(-2, 3)}
        # drift 0 with a step to the left stays at −1; drift −2 hits the wall at once
        walks = {tuple(graph.history(rest[-1], k)) for k in range(graph.levels[rest[-1]].size)}
        seen = {(walk[0].split()[-1], walk[2 * first + 1], walk[2 * first + 2]) for walk in walks}
        assert ("+0", "left", f"{name} -1") in seen
        assert ("-2", "left", f"{name} -2") in seen
        assert ("-2", "right", f"{name} -1") in seen
        assert ("+2", "right", f"{name} +2") in seen
        steady = [walk for walk in walks if walk[0].endswith("drift +0")]
        assert all(a == b for walk in steady for a, b in pairwise(walk[2 * first + 2 : 2 * rest[-1] + 1 : 2]))


@pytest.mark.parametrize(("M", "hall1", "hall2"), [(4, 3, 6), (16, 3, 6), (64, 3, 3), (16, 8, 1)])
def test_corridors_of_other_sizes(M: int, hall1: int, hall2: int) -> None:
    signs = M.bit_length() - 1
    solution = solve("signpost-corridor", M=M, hall1=hall1, hall2=hall2)
    assert solution.rate == [0] * signs + [1] + [2] * (hall1 + 1) + [1] * (hall2 + 1)
    assert solution.graph.horizon == signs + hall1 + hall2 + 3


# ---- as the authors released them


def test_the_gap_toy_needs_the_first_two_bits_of_its_mode() -> None:
    """Bits 2 to 5 are shown at steps 2 to 5; the first decides at step 7, the second at step 11."""
    solution = solve("gap-toy", gap2=3)
    assert solution.graph.horizon == 8 + 3
    assert solution.rate == [0, 0, 1, 2, 2, 2, 2, 1, 1, 1, 1]
    assert solution.graph.levels[-1].size == 16 * 4 * 2  # modes, textures, the coin
    assert observations(solution.graph, 5) == {"wait 6"}
    shorter = solve("gap-toy", modes=4, textures=1, gap1=0, gap2=0)
    assert shorter.rate == [0, 0, 1, 2, 1]


def test_the_gap_toy_that_shows_its_second_bit_again() -> None:
    solution = solve("gap-toy", gap2=3, again=1)
    assert solution.rate == [0, 0, 1, 1, 1, 1, 1, 0, 0, 0, 1]
    assert [step for step, holds in enumerate(solution.a4, 1) if not holds] == [9]


def test_experts_of_the_released_toys_err_evenly() -> None:
    graph = build("reveal-toy", p="7/10").graph
    laws = {tuple(sorted(p for _, p in graph.laws[k])) for k in graph.levels[-1].law}
    assert laws == {(Fraction(3, 40),) * 3 + (Fraction(31, 40),)}  # right with .775
    graph = build("gap-toy", p="4/5").graph
    assert {tuple(sorted(p for _, p in graph.laws[k])) for k in graph.levels[-1].law} == {
        (Fraction(1, 10), Fraction(9, 10))
    }


def test_the_reveal_toy_and_its_lost_bit() -> None:
    assert solve("reveal-toy").rate == [0, 0, 1, 2]
    assert not all(solve("reveal-toy", loss=Fraction(3, 10)).a2)


def test_corridors_as_released() -> None:
    """Turns by the first two signs: their bits are carried past the others; nothing follows the junction."""
    solution = solve("signpost-corridor", M=16, hall1=3, hall2=6, sign=1)
    assert solution.rate == [0, 0, 1, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1]
    assert solve("signpost-corridor", M=4, sign=1).rate == solve("signpost-corridor", M=4).rate
    assert build("cue-corridor", L=5, end=0).graph.horizon == 7


# ---- names and parameters


def test_the_list_is_complete_and_explained() -> None:
    names = [item.name for item in instances()]
    assert names == sorted(names)
    assert set(names) >= {
        "cue-corridor",
        "gap",
        "lost-cue",
        "memory-chain",
        "modulo-counter",
        "passive-t-maze",
        "re-reveal",
        "re-reveal-t0",
        "reveal",
        "running-parity",
        "signpost-corridor",
        "stochastic-expert",
        "three-histories",
    }
    assert all(item.summary.endswith(".") and len(item.summary) < 130 for item in instances())


@pytest.mark.parametrize("name", [item.name for item in instances()])
def test_defaults_make_a_model_with_a_name(name: str) -> None:
    model = build(name)
    assert model.name == name
    assert model.digest == build(name, **find(name).defaults).digest


def test_a_name_tells_its_parameters() -> None:
    assert build("gap", gap2="6").name == "gap gap2=6"
    assert build("stochastic-expert", p="0.9").name == "stochastic-expert p=9/10"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: build("reveal", modes=6), "reveal.modes: expected a positive multiple of 4, not 6"),
        (lambda: build("reveal", modes=0), "reveal.modes: expected a positive multiple of 4, not 0"),
        (lambda: build("reveal", p="1.1"), "reveal.p: expected a probability, not 11/10"),
        (lambda: build("gap", gap1=-1), "gap: gaps are at least 0, classes at least 1"),
        (lambda: build("gap", R1=0), "gap: gaps are at least 0, classes at least 1"),
        (lambda: build("re-reveal", gap2=0), "re-reveal.gap2: the second cue is shown in the second gap"),
        (lambda: build("stochastic-expert", p="1.1"), "stochastic-expert.p: expected a probability, not 11/10"),
        (lambda: build("lost-cue", loss="-0.1"), "lost-cue.loss: expected a probability, not -1/10"),
        (lambda: build("gap-toy", modes=6), "gap-toy.modes: expected a power of two, at least 4, not 6"),
        (lambda: build("gap-toy", gap2=0, again=1), "gap-toy.again: the bit is shown again once"),
        (lambda: build("gap-toy", p="1.1"), "gap-toy.p: expected a probability"),
        (lambda: build("gap-toy", textures=0), "gap-toy: gaps are at least 0, textures at least 1"),
        (lambda: build("reveal-toy", textures=0), "reveal-toy.textures: expected at least 1, not 0"),
        (lambda: build("reveal-toy", loss=2), "reveal-toy: expected probabilities"),
        (lambda: build("signpost-corridor", sign=4), "signpost-corridor.sign: expected 1 to 3, or 0"),
        (lambda: build("cue-corridor", end=2), "cue-corridor.end: expected 1, or 0"),
        (lambda: build("cue-corridor", R=0), "cue-corridor: R and textures are at least 1"),
        (lambda: build("cue-corridor", L=-1), "cue-corridor: R and textures are at least 1"),
        (lambda: build("memory-chain", delay=0), "memory-chain: bits and delay are at least 1"),
        (lambda: build("memory-chain", bits=0), "memory-chain: bits and delay are at least 1"),
        (lambda: build("passive-t-maze", L=0), "passive-t-maze.L: the corridor has at least one step"),
        (lambda: build("modulo-counter", modulus=0), "modulo-counter: modulus and horizon are at least 1"),
        (lambda: build("modulo-counter", p="2"), "modulo-counter: modulus and horizon are at least 1"),
        (lambda: build("running-parity", horizon=0), "running-parity: modulus and horizon are at least 1"),
        (lambda: build("mass-sketch", modes=3), "mass-sketch: expected an even number of modes"),
        (lambda: build("signpost-corridor", M=3), "signpost-corridor.M: expected a power of two, at least 4, not 3"),
        (lambda: build("signpost-corridor", M=2), "signpost-corridor.M: expected a power of two, at least 4, not 2"),
        (lambda: build("signpost-corridor", W=2), "signpost-corridor.W: the drift is symmetric, so W is odd, not 2"),
        (lambda: build("signpost-corridor", W=-1), "signpost-corridor.W: the drift is symmetric"),
        (lambda: build("signpost-corridor", hall1=0), "signpost-corridor: a hall has at least one cell"),
        (lambda: build("gap", gap2="six"), 'gap.gap2: expected a rational such as "1/4" or "0.25", not "six"'),
        (lambda: build("gap", gap2="1/2"), "gap.gap2: expected a whole number, not 1/2"),
        (lambda: build("gap", gap3=1), "gap: unknown parameter 'gap3'; it has gap1, gap2, R1, R2"),
        (lambda: build("three-histories", p=1), "three-histories: unknown parameter 'p'; it has none"),
        (lambda: build("gep"), "no instance is called 'gep'; did you mean gap"),
        (lambda: build("zzzz"), "no instance is called 'zzzz'; python -m certify --list shows all"),
    ],
)
def test_bad_parameters(make: Callable[[], object], message: str) -> None:
    with pytest.raises(UserError) as caught:
        make()
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)
