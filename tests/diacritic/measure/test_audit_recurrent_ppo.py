"""The audit's "x of y bits" of a real RecurrentPPO whose LSTM is built to keep none, one or all of three bits."""

from collections.abc import Callable

import pytest
import torch
from sb3_contrib import RecurrentPPO

from certify.zoo import build
from diacritic.measure import audit
from diacritic.measure.audits import CARRIED
from diacritic.tasks.symbolic import SymbolicEnv

CHAIN = build("memory-chain", bits=3, delay=4)  # three bits at first, dark, then a query for one of them


def policy(keep: Callable[[str], str]) -> RecurrentPPO:
    """An LSTM that sees no more of an observation than `keep`: names that it maps alike enter alike."""
    small = {"lstm_hidden_size": 8, "n_lstm_layers": 1, "net_arch": []}
    model = RecurrentPPO("MlpLstmPolicy", SymbolicEnv(CHAIN), policy_kwargs=small, seed=0, device="cpu")
    weight = dict(model.policy.named_parameters())["lstm_actor.weight_ih_l0"]
    first: dict[str, int] = {}
    with torch.no_grad():
        for name, k in CHAIN.observation_index.items():
            weight[:, k] = weight[:, first.setdefault(keep(name), k)]
    return model


@pytest.mark.parametrize(
    ("keep", "bits"),
    [
        (lambda name: "", 0.0),
        (lambda name: name.removeprefix("context ")[0] if name.startswith("context") else "", 1.0),
        (lambda name: name, 3.0),
    ],
)
def test_recurrent_ppo_carries(keep: Callable[[str], str], bits: float) -> None:
    report = audit(policy(keep), CHAIN, shuffles=19)
    dark = next(control for control in report.controls if control.name.startswith(CARRIED))
    assert dark.data is not None
    assert dark.data["carried"] == pytest.approx(bits)
    assert dark.data["required"] == pytest.approx(3)
    assert dark.passed == (bits == 3)
    assert f"by its state it carries {bits:.2f} of 3.00 bits" in dark.text
