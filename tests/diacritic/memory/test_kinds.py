"""Kinds of memory by name, and which variants carry nothing but a code."""

import pytest

from certify.errors import UserError
from diacritic.memory.gru import Gru
from diacritic.memory.kinds import is_sole_carrier, memory_of
from diacritic.memory.protocol import register
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
    assert is_sole_carrier(architecture) is sole


def test_an_unknown_kind_is_one_line() -> None:
    with pytest.raises(UserError, match="no memory is called 'elephant'; known: bistable, code"):
        memory_of(Architecture(memory="elephant"))


def test_a_name_is_registered_once() -> None:
    class Other(Gru):
        name = "gru"

    with pytest.raises(UserError, match="'gru' is registered already"):
        register(Other)
    assert register(Gru) is Gru  # a module that is loaded again changes nothing
