"""Latency of a step on a GPU: 64 episodes at once, at the end of episodes of 33 to 1,024 steps, three carriers.

    PYTHONPATH=src:. python -m reproduction.latency [--out results/figures/cost.jsonl] [--device cpu] [--quick]

It needs torch, triton, numpy and safetensors alone. The median of 200 steps after 20, inputs on the device, each step
waited for. Recurrent carriers take one step from the state that the episode left. The Transformer of the paper encodes
its history again in every step; ours keeps keys and values, which is timed beside it. Every figure is entered into the
file as it comes; lines of other figures stay. `--quick` takes few steps of short episodes, on the CPU too.
"""

import argparse
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from reproduction.figure_lines import enter, line
from reproduction.reference import figure

if TYPE_CHECKING:
    from torch import Tensor

    from diacritic.memory.protocol import Record
    from diacritic.training.cohort import Cohort

BLOCK = "table.cost"
LEARNERS = {"transformer": "full-history", "gru": "gru-128", "diacritic": "plain"}
CACHED = "full-history with keys and values kept"
TIMED, WARM = figure(BLOCK, "timed_steps"), figure(BLOCK, "warmup_steps")
EPISODES, OBSERVATION, ACTION = 64, 27, 4
OUT = Path("results") / "figures" / "cost.jsonl"


def title(learner: str, horizon: int) -> str:
    """The name of a figure."""
    return f"{learner}, T={horizon}: milliseconds of a step of {EPISODES} episodes, one GPU"


def untrained(learner_name: str, horizon: int) -> "Cohort":
    """A cohort of one run of the preset `release`, on the arm's sizes."""
    import torch

    from diacritic.training.cohort import Cohort, Plan, Run
    from diacritic.training.data import from_arrays
    from diacritic.training.learner import learner
    from diacritic.training.preset import preset

    draw = torch.Generator().manual_seed(0)
    data = from_arrays(
        torch.randn(horizon, 2, OBSERVATION, generator=draw), torch.randn(horizon, 2, ACTION, generator=draw)
    )
    return Cohort(Plan(learner(learner_name), preset("release"), (Run(0, 0.0),), 1), data, "cpu")


def stepper(name: str, horizon: int, device: str, episodes: int = EPISODES) -> "Callable[[], Tensor]":
    """The last step of an episode, to be taken as often as one likes: from what is seen to actions."""
    import torch

    from diacritic.memory.act import act
    from diacritic.memory.kinds import memory_of
    from diacritic.memory.protocol import Inputs

    learner_name = LEARNERS["transformer"] if name == CACHED else name
    cohort = untrained(learner_name, horizon)
    carrier, memory = cohort.plan.carrier, memory_of(cohort.plan.carrier)
    parameters = {key: value.detach().to(device) for key, value in cohort.parameters.items()}
    draw = torch.Generator().manual_seed(1)
    seen, acted = (torch.randn(horizon, episodes, size, generator=draw).to(device) for size in (OBSERVATION, ACTION))
    whole = Inputs(seen, acted)
    if name == LEARNERS["transformer"]:

        def again() -> "Tensor":
            (record,) = memory.unroll(parameters, carrier, whole)
            return act(parameters, carrier, _last(record, episodes))

        return again
    state = memory.start(parameters, carrier, episodes)
    for t in range(horizon - 1):
        state, _ = memory.step(parameters, carrier, state, whole.at(t))
    now = whole.at(horizon - 1)
    return lambda: act(parameters, carrier, memory.step(parameters, carrier, state, now)[1])


def _last(record: "Record", episodes: int) -> "Record":
    """The last step of a record of all."""
    parts = {field.name: getattr(record, field.name) for field in fields(record)}
    return replace(record, **{key: part[:, -episodes:] for key, part in parts.items() if part is not None})


def milliseconds(name: str, horizon: int, device: str, timed: int = TIMED, warm: int = WARM) -> float:
    """Median time of the last step."""
    import torch

    taken = []
    with torch.inference_mode():
        step = stepper(name, horizon, device)
        for _ in range(warm + timed):
            begun = time.perf_counter()
            step()
            if device == "cuda":
                torch.cuda.synchronize()
            taken.append(time.perf_counter() - begun)
    return 1000 * median(taken[warm:])


def on_gpu(name: str, horizon: int) -> float | None:
    """The figure itself; none where there is no GPU."""
    import torch

    return milliseconds(name, horizon, "cuda") if torch.cuda.is_available() else None


def asked(quick: bool = False) -> Iterator[tuple[str, int]]:
    """Carriers and lengths, the three of the paper first."""
    for name in (*LEARNERS.values(), CACHED):
        yield from ((name, horizon) for horizon in ([4, 6] if quick else figure(BLOCK, "T")))


def main() -> None:
    import torch

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    if given.device == "cuda" and not torch.cuda.is_available():
        parser.error("--device: PyTorch sees no GPU here; --device cpu --quick tries it out")
    if given.device != "cuda" and given.out == OUT:
        parser.error("--out: these figures are of a GPU; give another file")
    word = torch.cuda.get_device_name() if given.device == "cuda" else given.device
    many = {"timed": 4, "warm": 2} if given.quick else {}
    for name, horizon in asked(given.quick):
        begun = time.perf_counter()
        took = milliseconds(name, horizon, given.device, **many)
        entry = line(title(name, horizon), {"low": took, "high": took}, time.perf_counter() - begun, word)
        enter(given.out, [entry])
        print(json.dumps(entry, ensure_ascii=False), flush=True)


if __name__ == "__main__":
    main()
