"""Tasks whose answers for every horizon can be worked out by hand."""

import math
from fractions import Fraction

import pytest

from certify import certify
from certify.errors import UserError
from certify.stationary.answer import Effort, certify_forever
from certify.stationary.machine import right_for_ever
from certify.stationary.process import Process
from certify.stationary.zoo import TASKS, build

KNOWN = [  # name, parameters, bits in the long run, bits with a clock, fewest codes, look-ahead
    ("running-parity", {}, 1.0, 1.0, 2, 0),
    ("counter", {"modulus": 3}, math.log2(3), math.log2(3), 3, 0),
    ("counter", {"modulus": 7}, math.log2(7), math.log2(7), 7, 0),
    ("n-back", {"lag": 1}, 1.0, 1.0, 2, 0),
    ("n-back", {"lag": 3}, 3.0, 3.0, 8, 2),
    ("delayed-cue", {"mean": 10}, 10 / 11, 10 / 11, 2, 1),
    ("delayed-cue", {"cues": 4, "mean": 10}, 20 / 11, 20 / 11, 4, 1),
    ("memory-chain", {"bits": 2, "mean": 10}, 19 / 11, 19 / 11, 4, 1),
    ("repeated-cues", {}, 0.75, 0.75, 2, 1),
    ("blinker", {"period": 6}, math.log2(6), 0.0, 6, 4),
    ("hallway", {}, 1.0, 1.0, 2, 0),
]


@pytest.mark.parametrize(("name", "parameters", "bits", "clock", "codes", "lookahead"), KNOWN)
def test_known_answers(name: str, parameters: dict[str, int], bits: float, clock: float, codes: int, lookahead: int):
    answer = certify_forever(build(name, **parameters))
    assert answer.regime == 1
    assert answer.certified
    assert answer.relation.lookahead == lookahead
    assert answer.rates is not None
    assert answer.rates.mean.bits == pytest.approx(bits, abs=1e-12)
    assert answer.rates.clock is not None
    assert answer.rates.clock.bits == pytest.approx(clock, abs=1e-12)
    assert answer.codes is not None
    assert answer.codes.count == codes
    assert answer.codes.proved


@pytest.mark.parametrize("name", TASKS)
def test_every_task_gives_a_machine_that_is_right_for_ever(name: str):
    answer = certify_forever(build(name), Effort(posteriors=300, window=1))
    assert answer.exact == right_for_ever(answer.machine, answer.process).right
    if answer.exact:
        assert answer.smallest_machine is not None
        assert right_for_ever(answer.smallest_machine, answer.process).right
    assert answer.to_dict()["regime"] == answer.regime
    assert len(answer.to_dict()["frames"]) == (2 if answer.exact else 0)
    assert answer.witnesses


def test_the_three_regimes_are_told_apart():
    regimes = {name: certify_forever(build(name), Effort(posteriors=300, window=1)).regime for name in TASKS}
    assert regimes.pop("noisy-cue") == 3
    assert regimes.pop("cheese-maze") == 2
    assert set(regimes.values()) == {1}


def test_where_compatibility_is_not_transitive_the_bracket_closes():
    for name in ("three-histories", "two-door-heist", "heaven-hell", "signpost-corridor"):
        answer = certify_forever(build(name))
        assert answer.relation.transitive is False
        assert answer.certified
        assert "not transitive" in answer.witnesses[0]


def test_an_infinite_case_is_a_bracket_that_narrows():
    process = build("noisy-cue")
    rough, fine = (certify_forever(process, Effort(posteriors=300, window=k)) for k in (0, 2))
    assert not rough.certified
    assert rough.windows is not None
    assert fine.windows is not None
    assert rough.floor is not None
    assert fine.floor is not None
    assert rough.floor <= fine.floor
    assert fine.windows.error == Fraction(1, 2)
    assert fine.to_dict()["bits"] is None
    floors = fine.to_dict()["floors"]
    assert floors["horizon"] == 4
    assert floors["steps"] == [step.lower for step in certify(process.model(4)).steps]
    assert floors["steps"][1] > 0.2


def test_windows_are_exact_where_the_law_settles():
    """A coin biases noise that the expert, who knows it, copies only from the last observation: windows decide it."""
    half, third = Fraction(1, 2), Fraction(1, 3)

    def observe(x: tuple[int, int]) -> str:
        return f"o{x[1]}"

    def move(x: tuple[int, int], action: str) -> dict[tuple[int, int], Fraction]:
        return {(x[0], x[0]): 1 - third, (x[0], 1 - x[0]): third}

    def expert(x: tuple[int, int]) -> str:
        return f"copy{x[1]}"

    start = {(coin, shown): half * half for coin in (0, 1) for shown in (0, 1)}
    answer = certify_forever(Process.from_generative(start, observe, expert, move))
    assert answer.regime == 1  # (A2) holds although posteriors are infinitely many
    assert answer.rates is not None
    assert answer.rates.mean.bits == 0


@pytest.mark.parametrize(
    ("name", "parameters", "reason"),
    [
        ("nothing", {}, "no task is called 'nothing'"),
        ("counter", {"size": 3}, "--size: not a parameter of counter; its parameters: modulus"),
        ("counter", {"modulus": 0}, "--modulus: expected a whole number"),
        ("counter", {"modulus": "x"}, "--modulus: expected a whole number"),
    ],
)
def test_bad_names_and_parameters_are_refused(name: str, parameters: dict[str, int], reason: str):
    with pytest.raises(UserError, match=reason):
        build(name, **parameters)
