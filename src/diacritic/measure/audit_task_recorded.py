"""A recorded task to audit third-party policies on: its episodes, and the simulator for the closed loop."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certify.errors import UserError
from certify.progress import track
from diacritic.demos.leaks import coarse, most_values
from diacritic.files.demos import Demos
from diacritic.measure.audit_task import Behaviour
from diacritic.measure.content import hidden_labels
from diacritic.measure.decoding import Label, labels_of
from diacritic.measure.flags import CORRECT, class_error
from diacritic.measure.interventions import TOLD, Episodes
from diacritic.measure.policy_adapters import Observation, PolicyAdapter, leaves
from diacritic.measure.recorded import Classes
from diacritic.measure.scores import POSITIVE
from diacritic.measure.scripted_policy import ScriptedPolicy, whole_episodes
from diacritic.measure.verdict import Control, Finding
from diacritic.measure.windows import task_windows
from diacritic.rollout.closed_loop import play
from diacritic.tasks.protocol import Floats, Ints, policy_view
from diacritic.tasks.recorded import RecordedTask, decision_class
from diacritic.tasks.registry import task_of


class RecordedAuditTask:
    """The last episodes of a recording; `played` more in closed loop."""

    least = TOLD
    most_pairs = 48

    def __init__(self, demos: Demos, most: int = 256, played: int = 16, seed: int = 0) -> None:
        self.task = task_of(demos)
        last = slice(max(0, demos.episodes - most), None)
        self.demos, self._played, self._seed = demos.take(last), played, seed
        self._classes = Classes.of(demos.symbols, demos.choices).take(last)
        self.title, count = demos.task, self.demos.episodes
        few = most_values(count)
        labels = hidden_labels(self.demos, self.task)
        self._hidden = {name: coarse(values, int(values.max()) + 1, few) for name, values in labels.items()}
        self.occupancy = f"{count} recorded episodes"
        self.decisions = list(self.task.decisions.values())
        self.required = self._classes.required
        windows = task_windows(self.task).memory
        self.stretches = {n: steps for n, steps in windows.items() if max(self.required[t] for t in steps) > POSITIVE}
        events = np.arange(demos.steps * count).reshape(demos.steps, count)
        weights = np.full(count, 1 / count)
        self.episodes = Episodes(events, events, self.demos.symbols, self.demos.choices, self._classes.action, weights)

    def show(self, event: int) -> tuple[Observation, Observation]:
        t, n = divmod(event, self.demos.episodes)
        frame = None if self.demos.frames is None else self.demos.frames[t, n]
        before = None if t == 0 else self.demos.actions[t - 1, n]
        view = policy_view(self.task, self.demos.observations[t, n], frame)  # a camera hides where things are
        return Observation(view, frame=frame), self.executed(before)

    def executed(self, action: Floats | None) -> Observation:
        if action is None:
            return Observation(np.zeros(self.demos.actions.shape[2], np.float32), absent=True)
        return Observation(np.asarray(action, np.float32))

    def understand(self, raw: Any) -> Floats:
        """A row of finite numbers."""
        wanted = self.demos.actions.shape[2]
        parts = list(leaves(raw))
        values = np.concatenate(parts).astype(np.float32) if parts else np.zeros(0, np.float32)
        if values.shape != (wanted,) or not np.isfinite(values).all():
            raise UserError("policy", f"its action is {values.tolist()[:8]}; expected {wanted} finite numbers")
        return values

    def decide(self, actions: Sequence[Any], step: int) -> Ints:
        """The symbolic action whose mean is nearest."""
        choices = self.demos.choices[step]
        means = np.stack([self.demos.actions[step][choices == kind].mean(0) for kind in np.unique(choices)])
        return np.square(np.stack(actions)[:, None] - means).sum(-1).argmin(1)

    def rows(self, step: int) -> Ints:
        return np.arange(self.demos.episodes)

    def labels(self, window: str, step: int) -> Iterator[Label]:
        """The hidden values of the recording, those of many values by their leading bits."""
        if step not in self._classes.loose:
            yield from labels_of(window, step, self.demos.symbols[step], self._classes.memory[step], self._hidden)

    def behave(self, scripted: ScriptedPolicy) -> Behaviour:
        """Classes chosen at the decisions while the expert acts, and success while the policy does."""
        scripts, errors = whole_episodes(self.episodes), {}
        for name, t in self.task.decisions.items():
            acts = np.stack([scripted.action(script[: t + 1]) for script in scripts])
            errors[name] = class_error(acts, self.demos.actions[t], decision_class(self.demos, name, t))
        right = all(error < CORRECT for error in errors.values())
        said = ", ".join(f"{name} {error:.3f}" for name, error in errors.items())
        controls = [Control("sufficiency", "expert's histories", right, f"share of wrong classes: {said}", errors)]
        if self._played and not isinstance(self.task, RecordedTask):
            success = self._closed_loop(scripted.policy)
            text = f"success {success:.2f} in {self._played} episodes"
            controls.append(Control("sufficiency", "closed loop", None, text, success))
        because = f"wrong classes at the decisions: {said}"
        return Behaviour(Finding("yes" if right else "no", because), tuple(controls))

    def _closed_loop(self, policy: PolicyAdapter) -> float:
        """One episode after the other: a third-party policy plays one at a time."""
        hidden = self.task.draw(self._played, self._seed)
        player, won = _Player(policy, self), []
        for k in track(range(self._played), "playing"):
            latents = {name: values[k : k + 1] for name, values in hidden.items()}
            won.append(play(self.task, player, 1, self._seed + k, threads=1, latents=latents).success[0, 0])
        return float(np.mean(won))


class _Player:
    """A third-party policy in the closed loop: one policy, one episode, no code."""

    runs = 1

    def __init__(self, policy: PolicyAdapter, audit_task: RecordedAuditTask) -> None:
        self.policy, self.audit_task = policy, audit_task
        self.pixels = audit_task.demos.frames is not None

    def begin(self, episodes: int) -> None:
        self.policy.reset()

    def step(
        self, seen: Floats, previous: Floats | None, symbols: Ints | None, frames: NDArray[np.uint8] | None
    ) -> tuple[Ints, Floats]:
        observation = Observation(seen[0, 0], frame=None if frames is None else frames[0, 0])
        raw = self.policy.act(observation, self.audit_task.executed(None if previous is None else previous[0, 0]))
        return np.zeros((1, 1), np.int64), self.audit_task.understand(raw)[None, None]
