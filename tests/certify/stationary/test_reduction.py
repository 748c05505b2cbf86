"""Machines with more codes than they use, reduced without a last step."""

import numpy as np
import pytest

from certify.stationary.answer import Effort, certify_forever
from certify.stationary.machine import StationaryMachine, right_for_ever
from certify.stationary.reduction import reduced
from certify.stationary.zoo import TASKS, build

EXACT = [name for name in TASKS if name not in ("noisy-cue", "cheese-maze")]


@pytest.mark.parametrize("name", EXACT)
def test_a_machine_of_all_futures_becomes_the_smallest(name: str):
    process = build(name)
    answer = certify_forever(process, Effort(seconds=0.0))
    wide = StationaryMachine.from_labels(answer.observer, np.arange(answer.observer.size))
    small, merged = reduced(wide, process)
    assert right_for_ever(small, process).right
    assert merged.keys() == wide.laws.keys()
    assert answer.codes is not None
    assert small.codes <= answer.codes.high
    if answer.relation.transitive:
        assert small.cells == answer.relation.count


def test_nothing_is_forgotten_that_a_longer_episode_needs():
    """One code for each count up to 24 behaves as one for each count modulo 3, and no fewer do."""
    process = build("counter", modulus=3)
    codes = range(24)
    first = {"0": 0, "1": 1}
    moves = {(c, f"say{c % 3}", str(bit)): (c + bit) % 24 for c in codes for bit in (0, 1)}
    laws = {(str(bit), c): {f"say{c % 3}": process.start[0][1] * 2} for c in codes for bit in (0, 1)}
    small, _ = reduced(StationaryMachine(24, first, moves, laws), process)
    assert small.codes == 3
