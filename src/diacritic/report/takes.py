"""Episodes for a film: poses, codes and what was shown, of the expert, or of a policy whose code may be changed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from certify import certify
from certify.errors import UserError
from diacritic.demos.binner import Binner
from diacritic.measure.interventions_closed_loop import OWN, SWAP, VARIANTS, Intervened, moment
from diacritic.report.design import configurations, designed
from diacritic.report.meanings import Look, Meanings, looks
from diacritic.report.requirement import state_of_node
from diacritic.rollout.closed_loop import Loop, play
from diacritic.rollout.policies import Floats, Ints, Player, Policies
from diacritic.tasks.protocol import Batch, Task

CALIBRATION = 64  # episodes that show what the codes of a policy stand for


class Take(NamedTuple):
    """One episode."""

    title: str
    poses: Floats  # [T + 1, ·]
    codes: Ints | None  # [T]
    shown: Ints  # [T]; −1 where nothing is displayed
    ending: str


@dataclass(frozen=True)
class Colours:
    """What the codes of a policy stand for at each step."""

    names: Sequence[str] = ()
    steps: Sequence[Mapping[int, Look]] = ()

    def look(self, t: int, code: int) -> Look | None:
        """None where the code was never seen at that step."""
        return self.steps[t].get(code) if self.steps else None

    @staticmethod
    def of(task: Task, player: Player, binner: Binner | None, seed: int) -> "Colours":
        """Matched to the required classes on some episodes of the policy's own; numbered as in the report."""
        answer, meanings = certify(designed(task)), Meanings()
        meanings.of_machine(answer, [state_of_node(answer, t) for t in range(task.horizon)])
        played = play(task, player, CALIBRATION, seed + 1, binner)
        seen, (acted, names) = task.symbolic_observations(played.latents)[0], task.symbolic_actions(played.latents)
        classes = meanings.of_episodes(seen, acted, names)
        return Colours(meanings.names, looks(played.codes[0], classes, seen))


class Spectator:
    """Nobody: the expert acts, and nothing is carried."""

    runs, pixels = 1, False

    def __init__(self, actions: int) -> None:
        self._actions = actions

    def begin(self, episodes: int) -> None:
        self._episodes = episodes

    def step(
        self, seen: Floats, previous: Floats | None, symbols: Ints | None, frames: NDArray[np.uint8] | None
    ) -> tuple[Ints, Floats]:
        return np.full((1, self._episodes), -1), np.zeros((1, self._episodes, self._actions), np.float32)


def one_take(
    task: Task, batch: Batch, player: Player | None, binner: Binner | None, latents: Mapping[str, Any] | None
) -> list[Take]:
    """One episode of the expert, or of a player with one policy."""
    hidden = None if latents is None else {name: np.array([value]) for name, value in latents.items()}
    takeover = task.horizon if player is None else 0
    title = "the expert" if player is None else "a policy"
    loop = Loop(task, batch, player or Spectator(len(task.action_names)), hidden, binner, takeover)
    return _takes(task, batch, loop, {0: title}, player is not None)


def swapped_takes(
    task: Task, policies: Policies, binner: Binner | None, latents: Mapping[str, Any] | None, seed: int
) -> tuple[Batch, list[Take], int]:
    """One episode twice, intact and with the code of another put in while waiting; and the step that shows it first."""
    name, decision = list(task.decisions.items())[-1]
    at = moment(task, decision)
    hidden = _pair(task, name, latents or {}, seed)
    player = Intervened(policies, at, seed)
    player.classes = task.choices(hidden)[name]
    batch = task.batch(2, seed, VARIANTS, threads=1)
    loop = Loop(task, batch, player, hidden, binner)
    own, changed = _takes(task, batch, loop, {2 * OWN: "memory intact", 2 * SWAP: "one code swapped"}, True)
    if batch.decided()[name][2 * SWAP] == player.classes[1]:
        changed = changed._replace(ending=f"the other {name}")
    return batch, [own, changed], at + 1


def _pair(task: Task, name: str, latents: Mapping[str, Any], seed: int) -> dict[str, Ints]:
    """Hidden values of two episodes that differ in one class alone."""
    every = configurations(task)
    draw = np.random.default_rng(seed)
    fixed = {key: latents.get(key, draw.integers(levels)) for key, levels in task.latents.items()}
    own = {key: np.array([value]) for key, value in fixed.items()}
    mine, theirs = task.choices(own), task.choices(every)
    alike = np.ones(len(next(iter(every.values()))), bool)
    for key in task.levels:
        alike &= (theirs[key] != mine[key]) if key == name else (theirs[key] == mine[key])
    if not alike.any():
        raise UserError("swap", f"no other episode differs in {name} alone; choose other hidden values")
    partner = int(np.flatnonzero(alike)[0])
    changed = task.convention.strata
    return {key: np.array([fixed[key], every[key][partner] if key in changed else fixed[key]]) for key in fixed}


def _takes(task: Task, batch: Batch, loop: Loop, rows: Mapping[int, str], coded: bool) -> list[Take]:
    chosen = list(rows)
    poses, codes, shown = [], [], []
    for played in loop:
        poses.append(batch.pose()[chosen])
        codes.append(played.codes.reshape(-1)[chosen])
        shown.append(task.displayed(played.t, batch.latents)[chosen])
    poses.append(batch.pose()[chosen])
    ending = ["success" if good else "failure" for good in batch.outcome()["success"][chosen]]
    every, seen = np.stack(poses, 1), np.stack(shown, 1)
    carried = np.stack(codes, 1)
    return [
        Take(title, every[k], carried[k] if coded else None, seen[k], ending[k])
        for k, title in enumerate(rows.values())
    ]
