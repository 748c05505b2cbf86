"""Several recordings in one cohort: every run draws, learns and restarts as it does without the others."""

import os
from dataclasses import replace
from typing import Any

import pytest
import torch
from carrier_twin import vectors

from certify.errors import UserError
from diacritic.memory.shape import Architecture
from diacritic.training import codebook_restart, parallel
from diacritic.training.cohort import Cohort, Plan, Run, start
from diacritic.training.cohort_batching import PATIENCE, CohortPart, concatenated, kind, one_cohort, pack, split
from diacritic.training.data import Data, check
from diacritic.training.learner import learner
from diacritic.training.preset import preset
from diacritic.training.schedule import Schedule

os.environ.setdefault("TRITON_INTERPRET", "1")  # the kernels, before Triton is first imported
BUSY = replace(preset("carousel"), restarts=3)  # restarts come often enough to happen here
RUNS = ((Run(1), Run(2, beta=0.1)), (Run(1),), (Run(5), Run(1, rate=0.01)))


def _shares(T: int = 6, N: int = 9, width: int = 8, **more: Any) -> list[CohortPart]:
    """Three recordings of one size, with other sizes of what imitation does not read; one seed learns from each."""
    actual = []
    for k, runs in enumerate(RUNS):
        plan = replace(Plan(learner("plain"), BUSY, runs, 20, Architecture(6, 2 * width, width), 7), **more)
        data = vectors(T, N, seed=k)
        data = replace(data, shape=replace(data.shape, symbols=5 + k, labels=3 + k), last_reveal=k)
        actual.append(CohortPart(plan, data, start(plan, data)))
    return actual


@pytest.mark.parametrize("change", [{}, {"batch": None}, {"preset": replace(BUSY, gradient="full")}])
@pytest.mark.parametrize("precision", [torch.float32, torch.float64])
def test_joined_runs_are_those_of_separate_cohorts(
    monkeypatch: pytest.MonkeyPatch, precision: torch.dtype, change: dict[str, Any]
) -> None:
    restarted = []
    restart = codebook_restart.restart
    monkeypatch.setattr(
        codebook_restart, "restart", lambda cohort: (restarted.append(len(cohort.plan.runs)), restart(cohort))
    )
    shares = _shares(precision=precision, **change)
    whole = one_cohort(shares)
    whole.advance(8)
    assert restarted == [5, 5]
    assert whole.engine == ("unrolled" if "preset" in change else "parallel")
    rtol, atol = (1e-7, 1e-9) if precision == torch.float64 else (1e-3, 1e-4)
    for share, part in zip(shares, split(whole, shares), strict=True):
        alone = Cohort(share.plan, share.data)
        alone.advance(8)
        assert torch.equal(part.episode_weight(), alone.episode_weight())
        torch.testing.assert_close(part.optimiser.flat, alone.optimiser.flat, rtol=rtol, atol=atol)
        assert not torch.allclose(alone.optimiser.flat, Cohort(share.plan, share.data).optimiser.flat, rtol=0.01)
        with torch.no_grad():
            codes = part.trace().step_code
            assert torch.equal(codes, alone.trace().step_code)
        assert len(codes.unique()) > 1
    one, other = whole.optimiser.flat[[0, 2]]  # one seed, two recordings
    assert not torch.allclose(one, other, rtol=1e-2, atol=1e-2)


def test_the_kernels_compute_as_many_places_as_for_one_recording(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "on_gpu", lambda shown: True)
    shares = _shares(T=2, N=20, width=32, batch=6, low=torch.float32)[:2]
    whole = one_cohort(shares)
    drawn = whole.trace(whole.episode_weight()).rows.drawn
    assert drawn is not None
    assert drawn.shape == (3, 16)
    assert torch.equal(drawn // 20, torch.tensor([0, 0, 1]).unsqueeze(1).expand(-1, 16))
    whole.advance(1)
    every = whole.trace()  # as a restart sees them
    alone = Cohort(shares[1].plan, shares[1].data)
    alone.advance(1)
    torch.testing.assert_close(whole.losses[:, 2:], alone.losses, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(whole.optimiser.gradient[2:], alone.optimiser.gradient, rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(every.proposal[2:], alone.trace().proposal, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("number", [0.0, 1 - 2.0**-24])
def test_the_least_and_the_largest_number_draw_an_episode_of_the_runs_own(
    monkeypatch: pytest.MonkeyPatch, number: float
) -> None:
    whole = one_cohort(_shares())
    monkeypatch.setattr(Schedule, "uniform", lambda self, stream, *shape: torch.full((5, *shape), number))
    weight = whole.episode_weight()
    assert weight.shape == (5, 9)
    assert (weight[:, 0 if number == 0 else -1] == 1).all()


def test_own_episodes_are_those_of_the_recording() -> None:
    datas = [vectors(4, 5, seed) for seed in range(3)]
    whole = concatenated(datas, [2, 1, 3])
    check(whole)
    assert whole.own is not None
    assert len(whole.own) == 6
    for own, data in zip(whole.own, [datas[k] for k in (0, 0, 1, 2, 2, 2)], strict=True):
        assert torch.equal(whole.weight[own], data.weight)
        assert torch.equal(whole.target[:, own], data.target)
        for table, index in (("observation", "observation_index"), ("previous", "previous_index")):
            actual, wanted = (getattr(one, table)[getattr(one, index)] for one in (whole, data))
            assert torch.equal(actual[:, own], wanted)


@pytest.mark.parametrize("other", [vectors(5, 5), vectors(4, 6), vectors(4, 5, observation=4), vectors(4, 5, action=3)])
def test_recordings_of_other_sizes_are_refused(other: Data) -> None:
    with pytest.raises(UserError, match="recordings of different sizes cannot be joined; train them apart"):
        concatenated([vectors(4, 5), other], [1, 1])


def test_every_share_begins_where_it_was_told() -> None:
    shares = [replace(s, start={k: v + i for k, v in s.start.items()}) for i, s in enumerate(_shares())]
    whole = one_cohort(shares)
    for share, part in zip(shares, split(whole, shares), strict=True):
        for name, value in share.start.items():
            assert torch.equal(part.parameters[name], value)


def test_a_run_that_diverged_is_known_apart() -> None:
    shares = _shares()
    bad = replace(shares[1], plan=replace(shares[1].plan, runs=(Run(1, rate=1e30),)))
    whole = one_cohort([shares[0], bad, shares[2]])
    whole.advance(3)
    parts = split(whole, [shares[0], bad, shares[2]])
    assert [one.optimiser.diverged.tolist() for one in parts] == [[False, False], [True], [False, False]]
    assert [one.step for one in parts] == [int(one.schedule.step) for one in parts] == [3, 3, 3]
    assert [one.plan for one in parts] == [shares[0].plan, bad.plan, shares[2].plan]
    assert [one.given.shape.labels for one in parts] == [3, 4, 5]


def test_what_decides_the_outcome_decides_the_kind() -> None:
    first, second, _ = _shares()
    assert kind(first, "cpu") == kind(second, "cpu") is not None
    changes: list[dict[str, Any]] = [{"steps": 21}, {"batch": 8}, {"preset": preset("release")}, {"low": torch.half}]
    kinds = [kind(replace(second, plan=replace(second.plan, **change)), "cpu") for change in changes]
    kinds += [kind(replace(second, data=data), "cpu") for data in (vectors(5, 9), vectors(6, 8), vectors(6, 9, 0, 4))]
    assert len({kind(first, "cpu"), *kinds}) == 1 + len(kinds)
    assert None not in kinds
    assert kind(replace(first, plan=replace(first.plan, learner=learner("event-agnostic"))), "cpu") is None


def test_on_cuda_only_what_the_kernels_take_is_joined() -> None:
    (small, *_), (fitting, *_) = _shares(low=torch.bfloat16), _shares(width=32, low=torch.bfloat16)
    assert kind(small, "cuda") is None
    assert kind(fitting, "cuda") is not None
    assert kind(replace(fitting, plan=replace(fitting.plan, low=None)), "cuda") is None


def test_packs_are_filled_in_order_and_go_when_full() -> None:
    asked = []

    def items():
        for item in ("a1 4", "b1 3", "- 2", "a2 4", "a3 1", "b2 9", "b3 5", "c1 6", "a4 7"):
            asked.append(item)
            own, runs = item.split()
            yield None if own == "-" else own[0], int(runs), own

    jobs = pack(items(), 8)
    assert next(jobs) == ["-"]
    assert len(asked) == 3
    assert next(jobs) == ["a1", "a2"]
    assert len(asked) == 4
    assert list(jobs) == [["b2"], ["b1", "b3"], ["a3", "a4"], ["c1"]]


def test_a_pack_that_nothing_joins_does_not_wait_for_the_end() -> None:
    items = [("a", 1, "first"), *[(None, 1, number) for number in range(20)], ("a", 1, "last")]
    order = list(pack(items, 8))
    assert order[-1] == ["last"]
    assert order.index(["first"]) == PATIENCE
