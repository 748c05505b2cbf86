"""The expert that heads for the goal of an explicit model."""

import pytest

from certify import UserError
from certify.sources.drn import read_drn
from certify.sources.goals import to_goal

WALK = """@type: POMDP
@model
state 0 {0} init
\taction left
\t\t0 : 1
\taction right
\t\t1 : 1
state 1 {0}
\taction left
\t\t0 : 1
\taction right
\t\t2 : 1/2
\t\t0 : 1/2
state 2 {1}LABEL
\taction left
\t\t2 : 1
\taction right
\t\t2 : 1
"""


@pytest.mark.parametrize("label", [" goal", ""])
def test_the_way_to_the_goal(label: str) -> None:
    """Labelled or not: without a label, the goal is where the episode ends."""
    law = to_goal(read_drn(WALK.replace("LABEL", label))).law
    assert (law["s0"], law["s1"]) == ("right", "right")


def test_a_model_without_a_goal_says_so() -> None:
    endless = WALK.replace("LABEL", "").replace(
        "\t\t2 : 1\n\taction right\n\t\t2 : 1\n", "\t\t0 : 1\n\taction right\n\t\t0 : 1\n"
    )
    with pytest.raises(UserError, match="never ends"):
        to_goal(read_drn(endless))
