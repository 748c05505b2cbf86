"""In closed loop: the expert's copy is carried by its code; a class that is written into the pose is found there."""

from typing import Any

import numpy as np
import pytest
import torch
from expert_carrier import expert_carrier, odd_scale, short_task
from franka_episodes import expert_episodes

from certify.errors import UserError
from diacritic.demos.binner import Binner
from diacritic.demos.record import record
from diacritic.measure import interventions_closed_loop
from diacritic.measure.body import body_memory, pending
from diacritic.measure.interventions import Attribution
from diacritic.measure.interventions_closed_loop import OWN, Intervened, attribute_closed_loop, moment, partners
from diacritic.memory.shape import Architecture
from diacritic.rollout.closed_loop import play
from diacritic.rollout.policies import Floats, Ints, Policies
from diacritic.tasks.franka.batch import FrankaBatch
from diacritic.tasks.registry import make as make_task

Copy = tuple[dict[str, torch.Tensor], Architecture]
TASK, SCALE, EPISODES = short_task(), odd_scale(), 8
PLACE = TASK.decisions["slot"]
WRITE, OFFSET = PLACE - 2, 0.03  # the pose of the second gap is decided on one step before it, metres


@pytest.fixture(scope="module")
def binner() -> Binner:
    return record(TASK, 64, seed=1)[1]


@pytest.fixture(scope="module")
def copy() -> Copy:
    weights, architecture = expert_carrier(TASK, SCALE)
    return {name: value[None] for name, value in weights.items()}, architecture


@pytest.fixture(scope="module")
def placing() -> np.ndarray:
    """The expert's actions for either slot, [T, 2, 4]."""
    latents = {"theta": np.array([0, 2]), "hover": np.array([0, 0])}
    return expert_episodes(FrankaBatch(TASK, 2, threads=1), latents).actions


def wrote(t: int, codes: Ints, actions: Floats) -> Floats:
    """One step before the second gap the arm leans to one side or the other, by the slot that the code holds."""
    if t == WRITE:
        actions = actions.copy()
        actions[..., 1] += OFFSET * np.where(codes % 4 // 2, 0.5, -0.5)
    return actions


def test_the_copy_of_the_expert_is_carried_by_its_code(copy: Copy, binner: Binner) -> None:
    actual = attribute_closed_loop(TASK, Policies(*copy, SCALE), binner, EPISODES, seed=1, threads=1)
    assert actual.passed is True
    assert [(trial.name, trial.decision) for trial in actual.trials] == list(TASK.decisions.items())
    for trial in actual.trials:
        assert (trial.pairs, trial.decided, trial.exact) == (EPISODES, 1.0, False)
        assert trial.swap is not None
        assert trial.reset is not None
        assert (trial.swap.partner, trial.reset.own) == (1.0, 0.0)


def test_a_class_in_the_pose_defies_swap_and_reset(
    copy: Copy, binner: Binner, placing: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The policy leans while its code knows the slot, and at the place decision reads its own pose instead."""

    class PoseReader(Intervened):
        lean: np.ndarray

        def step(self, seen: Floats, previous: Floats | None, symbols: Ints | None = None, frames: Any = None) -> Any:
            codes, actions = super().step(seen, previous, symbols, frames)
            actions = wrote(self._t, codes, actions)
            if self._t == PLACE:
                self.lean = (seen[..., 1] > np.median(seen[OWN, :, 1])).astype(int)
            return codes, placing[self._t][self.lean] if self._t >= PLACE else actions

    monkeypatch.setattr(interventions_closed_loop, "Intervened", PoseReader)
    attribution: Attribution = attribute_closed_loop(TASK, Policies(*copy, SCALE), binner, EPISODES, seed=1, threads=1)
    side, slot = attribution.trials
    assert side.failures == ()
    assert slot.swap is not None
    assert slot.reset is not None
    assert (slot.decided, slot.swap.own, slot.reset.own) == (1.0, 1.0, 1.0)
    assert attribution.failures == (
        "slot: swapped codes swap 0% of the decisions",
        "slot: 100% of the pairs are still distinguished without a code",
    )


def test_the_body_probe_finds_a_leaning_arm_and_clears_a_straight_one(copy: Copy, binner: Binner) -> None:
    class Leaning(Policies):
        t = -1

        def step(self, seen: Floats, previous: Floats | None, symbols: Ints | None = None, frames: Any = None) -> Any:
            codes, actions = super().step(seen, previous, symbols, frames)
            self.t += 1
            return codes, wrote(self.t, codes, actions)

    verdicts = {}
    for kind in (Policies, Leaning):
        played = play(TASK, kind(*copy, SCALE), EPISODES, 2, binner, threads=1)
        positions = played.observations[0][..., list(binner.convention.position_columns)]
        for window, names in pending(TASK).items():
            for name in names:
                body = body_memory(positions, played.choices[name], TASK.windows[window], name, window)
                verdicts[kind.__name__, name, window] = body
        if kind is Policies:
            assert played.success.all()
    assert [key for key, body in verdicts.items() if body.detected] == [("Leaning", "slot", "gap2")]
    assert verdicts["Leaning", "slot", "gap2"].worst.centimetres == pytest.approx(100 * OFFSET, abs=0.5)


def test_the_moment_is_in_the_gap_and_after_the_last_display() -> None:
    task = make_task("two-cues", gap=6)
    assert moment(task, task.decisions["slot"]) in task.windows["gap2"]
    late = make_task("hidden-mass")
    lit = [t for t in late.reveals if t < late.decisions["slot"]]
    assert moment(late, late.decisions["slot"]) >= lit[-1]


def test_partners_share_a_symbol_and_differ_in_class() -> None:
    symbols, classes = np.array([0, 0, 1, 1, 2]), np.array([0, 1, 0, 0, 1])
    assert partners(symbols, classes, np.random.default_rng(0)).tolist() == [1, 0, 2, 3, 4]


def test_what_cannot_be_intervened_on_is_refused(copy: Copy, binner: Binner) -> None:
    with pytest.raises(UserError, match="'gru' has no code to intervene on"):
        attribute_closed_loop(TASK, Policies(copy[0], Architecture(memory="gru"), SCALE), binner)
    player = Intervened(Policies(*copy, SCALE), at=0)
    player.begin(1)
    with pytest.raises(UserError, match="binner: partners share a symbol"):
        player.step(np.zeros((5, 1, 27), np.float32), None)
