"""A model as training data: exact weights and laws, drawn counts, labels, and what cannot be listed."""

import json

import numpy as np
import pytest
import torch
from certify_twin import History, Twin
from rollout_twin import names_of

from certify import Model
from certify.errors import UserError
from certify.zoo import build
from diacritic.training.data import Data
from diacritic.training.symbolic import from_model

SMALL = [
    ("gap", {"gap1": 1, "gap2": 1}),
    ("stochastic-expert", {}),
    ("lost-cue", {}),
    ("memory-chain", {"bits": 2, "delay": 2}),
    ("signpost-corridor", {"M": 4, "hall1": 1, "hall2": 1}),
]


def _prefixes(data: Data, model: Model, n: int) -> list[History]:
    """O_1, A_1, …, O_t of episode n, for every t."""
    seen, did = names_of(model.graph.observations), names_of(model.graph.actions)
    words: History = ()
    actual = []
    for t in range(data.horizon):
        before = int(data.previous_index[t, n])
        assert (before == 0) == (t == 0)
        words = (*words, *([did[before - 1]] if t else []), seen[int(data.observation_index[t, n])])
        actual.append(words)
    return actual


@pytest.mark.parametrize(("name", "sizes"), SMALL)
def test_every_history_has_its_probability_and_its_laws(name: str, sizes: dict[str, int]) -> None:
    model = build(name, **sizes)
    data, twin = from_model(model), Twin(json.loads(model.to_json()))
    did = names_of(model.graph.actions)
    assert data.horizon == twin.horizon
    whole = {}
    for n in range(data.episodes):
        for t, history in enumerate(_prefixes(data, model, n)):
            law = {did[a]: float(p) for a, p in enumerate(data.target[t, n]) if p}
            assert law == pytest.approx({a: float(p) for a, p in twin.levels[t][history].law})
        whole[history] = float(data.weight[n])  # pyright: ignore[reportPossiblyUnboundVariable]
    assert len(whole) == data.episodes
    assert whole == pytest.approx({history: float(facts.mass) for history, facts in twin.levels[-1].items()})


def test_inputs_are_one_hot_and_nothing_stands_for_no_action_yet() -> None:
    model = build("gap", gap1=1, gap2=1)
    data = from_model(model)
    assert torch.equal(data.observation, torch.eye(len(model.graph.observations), dtype=torch.float64))
    assert data.previous[0].abs().sum() == 0
    assert torch.equal(data.previous[1:], torch.eye(len(model.graph.actions), dtype=torch.float64))
    assert data.symbol is not None
    assert torch.equal(data.symbol, data.observation_index)
    assert data.shape.symbolic


@pytest.mark.parametrize(("name", "sizes"), SMALL)
def test_drawn_demonstrations_are_counts_whose_frequencies_fit(name: str, sizes: dict[str, int]) -> None:
    model = build(name, **sizes)
    count = 2000
    data, twin = from_model(model, count, seed=3), Twin(json.loads(model.to_json()))
    counts = data.weight * count
    assert torch.allclose(counts, counts.round(), rtol=0, atol=1e-9)
    assert int(counts.round().sum()) == count
    did = names_of(model.graph.actions)
    seen: dict[tuple[int, History], float] = {}
    for n in range(data.episodes):
        for t, history in enumerate(_prefixes(data, model, n)):
            seen[t, history] = seen.get((t, history), 0) + float(data.weight[n])
            taken = data.target[t, n]
            assert taken.sum() == taken.max() == 1  # the action drawn, not the law
            assert did[int(taken.argmax())] in dict(twin.levels[t][history].law)
            if t + 1 < data.horizon:
                assert int(data.previous_index[t + 1, n]) == int(taken.argmax()) + 1
    for (t, history), share in seen.items():
        p = float(twin.levels[t][history].mass)
        assert abs(share - p) < 5 * (p * (1 - p) / count) ** 0.5 + 1e-9
    last = sum(float(data.weight[n]) * data.target[-1, n] for n in range(data.episodes))
    exact = from_model(model)
    wanted = (exact.weight.unsqueeze(1) * exact.target[-1]).sum(0)
    assert np.abs(np.asarray(last) - wanted.numpy()).max() < 5 * 0.5 / count**0.5


def test_drawn_episodes_are_merged_and_follow_the_seed() -> None:
    model = build("gap", gap1=1, gap2=1)
    data = from_model(model, 500, seed=1)
    assert data.episodes <= from_model(model).episodes
    rows = torch.cat([data.observation_index, data.previous_index, data.target.argmax(-1)]).T
    assert len(rows.unique(dim=0)) == data.episodes
    assert torch.equal(data.weight, from_model(model, 500, seed=1).weight)
    assert not torch.equal(data.weight, from_model(model, 500, seed=2).weight)


def test_labels_come_from_whole_episodes() -> None:
    model = build("gap", gap1=1, gap2=1)
    data = from_model(model, label=lambda seen: seen[0])
    assert data.label is not None
    names = names_of(model.graph.observations)
    first = [names[o] for o in data.observation_index[0].tolist()]
    values = sorted(set(first))
    assert len(values) > 1
    assert data.shape.labels == len(values)
    assert [values[k] for k in data.label.tolist()] == first


def test_merged_histories_are_listed_while_they_are_few_and_can_always_be_drawn() -> None:
    data = from_model(build("running-parity", horizon=6))
    assert data.episodes == 2**6 == len({tuple(row) for row in data.observation_index.T.tolist()})
    odd = (data.observation_index % 2).sum(0) % 2
    assert torch.equal(data.target[-1].argmax(-1) == data.target[-1, 0].argmax(-1), odd == odd[0])
    assert torch.allclose(data.weight, torch.full_like(data.weight, 2.0**-6))
    model = build("running-parity", horizon=13)
    with pytest.raises(UserError, match=r"^model: its histories are merged[^\n]*; draw demonstrations instead$"):
        from_model(model)
    assert from_model(model, 200).episodes > 10
