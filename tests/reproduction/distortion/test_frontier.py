"""The rate–distortion side against closed forms, literal twins and the statements it rests on."""

import random
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise, product
from math import log2

import pytest
from certify_twin import Document, Twin, documents
from hypothesis import given, settings
from hypothesis import strategies as st

from certify.core.model import Model
from certify.zoo import toys
from reproduction.distortion.blahut import Law, total_variation
from reproduction.distortion.frontier import (
    Letter,
    Point,
    Source,
    best_decoder,
    blahut_arimoto,
    closed_form,
    deterministic_frontier,
    largest_distortion,
    rate,
    rate_bounds,
)


def certain(action: int | str) -> Law:
    return {str(action): Fraction(1)}


def law(*weights: int) -> Law:
    return {str(action): Fraction(weight, sum(weights)) for action, weight in enumerate(weights) if weight}


def uniform_classes(classes: int, letters: int | None = None) -> Source:
    """Equally likely letters in one fiber, letter m taking the certain action m mod classes."""
    return Source((tuple((1, certain(m % classes)) for m in range(letters or classes)),))


laws = st.lists(st.integers(0, 3), min_size=3, max_size=3).filter(any).map(lambda weights: law(*weights))
letters_of_a_fiber = st.lists(st.tuples(st.integers(1, 6), laws), min_size=1, max_size=4).map(tuple)
sources = st.lists(letters_of_a_fiber, min_size=1, max_size=2).map(lambda fibers: Source(tuple(fibers)))
fractions_of_range = st.sampled_from(
    [Fraction(1, 100), Fraction(1, 5), Fraction(1, 2), Fraction(4, 5), Fraction(99, 100)]
)


# ---- literal twins -------------------------------------------------------------------------------------------------


def exhaustive_least_distortion(letters: list[Letter]) -> Fraction:
    """Least mean total variation over all laws with every coordinate but one in {0} ∪ {π_g(a)}."""
    actions = sorted({action for _, law in letters for action in law})
    values = [{Fraction(0)} | {law.get(action, Fraction(0)) for _, law in letters} for action in actions]
    total = sum(mass for mass, _ in letters)
    best = Fraction(1)
    for free, action in enumerate(actions):
        for chosen in product(*values[:free], *values[free + 1 :]):
            rest = 1 - sum(chosen)
            if rest >= 0:
                others = [a for a in actions if a != action]
                decoder = {action: rest, **dict(zip(others, chosen, strict=True))}
                best = min(best, sum(mass * total_variation(law, decoder) for mass, law in letters) / Fraction(total))
    return best


def partitions(items: list) -> Iterator[list[list]]:
    if not items:
        yield []
        return
    for rest in partitions(items[1:]):
        yield [[items[0]], *rest]
        for index, block in enumerate(rest):
            yield [*rest[:index], [items[0], *block], *rest[index + 1 :]]


def deterministic_codes(source: Source) -> Iterator[tuple[list[list[list[Letter]]], float, Fraction]]:
    """Every partition of every fiber, with H(C|O) and its least distortion."""
    for code in product(*(list(partitions(list(fiber))) for fiber in source.fibers)):
        rate, distortion = 0.0, Fraction(0)
        for blocks in code:
            whole = sum(mass for block in blocks for mass, _ in block)
            for block in blocks:
                mass = sum(m for m, _ in block)
                rate += mass / source.total * log2(whole / mass)
                distortion += Fraction(mass, source.total) * exhaustive_least_distortion(block)
        yield list(code), rate, distortion


def exact_class_entropy(source: Source) -> Decimal:
    """H(G|O) from its definition, to 50 digits."""
    with localcontext() as context:
        context.prec = 50
        bits = Decimal(0)
        for fiber in source.fibers:
            classes: dict[Hashable, int] = defaultdict(int)
            for mass, law in fiber:
                classes[tuple(sorted(law.items()))] += mass
            whole = Decimal(sum(classes.values()))
            bits += sum((Decimal(m) * (whole / m).ln() for m in classes.values()), Decimal(0)) / source.total
        return bits / Decimal(2).ln()


# ---- decoders ------------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(1, 6), laws), min_size=1, max_size=4))
def test_best_decoder_is_a_law_and_no_vertex_beats_it(letters: list[Letter]) -> None:
    decoder, distortion = best_decoder(letters)
    assert sum(decoder.values()) == 1
    assert min(decoder.values()) > 0
    total = sum(mass for mass, _ in letters)
    assert distortion == sum(mass * total_variation(law, decoder) for mass, law in letters) / Fraction(total)
    assert distortion == exhaustive_least_distortion(letters)


@given(st.lists(st.tuples(st.integers(1, 6), laws), min_size=1, max_size=4), laws)
def test_no_law_beats_the_best_decoder(letters: list[Letter], other: Law) -> None:
    total = sum(mass for mass, _ in letters)
    cost = sum((mass * total_variation(law, other) for mass, law in letters), Fraction(0)) / total
    assert best_decoder(letters)[1] <= cost


def test_best_decoder_of_weighted_certain_actions_is_the_likeliest() -> None:
    assert best_decoder([(1, certain("a")), (3, certain("b")), (2, certain("c"))]) == (certain("b"), Fraction(1, 2))


# ---- the stochastic curve ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", range(2, 9))
def test_blahut_arimoto_meets_the_closed_form(classes: int) -> None:
    for k in range(12):
        distortion = Fraction(k, 10) * (1 - Fraction(1, classes))
        for bound in rate_bounds(uniform_classes(classes), distortion):
            assert bound == pytest.approx(closed_form(classes, distortion), abs=1e-13)


@pytest.mark.parametrize("letters", [4, 8, 16])
def test_history_source_meets_the_closed_form_whatever_the_number_of_modes(letters: int) -> None:
    history = uniform_classes(4, letters)
    for k in range(1, 10):
        distortion = Fraction(3 * k, 40)
        assert rate(history, distortion) == pytest.approx(closed_form(4, distortion), abs=1e-13)
        assert rate(history.reduced(), distortion) == pytest.approx(closed_form(4, distortion), abs=1e-13)
    point = blahut_arimoto(history, 3.0)
    assert point.rate == pytest.approx(closed_form(4, point.distortion), abs=1e-13)
    assert point.gap <= 1e-14


def test_closed_form_at_the_values_printed_for_four_classes() -> None:
    printed = [round(closed_form(4, Fraction(k, 4)), 2) for k in range(4)]
    assert printed == [2.0, 0.79, 0.21, 0.0]
    assert closed_form(4, 0.9) == 0.0
    assert closed_form(1, 0) == 0.0


def test_classes_independent_of_the_observation_cost_what_one_fiber_costs() -> None:
    single = ((1, certain(0)), (1, certain(1)), (1, certain(2)))
    source = Source((single, tuple((5, law) for _, law in single), tuple((2, law) for _, law in single)))
    for distortion in (Fraction(1, 10), Fraction(1, 3), Fraction(3, 5)):
        assert rate(source, distortion) == pytest.approx(closed_form(3, distortion), abs=1e-13)


@settings(max_examples=40)
@given(sources, fractions_of_range, st.randoms(use_true_random=False))
def test_histories_cost_no_more_than_behavioural_classes(
    source: Source, share: Fraction, generator: random.Random
) -> None:
    """R_E(D) = R_{G|O}(D): split every letter's mass at random into histories with the same law."""
    scaled = Source(tuple(tuple((12 * mass, law) for mass, law in fiber) for fiber in source.fibers))
    history = Source(tuple(tuple(split(fiber, generator)) for fiber in scaled.fibers))
    assert [sum(m for m, _ in f) for f in history.fibers] == [sum(m for m, _ in f) for f in scaled.fibers]
    distortion = share * largest_distortion(source)
    assert rate(history, distortion) == pytest.approx(rate(source.reduced(), distortion), abs=1e-12)


def split(fiber: Iterable[Letter], generator: random.Random) -> Iterator[Letter]:
    for mass, law in fiber:
        cuts = sorted({0, mass, *(generator.randint(1, mass - 1) for _ in range(3))})
        yield from ((high - low, law) for low, high in pairwise(cuts))


@settings(max_examples=200)
@given(sources)
def test_rate_at_zero_distortion_is_the_class_entropy(source: Source) -> None:
    assert abs(Decimal(rate(source, 0)) - exact_class_entropy(source)) <= Decimal("1e-15")
    if largest_distortion(source):
        assert blahut_arimoto(source, 2000.0).rate == pytest.approx(float(exact_class_entropy(source)), abs=1e-12)


@settings(max_examples=40)
@given(sources)
def test_rate_is_zero_from_the_largest_distortion_on_and_positive_before(source: Source) -> None:
    ceiling = largest_distortion(source)
    assert rate(source, ceiling) == 0.0
    assert rate(source, 1) == 0.0
    if ceiling:
        assert rate_bounds(source, ceiling * Fraction(9, 10))[0] > 0


@settings(max_examples=20)
@given(sources)
def test_the_curve_is_convex_and_falls(source: Source) -> None:
    ceiling = largest_distortion(source)
    values = [rate(source, ceiling * Fraction(k, 8)) for k in range(10)]
    assert all(right <= left + 1e-12 for left, right in pairwise(values))
    assert all(a + c >= 2 * b - 1e-12 for a, b, c in zip(values, values[1:], values[2:], strict=False))


def test_a_straight_piece_of_the_curve_is_followed() -> None:
    """Between distortions 0.178 and 0.194 this curve is a line of slope −3: one slope, many distortions."""
    source = Source((((3, law(1, 0, 1)), (3, law(2, 1, 0)), (2, law(1, 1, 1))),))
    distortions = [0.178, 0.18, 0.183, 0.187, 0.19, 0.194]
    values = [rate(source, distortion) for distortion in distortions]
    for (d, r), (e, s) in pairwise(zip(distortions, values, strict=True)):
        assert (r - s) / (e - d) == pytest.approx(3.0, abs=1e-9)
    assert (rate(source, 0.194) - rate(source, 0.21)) / 0.016 < 2.9


def test_hard_numbers_keep_the_bracket_closed() -> None:
    tiny = Fraction(1, 10**9)
    close = [{"a": Fraction(1, 2) + k * tiny, "b": Fraction(1, 2) - k * tiny} for k in (0, 1, -3)]
    for letters in (
        [(k + 1, law) for k, law in enumerate(close)],
        [(1, close[0]), (2, close[1]), (3, law(1, 4))],
        [(1, certain("a")), (10**12, certain("b")), (3, certain("c"))],
        [(1, certain("a")), (10**400, certain("b")), (10**400, certain("c"))],
        [(1, {"a": Fraction(1, 10**20), "b": 1 - Fraction(1, 10**20)}), (1, law(1, 1)), (1, certain("b"))],
    ):
        source = Source((tuple(letters),))
        for share in (tiny, Fraction(1, 1000), Fraction(1, 2), Fraction(999, 1000)):
            lower, upper = rate_bounds(source, share * largest_distortion(source))
            assert 0 <= upper - lower <= 1e-13


# ---- deterministic codes -------------------------------------------------------------------------------------------


def test_deterministic_frontier_of_four_uniform_classes() -> None:
    frontier = deterministic_frontier(uniform_classes(4))
    assert [point.distortion for point in frontier] == [Fraction(k, 4) for k in range(4)]
    binary = -0.25 * log2(0.25) - 0.75 * log2(0.75)
    assert [point.rate for point in frontier] == pytest.approx([2.0, 1.5, binary, 0.0], abs=1e-15)


@settings(max_examples=40)
@given(sources)
def test_deterministic_frontier_is_the_pareto_set_of_all_codes(source: Source) -> None:
    kept: list[Point] = []
    for distortion, bits in sorted((distortion, bits) for _, bits, distortion in deterministic_codes(source)):
        if not kept or bits < kept[-1].rate - 1e-11:
            kept.append(Point(bits, distortion))
    frontier = deterministic_frontier(source)
    assert [point.distortion for point in frontier] == [point.distortion for point in kept]
    assert [point.rate for point in frontier] == pytest.approx([point.rate for point in kept], abs=1e-11)


@settings(max_examples=25)
@given(sources)
def test_deterministic_codes_lie_above_the_curve_and_meet_it_at_zero(source: Source) -> None:
    """R_E(D) ≤ R^det_E(D) ≤ R^det_{G|O}(D), equal at D = 0: a code of histories may split a class, one of G may not."""
    of_histories, of_classes = deterministic_frontier(source), deterministic_frontier(source.reduced())
    for point in of_histories:
        assert point.rate >= rate(source, point.distortion) - 1e-12
    for point in of_classes:
        assert min(p.rate for p in of_histories if p.distortion <= point.distortion) <= point.rate + 1e-11
    for frontier in (of_histories, of_classes):
        assert frontier[0].distortion == 0
        assert frontier[0].rate == pytest.approx(rate(source, 0), abs=1e-12)
        assert frontier[-1] == Point(0.0, largest_distortion(source))


def test_splitting_a_class_can_help_a_deterministic_code() -> None:
    """Two equal classes: histories allow a code between all and nothing, classes do not."""
    history = Source((tuple((1, certain(g)) for g in (0, 0, 1, 1)),))
    assert [point.distortion for point in deterministic_frontier(history.reduced())] == [0, Fraction(1, 2)]
    assert [point.distortion for point in deterministic_frontier(history)] == [0, Fraction(1, 4), Fraction(1, 2)]


def test_deterministic_frontier_states_its_limits() -> None:
    with pytest.raises(ValueError, match=r"fibers\[1\]: 11 letters, more than 10"):
        deterministic_frontier(Source((((1, certain(0)),), tuple((1, certain(a)) for a in range(11)))))
    primes = [10**6 + k * k * k for k in range(16)]
    with pytest.raises(ValueError, match="more than 20000 Pareto points"):
        deterministic_frontier(Source(tuple(((p, certain(0)), (p + 1, certain(1))) for p in primes)))


# ---- sufficiency and harmless ambiguity ----------------------------------------------------------------------------


@settings(max_examples=15)
@given(sources)
def test_zero_distortion_determines_the_class_and_the_least_such_code_is_the_class(source: Source) -> None:
    lossless = rate(source, 0)
    for code, bits, distortion in deterministic_codes(source):
        cells = [{tuple(sorted(law.items())) for _, law in block} for blocks in code for block in blocks]
        assert (distortion == 0) == all(len(cell) == 1 for cell in cells)
        if distortion == 0:
            classes = sum(len(fiber) for fiber in source.reduced().fibers)
            assert bits >= lossless - 1e-12
            assert (len(cells) == classes) == (bits <= lossless + 1e-12)


@pytest.mark.parametrize(("modes", "classes"), [(16, 1), (16, 2), (16, 4), (12, 3), (8, 8)])
def test_modes_with_the_same_behaviour_are_free(modes: int, classes: int) -> None:
    source = uniform_classes(classes, modes)
    assert source.entropy() - source.reduced().entropy() == pytest.approx(log2(modes / classes), abs=1e-15)
    assert rate(source, 0) == pytest.approx(log2(classes), abs=1e-15)


# ---- sources of a model ---------------------------------------------------------------------------------------------


def in_order(fibers: Iterable[Iterable[tuple[Fraction, Iterable[tuple[str, Fraction]]]]]) -> list:
    """Letters as (probability, law), in an order that forgets the numbering of nodes."""
    return sorted(sorted((mass, sorted(law)) for mass, law in fiber) for fiber in fibers)


def plain(source: Source) -> list:
    return in_order([(Fraction(mass, source.total), law.items()) for mass, law in fiber] for fiber in source.fibers)


@settings(max_examples=60)
@given(documents())
def test_the_sources_of_a_step_are_its_histories_and_its_behavioural_classes(document: Document) -> None:
    twin, graph = Twin(document), Model.from_episodes(document).graph
    for t, level in enumerate(twin.levels):
        fibers = defaultdict(list)
        for history, facts in level.items():
            fibers[history[-1]].append((facts.mass, facts.law))
        histories = Source.of_histories(graph, t)
        assert plain(histories) == in_order(fibers.values())
        assert plain(Source.of_classes(graph, t)) == plain(histories.reduced())
        assert rate(Source.of_classes(graph, t), 0) == pytest.approx(twin.behavioural_entropy(t), abs=1e-12)


def test_the_source_of_a_decision_in_the_toy_of_two_cues() -> None:
    graph = toys.gap().graph
    assert Source.of_classes(graph, 6) == Source((((4, certain("take 0")), (4, certain("take 1"))),))
    assert [mass for mass, _ in Source.of_histories(graph, 6).fibers[0]] == [1] * 8


def test_masses_beyond_machine_integers_become_plain_integers() -> None:
    big = 10**40
    episodes = []
    for action, weight in (("a", big), ("b", 2 * big - 1)):
        cue, ask = ({"obs": obs, "action_law": {action: 1}, "action": action} for obs in (f"cue {action}", "ask"))
        episodes.append({"weight": Fraction(weight, 3 * big - 1), "steps": [cue, ask]})
    model = Model.from_episodes(episodes)
    source = Source.of_classes(model.graph, 1)
    assert sorted(mass for mass, _ in source.fibers[0]) == [big, 2 * big - 1]


# ---- bad input -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fibers", "reason"),
    [
        ((), "at least one"),
        (((),), r"fibers\[0\]: a fiber needs"),
        ((((0, certain(0)),),), r"fibers\[0\]\[0\]: mass 0"),
        ((((1, certain(0)), (Fraction(1, 2), certain(0))),), r"fibers\[0\]\[1\]: mass"),
        ((((1, {}),),), r"fibers\[0\]\[0\]: law"),
        ((((1, {"a": Fraction(1, 2)}),),), "law is not"),
        ((((1, {"a": Fraction(1), "b": Fraction(0)}),),), "law is not"),
        ((((1, {"a": Fraction(3, 2), "b": Fraction(-1, 2)}),),), "law is not"),
    ],
)
def test_a_bad_source_is_refused_by_place(fibers: tuple, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        Source(fibers)


def test_bad_numbers_are_refused() -> None:
    calls: list[Callable[[], object]] = [
        lambda: rate(uniform_classes(2), -0.1),
        lambda: rate(uniform_classes(2), float("nan")),
        lambda: blahut_arimoto(uniform_classes(2), -1.0),
        lambda: blahut_arimoto(uniform_classes(2), float("inf")),
        lambda: closed_form(0, 0.5),
        lambda: closed_form(2, -0.5),
        lambda: closed_form(2, float("nan")),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=r"not a number ≥ 0|not a finite number|needs classes"):
            call()
