"""Teaching a transition: rows land, gradients stay in their row, unused codes are out of the way."""

from dataclasses import replace

import pytest
import torch

from certify.errors import UserError
from certify.zoo import build
from diacritic.memory.quantise import nearest
from diacritic.memory.shape import Architecture
from diacritic.training.cohort import Cohort, Plan, Run, start
from diacritic.training.data import from_arrays
from diacritic.training.fit_transition import Effort, fit_transition, fitted_trace, park
from diacritic.training.learner import learner
from diacritic.training.preset import preset
from diacritic.training.symbolic import from_model
from diacritic.training.transition_dataset import TransitionDataset, transition_dataset

SMALL = Architecture(codes=6, code_size=6, width=24)


def setting(seeds: int = 2) -> tuple[Plan, dict[str, torch.Tensor], TransitionDataset, torch.Tensor]:
    data = from_model(build("passive-t-maze", L=3))
    plan = Plan(learner("plain"), preset("carousel"), tuple(Run(seed) for seed in range(seeds)), 10, SMALL)
    codes = torch.arange(data.episodes).expand(seeds, data.horizon, -1)
    return plan, start(plan, data), transition_dataset(data.to("cpu"), codes, 6), codes


def test_taught_rows_land_and_the_recurrence_follows_them() -> None:
    plan, begun, rows, codes = setting()
    data = from_model(build("passive-t-maze", L=3))
    fit = fit_transition(begun, SMALL, data.to("cpu"), rows)
    assert fit.reached.tolist() == pytest.approx([1, 1])
    assert fit.steps < Effort().steps
    cohort = Cohort(plan, data, parameters=fit.parameters)
    assert torch.equal(cohort.trace().step_code, codes)


def test_teaching_ends_at_its_last_step_and_changes_only_a_copy() -> None:
    _, begun, rows, _ = setting()
    before = {name: value.clone() for name, value in begun.items()}
    fit = fit_transition(begun, SMALL, from_model(build("passive-t-maze", L=3)).to("cpu"), rows, Effort(steps=3))
    assert fit.steps == 3
    assert all(torch.equal(begun[name], value) for name, value in before.items())
    assert not torch.equal(fit.parameters["codebook"], before["codebook"])


def test_a_proposal_depends_on_its_own_row_alone() -> None:
    _, begun, rows, _ = setting(1)
    data = from_model(build("passive-t-maze", L=3)).to("cpu")
    begun = {name: value.requires_grad_() for name, value in begun.items()}
    trace = fitted_trace(begun, data, rows)
    row = int((rows.before[0] == 1).nonzero()[0])
    (gradient,) = torch.autograd.grad(trace.proposal[0, row].sum(), begun["codebook"])
    assert gradient.abs().sum(-1).gt(0)[0].tolist() == [False, True, False, False, False, False]


def test_unused_codes_are_parked_where_nothing_lands() -> None:
    codebook = torch.zeros(1, 3, 4)
    codebook[0, :2, 0] = 1.0  # a used code and its unused twin
    used = torch.tensor([[True, False, True]])
    parked = park(codebook, used)
    assert torch.equal(parked[used], codebook[used])
    assert parked[0, 1].norm() == pytest.approx(10.0)
    assert nearest(torch.full((1, 1, 4), 0.4), parked).item() != 1


def test_drawn_rows_teach_a_recording_and_the_same_ones_are_drawn_again() -> None:
    draw = torch.Generator().manual_seed(5)
    cue = torch.arange(32) % 2
    shown = torch.zeros(4, 32, 3)
    shown[0, :, 0], shown[1:, :, 2] = cue * 2.0 - 1, 1.0
    data = from_arrays(
        shown + 0.02 * torch.randn(shown.shape, generator=draw), (cue * 2.0 - 1).expand(4, 32)[..., None]
    )
    plan = Plan(learner("plain"), preset("carousel"), (Run(0), Run(1)), 10, SMALL)
    codes = torch.stack([cue, 1 - cue]).unsqueeze(1).expand(2, 4, 32)
    first, again = (
        fit_transition(start(plan, data), SMALL, data, transition_dataset(data, codes, 6), Effort(150, batch=24))
        for _ in range(2)
    )
    assert first.reached.tolist() == pytest.approx([1, 1])
    assert first.imitation.max() < 0.05
    assert first.steps == 150
    assert torch.equal(Cohort(plan, data, parameters=first.parameters).trace().step_code, codes)
    assert torch.equal(first.parameters["codebook"], again.parameters["codebook"])


@pytest.mark.parametrize("batch", [0, 8])
def test_symbolic_tasks_are_taught_all_rows_at_once(batch: int) -> None:
    _, begun, rows, _ = setting(1)
    with pytest.raises(UserError, match="give none on symbolic tasks"):
        fit_transition(begun, SMALL, from_model(build("passive-t-maze", L=3)).to("cpu"), rows, Effort(batch=batch))


@pytest.mark.parametrize(
    "odd",
    [
        replace(SMALL, memory="gru"),
        replace(SMALL, path="bypass"),
        replace(SMALL, side="symbol"),
        replace(SMALL, persistent=False),
        replace(SMALL, bound="tanh"),
    ],
)
def test_other_carriers_are_refused(odd: Architecture) -> None:
    _, begun, rows, _ = setting(1)
    with pytest.raises(UserError, match="only the plain sole carrier"):
        fit_transition(begun, odd, from_model(build("passive-t-maze", L=3)).to("cpu"), rows)
