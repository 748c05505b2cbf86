"""A GRU along many chains of words at once; chains that have agreed so far share one node, which is computed once.

Chains may end at different lengths. Values and weights of the GRU are those of nodes; what flows back is kept apart for
every chain, so that each start receives exactly its own gradient.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from diacritic.memory.layers import Parameters
from diacritic.memory.quantise import look_up


@dataclass(frozen=True)
class Chains:
    """Chains of S runs. Links are the words of all chains, depth by depth; the chains that go on come first."""

    links: tuple[int, ...]  # how many chains have a word at each depth
    nodes: tuple[int, ...]  # how many nodes each depth has
    parent: Tensor  # of each node: its number within the depth before, or the chain where it is the first, [S, nodes]
    word: Tensor  # of each node, [S, nodes]
    node: Tensor  # of each link, [S, links]
    share: Tensor  # what part of its node's gradient belongs to a link, [S, links]

    def depths(self) -> Iterator[tuple[slice, slice]]:
        """The nodes and the links of every depth."""
        node = link = 0
        for nodes, links in zip(self.nodes, self.links, strict=True):
            yield slice(node, node + nodes), slice(link, link + links)
            node, link = node + nodes, link + links

    def flat_parents(self, starts: int) -> list[Tensor]:
        """The parents of each depth's nodes, as numbers among those of all runs; the first depth's among the starts."""
        parents = self.parent.split(self.nodes, 1)
        sizes = (starts, *self.nodes[:-1])
        return [_flat(parent, size).flatten() for parent, size in zip(parents, sizes, strict=True)]

    def of_runs(self, runs: int) -> "Chains":
        """The chains of one run, for so many that all have the same."""
        wide = {name: getattr(self, name).expand(runs, -1) for name in ("parent", "word", "node", "share")}
        return replace(self, **wide)


def follow(parameters: Parameters, name: str, told: Tensor, start: Tensor, chains: Chains) -> Tensor:
    """States of all nodes, [S, nodes, width], as `gru_cell` has them: from the projections of all words
    [S, words, 3 width] and the state before the first word of every chain [S, chains, width]."""
    weight, bias = parameters[f"{name}.weight"], parameters[f"{name}.bias"]
    return _Follow.apply(told, start, weight, bias, chains)


class _Follow(torch.autograd.Function):
    @staticmethod
    def forward(ctx, told: Tensor, start: Tensor, weight: Tensor, bias: Tensor, chains: Chains) -> Tensor:
        runs, width = weight.shape[:2]
        entering, size = look_up(told, chains.word), (runs, chains.word.shape[1])
        before, new, states = (told.new_empty(*size, width) for _ in range(3))
        inner = told.new_empty(*size, 3 * width)  # reset and update gate, and the layer on the state
        state, bias = start, bias.unsqueeze(1)
        for (nodes, _), parent in zip(chains.depths(), chains.flat_parents(start.shape[1]), strict=True):
            fed_gates, fed_new = entering[:, nodes].tensor_split((2 * width,), -1)
            old, own, fresh = before[:, nodes], inner[:, nodes], new[:, nodes]
            old.copy_(state.reshape(-1, width).index_select(0, parent).view(old.shape))
            gates, returned = torch.baddbmm(bias, old, weight, out=own).tensor_split((2 * width,), -1)
            reset, update = gates.add_(fed_gates).sigmoid_().chunk(2, -1)
            torch.addcmul(fed_new, reset, returned, out=fresh).tanh_()
            state = torch.lerp(fresh, old, update, out=states[:, nodes])
        ctx.save_for_backward(weight, before, inner, new)
        ctx.chains, ctx.sizes = chains, (told.shape[1], start.shape[1])
        return states

    @staticmethod
    def backward(ctx, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, None]:
        weight, before, inner, new = ctx.saved_tensors
        chains, (runs, width) = ctx.chains, weight.shape[:2]
        reset, update, own = inner.split(width, -1)
        slopes = torch.empty(*inner.shape[:2], 4, width, dtype=inner.dtype, device=inner.device)
        fed = (1 - update).mul_(1 - new * new)  # of what enters tanh
        of_reset, of_update, of_own, direct = slopes.unbind(2)
        torch.mul(fed, reset, out=of_own)
        torch.mul(of_own, own, out=of_reset).mul_(1 - reset)
        torch.sub(before, new, out=of_update).mul_(update).mul_(1 - update)
        direct.copy_(update)
        flow = look_up(gradients[0], chains.node).mul_(chains.share.unsqueeze(-1))
        flat, index = slopes.view(-1, 4 * width), _flat(chains.node, before.shape[1])
        later, returning = None, weight.mT.contiguous()
        for _, links in reversed(list(chains.depths())):
            now = flow[:, links]
            if later is not None:
                now[:, : later.shape[1]] += later
            handed = flat.index_select(0, index[:, links].reshape(-1)).view(runs, -1, 4, width).mul_(now.unsqueeze(2))
            through, past = handed.view(runs, -1, 4 * width).tensor_split((3 * width,), -1)
            later = torch.baddbmm(past, through, returning)
        of_start = flow.new_zeros(runs, ctx.sizes[1], width)
        if later is not None:
            of_start[:, : later.shape[1]] = later
        together = _gathered(flow, chains.node, before.shape[1])
        through = slopes[:, :, :3].mul_(together.unsqueeze(-2)).flatten(2)
        of_weight, of_bias = torch.bmm(before.mT, through), through.sum(1)
        through[..., 2 * width :] = fed.mul_(together)
        return _gathered(through, chains.word, ctx.sizes[0]), of_start, of_weight, of_bias, None


def _flat(index: Tensor, count: int) -> Tensor:
    """Numbers among so many rows of each run as numbers among those of all runs."""
    runs = len(index)
    return index if runs == 1 else index + torch.arange(0, runs * count, count, device=index.device).unsqueeze(1)


def _gathered(values: Tensor, index: Tensor, count: int) -> Tensor:
    """Sums of values [S, M, ·] that go to the same of so many rows, [S, count, ·]."""
    runs, _, width = values.shape
    summed = values.new_zeros(runs * count, width)
    return summed.index_add_(0, _flat(index, count).flatten(), values.flatten(0, 1)).view(runs, count, width)
