"""R_t^mem(D) against an exhaustive search over closed assignments, against hand calculations and known ends."""

import random
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, pairwise, product
from math import log2

import pytest
from certify_twin import Document, Facts, History, Row, Twin, documents, latent_document, node_histories
from hypothesis import assume, example, given, settings

from certify.core.floors import floors
from certify.core.graph import Graph
from certify.core.merged import unfold
from certify.core.model import Model
from certify.core.relations import compatibility, strong_classes
from certify.zoo import toys
from reproduction.distortion import recurrent
from reproduction.distortion.frontier import Source, deterministic_frontier, rate
from reproduction.distortion.recurrent import RecurrentPoint, gap, recurrent_frontier, recurrent_rate

Cell = tuple[History, ...]
TINY = Fraction(1, 10**9)


# ---- literal twin --------------------------------------------------------------------------------------------------


def entropy(*masses: int) -> float:
    return sum(mass / sum(masses) * log2(sum(masses) / mass) for mass in masses)


def all_partitions(histories: list[History]) -> Iterator[tuple[Cell, ...]]:
    """Into cells of one observation each."""
    if not histories:
        yield ()
        return
    first, rest = histories[0], histories[1:]
    for partition in all_partitions(rest):
        yield ((first,), *partition)
        for k, cell in enumerate(partition):
            if cell[0][-1] == first[-1]:
                yield (*partition[:k], (first, *cell), *partition[k + 1 :])


def cell_distortion(facts: list[Facts]) -> Fraction:
    """With actions a and b the cost is that of a weighted median, so some member's own law is a best decoder."""
    chances = [dict(f.law).get("a", Fraction(0)) for f in facts]
    costs = ((f.mass * abs(p - q) for f, p in zip(facts, chances, strict=True)) for q in chances)
    return min(sum(cost, Fraction(0)) for cost in costs)


class EveryAssignment:
    """All sequences of partitions in which the members of a cell with a common continuation stay together."""

    def __init__(self, twin: Twin) -> None:
        self.twin = twin
        self.partitions = [list(all_partitions(list(level))) for level in twin.levels]
        self.distortions = [
            [sum(cell_distortion([level[h] for h in cell]) for cell in partition) for partition in partitions]
            for level, partitions in zip(twin.levels, self.partitions, strict=True)
        ]
        self.bits = [[self.rate(t, p) for p in partitions] for t, partitions in enumerate(self.partitions)]
        self.following = [self.followers(t) for t in range(twin.horizon - 1)]

    def followers(self, t: int) -> list[set[int]]:
        """For each partition of step t, those of step t + 1 that keep together what closure forces."""
        after = [together(partition) for partition in self.partitions[t + 1]]
        before = [self.forced(t, partition) for partition in self.partitions[t]]
        return [{j for j, pairs in enumerate(after) if forced <= pairs} for forced in before]

    def forced(self, t: int, partition: tuple[Cell, ...]) -> set[frozenset[History]]:
        facts = self.twin.levels[t]
        return {
            frozenset(((*h, *u), (*k, *u)))
            for cell in partition
            for h, k in combinations(cell, 2)
            for u in facts[h].support & facts[k].support
        }

    def rates(self, distortion: Fraction) -> list[float]:
        """Per step, the least H(C_t | O_t) of a whole assignment with at most this distortion at every step."""
        alive = [{i for i, d in enumerate(level) if d <= distortion} for level in self.distortions]
        for t in reversed(range(self.twin.horizon - 1)):
            alive[t] = {i for i in alive[t] if self.following[t][i] & alive[t + 1]}
        for t in range(self.twin.horizon - 1):
            alive[t + 1] &= set().union(*(self.following[t][i] for i in alive[t]))
        return [min(self.bits[t][i] for i in level) for t, level in enumerate(alive)]

    def rate(self, t: int, partition: tuple[Cell, ...]) -> float:
        return self.twin.entropy(t, {h: k for k, cell in enumerate(partition) for h in cell}.__getitem__)


def together(partition: tuple[Cell, ...]) -> set[frozenset[History]]:
    return {frozenset(two) for cell in partition for two in combinations(cell, 2)}


def pushed_forward(twin: Twin, t: int, cells: dict[History, int]) -> list[Fraction]:
    """The distortion of the sets (A, ξ) at every step from t on."""
    length, result = len(next(iter(cells))), []
    for level in twin.levels[t:]:
        sets: dict[tuple[int, History], list[Facts]] = {}
        for history, facts in level.items():
            sets.setdefault((cells[history[:length]], history[length:]), []).append(facts)
        result.append(sum((cell_distortion(members) for members in sets.values()), Fraction(0)))
    return result


def small(document: Document, histories: int) -> Twin:
    twin = Twin(document)
    assume(max(map(len, twin.levels)) <= histories)
    return twin


def fork(first: str, second: str) -> Document:
    """Three cues of weights 2, 3, 5, a dark step, then two questions with these answers."""
    episodes = []
    for cue, (weight, at_first, at_second) in enumerate(zip("235", first, second, strict=True)):
        words = [(f"cue {cue}", "a"), ("dark", "a"), ("first", at_first), ("second", at_second)]
        steps = [{"obs": obs, "action_law": {action: "1"}, "action": action} for obs, action in words]
        episodes.append({"weight": f"{weight}/10", "steps": steps})
    return {"horizon": 4, "episodes": episodes}


def forgetful_document(generator: random.Random) -> Document:
    """Cues, each with one or two futures of few words, so that some cells meet the same continuations later."""
    latents: list[tuple[int, list[Row]]] = []
    later = generator.choice((2, 2, 3))
    for cue in range(generator.randint(2, 5)):
        for _ in range(generator.choice((1, 1, 2))):
            words = [generator.choice(("dark", "dark", "dark", "light")) for _ in range(later)]
            rows = [(word, word, generator.choice((0, 0, 0, 1, 1, 3, 4))) for word in words]
            latents.append((generator.randint(1, 4), [(f"cue {cue}", f"cue {cue}", 0), *rows]))
    return latent_document(latents)


# ---- the theorem ---------------------------------------------------------------------------------------------------


@settings(max_examples=250)
@given(documents(steps=3, latents=5))
@example(fork("abb", "aab"))
@example(fork("aaa", "aba"))
def test_no_closed_assignment_does_better_and_one_does_as_well(document: Document) -> None:
    every = EveryAssignment(small(document, 5))
    graph = Model.from_episodes(document).graph
    frontiers = [recurrent_frontier(graph, t) for t in range(graph.horizon)]
    corners = {point.distortion for frontier in frontiers for point in frontier}
    for distortion in corners | {d - TINY for d in corners if d} | {Fraction(k, 7) for k in range(8)}:
        expected = every.rates(distortion)
        for t, frontier in enumerate(frontiers):
            actual = min(point.rate for point in frontier if point.distortion <= distortion)
            assert actual == pytest.approx(expected[t], abs=1e-12)


def test_the_theorem_on_models_that_need_memory() -> None:
    """200 models whose memory can be compressed with loss before the last step; every corner is as low as can be."""
    generator, models = random.Random(3), 0
    while models < 200:
        document = forgetful_document(generator)
        twin, graph = Twin(document), Model.from_episodes(document).graph
        if max(map(len, twin.levels)) > 5:
            continue
        frontiers = [recurrent_frontier(graph, t) for t in range(graph.horizon)]
        if max(map(len, frontiers[:-1])) == 1:
            continue
        models, every = models + 1, EveryAssignment(twin)
        for t, frontier in enumerate(frontiers):
            for point in frontier:
                assert point.rate == pytest.approx(every.rates(point.distortion)[t], abs=1e-12)
                if point.distortion:
                    assert every.rates(point.distortion - TINY)[t] > point.rate + 1e-9


@settings(max_examples=60)
@given(documents(steps=4, latents=6))
def test_the_cells_of_a_point_have_its_rate_and_its_distortion(document: Document) -> None:
    twin, graph = small(document, 7), Model.from_episodes(document).graph
    for t in range(graph.horizon):
        for point in recurrent_frontier(graph, t):
            cells = dict(zip(node_histories(graph, t), point.cells, strict=True))
            assert point.distortion == max(pushed_forward(twin, t, cells))
            assert point.rate == pytest.approx(twin.entropy(t, cells.__getitem__), abs=1e-12)


# ---- what it must be near other quantities -------------------------------------------------------------------------


@settings(max_examples=60)
@given(documents(steps=4, latents=6))
def test_the_frontier_falls_from_the_floor_to_nothing(document: Document) -> None:
    small(document, 7)
    graph = Model.from_episodes(document).graph
    relations = compatibility(graph)
    for t, floor in enumerate(floors(graph, relations, strong_classes(graph))):
        frontier = recurrent_frontier(graph, t)
        assert floor.proved
        assert frontier[0].distortion == 0
        assert frontier[0].rate == pytest.approx(floor.upper, abs=1e-12)
        assert frontier[-1].rate == 0
        for left, right in pairwise(frontier):
            assert left.rate > right.rate
            assert left.distortion < right.distortion < 1


@settings(max_examples=40)
@given(documents(steps=3, latents=5))
def test_the_instantaneous_curve_is_a_lower_bound(document: Document) -> None:
    small(document, 6)
    graph = Model.from_episodes(document).graph
    for t, distortion in product(range(graph.horizon), (Fraction(0), Fraction(1, 20), Fraction(1, 4), 0.4)):
        actual = gap(graph, t, distortion)
        assert actual.distortion == distortion
        assert actual.upper == recurrent_rate(graph, t, distortion)
        assert actual.lower == pytest.approx(rate(Source.of_histories(graph, t), distortion), abs=1e-11)
        assert actual.lower <= actual.upper + 1e-12
        assert actual.gap == max(0.0, actual.upper - actual.lower)


@settings(max_examples=60)
@given(documents(steps=3, latents=6))
def test_the_last_step_is_a_deterministic_code_without_recurrence(document: Document) -> None:
    small(document, 8)
    graph = Model.from_episodes(document).graph
    expected = deterministic_frontier(Source.of_histories(graph, graph.horizon - 1))
    actual = recurrent_frontier(graph, graph.horizon - 1)
    assert [point.distortion for point in actual] == [point.distortion for point in expected]
    assert [point.rate for point in actual] == pytest.approx([point.rate for point in expected], abs=1e-11)


# ---- by hand -------------------------------------------------------------------------------------------------------


def test_two_cues_in_the_wait() -> None:
    """Eight equal histories, four classes (first, second). Each decision has a budget of its own:

    1/8 moves one history at the first and one at the second decision, cells of 3, 3, 2; 1/4 joins three classes, 6 and
    2; 3/8 leaves one history alone, 7 and 1; 1/2 keeps nothing. Once the first is decided, one bit is left to lose.
    """
    graph = toys.gap().graph
    eighths = [Fraction(k, 8) for k in range(5)]
    waiting, later = recurrent_frontier(graph, 4), recurrent_frontier(graph, 8)
    assert [point.distortion for point in waiting] == [point.distortion for point in later] == eighths
    in_the_wait = [2.0, entropy(3, 3, 2), entropy(6, 2), entropy(7, 1), 0.0]
    assert [point.rate for point in waiting] == pytest.approx(in_the_wait, abs=1e-15)
    expected = [entropy(4, 4), entropy(5, 3), entropy(6, 2), entropy(7, 1), 0.0]
    assert [point.rate for point in later] == pytest.approx(expected, abs=1e-15)
    actual = gap(graph, 4, Fraction(1, 4))
    assert (actual.lower, actual.upper) == (0.0, actual.gap)
    assert actual.upper == pytest.approx(entropy(1, 3), abs=1e-15)


def test_revealed_bits_between_the_two() -> None:
    """Under either second bit two histories for each first bit: spend 1/4 on forgetting in one of the two fibers."""
    graph = toys.reveal().graph
    expected = [1.0, (1 + entropy(1, 3)) / 2, 0.5, entropy(1, 3) / 2, 0.0]
    frontier = recurrent_frontier(graph, 2)
    assert [point.rate for point in frontier] == pytest.approx(expected, abs=1e-15)
    assert [point.distortion for point in frontier] == [Fraction(k, 8) for k in range(5)]
    assert recurrent_rate(graph, 2, 0.3) == 0.5
    assert recurrent_rate(graph, 2, Fraction(1, 4) - TINY) == pytest.approx(expected[1], abs=1e-15)
    assert recurrent_rate(graph, 2, 1) == 0.0


def test_two_budgets_are_spent_separately() -> None:
    """Weights 2, 3, 5. One cell for all costs 1/5 at the first question, whose answer tells cue 0 from the others, and
    3/10 at the second; neither adds to the other. Joining the cues 0 and 2 costs 1/5 at the first question alone.
    """
    frontier = recurrent_frontier(Model.from_episodes(fork("abb", "aab")).graph, 1)
    assert [point.distortion for point in frontier] == [0, Fraction(1, 5), Fraction(3, 10)]
    assert [point.rate for point in frontier] == pytest.approx([entropy(2, 3, 5), entropy(7, 3), 0.0], abs=1e-15)


def test_equal_entropies_of_different_cells_are_a_tie() -> None:
    """Masses (2, 2, 2, 2) and (4, 1, 1, 1, 1) have the same entropy: rounding must not make one a point of its own."""
    left = recurrent._Choice(entropy(2, 2, 2, 2), (2, 2, 2, 2), (3,), ())
    right = recurrent._Choice(entropy(4, 1, 1, 1, 1) + 1e-13, (1, 1, 1, 1, 4), (2,), ())
    assert recurrent._undominated([left, right]) == [right]
    near = recurrent._Choice(1.0, (10**15 + 1, 10**15 - 1), (1,), ())
    equal = recurrent._Choice(1.0, (10**15, 10**15), (0,), ())
    assert recurrent._undominated([near, equal]) == [near, equal]


# ---- merged graphs and limits --------------------------------------------------------------------------------------


def coin(flips: int) -> Graph:
    """A bit is shown, fair coins fall, the bit is asked for: two posteriors, many histories."""

    def observe(t: int, bit: int) -> dict[str, str] | str:
        return f"bit {bit}" if t == 1 else "ask" if t == flips + 2 else {"heads": "1/2", "tails": "1/2"}

    return Model.from_generative(
        flips + 2,
        {0: "1/2", 1: "1/2"},
        observe,
        lambda t, bit: f"say {bit}" if t == flips + 2 else "wait",
        lambda t, bit, action: bit,
    ).graph


def test_a_merged_graph_is_unfolded_and_its_nodes_may_be_split() -> None:
    graph = coin(2)
    assert graph.levels[3].size == 2
    frontier = recurrent_frontier(graph, 3)
    assert frontier == recurrent_frontier(unfold(graph), 3)
    assert [point.distortion for point in frontier] == [Fraction(k, 8) for k in range(5)]
    assert len(frontier[0].cells) == 8
    assert gap(graph, 3, Fraction(0)).gap == 0.0


def test_limits_and_bad_input_are_named() -> None:
    graph = toys.gap().graph
    with pytest.raises(ValueError, match="step 4, 'wait': 8 histories, more than 7, have too many partitions"):
        recurrent_frontier(graph, 4, limit=7)
    with pytest.raises(ValueError, match="stands for 65536 histories, more than 20000"):
        recurrent_frontier(coin(15), 0)
    for t in (-1, 11):
        with pytest.raises(ValueError, match=f"step {t}: steps are counted from 0 to 10"):
            recurrent_frontier(graph, t)
    for distortion in (-TINY, float("nan")):
        with pytest.raises(ValueError, match="is not a number ≥ 0"):
            recurrent_rate(graph, 4, distortion)


def test_too_many_partial_partitions_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recurrent, "CHOICE_LIMIT", 20)
    with pytest.raises(ValueError, match="more than 20 partial partitions"):
        recurrent_frontier(toys.gap().graph, 4)


def test_masses_beyond_machine_integers() -> None:
    big = 10**30
    document = fork("abb", "aab")
    for episode, weight in zip(document["episodes"], (big, big + 1, 2), strict=True):
        episode["weight"] = f"{weight}/{2 * big + 3}"
    frontier = recurrent_frontier(Model.from_episodes(document).graph, 1)
    assert [point.distortion for point in frontier] == [0, Fraction(2, 2 * big + 3), Fraction(big, 2 * big + 3)]
    assert isinstance(frontier[0], RecurrentPoint)
    assert frontier[1].rate == pytest.approx(1.0, abs=1e-12)
