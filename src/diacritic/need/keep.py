"""Which past frames suffice for every decision, and the settings that give a policy as much."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from diacritic.need.decisions import Cue, Decision


@dataclass(frozen=True)
class Keep:
    """The smallest set of past frames found that shows every cue before it is used, and the contiguous stack."""

    frames: tuple[int, ...]
    stack: int  # frames with the present one; 1 where no past is needed
    states: int  # of a recurrent policy, at least

    def settings(self) -> dict[str, str]:
        """What to paste, by the library that reads it."""
        at = ", ".join(str(t + 1) for t in self.frames)
        return {
            "LeRobot, diffusion_policy": f"n_obs_steps={self.stack}",
            "robomimic": f"frame_stack={self.stack}, seq_length={self.stack}",
            "keyframes": f"memory_frames={len(self.frames)} at step {at}" if self.frames else "memory_frames=0",
            "recurrent": f"at least {self.states} states",
        }


def frames_to_keep(decisions: Sequence[Decision], states: int) -> Keep:
    """Greedily the frame that tells most pairs of classes apart, the latest of equals."""
    todo = [frames for decision in decisions for cue in decision.cues for frames in _telling(cue, decision.steps[0])]
    chosen: list[int] = []
    while todo:
        best = max(set().union(*todo), key=lambda t: (sum(t in frames for frames in todo), t))
        chosen.append(best)
        todo = [frames for frames in todo if best not in frames]
    return Keep(tuple(sorted(chosen)), stack(decisions), states)


def stack(decisions: Sequence[Decision]) -> int:
    """Contiguous frames, with the present one, that reach back to the last sight of every cue."""
    reach = [
        s - max(frames) + 1
        for decision in decisions
        for cue in decision.cues
        for s in decision.steps
        for frames in _telling(cue, s)
    ]
    return max(reach, default=1)


def _telling(cue: Cue, s: int) -> list[set[int]]:
    """Of every two classes that the frame of step s does not distinguish, the earlier frames that do, if any."""
    names = [cue.names(t) for t in range(s)]
    pairs = [
        {t for t in range(s) if names[t][one] != names[t][two]}
        for one, two in combinations(range(int(cue.labels.max()) + 1), 2)
        if cue.sights[s].blocks[one] == cue.sights[s].blocks[two]
    ]
    return [frames for frames in pairs if frames]
