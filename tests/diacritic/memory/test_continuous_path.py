"""The continuous path against PyTorch's GRU cell."""

import torch

from diacritic.memory import continuous_path
from diacritic.memory.layers import dense
from diacritic.training.randomness import initial


def test_the_path_is_pytorchs_cell() -> None:
    made = torch.Generator().manual_seed(0)
    parameters = initial(continuous_path.weights(6, 6, 3) | dense("previous", 2, 6), [1, 2], torch.float64)
    side, previous, hidden = (torch.randn(2, 5, size, generator=made, dtype=torch.float64) for size in (6, 2, 6))
    found = continuous_path.advance(parameters, hidden, side, previous)
    for run in range(2):
        p = {name: value[run] for name, value in parameters.items()}
        cell = torch.nn.GRUCell(12, 6, dtype=torch.float64)
        with torch.no_grad():
            for theirs, ours in (("ih", "input"), ("hh", "state")):
                getattr(cell, f"weight_{theirs}").copy_(p[f"path.{ours}.weight"].T)
                getattr(cell, f"bias_{theirs}").copy_(p[f"path.{ours}.bias"])
            acted = (previous[run] @ p["previous.weight"] + p["previous.bias"]).relu()
            wanted = cell(torch.cat([side[run], acted], -1), hidden[run])
        torch.testing.assert_close(found[run], wanted, rtol=0, atol=1e-12)
