"""Vector quantisation against a loop, and who moves whom."""

from dataclasses import replace

import pytest
import torch
from carrier_twin import TINY, gradients, one_of, scene, vectors

from diacritic.training.objectives.vq import Quantisation


@pytest.mark.parametrize("second", [0, 5])
def test_it_is_the_mean_distance_twice(second: int) -> None:
    data = vectors(4, 3)
    term = Quantisation(commitment=0.7)
    at = scene([term], data, replace(TINY, identification=second))
    values = {}
    for s, t, n in at.steps:
        p, total = one_of(at.parameters, s), torch.zeros((), dtype=torch.float64)
        for name, trace in (("codebook", at.trace), ("identification.codebook", at.trace.identification)):
            if trace is not None:
                away = trace.proposal[s, t * 3 + n] - p[name][trace.step_code[s, t, n]]
                total = total + 1.7 * away.square().mean()
        values[s, t, n] = total
    torch.testing.assert_close(term.loss(at.trace, data, at.schedule), at.literal(values), rtol=0, atol=1e-12)


def test_codes_follow_proposals_and_proposals_commit_to_codes() -> None:
    data = vectors(4, 3)
    at = scene([Quantisation()], data)
    follow = gradients(Quantisation(commitment=0).loss(at.trace, data, at.schedule), at.parameters)
    assert [name for name, value in follow.items() if value.abs().sum() > 0] == ["codebook"]
    wanted = torch.zeros_like(at.parameters["codebook"])
    for s, t, n in at.steps:
        code = at.trace.step_code[s, t, n]
        away = at.parameters["codebook"][s, code] - at.trace.proposal[s, t * 3 + n]
        wanted[s, code] += 2 * away.detach() / 3 * at.weight(n)
    torch.testing.assert_close(follow["codebook"], wanted, rtol=0, atol=1e-12)
    both = gradients(Quantisation(commitment=2).loss(at.trace, data, at.schedule), at.parameters)
    torch.testing.assert_close(both["codebook"], wanted, rtol=0, atol=1e-12)  # commitment moves no code
    assert both["residual.out.weight"].abs().sum() > 0


def test_summed_over_numbers_it_is_larger_by_their_number() -> None:
    data = vectors(4, 3)
    at = scene([], data)
    mean, total = (Quantisation(0.25, how).loss(at.trace, data, at.schedule) for how in ("mean", "sum"))
    torch.testing.assert_close(total, at.trace.codebook.shape[-1] * mean, rtol=1e-12, atol=0)
