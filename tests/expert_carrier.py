"""A carrier built by hand that copies the expert of `two-cues` without jitter: its code is the step and what was shown.

Code (t, cue) is number 4 t + cue, its vector the unit vector of that number. The first bit of the cue is shown at
step 4, the second at step 5; each is 0 until then. Of the expert's coin it always takes 0. Every rule of
the residual is one hidden unit that is 1 where the rule applies and 0 elsewhere.
"""

import numpy as np
import torch
from franka_episodes import expert_episodes
from torch import Tensor

from diacritic.memory.scale import Scale
from diacritic.memory.shape import Architecture
from diacritic.tasks.franka.batch import FrankaBatch
from diacritic.tasks.franka.layout import SLICES, WIDTH
from diacritic.tasks.franka.task import FrankaTask
from diacritic.tasks.franka.tasks import make_task

LIT = 4  # the first step with a lit display
SHOWN = SLICES["probe"].stop - 1  # the bit on the display


def short_task() -> FrankaTask:
    return make_task("two-cues", gap=1, first_gap=1, jitter=0.0, no_noise=True)


def code_of(t: int, cue: int) -> int:
    return 4 * t + cue % (1, 2, 4)[min(max(t - LIT + 1, 0), 2)]


def odd_scale() -> Scale:
    """Some scale that is not the identity."""
    draw = np.random.default_rng(5)
    sizes = ((WIDTH, 0.0), (WIDTH, 1.0), (4, 0.0), (4, 1.0))
    return Scale(*(torch.tensor(base + 0.3 * draw.uniform(0, 1, size), dtype=torch.float32) for size, base in sizes))


def expert_carrier(task: FrankaTask, scale: Scale, swapped: bool = False) -> tuple[dict[str, Tensor], Architecture]:
    """The weights of one run, without the axis of runs; `swapped` takes each slot for the other one."""
    codes = 4 * task.horizon
    width = codes + 8
    weights = {
        "observe.first.weight": torch.zeros(WIDTH, width, dtype=torch.float64),
        "observe.second.weight": torch.eye(width),
        "observe.second.bias": torch.zeros(width),
        "previous.weight": torch.zeros(4, width),
        "previous.bias": torch.zeros(width),
        "residual.action.weight": torch.zeros(width, width),
        "codebook": torch.eye(codes),
        "act.observation.weight": torch.zeros(width, width),
        "act.observation.bias": torch.zeros(width),
        "act.code.weight": torch.eye(codes, width),
        "act.out.bias": torch.zeros(4),
    }
    first = weights["observe.first.weight"]
    first[SHOWN, 0], first[SHOWN, 1] = -1, 1  # one unit for each value of the bit
    weights["observe.first.bias"] = scale.observation_mean.double() @ first + torch.eye(width)[0]
    weights["observe.first.weight"] = scale.observation_deviation.double()[:, None] * first
    weights |= _rules(task, codes, width, swapped)
    weights["act.out.weight"] = torch.zeros(width, 4)
    weights["act.out.weight"][:codes] = scale.shrink(torch.from_numpy(_actions(task).reshape(codes, 4)))
    return {name: value.float() for name, value in weights.items()}, Architecture(codes, codes, width)


def _rules(task: FrankaTask, codes: int, width: int, swapped: bool) -> dict[str, Tensor]:
    from_code, from_seen = torch.zeros(codes, width), torch.zeros(width, width)
    bias, out = torch.zeros(width), torch.zeros(width, codes)
    from_code[:, 0], bias[0], out[0, code_of(0, 0)] = -100.0, 1.0, 1.0  # no code yet
    unit = 1
    for t in range(1, task.horizon):
        for cue in {code_of(t, cue) % 4 for cue in range(4)}:
            before, after = code_of(t - 1, cue), cue
            from_code[before, unit] = 1.0
            if t in (LIT, LIT + 1):  # and the bit on the display must be that of the cue
                from_code[before, unit], bias[unit] = 10.0, -10.0
                from_seen[cue >> t - LIT & 1, unit] = 1.0
                after = cue ^ 2 if swapped and t > LIT else cue
            out[unit, code_of(t, after)] += 1.0
            out[unit, before] -= 1.0
            unit += 1
    return {
        "residual.code.weight": from_code,
        "residual.observation.weight": from_seen,
        "residual.observation.bias": bias,
        "residual.out.weight": out,
        "residual.out.bias": torch.zeros(codes),
    }


def _actions(task: FrankaTask) -> np.ndarray:
    """The expert's actions, [T, cue, 4]."""
    return expert_episodes(FrankaBatch(task, 4, threads=1), {"theta": np.arange(4), "hover": 0}).actions
