"""What one model for all steps explains, and the page that says so."""

import numpy as np
from need_data import controlled

from diacritic.demos.readers import from_arrays
from diacritic.need.answer import need
from reproduction.need_study.pooled import pooled_shares
from reproduction.need_study.real import section


def test_velocity_is_told_from_one_frame_and_from_the_past():
    rng = np.random.default_rng(0)
    position = np.cumsum(rng.standard_normal((60, 20, 2)), 0)
    actions = np.diff(position, axis=0, prepend=position[:1])
    shares = list(pooled_shares(from_arrays(position, actions)).values())
    assert shares[0] < 0.2
    assert shares[1] > 0.5
    assert max(shares[2:]) < shares[1] + 0.02


def test_a_section_says_what_can_be_told():
    demos = controlled("velocity", 24)
    text = section("Mine", demos, need(demos, plants=0))
    assert "| one frame | " in text
    assert "action channels open" in text
    assert "its change of the state" not in text  # six channels are seen, and two acted


def test_actions_are_counted_from_a_state_of_the_same_channels():
    demos = controlled("velocity", 24)
    alike = from_arrays(demos.observations[:, :, :2], demos.actions)
    assert "| explained variance, from | the action | its change of the state |" in section(
        "Mine", alike, need(alike, plants=0)
    )
