"""Episodes that end early: what comes after their end counts nothing, in every engine."""

from dataclasses import replace

import pytest
import torch
from carrier_twin import TINY, vectors

from diacritic.training.cohort import Cohort, Plan, Run
from diacritic.training.learner import learner
from diacritic.training.preset import preset


@pytest.mark.parametrize(
    ("how", "engine"), [("carousel", "parallel"), ("release", "unrolled"), ("carousel", "reference")]
)
@pytest.mark.parametrize("name", ["plain", "sysid"])
def test_losses_are_means_over_the_steps_that_there_are(how: str, engine: str, name: str) -> None:
    data = vectors(5, 4)
    assert data.label is not None
    lengths = torch.tensor([5, 3, 1, 4])
    mask = torch.arange(5).unsqueeze(1) < lengths
    choice = "reference" if engine == "reference" else "fast"
    plan = Plan(learner(name), preset(how), (Run(1), Run(2)), 20, TINY, engine=choice, precision=torch.float64)
    cohort = Cohort(plan, replace(data, mask=mask))
    assert cohort.engine == engine
    trace = cohort.trace()
    share = data.weight * mask
    torch.testing.assert_close(trace.weight, (share / share.sum()).flatten().expand(2, -1))
    torch.testing.assert_close(trace.step_weight, (share / share.sum()).expand(2, -1, -1))
    for term in plan.terms:
        loss = term.loss(trace, cohort.data, cohort.schedule)
        total = torch.zeros(2, dtype=torch.float64)
        for n, length in enumerate(lengths.tolist()):  # each episode alone, cut where it ends
            fields = ("observation_index", "previous_index", "target", "symbol", "classes", "joint")
            cut = {key: getattr(data, key)[:length, n : n + 1] for key in fields}
            one = replace(data, **cut, weight=torch.ones(1, dtype=torch.float64), label=data.label[n : n + 1])
            one = replace(one, forecast=None, pending=None, teacher=None, shape=replace(data.shape, horizon=length))
            alone = Cohort(plan, one, parameters={key: value.detach() for key, value in cohort.parameters.items()})
            total += data.weight[n] * length * term.loss(alone.trace(), alone.data, cohort.schedule).detach()
        wanted = total / (data.weight * lengths).sum()
        torch.testing.assert_close(loss.detach(), wanted, rtol=1e-9, atol=1e-9)
