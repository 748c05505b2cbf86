"""The scale of a recording: standardised, undone, stored and read back."""

import pytest
import torch

from certify.errors import UserError
from diacritic.memory.scale import SMALLEST, Scale

MADE = torch.Generator().manual_seed(0)
SEEN = 3 + 2 * torch.randn(5, 7, 4, generator=MADE)
ACTED = torch.randn(5, 7, 2, generator=MADE) / 2 - 1
SEEN[..., 3] = 1.0  # a channel that never moves
SCALE = Scale.of(SEEN, ACTED)


def test_what_a_policy_reads_has_mean_zero_and_deviation_one() -> None:
    seen = SCALE.see(SEEN)
    assert seen.mean((0, 1)).abs().max() < 1e-5
    assert (seen[..., :3].std((0, 1)) - 1).abs().max() < 0.05
    assert SCALE.observation_deviation[3] == SMALLEST
    torch.testing.assert_close(SCALE.act(SCALE.shrink(ACTED)), ACTED)


def test_it_is_stored_beside_the_weights_and_read_back() -> None:
    again = Scale.from_tensors(SCALE.tensors())
    assert torch.equal(again.see(SEEN), SCALE.see(SEEN))
    with pytest.raises(UserError, match="weights: lack observation_mean"):
        Scale.from_tensors({})
