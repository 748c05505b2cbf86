"""Whether a policy in LeRobot's style uses the frames that its own data need."""

from typing import Any

import numpy as np
import pytest
import torch

import diacritic as dia
from certify.errors import UserError
from diacritic.demos import from_arrays
from diacritic.files.demos import Demos

SHOWN, USED = 2, 7


def recorded(episodes: int = 48) -> Demos:
    """A cue is shown in one frame and used five frames later."""
    rng = np.random.default_rng(0)
    cue = rng.integers(2, size=episodes)
    seen, acted = 0.05 * rng.standard_normal((9, episodes, 3)), 0.02 * rng.standard_normal((9, episodes, 2))
    seen[SHOWN, :, 1] += cue
    acted[USED, :, 0] += cue
    return from_arrays(seen, acted)


class Selects:
    """Decides by the frame of the cue, by its velocity, or always in the same way."""

    def __init__(self, by: str) -> None:
        self.by = by

    def reset(self) -> None:
        self.past: list[torch.Tensor] = []

    def select_action(self, batch: dict[str, Any]) -> torch.Tensor:
        self.past.append(batch["observation.state"][0])
        action = torch.zeros(1, 2)
        if len(self.past) == USED + 1 and self.by == "cue":
            action[0, 0] = float(self.past[SHOWN][1] > 0.5)
        elif len(self.past) > 1 and self.by == "velocity":
            action[0, 0] = float((self.past[-1] - self.past[-2])[0] > 0)
        return action


@pytest.fixture(scope="module")
def answer() -> Any:
    return dia.need(recorded(), plants=0)


@pytest.mark.parametrize(
    ("by", "used", "said"),
    [
        ("cue", (1.0, 0.0, 0.0), "It uses the frames that its data need."),
        ("nothing", (0.0, 0.0, 0.0), "It does not use the frames that its data need."),
        ("velocity", (0.0, None, 0.0), "It does not use the frames that its data need."),
    ],
)
def test_frames_that_are_exchanged_change_what_uses_them(answer: Any, by: str, used: tuple[Any, ...], said: str):
    audit = dia.audit(Selects(by), answer, shuffles=2)
    (control,) = [each for each in audit.controls if each.name == "needed frames, D1"]
    assert (control.data["frames"], control.data["step"]) == ((SHOWN,), USED + 1)
    actual = [control.data[name] for name in ("needed", "recent", "others")]
    assert [share for share, right in zip(actual, used, strict=True) if right is not None] == [
        right for right in used if right is not None
    ]
    assert (actual[1] > 0.05) == (by == "velocity")
    assert control.passed == (by == "cue")
    assert audit.verdict.endswith(said)


def test_a_recording_is_asked_for_its_need_first():
    audit = dia.audit(Selects("cue"), recorded(), shuffles=2)
    assert audit.sufficient.answer == "yes"
    assert audit.to_dict()["controls"][-1]["name"] == "needed frames, D1"


def test_nothing_is_audited_where_nothing_needs_memory():
    rng = np.random.default_rng(0)
    seen = rng.standard_normal((5, 32, 2))
    with pytest.raises(UserError, match="no decision needs memory; audit on a recording that needs some"):
        dia.audit(Selects("cue"), from_arrays(seen, seen[:, :, :1]))
