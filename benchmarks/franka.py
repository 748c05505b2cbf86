"""How fast the Franka tasks are: recording, closed loop with a carrier, and physics against bare MuJoCo.

Run with ``make bench``. Every claim prints its target beside what was measured in this run.
"""

import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

# a neighbour in this folder has the name of a package, so the folder must not be searched
sys.path[:] = [p for p in sys.path if Path(p) != Path(__file__).parent]
os.environ.setdefault("OMP_NUM_THREADS", "1")  # the threads belong to the physics

import numpy as np  # noqa: E402
from mujoco import rollout  # noqa: E402

from diacritic.memory.shape import Architecture  # noqa: E402
from diacritic.rollout.closed_loop import play  # noqa: E402
from diacritic.rollout.policies import Policies  # noqa: E402
from diacritic.tasks.franka.batch import FrankaBatch  # noqa: E402
from diacritic.tasks.franka.control import Arm  # noqa: E402
from diacritic.tasks.franka.mj import mj  # noqa: E402
from diacritic.tasks.franka.tasks import make_task  # noqa: E402
from diacritic.tasks.protocol import play_expert  # noqa: E402
from diacritic.training.cohort import Plan, Run, start  # noqa: E402
from diacritic.training.learner import learner  # noqa: E402
from diacritic.training.preset import preset  # noqa: E402
from diacritic.training.recorded import from_recording  # noqa: E402

THREADS = os.cpu_count() or 1
TASK = make_task("two-cues", gap=20)


@contextmanager
def stopwatch() -> Iterator[list[float]]:
    """Seconds of every call into the physics, of all arms."""
    seconds: list[float] = []
    run = Arm.run

    def timed_run(self: Arm, control: np.ndarray) -> None:
        seconds.append(timed(lambda: run(self, control)))

    Arm.run = timed_run
    try:
        yield seconds
    finally:
        Arm.run = run


def recording() -> tuple[float, float]:
    """Seconds for 64 recorded episodes of two-cues at gap 20, and the share that is physics."""
    core = FrankaBatch(TASK, 64, threads=THREADS)
    with stopwatch() as physics:
        seconds = timed(lambda: play_expert(TASK, core, None))
    return seconds, sum(physics) / seconds


def with_a_carrier() -> tuple[float, float]:
    """Seconds for 128 episodes under a carrier as training starts it (K = 16), and the share that is physics."""
    demos = play_expert(TASK, FrankaBatch(TASK, 16, threads=THREADS), None)
    data, scale = from_recording(demos.observations, demos.actions)
    plan = Plan(learner("plain"), preset("carousel"), (Run(0),), 1, Architecture(codes=16))
    player = Policies(start(plan, data), plan.carrier, scale)
    with stopwatch() as physics:
        seconds = timed(lambda: play(TASK, player, 128, threads=THREADS))
    return seconds, sum(physics) / seconds


def against_bare_physics(decisions: int = 20, envs: int = 64) -> tuple[float, float]:
    """Physics steps per second of the whole environment, and of `mujoco.rollout` on the same scene and set-points."""
    core = FrankaBatch(TASK, envs, threads=THREADS)
    core.reset()
    model, full = core.arm.model, int(mj.mjtState.mjSTATE_FULLPHYSICS)
    data = mj.MjData(model)
    initial = np.empty((envs, mj.mj_stateSize(model, full)))
    for k in range(envs):
        mj.mj_getState(model, core.arm.batch.get_data(k), initial[k], full)
    controls: list[np.ndarray] = []
    run = core.arm.run
    core.arm.run = lambda control: (controls.append(control), run(control))[1]

    def ours() -> None:
        core.reset()
        for _ in range(decisions):
            core.step(core.expert())

    ours()
    control, core.arm.run = np.concatenate(controls, axis=1), run
    own, bare = [], []
    with rollout.Rollout(nthread=THREADS) as pool:
        datas = [mj.MjData(model) for _ in range(THREADS)] if THREADS > 1 else [data]
        for _ in range(5):
            own.append(timed(ours))
            bare.append(timed(lambda: pool.rollout(model, datas, initial, control)))
    steps = envs * control.shape[1]
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
    seconds, share = with_a_carrier()
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
