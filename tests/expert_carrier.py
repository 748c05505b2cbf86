"""A carrier built by hand that copies the expert of `two-cues` without jitter: its code is the step and what was shown.

Code (t, hover, cue) is number 8 t + 4 hover + cue (cue 0 until the display is lit at step 3), its vector the unit
vector of that number. Every rule of the residual is one hidden unit that is 1 where the rule applies and 0 elsewhere.
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

LIT = 3  # the first step with a lit display
HEIGHT, DISPLAY = SLICES["tool position"].stop - 1, SLICES["display"].start


def short_task() -> FrankaTask:
    return make_task("two-cues", gap=1, first_gap=1, jitter=0.0, no_noise=True)


def code_of(t: int, hover: int, cue: int) -> int:
    return 8 * t + 4 * hover + (cue if t >= LIT else 0)


def odd_scale() -> Scale:
    """Some scale that is not the identity."""
    draw = np.random.default_rng(5)
    sizes = ((WIDTH, 0.0), (WIDTH, 1.0), (4, 0.0), (4, 1.0))
    return Scale(*(torch.tensor(base + 0.3 * draw.uniform(0, 1, size), dtype=torch.float32) for size, base in sizes))


def expert_carrier(task: FrankaTask, scale: Scale, swapped: bool = False) -> tuple[dict[str, Tensor], Architecture]:
    """The weights of one run, without the axis of runs; `swapped` takes each slot for the other one."""
    codes = 8 * task.horizon
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
    for unit, (channel, sign) in enumerate([(HEIGHT, 1), *((DISPLAY + k, s) for k in (0, 1) for s in (-1, 1))]):
        first[channel, unit] = sign
    weights["observe.first.bias"] = scale.observation_mean.double() @ first
    weights["observe.first.weight"] = scale.observation_deviation.double()[:, None] * first
    weights |= _rules(task, codes, width, swapped)
    weights["act.out.weight"] = torch.zeros(width, 4)
    weights["act.out.weight"][:codes] = scale.shrink(torch.from_numpy(_actions(task).reshape(codes, 4)))
    return {name: value.float() for name, value in weights.items()}, Architecture(codes, codes, width)


def _rules(task: FrankaTask, codes: int, width: int, swapped: bool) -> dict[str, Tensor]:
    from_code, from_seen = torch.zeros(codes, width), torch.zeros(width, width)
    bias, out = torch.zeros(width), torch.zeros(width, codes)
    unit = 0
    for hover in (0, 1):  # no code yet: the height of the tool (0.35 or 0.41 m) tells the hover
        sign = 2 * hover - 1
        from_code[:, unit], from_seen[0, unit], bias[unit] = -100.0, 100.0 * sign, -38.0 * sign
        out[unit, code_of(0, hover, 0)] = 1.0
        unit += 1
    for t in range(task.horizon - 1):
        for hover in (0, 1):
            for cue in range(4 if t + 1 >= LIT else 1):
                before = code_of(t, hover, cue)
                from_code[before, unit] = 1.0
                after = cue
                if t + 1 == LIT:  # and both lit channels must agree
                    from_code[before, unit], bias[unit] = 10.0, -11.0
                    from_seen[[1 + cue % 2, 3 + cue // 2], unit] = 1.0
                    after = cue ^ 2 if swapped else cue
                out[unit, code_of(t + 1, hover, after)] += 1.0
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
    """The expert's actions, [T, hover, cue, 4]."""
    latents = {"theta": np.tile(np.arange(4), 2), "hover": np.repeat(np.arange(2), 4)}
    return expert_episodes(FrankaBatch(task, 8, threads=1), latents).actions.reshape(task.horizon, 2, 4, 4)
