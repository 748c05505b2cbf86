"""Many runs as one program: the same as alone, each with its own numbers, and none that harms another."""

from dataclasses import replace
from functools import cache
from typing import Any

import pytest
import torch
from carrier_twin import symbols, vectors
from torch import Tensor

from certify.errors import UserError
from certify.zoo import build
from diacritic.memory.shape import Architecture
from diacritic.training import codebook_restart
from diacritic.training.cohort import Cohort, Plan, Run, choose, separable, start
from diacritic.training.data import Data
from diacritic.training.learner import learner
from diacritic.training.preset import preset
from diacritic.training.symbolic import from_model

SMALL = Architecture(codes=6, code_size=4, width=8)
BUSY = replace(preset("carousel"), restarts=5)  # restarts come often enough to happen here
FULL = replace(
    BUSY, gradient="full", restarts=0, code_start="uniform", code_scale=1 / 16, residual_scale=1.0, clip=None
)


@cache
def _toy() -> Data:
    return from_model(build("gap", gap1=1, gap2=1))


def _plan(name: str = "plain", runs: tuple[Run, ...] = (Run(1), Run(2)), **more: Any) -> Plan:
    return replace(Plan(learner(name), BUSY, runs, 40, SMALL), **more)


def _trained(plan: Plan, data: Data, updates: int) -> Cohort:
    cohort = Cohort(plan, data)
    cohort.advance(updates)
    return cohort


@torch.no_grad()
def _codes(cohort: Cohort) -> Tensor:
    return cohort.trace().step_code


@pytest.mark.parametrize(
    ("engine", "name", "precision", "updates", "change"),
    [
        ("tables", "plain", torch.float32, 25, {}),
        ("tables", "event-agnostic-recorded", torch.float64, 25, {"batch": 16}),
        ("parallel", "event-agnostic", torch.float32, 25, {"batch": 4}),
        ("tables", "plain", torch.float32, 12, {"preset": FULL, "batch": 16}),
        ("unrolled", "plain", torch.float32, 12, {"preset": FULL, "batch": 4}),
        ("tables", "scaffold", torch.float64, 8, {}),
        ("reference", "bypass", torch.float64, 8, {}),
    ],
)
def test_eight_together_are_eight_alone(
    engine: str, name: str, precision: torch.dtype, updates: int, change: dict[str, Any]
) -> None:
    runs = tuple(Run(seed, beta=0.01 * seed) for seed in range(8))
    data = vectors(6, 5) if engine in ("parallel", "unrolled") else _toy()
    plan = _plan(name, runs, precision=precision, **change)
    together = _trained(plan, data, updates)
    assert together.engine == engine
    for k, run in enumerate(runs):
        alone = _trained(replace(plan, runs=(run,)), data, updates)
        assert torch.equal(_codes(alone)[0], _codes(together)[k])
        if precision == torch.float64:
            torch.testing.assert_close(alone.optimiser.flat[0], together.optimiser.flat[k], rtol=1e-6, atol=1e-9)
    assert len(_codes(together).unique()) > 1
    assert not together.optimiser.diverged.any()


@pytest.mark.parametrize("data", [_toy(), vectors(6, 5)])
def test_every_engine_follows_the_gradient_of_the_preset(data: Data) -> None:
    actual = {}
    for gradient in ("carousel", "full"):
        plan = _plan(preset=replace(BUSY, gradient=gradient, restarts=0), precision=torch.float64)
        actual[gradient] = _trained(plan, data, 3).optimiser.flat
        wanted = _trained(replace(plan, engine="reference"), data, 3).optimiser.flat
        torch.testing.assert_close(actual[gradient], wanted, rtol=1e-6, atol=1e-8)
    assert (actual["carousel"] - actual["full"]).abs().max() > 1e-6


@pytest.mark.parametrize("data", [_toy(), vectors(6, 5)])
def test_the_same_seed_gives_the_same_run_twice(data: Data) -> None:
    plan = _plan("event-agnostic-recorded", (Run(3), Run(4), Run(3)), batch=8)
    one, two = _trained(plan, data, 15), _trained(plan, data, 15)
    for key, value in one.optimiser.state().items():
        assert torch.equal(value, two.optimiser.state()[key]), key
    flat = one.optimiser.flat
    torch.testing.assert_close(flat[0], flat[2], rtol=1e-5, atol=1e-6)
    assert not torch.allclose(flat[0], flat[1], rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize(
    "change", [{"beta": 0.5}, {"rate": 0.02}, {"auxiliary": 3.0}, {"code_scale": 0.4}, {"residual_scale": 0.9}]
)
def test_every_run_has_its_own_numbers(change: dict[str, float]) -> None:
    """Two runs with one seed differ by what they were told, and each is what it would be alone."""
    own = replace(Run(1), **change)
    plan = _plan("event-agnostic-recorded", (Run(1), own), precision=torch.float64)
    both = _trained(plan, _toy(), 6)
    usual, told = both.optimiser.flat
    assert not torch.allclose(usual, told, rtol=1e-3, atol=1e-4)
    for k, run in enumerate((Run(1), own)):
        alone = _trained(replace(plan, runs=(run,)), _toy(), 6)
        torch.testing.assert_close(alone.optimiser.flat[0], both.optimiser.flat[k], rtol=1e-6, atol=1e-9)


def test_the_persistent_start_is_a_matter_of_two_scales() -> None:
    runs = (Run(1), Run(1, code_scale=0.5), Run(1, residual_scale=0.7))
    plan = _plan("dual", runs, precision=torch.float64)
    begun = start(plan, vectors(4, 3))
    for name, value in begun.items():
        by_code, by_residual = 1.0, 1.0
        if name.endswith("codebook"):
            by_code = 0.5 / BUSY.code_scale
        if name.startswith(("residual.out", "identification.out")):
            by_residual = 0.7 / BUSY.residual_scale
        torch.testing.assert_close(value[1], by_code * value[0], rtol=1e-12, atol=0)
        torch.testing.assert_close(value[2], by_residual * value[0], rtol=1e-12, atol=0)
    big = start(replace(plan, architecture=replace(SMALL, codes=500)), vectors(4, 3))
    assert float(big["codebook"][0].std()) == pytest.approx(BUSY.code_scale, rel=0.1)
    bound = (2 * 8 + 4) ** -0.5
    assert begun["residual.out.weight"][0].abs().max() <= BUSY.residual_scale * 8**-0.5
    assert 0.5 * bound < begun["residual.code.weight"][0].abs().max() <= bound


def test_codes_may_start_uniform() -> None:
    begun = start(_plan(preset=FULL, architecture=replace(SMALL, codes=400)), _toy())
    assert begun["codebook"].abs().max() <= 1 / 16
    assert float(begun["codebook"].std()) == pytest.approx(1 / 16 / 3**0.5, rel=0.05)


def test_a_minibatch_is_a_multinomial_count_of_episodes() -> None:
    data = _toy()
    weight = torch.arange(1.0, data.episodes + 1).double()
    data = replace(data, weight=weight / weight.sum())
    cohort = Cohort(_plan(batch=32, precision=torch.float64), data)
    drawn = []
    for step in range(300):
        cohort.resume_at(step)
        drawn.append(cohort.episode_weight())
    counts = torch.stack(drawn) * 32
    assert torch.equal(counts, counts.round())
    assert (counts.sum(-1) == 32).all()
    assert not torch.equal(counts[0, 0], counts[0, 1])
    assert not torch.equal(counts[0], counts[1])
    p, draws = data.weight, 300 * 2 * 32
    share = counts.sum((0, 1)) / draws
    assert ((share - p).abs() < 5 * (p * (1 - p) / draws).sqrt()).all()
    variance = counts.flatten(0, 1).var(0)
    assert ((variance / (32 * p * (1 - p)) - 1).abs() < 0.3).all()


@pytest.mark.parametrize(("symbolic", "draws"), [(True, 64), (False, 3)])
def test_a_batch_counts_recorded_episodes_and_not_merged_ones(symbolic: bool, draws: int) -> None:
    """512 demonstrations may be three distinct episodes, and the release still draws 64 of them."""
    data = symbols(4, 3) if symbolic else vectors(4, 3)
    cohort = Cohort(_plan(preset=preset("release-external"), batch=64, precision=torch.float64), data)
    assert cohort.batch == draws
    counts = cohort.episode_weight() * draws
    assert torch.equal(counts, counts.round())
    assert (counts.sum(-1) == draws).all()


def test_without_a_batch_every_episode_counts_with_its_weight() -> None:
    cohort = Cohort(_plan(precision=torch.float64), _toy())
    assert torch.equal(cohort.episode_weight(), _toy().weight.expand(2, -1))


BAD = [
    Run(2, rate=float("inf")),
    Run(2, rate=float("nan")),
    Run(2, code_scale=float("nan")),
    Run(2, residual_scale=float("inf")),
    Run(2, rate=1e30),
]


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("engine", ["parallel", "unrolled"])
def test_a_run_that_diverges_changes_no_other_by_a_single_bit(bad: Run, engine: str) -> None:
    data = vectors(5, 4)
    change: dict[str, Any] = {"preset": FULL} if engine == "unrolled" else {}
    good = _trained(_plan(runs=(Run(1), Run(2), Run(3)), **change), data, 12)
    plan = _plan(runs=(Run(1), bad, Run(3)), **change)
    cohort = Cohort(plan, data)
    assert cohort.engine == engine
    cohort.advance(4)
    frozen = cohort.optimiser.flat[1].clone()
    cohort.advance(8)
    assert cohort.optimiser.diverged.tolist() == [False, True, False]
    assert torch.equal(cohort.optimiser.flat[1].nan_to_num(), frozen.nan_to_num())
    assert torch.equal(cohort.optimiser.flat[[0, 2]], good.optimiser.flat[[0, 2]])


@pytest.mark.parametrize("bad", BAD)
def test_a_run_that_diverges_leaves_the_others_theirs_on_tables_too(bad: Run) -> None:
    """There runs share the number of rows, so that rounding, and nothing else, may differ."""
    wide = torch.float64
    good = _trained(_plan(runs=(Run(1), Run(2), Run(3)), precision=wide), _toy(), 20)
    cohort = _trained(_plan(runs=(Run(1), bad, Run(3)), precision=wide), _toy(), 20)
    assert cohort.engine == "tables"
    assert cohort.optimiser.diverged.tolist() == [False, True, False]
    assert torch.equal(_codes(cohort)[[0, 2]], _codes(good)[[0, 2]])
    torch.testing.assert_close(cohort.optimiser.flat[[0, 2]], good.optimiser.flat[[0, 2]], rtol=1e-7, atol=1e-9)


def test_restarts_fall_due_until_their_share_of_training(monkeypatch: pytest.MonkeyPatch) -> None:
    due = []
    monkeypatch.setattr(codebook_restart, "restart", lambda cohort: due.append(cohort.step))
    often = replace(BUSY, restarts=4, restart_until=0.6)
    Cohort(_plan(preset=often, steps=30), _toy()).advance(30)
    assert due == [4, 8, 12, 16]
    for quiet in (_plan(preset=FULL, steps=30), _plan("gaussian", preset=often, steps=30)):
        Cohort(quiet, _toy()).advance(10)
    assert len(due) == 4


def test_a_scaffold_comes_down_by_seventy_percent() -> None:
    cohort = Cohort(_plan("scaffold", steps=100), _toy())
    seen = []
    for step in (0, 35, 70, 99):
        cohort.resume_at(step)
        seen.append(float(cohort.strength()))
    assert seen == pytest.approx([1, 0.5, 0, 0], abs=1e-6)
    assert Cohort(_plan("bypass"), _toy()).strength() == 1.0


def test_a_gaussians_noise_is_normal_and_new_at_every_step() -> None:
    cohort = Cohort(_plan("gaussian"), vectors(8, 20))
    spread = []
    for step in range(2):
        cohort.resume_at(step)
        trace = cohort.trace()
        spread.append((trace.embedding - trace.proposal).flatten())
    assert not torch.equal(spread[0], spread[1])
    deviation = torch.einsum("srd,sde->sre", trace.proposal, cohort.parameters["gaussian.deviation.weight"])  # pyright: ignore[reportPossiblyUnboundVariable]
    deviation = (deviation + cohort.parameters["gaussian.deviation.bias"].unsqueeze(1)).clamp(-5, 2).exp()
    noise = (spread[1] / deviation.flatten()).detach()
    assert abs(float(noise.mean())) < 0.15
    assert float(noise.std()) == pytest.approx(1, rel=0.1)


@pytest.mark.parametrize(
    ("name", "change", "data", "engine"),
    [
        ("plain", {}, symbols(4, 3), "tables"),
        ("plain", {}, vectors(4, 3), "parallel"),
        ("matched", {}, symbols(4, 3), "parallel"),
        ("plain", {"preset": FULL}, symbols(4, 3), "tables"),
        ("plain", {"preset": FULL}, vectors(4, 3), "unrolled"),
        ("plain", {"engine": "reference"}, symbols(4, 3), "reference"),
        ("bypass", {}, vectors(4, 3), "unrolled"),
        ("scaffold", {}, symbols(4, 3), "tables"),
        ("bypass", {}, symbols(4, 3), "reference"),
        ("dual", {}, vectors(4, 3), "parallel"),
        ("dual", {}, symbols(4, 3), "parallel"),
        ("dual", {"preset": FULL}, vectors(4, 3), "reference"),
        ("gaussian", {}, vectors(4, 3), "reference"),
        ("gru-8", {}, vectors(4, 3), "reference"),
    ],
)
def test_a_plan_finds_its_engine(name: str, change: dict[str, Any], data: Data, engine: str) -> None:
    assert choose(_plan(name, **change), data) == engine


@pytest.mark.parametrize(
    ("name", "data", "able"),
    [
        ("plain", vectors(4, 3), True),
        ("plain", symbols(4, 3), False),
        ("plain", replace(vectors(4, 3), frames=torch.zeros(12, 64, 64, 3)), False),
        *[
            (name, vectors(4, 3), False)
            for name in ("event-agnostic-recorded", "inverse-only", "refinement", "matched", "gru-8", "bypass", "sysid")
        ],
    ],
)
def test_runs_learn_from_episodes_of_their_own_where_nothing_else_is_read(name: str, data: Data, able: bool) -> None:
    own = replace(data, own=torch.tensor([[0, 1], [2, 1]]))
    assert separable(_plan(name), data) == able
    if able:
        cohort = Cohort(_plan(name, precision=torch.float64), own)
        assert torch.equal(cohort.episode_weight(), data.weight[own.own])
        with torch.no_grad():
            codes, every = cohort.trace().step_code, Cohort(cohort.plan, data).trace().step_code
        assert torch.equal(codes[1], every[1][:, [2, 1]])
    else:
        with pytest.raises(UserError, match=f"{name} needs one recording for all runs; train them apart"):
            Cohort(_plan(name), own)


def test_the_reference_engine_trains_to_the_same_codes() -> None:
    for data in (_toy(), vectors(6, 5)):
        fast, slow = (_trained(_plan(precision=torch.float64, engine=e), data, 20) for e in ("fast", "reference"))
        assert torch.equal(_codes(fast), _codes(slow))
        torch.testing.assert_close(fast.optimiser.flat, slow.optimiser.flat, rtol=1e-6, atol=1e-9)


def test_a_warm_start_is_where_it_begins() -> None:
    first = _trained(_plan(), _toy(), 3)
    second = Cohort(_plan(), _toy(), parameters={k: v.detach().clone() for k, v in first.parameters.items()})
    assert torch.equal(second.optimiser.flat, first.optimiser.flat)
    second.advance(1)
    assert not torch.equal(second.optimiser.flat, first.optimiser.flat)


def test_bad_plans_and_data_are_refused_in_one_line() -> None:
    with pytest.raises(UserError, match=r"^engine: no engine is called 'quick'; known: fast, reference$"):
        Cohort(_plan(engine="quick"), _toy())
    broken = _toy().target.clone()
    broken[1, 0, 0] = float("nan")
    with pytest.raises(UserError, match=r"^data\.target: holds a value that is not finite"):
        Cohort(_plan(), replace(_toy(), target=broken))


def test_a_learner_that_is_taught_makes_no_updates() -> None:
    with pytest.raises(UserError, match="certified needs a finite model with its certificate"):
        Cohort(_plan("certified"), _toy()).advance(1)


@pytest.mark.parametrize("how", ["carousel", "release"])
def test_a_scaffold_has_the_strength_of_its_step_in_every_engine(how: str) -> None:
    plan = _plan("scaffold", preset=preset(how), steps=10_000)
    data = vectors(5, 6).to("cpu", torch.float32)
    pushes = []
    for step in (0, 4_000, 9_999):
        fast, slow = Cohort(plan, data), Cohort(replace(plan, engine="reference"), data)
        assert (fast.engine, slow.engine) == ("unrolled", "reference")
        for cohort in (fast, slow):
            cohort.resume_at(step)
        torch.testing.assert_close(fast.trace().proposal, slow.trace().proposal)
        pushes.append(fast.trace().proposal.detach())
    assert not torch.allclose(pushes[0], pushes[1])
    assert not torch.allclose(pushes[1], pushes[2])
