"""Teaching a transition: rows land, gradients stay in their row, unused codes are out of the way."""

from dataclasses import replace

import pytest
import torch

from certify.errors import UserError
from certify.zoo import build
from diacritic.memory.quantise import nearest
from diacritic.memory.shape import Architecture
from diacritic.training.cohort import Cohort, Plan, Run, start
from diacritic.training.data import Data, from_arrays
from diacritic.training.fit_transition import DRAWS, SHARPNESS, Effort, Noise, _Fit, fit_transition, fitted_trace, park
from diacritic.training.learner import learner
from diacritic.training.optimiser import Adam
from diacritic.training.preset import preset
from diacritic.training.symbolic import from_model
from diacritic.training.transition_dataset import TransitionDataset, part, transition_dataset

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


def recording() -> Data:
    """A binary cue at the first step, which all four actions repeat."""
    draw = torch.Generator().manual_seed(5)
    cue = torch.arange(32) % 2
    shown = torch.zeros(4, 32, 3)
    shown[0, :, 0], shown[1:, :, 2] = cue * 2.0 - 1, 1.0
    return from_arrays(
        shown + 0.02 * torch.randn(shown.shape, generator=draw), (cue * 2.0 - 1).expand(4, 32)[..., None]
    )


def drawn_setting(precision: torch.dtype = torch.float32) -> tuple[Plan, dict[str, torch.Tensor], Data, torch.Tensor]:
    data, cue = recording().to("cpu", precision), torch.arange(32) % 2
    plan = Plan(learner("plain"), preset("carousel"), (Run(0), Run(1)), 10, SMALL, precision=precision)
    return plan, start(plan, data), data, torch.stack([cue, 1 - cue]).unsqueeze(1).expand(2, 4, 32)


def test_drawn_rows_teach_a_recording_and_the_same_ones_are_drawn_again() -> None:
    plan, begun, data, codes = drawn_setting()
    first, again = (
        fit_transition(begun, SMALL, data, transition_dataset(data, codes, 6), Effort(150, batch=24)) for _ in range(2)
    )
    assert first.reached.tolist() == pytest.approx([1, 1])
    assert first.imitation.max() < 0.05
    assert first.steps == 150
    assert torch.equal(Cohort(plan, data, parameters=first.parameters).trace().step_code, codes)
    assert torch.equal(first.parameters["codebook"], again.parameters["codebook"])


@pytest.mark.parametrize("imitation", [1.0, 20.0])
def test_updates_on_drawn_rows_are_those_of_the_plain_loop(imitation: float) -> None:
    """Rows drawn one update at a time, the rate set by hand, and every row of the dataset looked up."""
    _, begun, data, _ = drawn_setting(torch.float64)
    codes = torch.randint(6, (2, 4, 32), generator=torch.Generator().manual_seed(1))
    dataset, effort = transition_dataset(data, codes, 6), Effort(12, batch=24, imitation=imitation)
    fitted = fit_transition(begun, SMALL, data, dataset, effort)
    assert codes.flatten(1).unique().tolist() == list(range(6))  # no code is parked
    optimiser = Adam(begun, torch.full((2,), effort.rate), effort.clip)
    apart = torch.cdist(begun["codebook"], begun["codebook"]).square() + torch.diag(torch.full((6,), 1e9))
    heat = apart.amin(-1).mean(-1) / SHARPNESS
    drawing = torch.Generator().manual_seed(DRAWS)
    for step in range(effort.steps):
        inputs, rows = part(data, dataset, torch.multinomial(dataset.weight[0], 24, True, generator=drawing))
        optimiser.rates.fill_(effort.rate * (1 - step / effort.steps))
        trace = fitted_trace(optimiser.parameters, inputs, rows)
        scores = -torch.cdist(trace.proposal, trace.codebook).square() / heat.view(-1, 1, 1)
        missed = torch.nn.functional.cross_entropy(scores.mT, rows.code, reduction="none").mean(1)
        acting = imitation * (trace.read("act") - rows.target).square().mean((1, 2))
        optimiser.descend((acting + missed + (trace.proposal - trace.embedding).square().mean((1, 2))).sum())
    for name, value in optimiser.parameters.items():
        torch.testing.assert_close(fitted.parameters[name], value, rtol=0, atol=1e-7)


def test_an_update_on_drawn_rows_asks_the_device_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tensors without content refuse whatever depends on it: a value on the CPU, a shape that varies."""
    monkeypatch.setattr(Adam, "_row_by_row", lambda _: None)
    monkeypatch.setattr(Adam, "_in_one_pass", lambda optimiser, factor: optimiser._corrected())
    _, begun, data, codes = drawn_setting()
    rows = transition_dataset(data, codes, 6)
    absent = TransitionDataset(**{name: value.to("meta") for name, value in vars(rows).items()})
    optimiser = Adam({name: value.to("meta") for name, value in begun.items()}, torch.ones(2, device="meta"), 1.0)
    noise = Noise(torch.ones(3, device="meta"), 0.3)
    fit = _Fit(optimiser, torch.ones(2, device="meta"), data.to("meta"), absent, noise=noise)
    update = fit.on_some_rows(torch.zeros(9, 24, dtype=torch.int64, device="meta"), torch.ones(9, device="meta"))
    update()
    with pytest.raises(RuntimeError, match="meta"):  # what a wait would say
        bool(optimiser.diverged.any())


def test_noise_is_drawn_again_in_every_update_and_keeps_a_run_from_learning_episodes_by_heart() -> None:
    """The last action is a coin; a channel of noise names the episode, but not under fresh noise."""
    draw, coin = torch.Generator().manual_seed(3), torch.arange(16) // 2 % 2
    shown = torch.cat(
        [torch.eye(2)[torch.arange(2)].unsqueeze(1).expand(2, 16, 2), torch.randn(2, 16, 3, generator=draw)], 2
    )
    data = from_arrays(shown, torch.stack([torch.zeros(16), coin * 2.0 - 1]).unsqueeze(-1))
    plan = Plan(learner("plain"), preset("carousel"), (Run(0),), 10, SMALL)
    dataset = transition_dataset(data, torch.zeros(1, 2, 16, dtype=torch.long), 6)
    given = start(plan, data), SMALL, data, dataset, Effort(300, batch=32)
    noise = torch.tensor([0.0, 0.0, 1.0, 1.0, 1.0])
    plain, silent, noisy, again = (
        fit_transition(*given, level) for level in (None, Noise(0 * noise), Noise(noise), Noise(noise))
    )
    assert plain.imitation < 0.1
    torch.testing.assert_close(silent.imitation, plain.imitation)
    assert noisy.imitation > 0.15
    assert torch.equal(noisy.imitation, again.imitation)


@pytest.mark.parametrize("steps", [1, 2])
def test_noise_on_previous_actions_begins_at_the_second_step(steps: int) -> None:
    """Nothing was done before the first; at the second the previous action is all that shows a coin."""
    coin = torch.arange(16) % 2
    acted = (coin * 2.0 - 1).expand(steps, 16).unsqueeze(-1)
    data, codes = from_arrays(torch.zeros(steps, 16, 1), acted), torch.zeros(1, steps, 16, dtype=torch.long)
    codes[:, 1:] = coin
    plan = Plan(learner("plain"), preset("carousel"), (Run(0),), 10, SMALL)
    given = start(plan, data), SMALL, data, transition_dataset(data, codes, 6), Effort(60, batch=32)
    none = torch.zeros(1)
    levels = (None, Noise(none), Noise(none, 3.0), Noise(none, 3.0))
    plain, silent, noisy, again = (fit_transition(*given, level) for level in levels)
    assert plain.reached == silent.reached == 1
    for name, value in plain.parameters.items():
        assert torch.equal(silent.parameters[name], value)
        assert torch.equal(noisy.parameters[name], again.parameters[name])
    moved = not torch.equal(noisy.parameters["previous.weight"], plain.parameters["previous.weight"])
    assert moved == (steps > 1)


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
