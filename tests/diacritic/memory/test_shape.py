"""Which variants carry nothing but a code."""

import pytest

from diacritic.memory.shape import Architecture


@pytest.mark.parametrize(
    ("architecture", "sole"),
    [
        (Architecture(), True),
        (Architecture(bound="tanh", persistent=False, prior="unconditional"), True),
        (Architecture(path="scaffold"), True),  # it has been taken down by the time anybody measures
        (Architecture(side="symbol", readout="hierarchical"), True),
        (Architecture(path="bypass"), False),
        (Architecture(memory="gaussian"), False),
        (Architecture(memory="gru"), False),
        (Architecture(memory="history"), False),
        (Architecture(identification=4), False),
    ],
)
def test_only_a_code_persists_in_a_sole_carrier(architecture: Architecture, sole: bool) -> None:
    assert architecture.sole_carrier is sole
