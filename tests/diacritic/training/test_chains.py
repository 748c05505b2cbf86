"""A GRU along chains that share nodes, against one chain after another."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from diacritic.memory.layers import gru_cell
from diacritic.training.chains import Chains, follow


def _chains(words: list[list[tuple[int, ...]]], alike: list[list[int]], made: torch.Generator) -> Chains:
    """Chains of several runs, longest first; those with the same number in `alike` start from the same state."""
    lengths = [len(chain) for chain in words[0]]
    depths = range(max(lengths))
    links = tuple(sum(length > j for length in lengths) for j in depths)
    names = [
        [[(start, chain[: j + 1]) for start, chain in zip(starts, run, strict=True) if len(chain) > j] for j in depths]
        for starts, run in zip(alike, words, strict=True)
    ]
    nodes = tuple(max(len(set(run[j])) for run in names) for j in depths)
    parent, word = (torch.zeros(len(words), sum(nodes), dtype=torch.long) for _ in range(2))
    node = torch.zeros(len(words), sum(links), dtype=torch.long)
    for s, run in enumerate(names):
        before: list = []
        for j in depths:
            distinct = list(dict.fromkeys(run[j]))
            for k, name in enumerate(distinct):
                at = sum(nodes[:j]) + k
                word[s, at] = name[1][-1]
                parent[s, at] = before.index((name[0], name[1][:-1])) if j else run[0].index(name)
            for g, name in enumerate(run[j]):
                node[s, sum(links[:j]) + g] = sum(nodes[:j]) + distinct.index(name)
            before = distinct
    weight = torch.rand(node.shape, generator=made, dtype=torch.float64)
    together = torch.zeros(len(words), sum(nodes), dtype=torch.float64).scatter_add_(1, node, weight)
    return Chains(links, nodes, parent, word, node, weight / together.gather(1, node))


@settings(max_examples=40)
@given(
    lengths=st.lists(st.integers(1, 5), min_size=1, max_size=7).map(lambda drawn: sorted(drawn, reverse=True)),
    runs=st.integers(1, 3),
    vocabulary=st.integers(1, 3),
    seed=st.integers(0, 10**6),
)
def test_each_chain_is_a_gru_of_its_own(lengths: list[int], runs: int, vocabulary: int, seed: int) -> None:
    made, width = torch.Generator().manual_seed(seed), 3

    def normal(*size: int) -> Tensor:
        return torch.randn(size, generator=made, dtype=torch.float64).requires_grad_()

    def numbers(high: int, *size: int) -> list:
        return torch.randint(high, size, generator=made).tolist()

    words = [[tuple(numbers(vocabulary, length)) for length in lengths] for _ in range(runs)]
    alike = [numbers(2, len(lengths)) for _ in range(runs)]
    chains = _chains(words, alike, made)
    parameters = {"cell.weight": normal(runs, width, 3 * width), "cell.bias": normal(runs, 3 * width)}
    told, states = normal(runs, vocabulary, 3 * width), normal(runs, 2, width)
    start = torch.stack([state[kind] for state, kind in zip(states, alike, strict=True)]).detach().requires_grad_()
    inputs = [told, start, *parameters.values()]

    hidden = follow(parameters, "cell", told, start, chains)
    pull = torch.randn(hidden.shape, generator=made, dtype=torch.float64)
    actual = torch.autograd.grad((hidden * pull).sum(), inputs)

    total, link = torch.zeros((), dtype=torch.float64), {}
    for j, count in enumerate(chains.links):
        for g in range(count):
            link[j, g] = sum(chains.links[:j]) + g
    for s in range(runs):
        one = {name: value[s : s + 1] for name, value in parameters.items()}
        for g, chain in enumerate(words[s]):
            state = start[s : s + 1, g : g + 1]
            for j, word in enumerate(chain):
                state = gru_cell(one, "cell", told[s : s + 1, word : word + 1], state)
                node = chains.node[s, link[j, g]]
                torch.testing.assert_close(hidden[s, node], state[0, 0], rtol=0, atol=1e-12)
                total = total + chains.share[s, link[j, g]] * (state[0, 0] * pull[s, node]).sum()
    # nodes that no chain of a run visits fill its depths up; nothing may flow into them
    visited = torch.zeros_like(hidden[..., :1]).scatter_(1, chains.node.unsqueeze(-1), 1.0)
    assert torch.equal((hidden * pull * visited).isfinite(), torch.ones_like(hidden, dtype=torch.bool))
    wanted = torch.autograd.grad(total, inputs)
    for one, other in zip(actual, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-10)
