"""Numbers by counting: the same in any cohort, uniform, and unrelated across runs, steps, streams and places."""

import pytest
import torch

from diacritic.memory.layers import Weight
from diacritic.training.randomness import initial, uniform

SEEDS = torch.tensor([3, 4, 10**9, -2])
KNOWN = [[7707768, 16204827], [16017760, 12870840]]


def test_a_run_draws_the_same_alone_and_in_any_cohort() -> None:
    together = uniform(SEEDS, 17, 2, (5, 6))
    for k, seed in enumerate(SEEDS):
        assert torch.equal(uniform(seed.view(1), 17, 2, (5, 6))[0], together[k])
    assert torch.equal(uniform(SEEDS.flip(0), torch.tensor(17), 2, (5, 6)).flip(0), together)


def test_a_place_keeps_its_number_when_more_are_drawn() -> None:
    assert torch.equal(uniform(SEEDS, 1, 0, (4,)), uniform(SEEDS, 1, 0, (3, 4))[:, 0])


def test_known_numbers_stay_what_they_are() -> None:
    """A resumed or repeated run must draw what it drew, on any machine and in any version."""
    actual = uniform(torch.tensor([0, 1]), 2, 3, (2,))
    again = [[int(x * 2**24) for x in row] for row in actual.tolist()]
    assert again == KNOWN


@pytest.mark.parametrize(
    ("seeds", "steps", "streams", "numbers"),
    [(1, 1, 1, 20000), (20000, 1, 1, 1), (1, 2000, 1, 1), (20, 20, 5, 10)],
)
def test_numbers_are_uniform_along_every_direction(seeds: int, steps: int, streams: int, numbers: int) -> None:
    drawn = torch.stack(
        [uniform(torch.arange(seeds), step, stream, (numbers,)) for step in range(steps) for stream in range(streams)]
    ).flatten()
    assert drawn.min() >= 0
    assert drawn.max() < 1
    counts, wanted = torch.histc(drawn, 20, 0, 1), len(drawn) / 20
    chi_square = ((counts - wanted).square() / wanted).sum()
    assert chi_square < 50  # nineteen degrees of freedom: one in five thousand
    assert abs(torch.corrcoef(torch.stack([drawn[:-1], drawn[1:]]))[0, 1]) < 4 / len(drawn) ** 0.5


def test_runs_steps_and_streams_are_unrelated() -> None:
    base = uniform(torch.tensor([0]), 0, 0, (5000,))[0]
    for seed, step, stream in ((1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1)):
        other = uniform(torch.tensor([seed]), step, stream, (5000,))[0]
        assert abs(torch.corrcoef(torch.stack([base, other]))[0, 1]) < 0.06
        assert (base == other).sum() < 10


def test_one_more_layer_changes_no_other() -> None:
    few = {"a": Weight((3, 4)), "b": Weight((5,), "normal", 0.5)}
    many = {"new": Weight((2, 2)), **few}
    one, more = initial(few, [1, 2]), initial(many, [1, 2])
    assert all(torch.equal(one[name], more[name]) for name in few)
    assert torch.equal(initial(few, [2])["a"][0], one["a"][1])
    assert not torch.equal(one["a"][0], one["a"][1])


def test_starts_have_their_scales() -> None:
    actual = initial(
        {"u": Weight((4000,), scale=0.3), "n": Weight((4000,), "normal", 0.3), "z": Weight((4,), "zero")}, [5]
    )
    assert actual["u"].abs().max() <= 0.3
    assert float(actual["u"].std()) == pytest.approx(0.3 / 3**0.5, rel=0.05)
    assert actual["n"].abs().max() > 0.6
    assert float(actual["n"].std()) == pytest.approx(0.3, rel=0.05)
    assert actual["z"].abs().max() == 0


def test_single_precision_rounds_the_double_one() -> None:
    layers = {"a": Weight((50,))}
    assert torch.equal(initial(layers, [1], torch.float64)["a"].float(), initial(layers, [1])["a"])
