"""How fast the Franka tasks are: recording, closed loop with a carrier, and physics against bare MuJoCo.

Run with ``make bench``. Every claim prints its target beside what was measured in this run.
"""

import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

# a neighbour in this folder has the name of a package, so the folder must not be searched
sys.path[:] = [p for p in sys.path if Path(p) != Path(__file__).parent]
os.environ.setdefault("OMP_NUM_THREADS", "1")  # the threads belong to the physics

import numpy as np  # noqa: E402
import torch  # noqa: E402
from mujoco import rollout  # noqa: E402
from torch import nn  # noqa: E402

from diacritic.tasks.franka.batch import FrankaBatch  # noqa: E402
from diacritic.tasks.franka.episodes import expert_episodes  # noqa: E402
from diacritic.tasks.franka.mj import mj  # noqa: E402
from diacritic.tasks.franka.tasks import make_task  # noqa: E402

THREADS = os.cpu_count() or 1
CODES, CODE_WIDTH, WIDTH = 16, 32, 128


class StandInCarrier(nn.Module):
    """The shape of a carrier: residual proposal, nearest code, action head; untrained."""

    def __init__(self) -> None:
        super().__init__()
        self.see = nn.Sequential(nn.Linear(27, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU())
        self.did = nn.Sequential(nn.Linear(4, WIDTH), nn.ReLU())
        inputs = CODE_WIDTH + 2 * WIDTH
        self.propose = nn.Sequential(nn.Linear(inputs, WIDTH), nn.ReLU(), nn.Linear(WIDTH, CODE_WIDTH))
        self.act = nn.Sequential(nn.Linear(WIDTH + CODE_WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 4))
        self.codebook = nn.Parameter(torch.randn(CODES, CODE_WIDTH))

    def forward(
        self, state: torch.Tensor, seen: torch.Tensor, previous: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        features = self.see(seen)
        proposal = state + self.propose(torch.cat([state, features, self.did(previous)], dim=1))
        code = self.codebook[torch.cdist(proposal, self.codebook).argmin(1)]
        return code, 0.02 * torch.tanh(self.act(torch.cat([features, code], dim=1)))


class Stopwatch:
    """Seconds inside the physics of one batch."""

    def __init__(self, core: FrankaBatch) -> None:
        self.seconds, self._run = 0.0, core.arm.simulate
        core.arm.simulate = self._timed

    def _timed(self, control: np.ndarray) -> None:
        start = time.perf_counter()
        self._run(control)
        self.seconds += time.perf_counter() - start


def recording() -> tuple[float, float]:
    """Seconds for 64 recorded episodes of two-cues at gap 20, and the share that is physics."""
    core = FrankaBatch(make_task("two-cues", gap=20), 64, threads=THREADS)
    watch = Stopwatch(core)
    seconds = timed(lambda: expert_episodes(core))
    return seconds, watch.seconds / seconds


def closed_loop() -> tuple[float, float]:
    """Seconds for 128 episodes under a carrier, and the share that is physics."""
    core = FrankaBatch(make_task("two-cues", gap=20), 128, threads=THREADS)
    carrier = StandInCarrier().eval()
    watch = Stopwatch(core)

    def play() -> None:
        seen = torch.from_numpy(core.reset())
        state, action = torch.zeros(core.envs, CODE_WIDTH), torch.zeros(core.envs, 4)
        while core.t < core.task.horizon:
            state, action = carrier(state, seen, action)
            seen = torch.from_numpy(core.step(action.numpy())[0])

    with torch.inference_mode():
        seconds = timed(play)
    return seconds, watch.seconds / seconds


def against_bare_physics(macro_steps: int = 10, envs: int = 64) -> tuple[float, float]:
    """Physics steps per second of the whole environment, and of `mujoco.rollout` on the same scene and set-points."""
    core = FrankaBatch(make_task("two-cues", gap=20), envs, threads=THREADS)
    core.reset()
    model, full = core.arm.model, int(mj.mjtState.mjSTATE_FULLPHYSICS)
    data = mj.MjData(model)
    initial = np.empty((envs, mj.mj_stateSize(model, full)))
    for k in range(envs):
        mj.mj_getState(model, core.arm.batch.get_data(k), initial[k], full)
    controls: list[np.ndarray] = []
    run = core.arm.simulate
    core.arm.simulate = lambda control: (controls.append(control), run(control))[1]

    def ours() -> None:
        core.reset()
        for _ in range(macro_steps):
            core.step(core.expert())

    ours()
    control, core.arm.simulate = np.concatenate(controls, axis=1), run
    own, bare = [], []
    with rollout.Rollout(nthread=THREADS) as pool:
        datas = [mj.MjData(model) for _ in range(THREADS)] if THREADS > 1 else [data]
        for _ in range(5):
            own.append(timed(ours))
            bare.append(timed(lambda: pool.rollout(model, datas, initial, control)))
    steps = envs * macro_steps * core.arm.substeps
    return steps / statistics.median(own), steps / statistics.median(bare)


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> int:
    recording()  # imports, compiled scene, warm caches
    missed = []
    seconds, share = recording()
    missed.append(line("64 recorded episodes, gap 20", seconds, "s", 8.0))
    missed.append(line("  share of physics", share, "", 0.8, at_least=True))
    seconds, share = closed_loop()
    missed.append(line("128 closed-loop episodes with a carrier", seconds, "s", 10.0))
    missed.append(line("  share of physics", share, "", 0.8, at_least=True))
    own, bare = against_bare_physics()
    print(f"physics steps per second: {own:,.0f}; bare mujoco.rollout of the same scene: {bare:,.0f}")
    missed.append(line("  ratio", own / bare, "", 0.7, at_least=True))
    return int(any(missed))


def line(what: str, value: float, unit: str, target: float, at_least: bool = False) -> bool:
    """Print one measurement beside its target; whether it was missed."""
    missed = value < target if at_least else value > target
    sign = "≥" if at_least else "≤"
    print(f"{what}: {value:.2f} {unit} (target {sign} {target:g}){'  MISSED' if missed else ''}".replace("  (", " ("))
    return missed


if __name__ == "__main__":
    sys.exit(main())
