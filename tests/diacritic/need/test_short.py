"""A short history is named: frames, actions, averages."""

import numpy as np
from need_data import answered, controlled

from diacritic.need.answer import need
from diacritic.need.card import card
from diacritic.need.decisions import Decision
from diacritic.need.past import Gains
from diacritic.need.screen import Open
from diacritic.need.short import helped_steps, short_history
from diacritic.need.text import settings


def step(velocity: float, filtered: float, actions: float, recent: float, p: float = 1e-6) -> Open:
    gains = Gains(velocity, filtered, actions, recent, recent, 1.0, 0, np.zeros((4, 1)))
    return Open(3, 2.0, p, 1.0, gains)


def test_the_part_that_is_most_often_enough_is_named():
    only_velocity, either = step(1.0, 0.2, 0.1, 1.0), step(0.95, 0.2, 1.0, 1.0)
    short = short_history([only_velocity, either], [])
    assert short is not None
    assert (short.parts, short.stack, str(short)) == (("velocity",), 3, "3 frames")


def test_where_no_part_is_enough_two_are_named():
    short = short_history([step(0.5, 0.6, 0.1, 1.0)], [])
    assert short is not None
    assert short.parts == ("velocity", "filter")


def test_nothing_helps():
    assert helped_steps([step(1, 1, 1, 1, p=0.5), step(0.01, 0.01, 0.01, 0.05)]) == ()
    assert short_history([], []) is None


def test_a_decision_that_recent_frames_tell():
    short = short_history([], [Decision([4, 5], np.arange(4) % 2, 1e-6, "short")])
    assert short is not None
    assert (short.parts, short.steps) == (("velocity", "actions"), 2)


def test_screen_and_card_say_how_much_history():
    answer = need(controlled("velocity"), plants=0)
    assert answer.kind == "short history is enough"
    assert "SHORT HISTORY IS ENOUGH   3 frames" in str(answer)
    assert settings(answer)["robomimic"] == "frame_stack=3, seq_length=3"
    assert "n_obs_steps=3" in card(answer)


def test_settings_of_a_memory_are_those_of_its_frames():
    answer = answered("cues-1-of-2")
    assert settings(answer) == answer.keep.settings()


def test_what_can_be_said_although_a_cue_cannot():
    answer = need(controlled("braking"), plants=0)
    assert answer.kind == "cannot tell"
    (line,) = [line for line in str(answer).splitlines() if line.startswith("  even so")]
    assert "older frames help at none" in line
