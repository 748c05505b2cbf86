"""The least consistent code is split along the main direction of its proposals."""

from dataclasses import replace

import pytest
import torch
from carrier_twin import NARROW, lively, symbols, vectors
from torch import Tensor

from diacritic.memory.shape import Architecture
from diacritic.training import refinement
from diacritic.training.codebook_restart import usage
from diacritic.training.cohort import Cohort, Plan, Run, initial_weights
from diacritic.training.data import Data
from diacritic.training.learner import learner
from diacritic.training.preset import preset
from diacritic.training.randomness import normal
from diacritic.training.refinement import inconsistency, refine
from diacritic.training.schedule import STREAMS


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
    actual = inconsistency(trace, data.target)
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
            assert float(actual[s, k]) == pytest.approx(total, abs=1e-9)


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


@pytest.mark.parametrize("name", ["refinement", "refinement+bfs"])
@pytest.mark.parametrize("batch", [24, None])
def test_the_releases_split_in_a_loop(name: str, batch: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Group the batch by step and code, take the worst group, and put a free code among its worse half."""
    monkeypatch.setattr(refinement, "MEMBERS", 4)
    data, how = vectors(5, 10, seed=3), replace(preset("release"), batch_within=False)
    plan = Plan(learner(name), how, tuple(map(Run, range(6))), 40, NARROW, batch, precision=torch.float64)
    cohort = Cohort(plan, data, parameters=lively(initial_weights(plan, data), list(range(6))))
    weight = cohort.episode_weight()
    divided, changed = refinement.split(cohort)
    trace, split = cohort.trace(weight), 0
    error, noise = refinement.residual(cohort, trace).detach(), cohort.schedule.uniform(STREAMS["refine"], 2, 3)
    for run in range(6):
        members: dict[tuple[int, int], list[tuple[float, Tensor]]] = {}
        for t in range(5):
            for n in range(10):
                times = round(float(weight[run, n]) * batch) if batch else 1
                one = float(error[run, t, n]), trace.steps(trace.proposal)[run, t, n]
                members.setdefault((t, int(trace.step_code[run, t, n])), []).extend([one] * times)
        everything = [e for group in members.values() for e, _ in group]
        large = {key: sum(e for e, _ in group) / len(group) for key, group in members.items() if len(group) >= 4}
        worst = max(large, key=lambda key: large[key])
        middle = sorted(e for e, _ in members[worst])[(len(members[worst]) - 1) // 2]
        above = [x for e, x in members[worst] if e > middle]
        free = sorted(set(range(6)) - {code for _, code in members if members[_, code]})
        due = bool(free) and len(above) >= 2 and large[worst] > 1.5 * sum(everything) / len(everything)
        assert bool(changed[run].any()) == due
        if due:
            split += 1
            wanted = torch.stack(above).mean(0) + 0.01 * normal(noise)[run]
            torch.testing.assert_close(divided[run, free[0]], wanted.detach())
            assert changed[run].flatten().nonzero().flatten().tolist() == free[:1]
    assert 0 < split < 6


def test_the_release_refines_after_the_update_and_keeps_the_moments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refinement, "RELEASED_EVERY", 2)
    monkeypatch.setattr(refinement, "RELEASED_FROM", 4)
    seen = []

    def split(cohort: Cohort) -> tuple[Tensor, Tensor]:
        seen.append(cohort.step)
        book = cohort.parameters["codebook"].detach()
        mask = torch.zeros_like(book[..., :1], dtype=torch.bool)
        mask[:, 5] = True
        return torch.full_like(book, 7.0), mask

    monkeypatch.setattr(refinement, "split", split)
    how = replace(preset("release"), restarts=0)
    cohort = Cohort(Plan(learner("refinement"), how, (Run(1),), 40, NARROW), vectors(4, 6))
    cohort.advance(7)
    assert seen == [4, 6]
    assert (cohort.parameters["codebook"][0, 5] == 7).all()
    assert cohort.optimiser.views(cohort.optimiser.mean)["codebook"][0, 0].any()


def test_it_falls_due_every_so_many_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    due = []
    monkeypatch.setattr(refinement, "EVERY", 4)
    monkeypatch.setattr(refinement, "refine", lambda cohort: due.append(cohort.step))
    _cohort(vectors(4, 6)).advance(10)
    assert due == [4, 8, 12]
    plain = Plan(learner("plain"), preset("carousel"), (Run(1),), 40, Architecture(codes=4, code_size=4, width=8))
    Cohort(plain, vectors(4, 6)).advance(6)
    assert len(due) == 3
