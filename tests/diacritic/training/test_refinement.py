"""The least consistent code is split along the main direction of its proposals."""

import pytest
import torch
from carrier_twin import lively, symbols, vectors

from diacritic.memory.shape import Architecture
from diacritic.training import refinement
from diacritic.training.codebook_restart import usage
from diacritic.training.cohort import Cohort, Plan, Run, initial_weights
from diacritic.training.data import Data
from diacritic.training.learner import learner
from diacritic.training.preset import preset
from diacritic.training.refinement import inconsistency, refine


def _cohort(data: Data, codes: int = 12) -> Cohort:
    """Runs that use many codes; in some of them the least consistent one is not the one used most."""
    small = Architecture(codes=codes, code_size=4, width=8)
    runs = (Run(1), Run(4), Run(16))
    plan = Plan(learner("refinement"), preset("carousel"), runs, 40, small, precision=torch.float64)
    cohort = Cohort(plan, data, parameters=lively(initial_weights(plan, data), [1, 4, 16]))
    cohort.advance(3)
    return cohort


@pytest.mark.parametrize("data", [symbols(4, 6), vectors(4, 6)])
def test_inconsistency_is_the_spread_of_futures_within_a_code(data: Data) -> None:
    trace = _cohort(data).trace()
    found = inconsistency(trace, data.target)
    for s in range(3):
        for k in range(12):
            total = 0.0
            for t in range(4):
                members = [n for n in range(6) if int(trace.step_code[s, t, n]) == k]
                mass = sum(float(data.weight[n]) for n in members)
                for later in range(t, 4):
                    for a in range(data.shape.action):
                        values = [float(data.target[later, n, a]) for n in members]
                        mean = sum(float(data.weight[n]) * v for n, v in zip(members, values, strict=True)) / (
                            mass or 1
                        )
                        total += sum(
                            float(data.weight[n]) * (v - mean) ** 2 for n, v in zip(members, values, strict=True)
                        )
            assert float(found[s, k]) == pytest.approx(total, abs=1e-9)


def test_the_least_consistent_code_is_split_in_two() -> None:
    data = vectors(4, 6)
    cohort = _cohort(data)
    cohort.optimiser.diverged[2] = True
    trace = cohort.trace()
    before = cohort.parameters["codebook"].detach().clone()
    used = usage(trace)
    worst = inconsistency(trace, data.target).argmax(1)
    assert (worst != used.argmax(1)).any()
    refine(cohort)
    after = cohort.parameters["codebook"].detach()
    for run in range(2):
        free = int((used[run] == 0).nonzero()[0])
        code = int(worst[run])
        assert used[run, code] > 0
        changed = (after[run] != before[run]).any(-1).nonzero().flatten().tolist()
        assert changed == sorted({code, free})
        torch.testing.assert_close((after[run, code] + after[run, free]) / 2, before[run, code])
        offset = (after[run, free] - after[run, code]) / 2
        mine = trace.code[run] == code
        points, weight = trace.proposal[run][mine].detach(), trace.weight[run][mine]
        weight = weight / weight.sum()
        centred = points - (weight.unsqueeze(1) * points).sum(0)
        spread = (weight.unsqueeze(1) * centred).T @ centred
        top = torch.linalg.eigvalsh(spread)[-1]
        torch.testing.assert_close(offset.square().sum(), top)  # one standard deviation …
        torch.testing.assert_close(spread @ offset, top * offset, rtol=1e-8, atol=1e-12)  # … along the main direction
    assert torch.equal(after[2], before[2])  # a run that has diverged stays as it is


def test_without_a_free_code_nothing_is_split() -> None:
    cohort = _cohort(vectors(4, 6), codes=1)
    before = cohort.parameters["codebook"].detach().clone()
    refine(cohort)
    assert torch.equal(cohort.parameters["codebook"], before)


def test_proposals_that_are_no_numbers_stop_no_cohort() -> None:
    cohort = _cohort(vectors(4, 6))
    with torch.no_grad():
        cohort.parameters["residual.out.bias"][1] = float("inf")
    before = cohort.parameters["codebook"].detach().clone()
    refine(cohort)
    after = cohort.parameters["codebook"]
    assert torch.equal(after[1], before[1])
    assert not torch.equal(after[0], before[0])


def test_it_falls_due_every_so_many_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    due = []
    monkeypatch.setattr(refinement, "EVERY", 4)
    monkeypatch.setattr(refinement, "refine", lambda cohort: due.append(cohort.step))
    _cohort(vectors(4, 6)).advance(10)
    assert due == [4, 8, 12]
    plain = Plan(learner("plain"), preset("carousel"), (Run(1),), 40, Architecture(codes=4, code_size=4, width=8))
    Cohort(plain, vectors(4, 6)).advance(6)
    assert len(due) == 3
