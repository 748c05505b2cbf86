"""A recording as a place to audit: classes by the nearest mean, closed loop in the simulator, and frames."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from expert_carrier import LIT, SHOWN, short_task

from certify.errors import UserError
from diacritic.demos.record import record
from diacritic.files.demos import Demos
from diacritic.measure import audit
from diacritic.measure.audit_task_recorded import RecordedAuditTask
from diacritic.measure.policy_adapters import IMAGE, STATE, adapt
from diacritic.measure.scripted_policy import ScriptedPolicy, whole_episodes


@pytest.fixture(scope="module")
def demos() -> Demos:
    return record(short_task(), 32, seed=4)[0]


class Copyist:
    """Remembers step and cues, and does what the expert did with such ones and coin 0; `blind` to the slot if told."""

    def __init__(self, demos: Demos, blind: bool = False) -> None:
        self.blind = blind
        self.table: dict[tuple[int, ...], np.ndarray] = {}
        for n in np.flatnonzero(demos.latents["hover"] == 0):
            self.reset()
            for t in range(demos.steps):
                self.look(demos.observations[t, n])
                self.table.setdefault(self.key(), demos.actions[t, n])

    def reset(self) -> None:
        self.state = np.array([-1, 0, 0], np.int64)

    def look(self, seen: np.ndarray) -> None:
        self.state[0] += 1
        if self.state[0] in (LIT, LIT + 1):
            self.state[1 + self.state[0] - LIT] = seen[SHOWN] > 0
            self.state[2] *= not self.blind

    def key(self) -> tuple[int, ...]:
        return tuple(self.state.tolist())

    def act(self, observation: np.ndarray) -> np.ndarray:
        self.look(observation)
        return self.table[self.key()]


def test_a_copy_of_the_expert_is_found_right_and_whole(demos: Demos) -> None:
    outcome = audit(Copyist(demos), demos, episodes=2, shuffles=499)
    controls = {control.name: control for control in outcome.controls}
    assert (outcome.sufficient.answer, outcome.carries.answer, outcome.sole.answer) == ("yes", "yes", "yes")
    assert controls["expert's histories"].data == {"side": 0.0, "slot": 0.0}
    assert controls["closed loop"].data == 1.0
    assert {item.variable for item in outcome.decodings if item.required} == {"side", "slot"}
    assert outcome.surplus.answer == "yes"  # it never forgets the side
    assert "side (gap2)" in outcome.surplus.because


def test_a_lost_class_is_counted(demos: Demos) -> None:
    audit_task = RecordedAuditTask(demos, played=0)
    actual = audit_task.behave(ScriptedPolicy(adapt(Copyist(demos, blind=True)), audit_task))
    wrong = actual.controls[0].data
    assert actual.finding.answer == "no"
    assert wrong["side"] == 0
    assert wrong["slot"] == pytest.approx(0.5, abs=0.1)


def test_the_last_episodes_are_watched(demos: Demos) -> None:
    audit_task = RecordedAuditTask(demos, most=8, played=0)
    assert audit_task.occupancy == "8 recorded episodes"
    script = whole_episodes(audit_task.episodes)[3]
    seen, before = audit_task.show(script[0])
    np.testing.assert_array_equal(seen.vector, demos.observations[0, 27])
    assert before.absent
    seen, before = audit_task.show(script[5])
    np.testing.assert_array_equal(before.vector, demos.actions[4, 27])


def test_with_frames_a_policy_sees_no_pose(demos: Demos) -> None:
    frames = np.zeros((demos.steps, demos.episodes, 64, 64, 3), np.uint8)
    frames[2, 5] = 9
    audit_task = RecordedAuditTask(replace(demos, frames=frames), played=0)
    heard: list[Any] = []

    class Watcher:
        def reset(self) -> None: ...

        def act(self, observation: Any) -> Any:
            heard.append(observation)
            return np.zeros(4)

    ScriptedPolicy(adapt(Watcher()), audit_task).action(whole_episodes(audit_task.episodes)[5][:3])
    assert heard[2][IMAGE].max() == 9
    assert heard[2][STATE].shape == (11,)


@pytest.mark.parametrize("action", [np.zeros(3), np.full(4, np.inf), np.zeros((2, 4)), None])
def test_other_actions_are_refused(demos: Demos, action: Any) -> None:
    class Wrong(Copyist):
        def act(self, observation: np.ndarray) -> Any:
            return action

    with pytest.raises(UserError, match=r"policy: its action is \[.*\]; expected 4 finite numbers"):
        audit(Wrong(demos), demos, episodes=0)


def test_a_recording_of_another_version_is_refused(demos: Demos) -> None:
    with pytest.raises(UserError, match=r"recording: is of version 0 of two-cues, .*record it again"):
        RecordedAuditTask(replace(demos, task_version=0))
