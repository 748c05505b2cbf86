"""The action heads: what a direct, a hierarchical and an intent policy read."""

from dataclasses import replace
from typing import Literal

import pytest
import torch
from carrier_twin import TINY, head, lively, one_of
from torch import Tensor

from diacritic.memory.act import act
from diacritic.memory.protocol import Record
from diacritic.memory.shape import Shape
from diacritic.training.objectives.imitation import Imitation
from diacritic.training.objectives.readout import Controlled

SHAPE = Shape(observation=4, action=2, symbols=5, classes=3)
Readout = Literal["hierarchical", "intent"]
Reads = Literal["features", "observation"]


def _record() -> Record:
    made = torch.Generator().manual_seed(0)
    features, side = (torch.randn(2, 9, 8, generator=made, dtype=torch.float64) for _ in range(2))
    vector = torch.randn(2, 9, 3, generator=made, dtype=torch.float64)
    raw = torch.randn(9, 4, generator=made, dtype=torch.float64)
    return Record(features, side, vector, vector, torch.zeros(2, 9, dtype=torch.long), observation=raw)


def _controlled(readout: Readout, reads: Reads = "features") -> dict[str, Tensor]:
    return lively(Controlled(readout).weights(SHAPE, replace(TINY, readout=readout, controller_reads=reads)), [1, 2])


def test_a_direct_policy_reads_the_features_and_the_code() -> None:
    parameters = lively(Imitation().weights(SHAPE, TINY), [1, 2])
    record = _record()
    action = act(parameters, TINY, record)
    for run in range(2):
        for row in range(9):
            wanted = head(one_of(parameters, run), "act", record.features[run, row], record.embedding[run, row])
            torch.testing.assert_close(action[run, row], wanted, rtol=0, atol=1e-12)


@pytest.mark.parametrize("reads", ["features", "observation"])
@pytest.mark.parametrize("readout", ["hierarchical", "intent"])
def test_a_choice_comes_from_symbol_and_code_and_is_executed_from_the_observation(
    readout: Readout, reads: Reads
) -> None:
    parameters, record = _controlled(readout, reads), _record()
    assert record.observation is not None
    action = act(parameters, replace(TINY, readout=readout), record)
    for run in range(2):
        p = one_of(parameters, run)
        for row in range(9):
            chosen = head(p, "choose", record.side[run, row], record.embedding[run, row])
            if readout == "hierarchical":
                chosen = torch.eye(3, dtype=torch.float64)[chosen.argmax()]
            if reads == "features":
                wanted = head(p, "act", record.features[run, row], chosen)
            else:
                wanted = head(p, "control", record.observation[row], chosen)
                wanted = chosen + wanted if readout == "intent" else wanted
            torch.testing.assert_close(action[run, row], wanted, rtol=0, atol=1e-12)


def test_a_hierarchical_controller_sees_of_the_code_nothing_but_the_choice() -> None:
    parameters, record = _controlled("hierarchical"), _record()
    architecture = replace(TINY, readout="hierarchical")
    nearby = replace(record, embedding=record.embedding + 1e-9)  # too little to change a choice
    assert torch.equal(act(parameters, architecture, record), act(parameters, architecture, nearby))
    intent = replace(TINY, readout="intent")
    assert not torch.equal(act(_controlled("intent"), intent, record), act(_controlled("intent"), intent, nearby))
