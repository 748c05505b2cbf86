"""Machines for every horizon: proved right, or refuted on a shortest history."""

from dataclasses import replace
from fractions import Fraction

import pytest
from stationary_twin import histories, law_of, random_process

from certify.errors import OffSupportError, UserError
from certify.stationary.answer import Effort, certify_forever
from certify.stationary.machine import StationaryMachine, right_for_ever
from certify.stationary.process import Process
from certify.stationary.zoo import build


def first_error(machine: StationaryMachine, process: Process, horizon: int) -> int | None:
    """The step of the first history on which a machine errs, by trying all histories."""
    for history, alpha in histories(process, horizon):
        code = machine.first.get(history[0])
        for action, seen in zip(history[1::2], history[2::2], strict=True):
            code = None if code is None else machine.moves.get((code, action, seen))
        if code is None or machine.laws.get((history[-1], code)) != law_of(process, alpha):
            return (len(history) + 1) // 2
    return None


@pytest.mark.parametrize("privileged", [False, True])
def test_random_changes_are_judged_as_all_histories_judge_them(privileged: bool):
    wrong = right = 0
    for seed in range(60):
        process = random_process(seed, privileged)
        answer = certify_forever(process, Effort(posteriors=60, window=0, steps=1, seconds=0.0))
        if not answer.exact:
            continue
        machine = answer.machine
        for k, (key, target) in enumerate(list(machine.moves.items())[:6]):
            changed = replace(machine, moves={**machine.moves, key: (target + 1 + k) % machine.codes})
            verdict = right_for_ever(changed, process)
            error = first_error(changed, process, 6)
            if verdict.right:
                right += 1
                assert error is None
            else:
                wrong += 1
                assert error in ((len(verdict.history) + 1) // 2, None if len(verdict.history) > 11 else 0)
                assert "wrong at step" in verdict.text
    assert wrong > 30
    assert right > 10


def test_the_shortest_error_may_be_as_late_as_the_product_of_sizes():
    """A cycle of n hidden states and a machine cycle of K codes, wrong in one code: first error at step n(K−1)+1."""
    n, codes = 7, 5
    process = Process.from_generative({0: 1}, lambda x: "o", lambda x: "act", lambda x, a: (x + 1) % n)
    flat = StationaryMachine(
        codes,
        {"o": 0},
        {(c, "act", "o"): (c + 1) % codes for c in range(codes)},
        {("o", c): {"act": Fraction(1)} for c in range(codes)},
    )
    assert right_for_ever(flat, process).right
    assert right_for_ever(flat, process).pairs == n * codes
    special = Process.from_generative(
        {0: 1}, lambda x: "o", lambda x: "jump" if x == n - 1 else "act", lambda x, a: (x + 1) % n
    )
    moves = {(c, a, "o"): (c + 1) % n for c in range(n) for a in ("act", "jump")}
    laws = {("o", c): {"jump" if c == n - 1 else "act": Fraction(1)} for c in range(n)}
    assert right_for_ever(StationaryMachine(n, {"o": 0}, moves, laws), special).right
    late = StationaryMachine(n, {"o": 0}, {**moves, (n - 1, "jump", "o"): 1}, laws)
    verdict = right_for_ever(late, special)
    assert (len(verdict.history) + 1) // 2 == 2 * n - 1
    assert verdict.expected == {"act": 1}
    assert verdict.played == {"jump": 1}


def test_a_mixture_over_infinitely_many_posteriors_is_decided_by_linear_algebra():
    """A privileged coin is never shown; noise changes the posterior for ever, the mean law never changes."""
    half, third = Fraction(1, 2), Fraction(1, 3)

    def move(x: tuple[int, int, int], action: str) -> dict[tuple[int, int, int], Fraction]:
        coins = [(coin, half) for coin in (0, 1)]
        return {(coin, x[1], seen): p * (1 - third if seen == x[1] else third) for coin, p in coins for seen in (0, 1)}

    start = {(c, d, s): half**3 for c in (0, 1) for d in (0, 1) for s in (0, 1)}
    process = Process.from_generative(start, lambda x: f"o{x[2]}", lambda x: f"say{x[0]}", move)
    law = {"say0": half, "say1": half}
    moves = {(0, f"say{c}", f"o{s}"): 0 for c in (0, 1) for s in (0, 1)}
    machine = StationaryMachine(1, {"o0": 0, "o1": 0}, moves, {("o0", 0): law, ("o1", 0): law})
    assert right_for_ever(machine, process).right
    wrong = replace(machine, laws={**machine.laws, ("o1", 0): {"say0": third, "say1": 1 - third}})
    assert right_for_ever(wrong, process).history == ("o1",)


def test_machines_survive_their_document_and_run():
    machine = certify_forever(build("repeated-cues")).machine
    assert StationaryMachine.from_json(machine.to_json()) == machine
    code = machine.begin("cue1")
    for _ in range(100):
        code = machine.advance(code, "walk", "hall")
    code = machine.advance(code, "walk", "ask")
    assert machine.law("ask", code) == {"answer1": 1}
    with pytest.raises(OffSupportError, match="never comes first"):
        machine.begin("ask")
    with pytest.raises(OffSupportError, match="never meets"):
        machine.advance(code, "walk", "hall")
    with pytest.raises(OffSupportError, match="never occurs"):
        machine.law("cue0", machine.codes)


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ("{}", 'the key "codes" is missing'),
        ('{"format": "x", "codes": 1, "first": {}, "moves": [], "laws": []}', "format: expected"),
        ('{"format": "certify-machine/2", "codes": 0, "first": {}, "moves": [], "laws": []}', "codes: expected"),
        (
            '{"format": "certify-machine/2", "codes": 1, "first": {"o": 1}, "moves": [], "laws": []}',
            "first.o: expected",
        ),
        ('{"format": "certify-machine/2", "codes": 1, "first": {}, "moves": [[0]], "laws": []}', r"moves\[0\]"),
        ('{"format": "certify-machine/2", "codes": 1, "first": {}, "moves": [], "laws": [["o", 0, {}]]}', r"laws\[0\]"),
    ],
)
def test_bad_machines_are_refused(document: str, reason: str):
    with pytest.raises(UserError, match=reason):
        StationaryMachine.from_json(document)
