"""Adam for stacked runs against PyTorch's, run by run; freezing; going on from a saved state."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from diacritic.training.optimiser import Adam

RATES = torch.tensor([1e-2, 3e-3, 0.1])


def _start() -> dict[str, Tensor]:
    made = torch.Generator().manual_seed(0)
    shapes = {"a": (3, 4, 2), "b": (3, 5), "unused": (3, 2)}
    return {name: torch.randn(shape, generator=made, dtype=torch.float64) for name, shape in shapes.items()}


def _loss(p: dict[str, Tensor], step: int) -> Tensor:
    """One number a run; large gradients at first, so that clipping matters."""
    return (p["a"].square().sum((1, 2)) * (1 + step) + (p["b"] - 1).pow(4).sum(1)) * torch.tensor([1.0, 0.01, 3.0])


@pytest.mark.parametrize("clip", [None, 1.0])
def test_every_run_has_an_adam_of_its_own(clip: float | None) -> None:
    ours = Adam(_start(), RATES, clip)
    for _step in range(25):
        ours.descend(_loss(ours.parameters, _step).sum())
    for run in range(3):
        theirs = {name: value[run : run + 1].clone().requires_grad_() for name, value in _start().items()}
        adam = torch.optim.Adam(theirs.values(), float(RATES[run]))
        for _step in range(25):
            adam.zero_grad()
            p = {name: value.expand(3, *value.shape[1:]) for name, value in theirs.items()}
            _loss(p, _step)[run].backward()
            if clip is not None:
                torch.nn.utils.clip_grad_norm_(theirs.values(), clip)
            adam.step()
        for name, value in theirs.items():
            torch.testing.assert_close(ours.parameters[name][run : run + 1], value, rtol=1e-5, atol=1e-7)
    assert torch.equal(ours.parameters["unused"], _start()["unused"])


def _frozen(spoil: Callable[[int], float], rates: Tensor) -> tuple[Adam, list[Tensor]]:
    ours = Adam(_start(), rates, 1.0)
    seen = []
    for step in range(8):
        bad = torch.tensor([0.0, spoil(step), 0.0], dtype=torch.float64)
        ours.descend((_loss(ours.parameters, step) + bad * ours.parameters["b"].sum(1)).sum())
        seen.append(ours.flat.clone())
    return ours, seen


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_run_without_a_gradient_is_frozen_and_harms_no_other(number: float) -> None:
    good, wanted = _frozen(lambda step: 0.0, RATES)
    bad, seen = _frozen(lambda step: number if step == 3 else 0.0, RATES)
    assert good.diverged.tolist() == [False, False, False]
    assert bad.diverged.tolist() == [False, True, False]
    for step in range(8):
        assert torch.equal(seen[step][[0, 2]], wanted[step][[0, 2]])  # bit by bit
        assert torch.equal(seen[step][1], wanted[min(step, 2)][1])  # the last finite values


def test_a_gradient_too_long_for_its_norm_is_clipped_to_nothing() -> None:
    """Every number is finite and the norm is not: PyTorch's clipping leaves zeros, and the run goes on."""
    start = {name: value.float() for name, value in _start().items()}
    ours = Adam(start, RATES, 1.0)
    theirs = {name: value[1:2].clone().requires_grad_() for name, value in start.items() if name != "unused"}
    adam = torch.optim.Adam(theirs.values(), float(RATES[1]))
    for step in range(8):
        steep = 1e30 if step == 3 else 0.0
        ours.descend((_loss(ours.parameters, step) + steep * ours.parameters["b"].sum(1)).sum())
        adam.zero_grad()
        shared = {name: value.expand(3, *value.shape[1:]) for name, value in theirs.items()}
        (_loss(shared, step)[1] + steep * theirs["b"].sum()).backward()
        norm = torch.nn.utils.clip_grad_norm_(theirs.values(), 1.0)
        assert bool(norm.isinf()) == (step == 3)
        adam.step()
    assert not ours.diverged.any()
    for name, value in theirs.items():
        torch.testing.assert_close(ours.parameters[name][1:2], value, rtol=1e-4, atol=1e-6)


def test_a_rate_that_is_no_number_moves_nothing() -> None:
    for rate in (float("inf"), float("nan")):
        ours, seen = _frozen(lambda step: 0.0, torch.tensor([1e-2, rate, 0.1]))
        assert ours.diverged.tolist() == [False, True, False]
        begun = Adam(_start(), RATES).flat[1]
        assert all(torch.equal(flat[1], begun) for flat in seen)


def test_named_tensors_share_the_flat_rows() -> None:
    ours = Adam(_start(), RATES)
    for name, value in _start().items():
        assert torch.equal(ours.views(ours.flat)[name], value)
        assert torch.equal(ours.parameters[name], value)
    ours.views(ours.flat)["b"][1, 2] = 7.0
    assert float(ours.parameters["b"][1, 2].detach()) == 7.0


def test_replaced_entries_forget_their_past() -> None:
    ours = Adam(_start(), RATES)
    for step in range(5):
        ours.descend(_loss(ours.parameters, step).sum())
    before = {key: value.clone() for key, value in ours.state().items()}
    changed = torch.zeros(3, 4, 1, dtype=torch.bool)
    changed[1, 2] = changed[2, 0] = True
    ours.replace("a", torch.full((3, 4, 2), 9.0, dtype=torch.float64), changed)
    everywhere = changed.expand(3, 4, 2)
    assert (ours.parameters["a"][everywhere] == 9).all()
    for key in ("flat", "mean", "square"):
        old, new = ours.views(before[key]), ours.views(ours.state()[key])
        assert torch.equal(old["b"], new["b"])
        assert torch.equal(old["a"][~everywhere], new["a"][~everywhere])
        if key != "flat":
            assert (old["a"][everywhere] != 0).all()
            assert (new["a"][everywhere] == 0).all()


def test_a_saved_state_goes_on_bit_by_bit() -> None:
    whole = Adam(_start(), RATES, 1.0)
    for step in range(9):
        whole.descend(_loss(whole.parameters, step).sum())
        if step == 4:
            kept = {key: value.clone() for key, value in whole.state().items()}
    other = Adam({name: torch.zeros_like(value) for name, value in _start().items()}, RATES, 1.0)
    other.load(kept)  # pyright: ignore[reportPossiblyUnboundVariable]
    for step in range(5, 9):
        other.descend(_loss(other.parameters, step).sum())
    for key, value in whole.state().items():
        assert torch.equal(other.state()[key], value)


def test_what_is_not_clipped_does_not_count() -> None:
    ours = Adam(_start(), RATES, 1.0, unclipped={"a"})
    ours.descend(_loss(ours.parameters, 0).sum())
    views = ours.views(ours.gradient)
    plain = Adam(_start(), RATES, None)
    plain.descend(_loss(plain.parameters, 0).sum())
    whole = plain.views(plain.gradient)
    assert torch.equal(views["a"], whole["a"])
    norm = torch.cat([whole["b"], whole["unused"]], 1).norm(dim=1, keepdim=True)
    assert (norm > 1).any()
    torch.testing.assert_close(views["b"], whole["b"] / norm.clamp(min=1.0), rtol=1e-12, atol=0)


def test_a_head_that_is_not_clipped_can_still_diverge() -> None:
    ours = Adam(_start(), RATES, 1.0, unclipped={"a"})
    ours.descend((ours.parameters["a"].sum((1, 2)) * torch.tensor([1.0, float("nan"), 1.0])).sum())
    assert ours.diverged.tolist() == [False, True, False]
    assert ours.flat.isfinite().all()
