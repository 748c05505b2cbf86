"""Controls behind a rate: a code that copies the object's first place is found out, a code of the classes is not."""

import numpy as np
import pytest

from diacritic.demos.record import record
from diacritic.files.demos import Demos
from diacritic.measure.rate_controls import rate_controls
from diacritic.measure.recorded import Classes
from diacritic.measure.verdict import Control
from diacritic.tasks.registry import make as make_task

TASK = make_task("two-cues", gap=1, first_gap=1)
WINDOWS = {name: tuple(steps) for name, steps in TASK.windows.items()}


@pytest.fixture(scope="module")
def demos() -> Demos:
    return record(TASK, 96, seed=1)[0]


def controls(demos: Demos, codes: np.ndarray) -> dict[str, Control]:
    found = rate_controls(codes, Classes.of(demos.symbols, demos.choices), demos, TASK, WINDOWS)
    assert all(control.part == "rate" for control in found)
    return {control.name: control for control in found}


def test_a_code_of_the_classes_alone_has_no_surplus_to_explain(demos: Demos) -> None:
    found = controls(demos, np.broadcast_to(demos.latents["theta"] % 4, demos.symbols.shape))
    assert found["interval, gap1"].data[0] == pytest.approx(2, abs=0.1)
    assert found["resolution, gap1"].passed is True
    assert "surplus content, gap1" not in found
    assert found["content, gap1"].data["I(C;side|slot)"] == pytest.approx(1, abs=0.1)


def test_a_code_that_copies_the_first_place_says_so(demos: Demos) -> None:
    copied = TASK.initial_state(demos.observations)[:, 0]
    spare = (copied > np.median(copied)).astype(np.int64)
    found = controls(demos, np.broadcast_to(2 * (demos.latents["theta"] % 4) + spare, demos.symbols.shape))
    control = found["surplus content, gap2"]
    explained = control.data["the initial state"]
    assert 0.4 < explained < 2  # of side and spare bit, which nobody needs there
    assert control.passed is None
    assert f"the initial state explains at least {explained:.2f} of " in control.text
    assert found["content, gap2"].data["I(C;x quartile|slot)"] > 0.8
