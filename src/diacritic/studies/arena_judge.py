"""One cell of the arena, judged exactly, or on held-out episodes and in closed loop on the arm; with what it costs."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from diacritic.files.demos import Demos
from diacritic.files.ledger import Row
from diacritic.files.versions import code_version, versions
from diacritic.measure.decoding import LEVEL, Label, decode
from diacritic.measure.evaluate import Evaluation, evaluation_of
from diacritic.measure.flags import class_error
from diacritic.measure.gates import task_gate
from diacritic.measure.longer import longer
from diacritic.measure.plugin import joint
from diacritic.measure.recorded import Classes, score_cohort
from diacritic.memory.act import act
from diacritic.memory.kinds import memory_of
from diacritic.rollout.closed_loop import play
from diacritic.rollout.policies import Policies
from diacritic.studies.arena import LENGTHS
from diacritic.studies.cell import Cell
from diacritic.studies.recorded import reported
from diacritic.studies.recordings import demonstrations, recording
from diacritic.studies.symbolic import finished, plan_of, rows_of, start
from diacritic.tasks.recorded import decision_class, ended
from diacritic.tasks.registry import task_of
from diacritic.training.cohort import Cohort, initial_weights
from diacritic.training.demonstrations import Prepared, fitted, prepare
from diacritic.training.learner import learner
from diacritic.training.objectives.imitation import Imitation
from diacritic.training.reference import whole_episodes

SHUFFLES, TIMED = 99, 200
REVISED = "plain+revision"
"""The learner that gives an untrained carrier the codes that a recording asks for, in place of certified ones."""


@dataclass(frozen=True)
class Trained:
    """What a trained cohort leaves for its judge, in any process."""

    parameters: Mapping[str, NDArray[Any]]
    diverged: tuple[bool, ...]
    updates: int
    seconds: float
    """Of the whole cohort."""
    first: tuple[int | None, ...]
    """Of each run the updates until every action was right for the first time."""
    device: str
    looks: Mapping[int, Mapping[str, NDArray[Any]]] = field(default_factory=dict)
    """On the arm the parameters on the way, by updates: they are judged there as the last ones are."""


def cohort_of(cell: Cell, demos: Path, device: str = "cpu", parameters: Mapping[str, Tensor] | None = None) -> Cohort:
    """A cell's cohort at its start, or with trained parameters."""
    given = None if parameters is None else dict(parameters)
    if not cell.task.recorded:
        cohort = start(cell, device)
        return cohort if given is None else Cohort(cohort.plan, cohort.given, device, given)
    plan = plan_of(cell)
    task, prepared = prepared_of(cell, demos)
    chosen = learner(REVISED) if plan.learner.certified else plan.learner
    plan = replace(plan, learner=fitted(chosen, len(task.decisions)), batch=plan.preset.batch)
    ours = memory_of(plan.carrier).fast(plan.carrier)
    low = plan.preset.precision if ours else torch.float32  # fp32 stands for TF32
    return Cohort(replace(plan, low=low if device == "cuda" else None), prepared.data, device, given)


def prepared_of(cell: Cell, demos: Path) -> tuple[Any, Prepared]:
    """The task of a recorded cell, and its recording in two parts."""
    made = recording(cell, demos)
    task = task_of(made)
    return task, prepare(*ended(made).split(demonstrations(cell)), task)


def judge(cell: Cell, trained: Trained | None, demos: Path) -> list[Row]:
    """The rows of a cell; without a trained cohort it is trained here: `certified` has no updates on symbolic tasks."""
    begun = time.perf_counter()
    given = None if trained is None else {name: torch.from_numpy(value) for name, value in trained.parameters.items()}
    cohort = cohort_of(cell, demos, parameters=given)
    if trained is None:
        took = time.perf_counter() - begun
        trained = Trained({}, (False,) * cell.seeds, cell.steps, took, (None,) * cell.seeds, "cpu")
    cohort.optimiser.diverged |= torch.tensor(trained.diverged)
    rows = _recorded_rows(cell, cohort, demos, trained) if cell.task.recorded else _symbolic_rows(cell, cohort)
    count, latency = parameter_count(cohort), one_step(cohort)
    share = trained.seconds / cell.seeds
    for row, noted in zip(rows, trained.first, strict=True):
        first = row.get("first_sufficient_step", noted)
        row |= {
            "seconds": round(share, 3),
            "device": trained.device,
            "updates": trained.updates,
            "first_sufficient_step": first,
            "first_sufficient_seconds": None if first is None else round(share * first / max(1, trained.updates), 4),
            "parameters": count,
            "latency_us": latency,
        }
    return rows


def _small(row: Row) -> Row:
    """A row without its machine and what it tells of every step."""
    return {key: value for key, value in row.items() if key != "machine" and not key.endswith("profile")}


def _symbolic_rows(cell: Cell, cohort: Cohort) -> list[Row]:
    cohort = finished(cohort)
    rows = [_small(row) for row in rows_of(cell, cohort, 0.0)]
    success = longer(cohort, (cohort.data.horizon, *LENGTHS))
    data = cohort.given
    classes = Classes.of(data.observation_index.numpy(), data.target.argmax(-1).numpy())
    decodings = decoded(cohort, memory_states(cohort), classes)
    for k, row in enumerate(rows):
        by_length = {str(length): values[k] for length, values in success.items()}
        row |= {"lengths": by_length, "longest": _longest(row, by_length, cohort.data.horizon), "decoded": decodings[k]}
    return rows


def _longest(row: Row, by_length: Mapping[str, float | None], trained: int) -> int | None:
    """The longest episodes that a run still solves, all shorter ones solved as well."""
    longest = trained if row["sufficient"] else None
    for length, success in by_length.items():
        if longest is None or success is None or success < 1:
            break
        longest = int(length)
    return longest


@dataclass(frozen=True)
class HeldOut:
    """The episodes of a recording that a cell does not learn from."""

    task: Any
    prepared: Prepared
    episodes: Demos
    classes: Classes

    @staticmethod
    def of(cell: Cell, demos: Path) -> "HeldOut":
        made, (task, prepared) = recording(cell, demos), prepared_of(cell, demos)
        later = slice(demonstrations(cell), None)
        return HeldOut(task, prepared, made.take(later), Classes.of(made.symbols, made.choices).take(later))

    def watching(self, cohort: Cohort) -> Cohort:
        """The cohort while the expert acts there."""
        return Cohort(
            replace(cohort.plan, batch=None, low=None), self.prepared.held_out, "cpu", dict(cohort.parameters)
        )

    def judged(self, watching: Cohort) -> tuple[list[Evaluation], list[float]]:
        """Of each run its evaluation, codes by the task's gate and other memories by their decisions, and the least
        share of episodes in which a decision is right."""
        with torch.no_grad():
            trace = watching.trace()
            actions = trace.steps(trace.read("act") if trace.actions is None else trace.actions).numpy()
        expert, runs = self.prepared.held_out.target.numpy(), range(len(watching.plan.runs))
        errors = {
            name: [class_error(run[t], expert[t], decision_class(self.episodes, name, t)) for run in actions]
            for name, t in self.task.decisions.items()
        }
        finite = memory_of(watching.plan.carrier).finite(watching.plan.carrier)
        scores = score_cohort(trace.step_code.numpy(), self.classes)
        windows, gate = reported(self.task, list(self.classes.required)), task_gate(self.task)
        by_run = [None if finite else {name: error[k] for name, error in errors.items()} for k in runs]
        evaluations = [evaluation_of(scores, k, gate, windows, wrong) for k, wrong in enumerate(by_run)]
        return evaluations, [min((1 - error[k] for error in errors.values()), default=1.0) for k in runs]

    def first(self, cohort: Cohort, looks: Mapping[int, Mapping[str, NDArray[Any]]]) -> list[int | None]:
        """Of each run the updates at the first look that finds it sufficient."""
        first: list[int | None] = [None] * len(cohort.plan.runs)
        for step, parameters in looks.items():
            given = {name: torch.from_numpy(value) for name, value in parameters.items()}
            evaluations, _ = self.judged(self.watching(Cohort(cohort.plan, cohort.given, "cpu", given)))
            first = [
                step if before is None and one.sufficient else before
                for before, one in zip(first, evaluations, strict=True)
            ]
        return first


def _recorded_rows(cell: Cell, cohort: Cohort, demos: Path, trained: Trained) -> list[Row]:
    """On the held-out episodes while the expert acts, then in closed loop."""
    held = HeldOut.of(cell, demos)
    watching = held.watching(cohort)
    judged, right = held.judged(watching)
    decodings = decoded(watching, memory_states(watching), held.classes)
    diverged, success = cohort.optimiser.diverged.tolist(), _played(held.task, cohort, held.prepared)
    rows = []
    for k, (seed, item, first) in enumerate(
        zip(cell.run_seeds, judged, held.first(cohort, trained.looks), strict=True)
    ):
        row = _small(item.row())
        last = trained.updates if trained.looks and item.sufficient else None
        rows.append(
            cell.identity(seed)
            | row
            | {
                "diverged": diverged[k],
                "sufficient": item.sufficient and not diverged[k],
                "first_sufficient_step": last if first is None else first,
                "success": success[k],
                "decisions_right": right[k],
                "lengths": {},
                "longest": held.episodes.steps if item.sufficient else None,
                "decoded": decodings[k],
                "versions": versions(torch=torch.__version__, numpy=np.__version__),
                "code_version": code_version(),
                "demos_sha256": recording(cell, demos).digest,
            }
        )
    return rows


def _played(task: Any, cohort: Cohort, prepared: Prepared) -> list[float] | list[None]:
    """The success of each run in closed loop; none without the simulator, which training does not need."""
    player = Policies(cohort.parameters, cohort.plan.carrier, prepared.scale)
    try:
        return play(task, player, threads=1).success.mean(1).tolist()
    except ModuleNotFoundError:
        return [None] * player.runs


def parameter_count(cohort: Cohort) -> int:
    """Numbers that a policy acts with, of one run."""
    carrier, shape = cohort.plan.carrier, cohort.given.shape
    acting = {**memory_of(carrier).weights(shape, carrier), **Imitation().weights(shape, carrier)}
    every = initial_weights(cohort.plan, cohort.given)
    return sum(int(np.prod(weight.shape)) for name, weight in acting.items() if name in every)


@torch.no_grad()
def one_step(cohort: Cohort) -> float | None:
    """Median microseconds of one step and its action, one run and one episode, on one CPU thread."""
    carrier, memory = cohort.plan.carrier, memory_of(cohort.plan.carrier)
    parameters = {name: value[:1] for name, value in cohort.parameters.items()}
    episodes = whole_episodes(cohort.data)
    one = replace(episodes, observation=episodes.observation[:, :1], previous=episodes.previous[:, :1], symbol=None)
    taken, state, before = [], memory.start(parameters, carrier, 1), torch.get_num_threads()
    torch.set_num_threads(1)
    for k in range(min(TIMED, cohort.data.horizon if memory.state == "history" else TIMED)):
        begun = time.perf_counter()
        state, record = memory.step(parameters, carrier, state, one.at(k % cohort.data.horizon))
        act(parameters, carrier, record)
        taken.append(time.perf_counter() - begun)
    torch.set_num_threads(before)
    return round(1e6 * median(taken), 1)


@torch.no_grad()
def memory_states(cohort: Cohort) -> NDArray[np.float64] | None:
    """What continuous memories carry out of every step, [S, T, N, ·]; none where one code is all."""
    carrier, memory = cohort.plan.carrier, memory_of(cohort.plan.carrier)
    if memory.finite(carrier):
        return None
    episodes = whole_episodes(cohort.data)
    if memory.state != "vector":
        [record] = memory.unroll(cohort.parameters, carrier, episodes)
        return record.proposal.unflatten(1, episodes.observation.shape[:2]).double().numpy()
    state, states = memory.start(cohort.parameters, carrier, cohort.data.episodes), []
    for t in range(cohort.data.horizon):
        state, _ = memory.step(cohort.parameters, carrier, state, episodes.at(t))
        states.append(state)
    return torch.stack(states, 1).double().numpy()


def decoded(cohort: Cohort, states: NDArray[np.float64] | None, classes: Classes) -> list[dict[str, Any] | None]:
    """Of each run, what probes that never saw a history read of Γ: where most is required, and after that expired.

    None for codes, whose rate is exact, and where some class has a single history.
    """
    runs = len(cohort.plan.runs)
    required = np.array(classes.required)
    full = int(np.flatnonzero(required > required.max() - 1e-6)[-1])
    lower = np.flatnonzero(required[full + 1 :] < required.max() - 1e-6)
    if states is None or required.max() < 1e-6:
        return [None] * runs
    asked = {"required": (full, True)} | ({"expired": (full + 1 + int(lower[-1]), False)} if len(lower) else {})
    per_run: list[dict[str, Any]] = [{} for _ in range(runs)]
    for name, (t, needed) in asked.items():
        history = torch.cat([cohort.given.observation_index[: t + 1], cohort.given.previous_index[: t + 1]]).numpy()
        once = np.sort(np.unique(history, axis=1, return_index=True)[1])  # equal histories count once
        values, seen = joint(classes.symbols[full], classes.memory[full])[once], classes.symbols[t][once]
        memory = np.zeros_like(seen) if needed else classes.memory[t][once]
        label = Label("Γ", name, t, needed, values, seen, memory)
        if len(once) < 8 or len(np.unique(values)) < 2 or label.obstacle() is not None:
            continue
        for k in range(runs):
            item = decode(label, states[k, t][once], SHUFFLES)
            per_run[k][name] = {
                "step": t + 1,
                "histories": item.rows,
                "accuracy": item.accuracy,
                "shuffled": item.shuffled,
                "p": item.p,
                "hidden_bits": item.hidden,
                "bits": _fano(item.hidden, 1 - item.accuracy, len(np.unique(values))) if item.p <= LEVEL else 0.0,
            }
    return [one or None for one in per_run]


def _fano(hidden: float, error: float, classes: int) -> float:
    """Bits about a hidden class that a probe with such an error proves, by Fano's inequality."""
    inside = [p for p in (error, 1 - error) if p > 0]
    return max(0.0, hidden + sum(p * np.log2(p) for p in inside) - error * np.log2(max(1, classes - 1)))
