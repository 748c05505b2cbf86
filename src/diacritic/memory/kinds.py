"""The kinds of memory that come with the package, and the one that an architecture names."""

from certify.errors import UserError
from diacritic.memory import (  # noqa: F401  (each registers its kinds)
    bistable,
    code_kinds,
    diagonal,
    frame_stack,
    full_history,
    gaussian,
    gru,
    min_gru,
    registers,
    selective,
    sole_carrier,
)
from diacritic.memory.protocol import MEMORIES, Memory
from diacritic.memory.shape import Architecture


def memory_of(architecture: Architecture) -> Memory:
    """The memory that an architecture has."""
    if architecture.memory not in MEMORIES:
        raise UserError(
            "architecture.memory", f"no memory is called {architecture.memory!r}; known: {', '.join(sorted(MEMORIES))}"
        )
    return MEMORIES[architecture.memory]


def is_sole_carrier(architecture: Architecture) -> bool:
    """Whether one code is the only thing that persists."""
    return not memory_of(architecture).beside_the_code(architecture)
