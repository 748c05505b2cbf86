"""The `.pomdp` reader line by line, and models of POMDPs against trajectories written out one by one."""

import re
from collections.abc import Callable, Hashable, Iterator
from fractions import Fraction
from itertools import product
from math import log2
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certify import Answer, Model, UserError, certify
from certify.sources import pomdp as module
from certify.sources.pomdp import Controller, Pomdp, Privileged, classic, classics, load_pomdp, read_pomdp
from certify.zoo.registry import build

PREAMBLE = """discount: 0.9
values: reward
states: wet dry
actions: wait look
observations: yes no maybe
"""
TABLES = """T: * identity
O: * uniform
"""
HALF = Fraction(1, 2)


def rows(pomdp: Pomdp, table: str) -> list[list[list[Fraction]]]:
    """T or O as full matrices."""
    wide = len(pomdp.states if table == "T" else pomdp.observations)
    actual = pomdp.transitions if table == "T" else pomdp.emissions
    return [[[row.get(k, Fraction(0)) for k in range(wide)] for row in action] for action in actual]


# ---- the reader


def test_every_way_to_write_a_table() -> None:
    text = """# a comment; T: this is no table
values: cost  # another
observations: yes no maybe
actions:
   wait
   look
states: wet dry
discount: 9/10
start: 0.25 .75
T:wait
 1 0
 0.5 0.5e0
T: look : wet reset
T: look : 1
uniform
O: * : * 0.2 0.3
 0.5
O: look : dry : yes 1
O: 1 : 1 : no 0
O: 1 : dry : maybe
 0
R: * : * : * : * 1
R: look : wet : dry : no - 2
R: look : dry : 0 1/2 +3 4
R: wait : wet 1 2 3 4 5 6
R: wait : wet : dry : maybe -7e-1
"""
    pomdp = read_pomdp(text, "all")
    assert (pomdp.name, pomdp.discount, pomdp.costs) == ("all", Fraction(9, 10), True)
    assert (pomdp.states, pomdp.actions) == (("wet", "dry"), ("wait", "look"))
    assert pomdp.observations == ("yes", "no", "maybe")
    assert pomdp.start == {0: Fraction(1, 4), 1: Fraction(3, 4)}
    assert rows(pomdp, "T") == [[[1, 0], [HALF, HALF]], [[Fraction(1, 4), Fraction(3, 4)], [HALF, HALF]]]
    plain = [Fraction(1, 5), Fraction(3, 10), HALF]
    assert rows(pomdp, "O") == [[plain, plain], [plain, [1, 0, 0]]]
    assert pomdp.renormalised == ()
    assert [pomdp.rewards(1, 0, 1, o) for o in range(3)] == [1, -2, 1]
    assert [pomdp.rewards(1, 1, 0, o) for o in range(3)] == [HALF, 3, 4]
    assert [pomdp.rewards(0, 0, t, o) for t, o in product(range(2), range(3))] == [1, 2, 3, 4, 5, Fraction(-7, 10)]
    assert pomdp.rewards(0, 1, 1, 1) == 1


def test_numbers_stand_for_names_and_later_lines_win() -> None:
    named = read_pomdp(PREAMBLE + "start: wet\n" + TABLES + "T: look : wet : wet 0\nT: look : wet : dry 1\n")
    counted = read_pomdp(
        "discount: 0.9\nvalues: reward\nstates: 2\nactions: 2\nobservations: 3\nstart: 0\nT: * uniform\nO: * uniform\n"
        "T: 0 identity\nT: 1 : 0 0 1\nT: 1 : 1 0 1\n"
    )
    assert counted.states == ("0", "1")
    assert counted.observations == ("0", "1", "2")
    for table in "TO":
        assert rows(named, table) == rows(counted, table)
    assert named.start == counted.start == {0: 1}
    assert named.rewards(0, 0, 0, 0) == 0


@pytest.mark.parametrize(
    ("line", "start"),
    [
        ("", [HALF, HALF]),
        ("start: uniform", [HALF, HALF]),
        ("start: dry", [0, 1]),
        ("start: 1", [0, 1]),
        ("start: 1 0.0", [1, 0]),
        ("start include: wet 1", [HALF, HALF]),
        ("start include: dry", [0, 1]),
        ("start exclude: dry", [1, 0]),
    ],
)
def test_every_start(line: str, start: list[Fraction]) -> None:
    actual = read_pomdp(PREAMBLE + line + "\n" + TABLES).start
    assert [actual.get(k, 0) for k in range(2)] == start


def test_the_start_of_a_single_state_is_a_state_or_its_probability() -> None:
    text = "discount: 1\nvalues: reward\nstates: 1\nactions: 1\nobservations: 1\nstart: {}\nT: 0 1\nO: 0 1.0\n"
    assert read_pomdp(text.format(0)).start == read_pomdp(text.format(1)).start == {0: 1}


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("", 1, "states is missing"),
        ("discount: 0.9\nvalues: reward\nstates: 2\nactions: 2\n\nT: 0 identity", 6, "observations is missing"),
        ("discount: 2\n", 1, "not between 0 and 1"),
        ("discount 0.9\n", 1, "expected ':' after discount"),
        ("discount: high\n", 1, "expected a number, not 'high'"),
        ("discount: 0.9.1\n", 1, "expected a rational"),
        ("discount: 1/0\n", 1, "expected a rational"),
        ("discount: 1\n\ndiscount: 1\n", 3, "given twice, first in line 1"),
        ("values: wishes\n", 1, "expected reward or cost, not 'wishes'"),
        ("states: 0\n", 1, "expected how many states"),
        ("states: 1.5\n", 1, "expected how many states"),
        ("states: 100001\n", 1, "1 to 100,000"),
        ("states: 9999999999\n", 1, "1 to 100,000"),
        ("states:\nactions: 2", 2, "expected a number of states or their names"),
        ("states: a b 3\n", 1, "not '3'"),
        ("states: a\nb a\n", 2, "'a' is listed twice among the states"),
        ("states: a uniform\n", 1, "'uniform' is a word of the format"),
        ("observations: start\n\n", 1, "'start' is a word of the format"),
        ("E: wet\n", 1, "E must come after states"),
        (PREAMBLE + "atom 0 yes\n", 6, "expected ':' after atom"),
        (PREAMBLE + "atom 0: wet\n", 6, "'wet' is none of the observations"),
        ("states: a ~ b\n", 1, "not '~'"),
        ("horizon: 3\n", 1, "expected one of discount"),
        ("3 4\n", 1, "not '3'"),
        ("start: uniform\n", 1, "start must come after states"),
        (PREAMBLE + "start: uniform\nstart: uniform\n", 7, "start is given twice"),
        (PREAMBLE + "start: damp\n", 6, "'damp' is none of the states (wet, dry)"),
        (PREAMBLE + "start: 2\n", 6, "'2' is none of the states"),
        (PREAMBLE + "start: 0.5 0.25\n", 6, "the probabilities of start sum to 0.75, not to 1"),
        (PREAMBLE + "start: 0.5 0.25 0.25\n", 6, "one number too many; 2 are expected"),
        (PREAMBLE + "start: 1.5 -0.5\n", 6, "1.5 is not a probability"),
        (PREAMBLE + "start include: *\n", 6, "not '*'"),
        (PREAMBLE + "start exclude: wet dry\n", 6, "leaves no state"),
        (PREAMBLE + "start uniform\n", 6, "no section without ':'"),
        (PREAMBLE + TABLES + "start: uniform\n", 8, "start must come before"),
        (PREAMBLE + TABLES + "discount: 1\n", 8, "discount must come before the first T, O or R"),
        (PREAMBLE + "T: jump identity\n", 6, "'jump' is none of the actions (wait, look)"),
        (PREAMBLE + "T: 2 identity\n", 6, "'2' is none of the actions"),
        (PREAMBLE + "T: wait : 0.5 uniform\n", 6, "'0.5' is none of the states"),
        (PREAMBLE + "T: wait : wet : dry\n", 6, "expected a number, not 'the end of the file'"),
        (PREAMBLE + "T: wait : wet : dry : : 1\n", 6, "expected a number, not ':'"),
        (PREAMBLE + "T: wait\n1 0\n0\n\nO: * uniform", 6, "expected 4 numbers (2 rows of 2), not 3 before 'O'"),
        (PREAMBLE + "T: wait\n1 0\n0 1 1", 8, "one number too many; 4 (2 rows of 2)"),
        (PREAMBLE + "T: wait\n1 0\n0 2\n", 8, "2 is not a probability"),
        (PREAMBLE + "T: wait : wet identity\n", 6, "expected 2 numbers, not 'identity'"),
        (PREAMBLE + "O: * identity\n", 6, "as many observations as states, not 3 and 2"),
        (PREAMBLE + "O: * reset\n", 6, "expected 3 numbers, not 'reset'"),
        (PREAMBLE + "O: wait : dry : wet 1\n", 6, "'wet' is none of the observations"),
        (PREAMBLE + TABLES + "T: look : dry 0.5 0.499\n", 8, "T: look : dry sum to 0.999, not to 1; if the file is"),
        (PREAMBLE + TABLES + "T: look : dry : dry 0\n\n", 8, "T: look : dry sum to 0, not to 1"),
        (PREAMBLE + TABLES + "O: look : dry 0.5 0.2 0.2\n", 8, "O: look : dry sum to 0.9, not to 1"),
        (PREAMBLE + "O: * uniform\nT: wait identity\n\n", 7, "the file ends without any T: look : wet"),
        (PREAMBLE + "T: * identity\n", 6, "the file ends without any O: wait : wet"),
        (PREAMBLE + TABLES + "R: wait 1 2 3\n", 8, "expected ':' after the action of R"),
        (PREAMBLE + TABLES + "R: wait : dry : dry 1 2\n", 8, "expected 3 numbers, not 2 before"),
        (PREAMBLE + TABLES + "R: wait : dry : dry : yes ten\n", 8, "expected a number, not 'ten'"),
        (PREAMBLE + TABLES + "R: wait : dry : dry : often 1\n", 8, "'often' is none of the observations"),
    ],
)
def test_every_fault_names_its_line(text: str, line: int, reason: str) -> None:
    with pytest.raises(UserError) as caught:
        read_pomdp(text)
    assert caught.value.where == f"line {line}"
    assert reason in caught.value.reason
    assert "\n" not in str(caught.value)


def test_dialects_of_other_programs() -> None:
    """No discount, names that are words, states that end, propositions, a colon before a number, zeros unseen."""
    text = """states: start R over
actions: T O
observations: yes no
atom 0 : yes
atom 1: no
start include: start
E: over
T: T identity
T: O : * : over : 1
O: T : * 0.5 0.5
O: O : over : yes : 1
O: O : start 0 0
O: O : R 0 0
"""
    pomdp = read_pomdp(text)
    assert (pomdp.discount, pomdp.ends, pomdp.start) == (1, {2}, {0: 1})
    assert rows(pomdp, "T")[1] == [[0, 0, 1]] * 3
    assert rows(pomdp, "O")[1] == [[HALF, HALF], [HALF, HALF], [1, 0]]
    assert [pomdp.rewards(0, 0, 0, o) for o in (0, 1)] == [1, 0]
    with pytest.raises(UserError, match="line 4: the probabilities of O: T : start sum to 0, not to 1"):
        read_pomdp("states: start\nactions: T\nobservations: 2\nO: T 0 0\nT: T identity\n")


WORDS = [
    *"TOR:*#\n",
    "start",
    "include",
    "uniform",
    "identity",
    "reset",
    "wet",
    "look",
    "yes",
    "0",
    "1",
    "0.5",
    "-",
    "1/0",
]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=12))
def test_any_words_make_sense_or_are_refused_with_a_line(words: list[str]) -> None:
    sums, where = {Fraction(1)}, "line 0"
    try:
        pomdp = read_pomdp(PREAMBLE + " ".join(words))
        sums = {sum(row) for table in "TO" for action in rows(pomdp, table) for row in action}
    except UserError as error:
        where = error.where
    assert re.fullmatch(r"line \d+", where)
    assert sums == {1}


def test_tables_beyond_measure_are_refused_before_they_are_made() -> None:
    text = PREAMBLE.replace("wet dry", "90000").replace("wait look", "90000") + "T: * identity\n"
    with pytest.raises(UserError, match=r"^line 6: 90000 states and 90000 actions make tables of more than"):
        read_pomdp(text)


def test_rounded_rows_are_divided_by_their_sum_and_listed() -> None:
    text = PREAMBLE + "T: * identity\nT: wait : dry uniform\nO: *\n0.333333 0.333333 0.333333\n1 0 0\n"
    pomdp = read_pomdp(text)
    assert rows(pomdp, "O") == [[[Fraction(1, 3)] * 3, [1, 0, 0]]] * 2
    assert pomdp.renormalised == ("line 8: O: wait : wet sums to 0.999999",)
    worse = text.replace("0.333333 0.333333", "0.3333 0.333333")
    with pytest.raises(UserError, match=r"^line 8: the probabilities of O: wait : wet sum to 0.999966, not to 1; if"):
        read_pomdp(worse)
    assert sum(read_pomdp(worse, rounding="1e-4").emissions[0][0].values()) == 1


def test_dialects() -> None:
    tables = "T: * identity\nO: * uniform\n"
    plain = read_pomdp(PREAMBLE + tables)
    assert read_pomdp(PREAMBLE.replace("values: reward", "values: rewards") + tables).costs is plain.costs
    assert read_pomdp(PREAMBLE + "start: wet dry\n" + tables).start == {0: Fraction(1, 2), 1: Fraction(1, 2)}
    assert read_pomdp(PREAMBLE + "start: dry\n" + tables).start == {1: 1}
    assert read_pomdp(PREAMBLE + "start: 0.25 0.75\n" + tables).start == {0: Fraction(1, 4), 1: Fraction(3, 4)}


def test_files_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "weather.pomdp"
    with pytest.raises(UserError, match=r"^weather.pomdp: cannot be read: No such file"):
        load_pomdp(path)
    path.write_bytes(b"\xef\xbb\xbf" + (PREAMBLE + TABLES).encode())
    assert load_pomdp(path).name == "weather"
    path.write_bytes(PREAMBLE.encode() + b"# caf\xe9\n")
    with pytest.raises(UserError, match=r"^line 6: not UTF-8 text"):
        load_pomdp(path)
    monkeypatch.setattr(module, "MOST_BYTES", 10)
    with pytest.raises(UserError, match="bytes, more than 10"):
        load_pomdp(path)


# ---- models against trajectories written out one by one


def trajectories(pomdp: Pomdp, horizon: int, law: Callable[[str, tuple[str, ...]], dict[str, Fraction]]) -> Model:
    """Every (hidden path, action, observation) sequence as one episode; the law sees the state and the history."""

    def extend(t: int, state: int, history: tuple[str, ...], weight: Fraction, steps: list[Any]) -> Iterator[Any]:
        given = law(pomdp.states[state], history)
        for action, p in given.items():
            step = {"obs": history[-1], "action_law": given, "action": action}
            if t == horizon:
                yield {"weight": weight * p, "steps": [*steps, step]}
                continue
            a = pomdp.actions.index(action)
            for target, shown in product(range(len(pomdp.states)), range(len(pomdp.observations))):
                q = rows(pomdp, "T")[a][state][target] * rows(pomdp, "O")[a][target][shown]
                if p * q:
                    after = (*history, action, pomdp.observations[shown])
                    yield from extend(t + 1, target, after, weight * p * q, [*steps, step])

    episodes = [e for state, p in pomdp.start.items() for e in extend(1, state, ("start",), p, [])]
    return Model.from_episodes({"horizon": horizon, "episodes": episodes})


def facts(answer: Answer) -> list[tuple[Any, ...]]:
    """What two descriptions of one model must agree on."""
    return [
        (s.histories, round(s.history, 9), round(s.upper, 9), round(s.lower, 9), s.states, s.a2, s.transitive)
        for s in answer.steps
    ]


@st.composite
def problems(draw: st.DrawFn) -> Pomdp:
    """Small problems with many zeros, written out and read back."""
    states, observations = draw(st.integers(1, 3)), draw(st.integers(1, 2))

    def row(width: int) -> str:
        weights = draw(st.lists(st.integers(0, 2), min_size=width, max_size=width).filter(any))
        return " ".join(f"{w}/{sum(weights)}" for w in weights)

    lines = ["discount: 1/2", "values: reward", f"states: {states}", "actions: left right"]
    lines += [f"observations: {observations}", f"start: {row(states)}" if states > 1 else ""]
    for action, state in product(range(2), range(states)):
        lines += [f"T: {action} : {state} {row(states)}", f"O: {action} : {state} {row(observations)}"]
        lines.append(f"R: {action} : {state} : * : * {draw(st.integers(-3, 3))}")
    return read_pomdp("\n".join(lines))


Node = tuple[int, int]  # step from 0, state of a machine
COIN = {"left": HALF, "right": HALF}
LAWS: list[dict[str, Fraction]] = [{"left": Fraction(1)}, {"right": Fraction(1)}, COIN]


@settings(max_examples=40, deadline=None)
@given(problems(), st.lists(st.integers(0, 2), min_size=3, max_size=3), st.randoms(use_true_random=False))
def test_controllers_against_trajectories(pomdp: Pomdp, laws: list[int], random: Any) -> None:
    move = {(n, a, o): random.randrange(3) for n in range(3) for a in pomdp.actions for o in pomdp.observations}
    controller = Controller(0, {n: LAWS[k] for n, k in enumerate(laws)}, move)

    def node(history: tuple[str, ...]) -> int:
        now = 0
        for action, shown in zip(history[1::2], history[2::2], strict=True):
            now = move[now, action, shown]
        return now

    twin = trajectories(pomdp, 3, lambda state, history: LAWS[laws[node(history)]])
    expected = facts(certify(twin))
    assert facts(certify(pomdp.model(controller, 3))) == expected
    assert facts(certify(pomdp.model(lambda history: LAWS[laws[node(history)]], 3))) == expected


@settings(max_examples=40, deadline=None)
@given(problems(), st.lists(st.integers(0, 2), min_size=3, max_size=3))
def test_privileged_experts_against_trajectories(pomdp: Pomdp, laws: list[int]) -> None:
    law_of = {state: LAWS[k] for state, k in zip(pomdp.states, laws, strict=False)}
    expected = facts(certify(trajectories(pomdp, 3, lambda state, history: law_of[state])))
    assert facts(certify(pomdp.model(Privileged(law_of), 3))) == expected
    assert facts(certify(pomdp.model(Privileged(lambda state: law_of[state]), 3))) == expected


@settings(max_examples=40, deadline=None)
@given(problems())
def test_the_optimal_policy_earns_the_expectimax_value(pomdp: Pomdp) -> None:
    horizon = 3
    transitions, emissions = rows(pomdp, "T"), rows(pomdp, "O")
    sizes = range(len(pomdp.states))

    def outcomes(weights: list[Fraction], a: int) -> Iterator[tuple[str, list[Fraction]]]:
        for shown, name in enumerate(pomdp.observations):
            yield name, [emissions[a][k][shown] * sum(weights[s] * transitions[a][s][k] for s in sizes) for k in sizes]

    def earned(weights: list[Fraction], a: int) -> Fraction:
        return sum((w * pomdp.rewards(a, s, 0, 0) for s, w in enumerate(weights)), Fraction(0))

    def expectimax(left: int, weights: list[Fraction]) -> Fraction:
        if not left:
            return Fraction(0)
        return max(
            earned(weights, a) + HALF * sum(expectimax(left - 1, after) for _, after in outcomes(weights, a))
            for a in range(2)
        )

    plan = pomdp.optimal(horizon)

    def followed(left: int, weights: list[Fraction], node: Hashable) -> Fraction:
        if not left or not any(weights):
            return Fraction(0)
        action = plan.law(node)
        assert isinstance(action, str)
        a = pomdp.actions.index(action)
        later = (
            followed(left - 1, after, plan.after(node, action, name)) if any(after) else Fraction(0)
            for name, after in outcomes(weights, a)
        )
        return earned(weights, a) + HALF * sum(later, Fraction(0))

    start = [pomdp.start.get(s, Fraction(0)) for s in sizes]
    assert followed(horizon, start, plan.start) == expectimax(horizon, start)


def test_costs_are_avoided_and_ties_go_to_the_first_action() -> None:
    text = PREAMBLE + TABLES + "R: wait : * : * : * 1\n"
    plans = [read_pomdp(t).optimal(2) for t in (text, text.replace("values: reward", "values: cost"))]
    assert [plan.law(plan.start) for plan in plans] == ["wait", "look"]
    tied = read_pomdp(PREAMBLE + TABLES).optimal(1)
    assert tied.law(tied.start) == "wait"


# ---- problems that everybody knows


def count(node: int, action: str, observation: str) -> int:
    """Listen until one side has been heard twice more often, open the other door, begin again."""
    return 0 if action != "listen" else node + (1 if observation == "hear-right" else -1)


ACTIONS = {-2: "open-right", -1: "listen", 0: "listen", 1: "listen", 2: "open-left"}


def test_the_tiger_with_the_controller_that_counts() -> None:
    tiger = classic("tiger")
    answer = certify(tiger.model(Controller(0, ACTIONS, count), 3))
    agree = Fraction(745, 1000)  # 0.85² + 0.15²: the second sound is like the first
    entropy = -sum(float(p) * log2(p) for p in (agree, 1 - agree))
    assert [s.rate for s in answer.steps] == [0, 0, pytest.approx(entropy)]
    assert [s.histories for s in answer.steps] == [1, 2, 4]
    assert answer.name == "tiger"
    laws = [{state.observation: set() for state in level} for level in answer.machine.states]
    for level, expected in zip(answer.machine.states, laws, strict=True):
        for state in level:
            expected[state.observation] |= state.law.keys()
    assert laws == [
        {"start": {"listen"}},
        {"hear-left": {"listen"}, "hear-right": {"listen"}},
        {"hear-left": {"listen", "open-right"}, "hear-right": {"listen", "open-left"}},
    ]


def test_the_tiger_planned_for_three_steps_is_the_counter() -> None:
    tiger = classic("tiger")
    planned, counted = tiger.model(tiger.optimal(3), 3), tiger.model(Controller(0, ACTIONS, count), 3)
    assert planned.digest == counted.digest
    table = {
        (): "listen",
        ("hear-left",): "listen",
        ("hear-right",): "listen",
        ("hear-left", "hear-left"): "open-right",
        ("hear-right", "hear-right"): "open-left",
        ("hear-left", "hear-right"): "listen",
        ("hear-right", "hear-left"): "listen",
    }
    assert tiger.model(table, 3).digest == counted.digest


def test_an_expert_who_sees_the_tiger_is_privileged() -> None:
    tiger = classic("tiger")
    expert = Privileged({"tiger-left": "open-right", "tiger-right": "open-left"})
    answer = certify(tiger.model(expert, 2, "cheat"))
    assert answer.name == "cheat"
    assert [s.a2 for s in answer.steps] == [False, False]


def test_the_classics() -> None:
    assert classics() == ["4x3", "cheese", "tiger", "tmaze"]
    assert all(classic(name).renormalised == () for name in classics())
    maze = classic("tmaze")
    assert [s.rate for s in certify(maze.model(maze.optimal(7), 7)).steps] == [0, 0, 1, 1, 1, 1, 0]
    cheese = classic("cheese")
    assert cheese.start == {k: Fraction(1, 10) for k in range(11) if k != cheese.states.index("x2y0")}
    model = cheese.model(cheese.optimal(5), 5)
    assert [s.rate for s in certify(model).steps] == pytest.approx([0, 0, 0.4, 0, 0])
    grid = classic("4x3")
    x3y1, east = grid.states.index("x3y1"), grid.actions.index("east")
    moves = {grid.states[s]: float(p) for s, p in grid.transitions[east][x3y1].items()}
    assert moves == {"x4y1": 0.8, "x3y1": 0.1, "x3y2": 0.1}
    with pytest.raises(UserError, match=r"no problem is called 'lion'; there are 4x3, cheese, tiger, tmaze"):
        classic("lion")


@pytest.mark.parametrize("name", ["gap", "re-reveal-t0", "three-histories", "stochastic-expert", "lost-cue"])
def test_the_zoo_as_pomdp_files(name: str) -> None:
    """Each episode a chain of states behind one first action: the certificate is the zoo's, one step later."""
    model = build(name)
    episodes, horizon = model.episodes, model.horizon
    assert episodes is not None
    shown = [episodes.observations[k] for k in range(len(episodes.observations))]
    total = sum(int(w) for w in episodes.weight)
    chain = [(e, t) for e in range(len(episodes.weight)) for t in range(horizon)]
    names = ["gate", *(f"e{e}t{t}" for e, t in chain)]
    lines = ["discount: 1", "values: reward", f"states: {' '.join(names)}", f"observations: {len(shown)}"]
    lines += [f"actions: {len(episodes.actions)}", "start: gate", "T: * identity", "T: * : gate : gate 0"]
    laws: dict[str, dict[str, Fraction]] = {"gate": {"0": Fraction(1)}}
    for e, t in chain:
        law = episodes.laws.table[episodes.law[e, t]]
        laws[f"e{e}t{t}"] = {str(a): p for a, p in law}
        lines.append(f"O: * : e{e}t{t} : {episodes.observation[e, t]} 1")
        if t == 0:
            lines.append(f"T: * : gate : e{e}t0 {int(episodes.weight[e])}/{total}")
        else:
            done = f"T: {episodes.action[e, t - 1]} : e{e}t{t - 1}"
            lines += [f"{done} : e{e}t{t - 1} 0", f"{done} : e{e}t{t} 1"]
    pomdp = read_pomdp("\n".join([*lines, "O: * : gate uniform"]), name)
    expected, actual = certify(model), certify(pomdp.model(Privileged(laws), horizon + 1))
    assert facts(actual)[1:] == facts(expected)
    assert actual.steps[0].rate == 0
    if expected.observational:
        return
    machine, names_of = expected.machine, dict(enumerate(episodes.actions[k] for k in range(len(episodes.actions))))
    numbers = {action: str(k) for k, action in names_of.items()}

    def act(node: Node | None) -> dict[str, Fraction]:
        return (
            laws["gate"] if node is None else {numbers[a]: p for a, p in machine.states[node[0]][node[1]].law.items()}
        )

    def move(node: Node | None, action: str, observation: str) -> Node | None:
        seen = shown[int(observation)]
        if node is None:
            return 0, machine.begin(seen).index
        return node[0] + 1, machine.advance(machine.states[node[0]][node[1]], names_of[int(action)], seen).index

    assert facts(certify(pomdp.model(Controller(None, act, move), horizon + 1))) == facts(actual)


# ---- policies that do not fit


@pytest.mark.parametrize(
    ("policy", "reason"),
    [
        (Controller(0, {}, {}), "policy: has no action for 0"),
        (Controller(0, {0: "sing"}, {}), "policy: takes 'sing', which is none of the actions"),
        (Controller(0, {0: "listen"}, {}), "policy: has no move from 0 after 'listen' and 'hear-left'"),
        (Controller(0, {0: {"listen": "0.5"}}, {}), "policy: the probabilities sum to 1/2, not to 1"),
        (Controller(0, {0: {"listen": 2, "open-left": -1}}, {}), 'policy["open-left"]: the probability -1 is negative'),
        (Privileged({"tiger-left": "listen"}), "policy: has no action for the state 'tiger-right'"),
        (None, "policy: expected a Controller, a Privileged, a table or a function, not None"),
        ({(): "listen"}, "policy: has no action for ('hear-left',)"),
    ],
)
def test_policies_that_do_not_fit(policy: Any, reason: str) -> None:
    with pytest.raises(UserError) as caught:
        classic("tiger").model(policy, 3)
    assert str(caught.value).startswith(reason)


def test_moves_may_be_keyed_by_observation_alone() -> None:
    pairs = {(n, a, o): count(n, a, o) for n in (-1, 0, 1) for a in ("listen",) for o in ("hear-left", "hear-right")}
    alone = {(n, o): m for (n, _, o), m in pairs.items()}
    tiger = classic("tiger")
    assert tiger.model(Controller(0, ACTIONS, pairs), 3).digest == tiger.model(Controller(0, ACTIONS, alone), 3).digest


def test_plans_have_an_end_and_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    tiger = classic("tiger")
    with pytest.raises(UserError, match="at least one action, not 0"):
        tiger.optimal(0)
    with pytest.raises(UserError, match="was planned for 2 actions"):
        tiger.model(tiger.optimal(2), 3)
    monkeypatch.setattr(module, "MOST_BELIEFS", 3)
    with pytest.raises(UserError, match="more than 3 beliefs are reached; plan fewer actions"):
        tiger.optimal(4)


def test_no_observation_can_be_mistaken_for_the_first_symbol() -> None:
    with pytest.raises(UserError, match=r"^line 5: 'start' is a word of the format"):
        read_pomdp(PREAMBLE.replace("yes", "start") + TABLES)
    model = classic("tiger").model(lambda history: "listen", 2)
    names = [[model.graph.observations[o] for o in level.observation] for level in model.graph.levels]
    assert names == [["start"], ["hear-left", "hear-right"]]
