"""Attribution by intervention on recorded episodes: a stored carrier watches while the expert acts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from diacritic.files.demos import Demos
from diacritic.measure.interventions import TOLD, Episodes, attribute
from diacritic.measure.persistence import reset_leak
from diacritic.measure.verdict import Control, intervention_controls
from diacritic.memory.encoders import symbols_read
from diacritic.memory.kinds import memory_of
from diacritic.memory.protocol import Inputs
from diacritic.rollout.policies import RunPolicy
from diacritic.rollout.run_loading import StoredRun
from diacritic.tasks.protocol import Ints, policy_view

PAIRS = 512  # of histories that are intervened on
PIXEL_PAIRS = 64  # the same where every step of a history is an image


@torch.no_grad()
def recorded_interventions(run: StoredRun, demos: Demos, laws: Ints, decisions: Sequence[int]) -> list[Control]:
    """Interventions before each decision, and the episode boundary; `laws` G_t [T, N] are the expert's classes."""
    if memory_of(run.architecture).state != "carrier":
        return []
    policy, seen = RunPolicy(run.architecture, run.weights), _Shown.of(run, demos)
    acted = run.scale.shrink(torch.from_numpy(demos.actions))
    before = torch.cat([torch.zeros_like(acted[:1]), acted[:-1]])
    weights = np.full(demos.episodes, 1 / demos.episodes)
    episodes = Episodes(seen, before, demos.symbols, demos.choices, laws, weights)

    def decide(actions: Any, step: int) -> Ints:
        choices = demos.choices[step]
        kinds = np.unique(choices if demos.mask is None else choices[demos.mask[step]])
        means = torch.stack([acted[step][torch.from_numpy(choices == kind)].mean(0) for kind in kinds])
        return torch.cdist(actions, means).argmin(1).numpy()

    most = PAIRS if demos.frames is None else PIXEL_PAIRS
    attribution = attribute(policy, episodes, decisions, decide, most=most, least=TOLD)
    leak = reset_leak(policy, seen, before)
    boundary = Control("attribution", "episode boundary", not leak.detected, leak.line())
    return [*intervention_controls(attribution, "expert occupancy"), boundary]


@dataclass(frozen=True)
class _Shown(Inputs):
    """What a carrier reads of recorded episodes, each part [T, N, …] (or of one step, [N, …]); indexed together."""

    @staticmethod
    def of(run: StoredRun, demos: Demos) -> "_Shown":
        """Standardised observations, one-hot symbols where the carrier knows any, and frames where there are any."""
        looked = policy_view(run.task, demos.observations, demos.frames)
        count = symbols_read(run.weights) if run.architecture.side == "symbol" else 0
        symbols = torch.from_numpy(demos.symbols.astype(np.int64)).clamp(max=count)
        hot = torch.nn.functional.one_hot(symbols, count + 1)[..., :count].float() if count else None
        seen = run.scale.see(torch.from_numpy(looked))
        return _Shown(seen, seen, hot, None if demos.frames is None else torch.from_numpy(demos.frames))

    def __getitem__(self, chosen: Any) -> "_Shown":
        return replace(self, **{name: part[chosen] for name, part in vars(self).items() if part is not None})

    def __iter__(self) -> Iterator["_Shown"]:
        return (self[t] for t in range(len(self.observation)))

    @property
    def shape(self) -> torch.Size:
        return self.observation.shape
