"""Which episodes an update draws: those that weigh nothing need not be computed.

A multinomial draw leaves many episodes out, other ones in every run. Each run then sees a fixed number of slots, for a
program that is recorded once: its drawn episodes first, and after them some that weigh nothing.
"""

from collections.abc import Iterable

import numpy as np
import torch
import triton
import triton.language as tl
from torch import Tensor

from diacritic.memory.kernels.launch import launch, padded
from diacritic.training.objectives.base import Term
from diacritic.training.objectives.bfs import FutureSufficiency
from diacritic.training.objectives.continuations import EveryContinuation
from diacritic.training.objectives.decisions import PendingDecisions
from diacritic.training.objectives.future import FutureBehaviour
from diacritic.training.objectives.identification import Identification, JoinHead, TeacherState
from diacritic.training.objectives.imitation import Imitation
from diacritic.training.objectives.inverse import Inverse
from diacritic.training.objectives.later_actions import AllLaterActions
from diacritic.training.objectives.open_loop import OpenLoop
from diacritic.training.objectives.rate import Rate
from diacritic.training.objectives.readout import Controlled
from diacritic.training.objectives.vq import Quantisation

RARE = 1e-12
"""The chance that one update draws more distinct episodes than there are slots."""
STEP = 16
"""Places come in multiples of this."""
TERMS = (
    Imitation,
    Rate,
    Quantisation,
    FutureBehaviour,
    PendingDecisions,
    Identification,
    JoinHead,
    TeacherState,
    Inverse,
    OpenLoop,
    EveryContinuation,
    AllLaterActions,
    Controlled,
    FutureSufficiency,
)
"""Terms that ask the trace which episodes a run sees."""


def slots(batch: int | None, episodes: int, terms: Iterable[Term]) -> int | None:
    """The least multiple of `STEP` that `batch` draws exceed with a chance below `RARE`; none: all are computed.

    Equally likely episodes are the worst case: any other weights draw fewer distinct ones.
    """
    if batch is None or not all(isinstance(term, TERMS) for term in terms):
        return None
    chance = np.zeros(episodes + 1)  # of every number of distinct episodes among the draws so far
    chance[0] = 1.0
    old = np.arange(episodes + 1) / episodes
    for _ in range(batch):
        chance = chance * old + np.concatenate([[0.0], (chance * (1 - old))[:-1]])
    beyond = np.concatenate([np.cumsum(chance[::-1])[::-1][1:], [0.0]])
    room = STEP * -(-int(np.argmax(beyond < RARE)) // STEP)
    return room if room < episodes else None


@triton.jit
def _choose(weight, episodes, share, count, room, ROWS: tl.constexpr, COUNT: tl.constexpr):
    run = tl.program_id(1).to(tl.int64)
    episode = tl.arange(0, COUNT)
    here = tl.load(weight + run * count + episode, mask=episode < count, other=0.0)
    drawn = (here > 0).to(tl.int32)
    before = tl.cumsum(drawn, 0) - drawn
    total = tl.sum(drawn, 0)
    index = tl.where(drawn > 0, before, total + episode - before)
    kept = (episode < count) & (index < room)
    tl.store(episodes + run * room + index, episode.to(tl.int64), mask=kept)
    # More episodes than slots must not pass unseen: such a run has no loss, and is frozen as diverged.
    tl.store(share + run * room + index, tl.where(total > room, float("nan"), here), mask=kept)


def choose(weight: Tensor, room: int) -> tuple[Tensor, Tensor]:
    """The first `room` episodes of every run, those with a weight [S, N] before the others, and their weights.

    In a run that draws more of them every weight is NaN.
    """
    S, N = weight.shape
    episodes = torch.empty(S, room, dtype=torch.int64, device=weight.device)
    share = weight.new_empty(S, room)
    launch("choose", _choose, (1, S), weight.contiguous(), episodes, share, N, room, COUNT=padded(N))
    return episodes, share
