"""The stand-in task as a fixture."""

from collections.abc import Callable

import pytest
from stand_in_task import StandIn


@pytest.fixture
def stand_in() -> Callable[..., StandIn]:
    """Make a stand-in task."""
    return StandIn
