"""Pairs of hidden states against the sets of possible states, where both can be listed."""

from fractions import Fraction

import numpy as np
import pytest
from stationary_twin import random_process

from certify.errors import UserError
from certify.stationary.answer import Effort, certify_forever
from certify.stationary.atoms import atom_conflicts, atom_relation
from certify.stationary.certificate import certificate
from certify.stationary.machine import right_for_ever
from certify.stationary.observer import support_observer
from certify.stationary.process import Process
from certify.stationary.relation import compatibility
from certify.stationary.zoo import TASKS, build

PAIRS, SETS = Effort(nodes=1, seconds=0.0), Effort(seconds=0.0)


@pytest.mark.parametrize("name", [name for name in TASKS if name not in ("noisy-cue", "cheese-maze")])
def test_tasks_have_the_same_answer_by_pairs(name: str):
    process = build(name)
    sets = certify_forever(process, SETS)
    if atom_relation(process) is None:
        assert not sets.relation.transitive, "only what pairs do not decide is refused"
        return
    pairs = certify_forever(process, PAIRS)
    assert pairs.observer.kind == "group"
    assert pairs.rates is not None
    assert sets.rates is not None
    assert pairs.rates.mean == sets.rates.mean
    assert pairs.relation.count == sets.relation.count
    assert right_for_ever(pairs.machine, process).right


def test_random_processes_have_the_same_classes_by_pairs():
    decided = 0
    for seed in range(120):
        process = random_process(seed, privileged=False)
        actual = atom_relation(process)
        if actual is not None:
            decided += 1
            sets = compatibility(support_observer(process))
            assert sets.transitive
            assert sets.count == actual.count
    assert decided > 60


def literal_conflicts(process: Process) -> set[tuple[int, int]]:
    """The same relation, pair by pair."""
    pairs = [(x, y) for x in range(process.size) for y in range(process.size)]
    pairs = [(x, y) for x, y in pairs if process.observation[x] == process.observation[y]]
    conflicts = {(x, y) for x, y in pairs if process.law[x] != process.law[y]}
    while True:
        more = {
            (x, y)
            for x, y in pairs
            for u in process.after[x].keys() & process.after[y].keys()
            if any((a, b) in conflicts for a in process.after[x][u] for b in process.after[y][u])
        }
        if more <= conflicts:
            return conflicts
        conflicts |= more


@pytest.mark.parametrize("seed", range(20))
def test_conflicts_of_hidden_states_agree_with_the_literal_fixpoint(seed: int):
    process = random_process(seed, privileged=seed % 2 == 1)
    assert {(int(x), int(y)) for x, y in np.argwhere(atom_conflicts(process))} == literal_conflicts(process)


def keeper(length: int) -> Process:
    """Letters are shown, and the expert says the one of `length` steps ago."""
    start: dict[tuple[str, ...], Fraction] = {(*"a" * length, letter): Fraction(1, 2) for letter in "ab"}
    return Process.from_generative(
        start,
        lambda x: x[-1],
        lambda x: f"say-{x[0]}",
        lambda x, action: {(*x[1:], letter): Fraction(1, 2) for letter in "ab"},
    )


def test_what_pairs_do_not_decide_is_refused_and_what_they_decide_has_no_certificate():
    answer = certify_forever(keeper(3), PAIRS)
    assert answer.certified
    assert answer.codes is None
    assert answer.frames == ()
    with pytest.raises(UserError, match="too many here"):
        certificate(answer)
    with pytest.raises(UserError, match="more than 1 support nodes are reached"):
        certify_forever(build("three-histories"), PAIRS)
