"""What symbolic episodes show after each of their steps, as chains of words: equal futures are followed once.

Two steps have the same future if they are the same number of steps before the end, see the same observation, carry the
same code, and everything that comes after them agrees, the expert's laws too.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from diacritic.memory.quantise import look_up, straight_through
from diacritic.training.chains import Chains


@dataclass(frozen=True)
class Futures:
    """A word is a distinct (observation, previous action, expert's law)."""

    observation: Tensor  # of each word, [words]
    previous: Tensor  # of each word, [words]
    word: Tensor  # [T, N]
    law: Tensor  # what the expert does at each word, [words, A]

    @cached_property
    def ahead(self) -> tuple[Tensor, list[int]]:
        """A number for each step but the last and for all that is seen from it on, [T − 1, N]; where each t begins."""
        return _ahead(self.observation[self.word], self.word)

    @cached_property
    def cases(self) -> Tensor:
        """A number for each step, [T, N]. At some t those are equal that saw the same so far, at others those that see
        the same from there on: whichever makes fewer."""
        return self._fewer(self.ahead[0])

    @cached_property
    def law_cases(self) -> Tensor:
        """The same where of what comes after a step only the expert's laws count."""
        law = torch.unique(self.law, dim=0, return_inverse=True)[1][self.word]
        return self._fewer(_ahead(torch.zeros_like(law), law)[0])

    def _fewer(self, ahead: Tensor) -> Tensor:
        """Pasts or futures of every t, whichever are fewer; all last steps are alike, for nothing comes after them."""
        so_far, chosen = torch.zeros_like(self.word[0]), []
        for word, after in zip(self.word, ahead, strict=False):
            so_far = _numbered(so_far, word)
            after = _numbered(after)
            chosen.append(so_far if so_far.max() <= after.max() else after)
        return _one_after_another([*chosen, torch.zeros_like(so_far)])[0]

    @cached_property
    def so_far(self) -> tuple[Tensor, list[int]]:
        """A number for what is seen at each step and in the next j, [T − 1, T, N] from j = 1; where each j begins."""
        steps, seen, numbers = len(self.word), self.observation[self.word], []
        for j in range(1, steps):
            now = _numbered(seen[: steps - j], self.word[j:])
            seen = now
            numbers.append(torch.nn.functional.pad(now, (0, 0, 0, j)))
        return _one_after_another(numbers)


@dataclass(frozen=True)
class Starts:
    """Distinct starts of every run, earliest first, and the chains that go on from them."""

    observation: Tensor  # [S, starts]
    embedding: Tensor  # e, straight-through into all steps that start alike, [S, starts, d]
    chains: Chains
    weight: Tensor  # of each node, [S, nodes]


def starts(futures: Futures, code: Tensor, codebook: Tensor, path: Tensor, weight: Tensor, reach: int) -> Starts:
    """Starts with at most `reach` words, from codes [S, T, N], what carries the gradient of e [S, T, N, d], and the
    weight of one word of each step [S, T, N]."""
    (S, T, N), K = code.shape, codebook.shape[1]
    ahead, opens = futures.ahead
    code, weight, step = code[:, :-1].flatten(1), weight[:, :-1].flatten(1), torch.arange((T - 1) * N)
    kind, counts = _aligned(ahead.flatten() * K + code, step // N, torch.tensor(opens) * K)
    most = int(counts.sum())
    example = torch.zeros(S, most, dtype=torch.long).scatter_(1, kind, step.expand_as(kind))
    held, together = code.gather(1, example), weight.new_zeros(S, most).scatter_add_(1, kind, weight)
    within = weight / together.clamp(min=torch.finfo(weight.dtype).tiny).gather(1, kind)
    carried = ByShare.apply(path[:, :-1].flatten(1, 2), kind, within, most)
    chains, heavy = _chains(futures, example, held, together, counts, K, reach)
    seen = futures.observation[futures.word.flatten()[example]]
    return Starts(seen, straight_through(look_up(codebook, held), carried), chains, heavy)


def _chains(
    futures: Futures, example: Tensor, held: Tensor, weight: Tensor, counts: Tensor, codes: int, reach: int
) -> tuple[Chains, Tensor]:
    """The chains of starts with their example steps t·N + n, codes, and weights, and how many begin at each t."""
    T, N = futures.word.shape
    most = min(T - 1, reach)
    links = counts.cumsum(0).flip(0)[:most]
    depth = torch.arange(most).repeat_interleave(links)
    first = links.cumsum(0) - links
    start = torch.arange(len(depth)) - first[depth]
    seen, opens = futures.so_far
    met = example[:, start]
    node, nodes = _aligned(
        seen.flatten()[met + depth * T * N] * codes + held[:, start], depth, torch.tensor(opens[: most + 1]) * codes
    )
    before = node[:, (first[depth - 1] + start)[links[0] :]] - (nodes.cumsum(0) - nodes)[depth[links[0] :] - 1]
    total = int(nodes.sum())
    empty = torch.zeros(len(node), total, dtype=torch.long)
    parent = empty.scatter(1, node, torch.cat([start[: links[0]].expand(len(node), -1), before], 1))
    word = empty.scatter(1, node, futures.word.flatten()[met + (depth + 1) * N])
    heavy = weight[:, start]
    together = weight.new_zeros(len(node), total).scatter_add_(1, node, heavy)
    share = heavy / together.clamp(min=torch.finfo(weight.dtype).tiny).gather(1, node)
    return Chains(tuple(links.tolist()), tuple(nodes.tolist()), parent, word, node, share), together


class ByShare(torch.autograd.Function):
    """A tensor without content for every kind [S, G, d]: what flows into it goes to its steps, each its share."""

    @staticmethod
    def forward(ctx, path: Tensor, kind: Tensor, share: Tensor, kinds: int) -> Tensor:
        ctx.kind, ctx.share = kind, share
        return path.new_zeros(()).expand(len(kind), kinds, path.shape[-1])

    @staticmethod
    def backward(ctx, *gradients: Tensor) -> tuple[Tensor, None, None, None]:
        return look_up(gradients[0], ctx.kind) * ctx.share.unsqueeze(-1), None, None, None


def _ahead(now: Tensor, word: Tensor) -> tuple[Tensor, list[int]]:
    """A number for what is so now and for all words after it, for each step but the last; where each t begins."""
    rest, numbers = torch.zeros_like(word[0]), []
    for t in range(len(word) - 2, -1, -1):
        rest = _numbered(word[t + 1], rest)
        numbers.append(_numbered(now[t], rest))
    return _one_after_another(numbers[::-1])


def _numbered(*keys: Tensor) -> Tensor:
    """A number from 0 for each distinct combination of whole numbers, in the shape of the keys."""
    flat = torch.stack([key.flatten() for key in keys])
    return torch.unique(flat, dim=1, return_inverse=True)[1].view_as(keys[0])


def _one_after_another(numbers: list[Tensor]) -> tuple[Tensor, list[int]]:
    """Numbers of several blocks, each from 0, as numbers of all of them; and where each block begins and all end."""
    opens = [0]
    for block in numbers:
        opens.append(opens[-1] + int(block.max()) + 1)
    return torch.stack([block + first for block, first in zip(numbers, opens, strict=False)]), opens


def _aligned(names: Tensor, block: Tensor, opens: Tensor) -> tuple[Tensor, Tensor]:
    """Numbers without gaps for the names [S, M] that occur, in their order; and how many each block of names has.

    Blocks are as large in every run as in the run that needs most, so that all runs have theirs at the same numbers.
    """
    met = torch.zeros(len(names), int(opens[-1]) + 1, dtype=torch.bool).scatter_(1, names + 1, True)
    below = met.cumsum(1)
    begins = below[:, opens]
    counts = begins.diff(dim=1).amax(0)
    shift = counts.cumsum(0) - counts - begins[:, :-1]
    return below.gather(1, names) + shift[:, block], counts
