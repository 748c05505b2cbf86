"""Codes that nothing uses move onto proposals; all others stay."""

from dataclasses import replace

import pytest
import torch
from carrier_twin import lively, symbols, vectors

from diacritic.memory.quantise import lowest_twin
from diacritic.memory.shape import Architecture
from diacritic.training import codebook_restart
from diacritic.training.codebook_restart import NOISE, OFFSET, restart, restart_used, usage
from diacritic.training.cohort import Cohort, Plan, Run, initial_weights
from diacritic.training.data import Data
from diacritic.training.learner import learner
from diacritic.training.preset import preset

SMALL = Architecture(codes=12, code_size=4, width=8)


def _cohort(data: Data) -> Cohort:
    plan = Plan(learner("plain"), preset("carousel"), (Run(1), Run(4), Run(16)), 40, SMALL)
    begun = lively(initial_weights(plan, data), [1, 4, 16], torch.float32)
    cohort = Cohort(plan, data, parameters=begun)
    cohort.advance(3)
    return cohort


def test_usage_is_the_share_of_steps() -> None:
    for data in (symbols(5, 4), vectors(5, 4)):
        cohort = _cohort(data)
        trace = cohort.trace()
        wanted = torch.zeros(3, 12)
        for s in range(3):
            for t in range(5):
                for n in range(4):
                    wanted[s, trace.step_code[s, t, n]] += cohort.data.weight[n] / 5
        torch.testing.assert_close(usage(trace), wanted, rtol=0, atol=1e-6)


def test_exactly_the_unused_codes_move_near_proposals() -> None:
    for data in (symbols(5, 4), vectors(5, 4)):
        cohort = _cohort(data)
        cohort.optimiser.diverged[1] = True
        trace = cohort.trace()
        unused = usage(trace) == 0
        assert unused.any(1).all()
        assert (~unused).any(1).all()
        before = {
            key: cohort.optimiser.views(value.clone())
            for key, value in cohort.optimiser.state().items()
            if value.dim() == 2
        }
        restart(cohort)
        after = cohort.parameters["codebook"].detach()
        moved = (after != before["flat"]["codebook"]).any(-1)
        unused[1] = False  # a run that has diverged stays as it is
        assert torch.equal(moved, unused)
        for run, code in unused.nonzero().tolist():
            away = (trace.proposal[run].detach() - after[run, code]).abs().amax(-1)
            near = away <= OFFSET + 1e-6
            assert near.any()
            assert trace.weight[run][near].sum() > 0
        for key, value in (("mean", cohort.optimiser.mean), ("square", cohort.optimiser.square)):
            moment = cohort.optimiser.views(value)["codebook"]
            assert (moment[unused] == 0).all()
            assert torch.equal(moment[~unused], before[key]["codebook"][~unused])
        for name, value in cohort.parameters.items():
            assert name == "codebook" or torch.equal(value, before["flat"][name])


def test_restarted_codes_have_distinct_vectors() -> None:
    """Many more codes than distinct proposals: every code still has a vector of its own."""
    many = replace(SMALL, codes=40)
    for data in (symbols(5, 4), vectors(3, 2)):
        plan = Plan(learner("plain"), preset("carousel"), (Run(1), Run(4)), 40, many)
        cohort = Cohort(plan, data)
        with torch.no_grad():
            cohort.parameters["codebook"][:] = cohort.parameters["codebook"][:, :1].clone()  # all are twins
        restart(cohort)
        codebook = cohort.parameters["codebook"].detach()
        assert torch.equal(lowest_twin(codebook), torch.arange(40).expand(2, -1))


def test_a_step_is_drawn_only_once_while_others_have_a_weight() -> None:
    data = vectors(5, 4)
    cohort = _cohort(data)
    for step in range(5):
        cohort.resume_at(step)
        drawn = codebook_restart._drawn_steps(cohort, cohort.trace(), 20)
        assert torch.equal(drawn.sort(1).values, torch.arange(20).expand(3, -1))
        again = codebook_restart._drawn_steps(cohort, cohort.trace(), 25)
        assert torch.equal(again, torch.cat([drawn, drawn[:, :5]], 1))


def test_places_are_drawn_by_weight_and_again_at_every_step() -> None:
    data = vectors(5, 4)
    weight = torch.tensor([1.0, 1.0, 0.0, 0.0], dtype=torch.float64)
    cohort = _cohort(replace(data, weight=weight / 2))
    kept = {key: value.clone() for key, value in cohort.optimiser.state().items()}
    proposals = []
    for step in range(12):
        cohort.optimiser.load(kept)
        cohort.resume_at(step)
        trace = cohort.trace()
        unused = (usage(trace) == 0)[0]
        restart(cohort)
        vector = cohort.parameters["codebook"][0][unused]
        row = torch.cdist(vector.detach(), trace.proposal[0].detach()).argmin(1)
        proposals.append(row)
    drawn = torch.cat(proposals)
    assert set((drawn % 4).tolist()) == {0, 1}
    assert len(set((drawn // 4).tolist())) == 5
    assert not torch.equal(proposals[0], proposals[1])


def test_the_second_carrier_restarts_too() -> None:
    data = replace(symbols(5, 4), label=torch.arange(4) % 2)
    data = replace(data, shape=replace(data.shape, labels=2))
    dual = replace(learner("dual"), changes=(("identification", 20),))
    cohort = Cohort(Plan(dual, preset("carousel"), (Run(1), Run(4)), 40, SMALL), data)
    before = cohort.trace().identification
    assert before is not None
    unused = usage(before) == 0
    old = cohort.parameters["identification.codebook"].detach().clone()
    restart(cohort)
    moved = (cohort.parameters["identification.codebook"] != old).any(-1)
    assert unused.any()
    assert torch.equal(moved, unused)


def test_codes_that_a_batch_did_not_meet_move_to_those_that_it_did() -> None:
    plan = Plan(learner("plain"), preset("release"), (Run(1), Run(4)), 400, Architecture(codes=24))
    cohort = Cohort(plan, vectors(5, 4).to("cpu", torch.float32))
    cohort.update()
    batch = cohort.last_batch
    assert batch is not None
    used = batch.usage["codebook"] > 0
    assert used.any(1).all()
    assert not used.all(1).any()
    before, moments = cohort.parameters["codebook"].detach().clone(), cohort.optimiser.mean.clone()
    cohort.optimiser.diverged[1] = True
    restart_used(cohort, batch)
    after = cohort.parameters["codebook"].detach()
    moved = (after != before).any(-1)
    assert torch.equal(moved[0], ~used[0])
    assert not moved[1].any()
    assert torch.equal(cohort.optimiser.mean, moments)
    vectors_in_use = batch.vectors["codebook"][0][used[0]]
    torch.testing.assert_close(vectors_in_use.norm(dim=-1), torch.ones(int(used[0].sum())))
    away = torch.cdist(after[0][moved[0]], vectors_in_use).min(1).values
    assert 0 < float(away.min()) <= float(away.max()) < 8 * NOISE
    assert torch.equal(lowest_twin(after), torch.arange(24).expand(2, -1))


def test_such_restarts_come_after_updates_0_50_100_in_the_first_half(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    monkeypatch.setattr(codebook_restart, "restart_used", lambda cohort, batch: seen.append(cohort.step))
    plan = Plan(learner("plain"), preset("release"), (Run(1),), 240, SMALL)
    cohort = Cohort(plan, vectors(2, 2))
    cohort.advance(240)
    assert seen == [0, 50, 100]
