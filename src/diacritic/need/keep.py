"""Which past frames suffice for every decision, and the settings that give a policy as much."""

from collections.abc import Sequence
from dataclasses import dataclass

from diacritic.need.decisions import Decision


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
    """Greedily the frame that shows most cues, the latest of equals."""
    wanted = [
        shown
        for decision in decisions
        for cue in decision.cues
        if (shown := set(cue.shown(decision.steps[0])) or _parts(cue.sights, decision.steps[0]))
        and not cue.sights[decision.steps[0]].shows_all
    ]
    chosen: list[int] = []
    todo = list(wanted)
    while todo:
        best = max(set().union(*todo), key=lambda t: (sum(t in shown for shown in todo), t))
        chosen.append(best)
        todo = [shown for shown in todo if best not in shown]
    return Keep(tuple(sorted(chosen)), stack(decisions), states)


def stack(decisions: Sequence[Decision]) -> int:
    """Contiguous frames, with the present one, that reach back to the last sight of every cue."""
    longest = 1
    for decision in decisions:
        for cue in decision.cues:
            for s in decision.steps:
                if cue.sights[s].shows_all:
                    continue
                shown = cue.shown(s) or sorted(_parts(cue.sights, s))
                if shown:
                    longest = max(longest, s - shown[-1] + 1)
    return longest


def _parts(sights: Sequence, s: int) -> set[int]:
    """Frames that separate some classes."""
    return {t for t in range(s) if sights[t].blocks.max() > 0}
