"""Any policy: does it decide correctly, what does its state tell, and is that state all of its memory?

A continuous state has no plug-in rate, and none is claimed. A hard code that such a policy shows beside its state is
a readout: it may hold less than the policy remembers, so its rate is refused, with the shortfall in numbers.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from certify import Model
from certify.errors import UserError
from certify.progress import track, working
from certify.sources.policy import machine_of
from certify.zoo import build
from diacritic.files.atomic import write_json
from diacritic.files.demos import Demos
from diacritic.measure.audit_task import AuditTask, SymbolicAuditTask
from diacritic.measure.decoding import SHUFFLES, Decoding, Label, adjusted, bounded, decode, state_table
from diacritic.measure.frame_use import frame_uses
from diacritic.measure.interventions import attribute
from diacritic.measure.plugin import conditional_entropy
from diacritic.measure.policy_adapters import PolicyAdapter, Stepping, adapt, leaves
from diacritic.measure.scripted_policy import (
    Boundary,
    PastScripts,
    ScriptedPolicy,
    StateScripts,
    boundary,
    decider,
    whole_episodes,
)
from diacritic.measure.verdict import NOTICEABLE, Control, Finding, intervention_controls
from diacritic.need.answer import Need, need

FORMAT = "diacritic-audit/1"
CARRIED, NEEDED = "bits carried", "needed frames"
QUESTIONS = {
    "sufficient": "Decides correctly?",
    "carries": "Holds in its state what is required?",
    "surplus": "Holds more in its state?",
    "sole": "Keeps all of its memory in the state?",
}
_PARTS = {"sufficiency": "Behaviour", "rate": "What the state and the code hold", "attribution": "Interventions"}
_MARKS = {True: "passed", False: "FAILED", None: "—"}


@dataclass(frozen=True)
class Audit:
    """What was found out about one policy, and what could not be."""

    policy: str
    interface: str
    task: str
    occupancy: str
    sufficient: Finding
    carries: Finding
    surplus: Finding
    sole: Finding
    controls: tuple[Control, ...]
    decodings: tuple[Decoding, ...]
    not_done: tuple[str, ...]

    @property
    def refused(self) -> bool:
        """Whether a readout code holds demonstrably less than the policy remembers."""
        return any(control.name.startswith("readout code") and control.passed is False for control in self.controls)

    @property
    def verdict(self) -> str:
        """The audit in a sentence or two."""
        if self.sufficient.answer != "yes":
            short = [c for c in self.controls if c.name.startswith(CARRIED) and c.passed is False]
            missing = f" Of what is required, {short[0].text}." if short else " It carries what is required."
            examined = any(c.name.startswith(CARRIED) and c.passed is not None for c in self.controls)
            return "The policy does not do what the task asks." + missing * examined + self._frames_used
        said = {
            "yes": "The policy decides correctly, and the state that it exposes is all of its memory",
            "no": "The policy decides correctly, but the state that it exposes is not all of its memory",
            "not assessed": "The policy decides correctly; where it keeps its memory stays open",
        }[self.sole.answer]
        more = " Its readout code under-counts and is refused as a rate." if self.refused else ""
        return f"{said}. No rate is claimed.{more}{self._frames_used}"

    @property
    def _frames_used(self) -> str:
        used = [control.passed for control in self.controls if control.name.startswith(NEEDED)]
        if not used:
            return ""
        said = "It uses" if all(used) else "It uses some of" if any(used) else "It does not use"
        return f" {said} the frames that its data need."

    def lines(self) -> list[str]:
        """The report."""
        lines = [f"{self.policy} on {self.task}", f"by {self.interface}; {self.occupancy}"]
        answers = {question: getattr(self, name) for name, question in QUESTIONS.items()}
        width = max(map(len, QUESTIONS.values()))
        lines += [f"  {question:{width}}  {item.answer}: {item.because}" for question, item in answers.items()]
        for part, title in _PARTS.items():
            rows = [control for control in self.controls if control.part == part]
            lines += [title] if rows else []
            lines += [f"  {control.name}: {_MARKS[control.passed]}  {control.text}" for control in rows]
        lines += ["Could not be done", *(f"  {text}" for text in self.not_done)] if self.not_done else []
        return [*lines, f"Verdict: {self.verdict}"]

    def to_dict(self) -> dict[str, Any]:
        parts = {name: getattr(self, name) for name in ("policy", "interface", "task", "occupancy")}
        return {
            "format": FORMAT,
            **parts,
            **{name: asdict(getattr(self, name)) for name in QUESTIONS},
            "verdict": self.verdict,
            "controls": [asdict(control) for control in self.controls],
            "decodings": [item.to_dict() for item in self.decodings],
            "not_done": list(self.not_done),
        }

    def save(self, path: Path) -> Path:
        """By atomic rename."""
        write_json(path, self.to_dict())
        return path


def audit(
    policy: Any,
    task: Any,
    *,
    episodes: int = 16,
    shuffles: int = SHUFFLES,
    seed: int = 0,
    name: str = "",
    encode: Callable[[str], Any] | None = None,
) -> Audit:
    """Audit a policy on a task: a model, the name of one, a symbolic environment, or a recording.

    A recording without symbols is asked for its need first (or give the `Need`); then the frames that each decision
    needs are exchanged between episodes, and the audit says whether the policy uses them.
    `episodes` are played in closed loop on a recorded task (0: none); symbolic tasks are played exactly. `encode` makes
    what the policy reads of the name of an observation, an image say; without it, symbols are numbered by
    `model.observation_index` and shown one-hot.
    """
    adapter, answer = adapt(policy), _need_of(task)
    audit_task = _audit_task(task if answer is None else answer.labelled(), episodes, seed, encode)
    scripts = whole_episodes(audit_task.episodes)
    edge = boundary(adapter, audit_task, scripts)
    with working("auditing"):
        scripted = ScriptedPolicy(adapter, audit_task, afresh=edge.leaks)
        behaviour = audit_task.behave(scripted)
        decodings, not_done = _decodings(scripted, audit_task, shuffles, seed)
        controls = list(behaviour.controls)
        for item in decodings:  # the classes must be found; a nuisance passes no judgement
            passed, title = item.detected if item.required else None, f"{item.variable} in {item.window}"
            controls.append(Control("rate", title, passed, item.line(), item.to_dict()))
        controls += _carried(adapter, audit_task) if isinstance(audit_task, SymbolicAuditTask) else []
        controls += _readout(scripted, audit_task, behaviour.finding.answer == "yes")
        controls += _interventions(scripted, audit_task, edge)
        uses = [] if answer is None else frame_uses(scripted, audit_task, answer, seed)
        controls += [use.control(NEEDED) for use in uses]
    if not adapter.writable:
        said = "its state cannot be written" if adapter.readable else "its state cannot be read"
        not_done.append(f"{said}: nothing but whole pasts was moved between episodes; expose get_state and set_state")
    return Audit(
        name or type(policy).__name__,
        adapter.interface,
        audit_task.title,
        audit_task.occupancy,
        behaviour.finding,
        _carries(decodings, adapter),
        _surplus(decodings),
        _sole(controls, adapter),
        tuple(controls),
        tuple(decodings),
        tuple(not_done),
    )


def _carried(adapter: PolicyAdapter, task: SymbolicAuditTask) -> list[Control]:
    """How much of the requirement the policy has at each stretch, by its state where it has one, else by behaviour."""
    try:
        report = machine_of(_Named(adapter, task), task.model)
    except UserError as problem:  # a state that cannot be compared, or a policy that does not repeat itself
        return [Control("rate", CARRIED, None, f"not assessed: {problem}")]
    told = report.state or report.behaviour
    controls: list[Control] = []
    for window, steps in task.stretches.items():
        t = min(steps, key=lambda t: told.carried[t] - report.needed[t])
        bits, need = told.carried[t], report.needed[t]
        pair = next((pair for pair in told.missed_pairs if pair.t == t + 1), None)
        said = f"by its {told.by} it carries {bits:.2f} of {need:.2f} bits at step {t + 1}"
        said += f" and treats alike, at {pair.text()}" if pair else ""
        data = {"carried": bits, "required": need, "step": t + 1}
        controls.append(Control("rate", f"{CARRIED}, {window}", need - bits <= NOTICEABLE, said, data))
    return controls


class _Named:
    """An adapted policy that is shown names, for `machine_of`; it has a state where one can be read."""

    def __init__(self, adapter: PolicyAdapter, task: SymbolicAuditTask) -> None:
        self._adapter, self._task = adapter, task
        self.reset = adapter.reset

    def act(self, observation: str, previous: str | None) -> str:
        graph, index = self._task.model.graph, self._task.model.observation_index
        before = len(graph.actions) if previous is None else self._task.action_index[previous]
        seen = self._task.show(index[observation] * (len(graph.actions) + 1) + before)
        return graph.actions[self._task.understand(self._adapter.act(*seen))]

    def __getattr__(self, name: str) -> Any:
        if name != "state" or not self._adapter.readable:
            raise AttributeError(name)
        return tuple(tuple(np.round(leaf.astype(np.float64), 6).tolist()) for leaf in leaves(self._adapter.read()))


def _need_of(task: Any) -> Need | None:
    """What a recording without symbols needs, or what was found before; one that needs no memory is refused."""
    answer = need(task, plants=0) if isinstance(task, Demos) and not task.symbols.size else task
    if not isinstance(answer, Need):
        return None
    if not answer.remembered:
        said = f"the answer of `diacritic need` is {answer.kind!r}: no decision needs memory"
        raise UserError(answer.recording.task, f"{said}; audit on a recording that needs some")
    return answer


def _audit_task(task: Any, episodes: int, seed: int, encode: Callable[[str], Any] | None) -> AuditTask:
    if isinstance(task, Demos):
        from diacritic.measure.audit_task_recorded import RecordedAuditTask  # needs torch

        return RecordedAuditTask(task, played=episodes, seed=seed)
    model = build(task) if isinstance(task, str) else getattr(task, "model", task)
    if not isinstance(model, Model):
        wanted = "a certify model, the name of one, a symbolic environment, or a recording (Demos)"
        raise UserError("task", f"a {type(task).__name__} is none that can be audited on; give {wanted}")
    return SymbolicAuditTask(model, encode)


def _decodings(
    scripted: ScriptedPolicy, audit_task: AuditTask, shuffles: int, seed: int
) -> tuple[list[Decoding], list[str]]:
    """What goes into the middle step of every stretch: the classes, and what is beyond them.

    A state is read before the step, for a policy may well forget in acting what it acted on.
    """
    if not scripted.policy.readable:
        return [], ["its state cannot be read: nothing was decoded from it"]
    scripts, not_done = whole_episodes(audit_task.episodes), []
    asked: list[tuple[Label, Any]] = []
    for window, steps in audit_task.stretches.items():
        t = steps[len(steps) // 2]
        try:
            states = state_table([scripted.state(scripts[n][:t]) for n in audit_task.rows(t)])
        except UserError as problem:
            return [], [f"nothing was decoded: {problem}"]
        labels = list(audit_task.labels(window, t))
        if not labels:
            not_done.append(f"{window}: compatibility has no classes there, so there is no Γ to decode")
        for label in labels:
            obstacle = label.obstacle()
            if obstacle is None:
                asked.append((label, states))
            else:
                not_done.append(f"{label.variable} in {window}, step {t + 1}: {obstacle}")
    drafts = [decode(label, states, shuffles, seed) for label, states in track(asked, "decoding")]
    pairs = zip(adjusted(drafts), asked, strict=True)
    decodings = [bounded(item, label, states, seed) for item, (label, states) in pairs]
    few = [item for item in decodings if item.detected is None]
    not_done += [f"{item.variable} in {item.window}: {item.rows} histories are too few to miss it in" for item in few]
    return decodings, not_done


def _readout(scripted: ScriptedPolicy, audit_task: AuditTask, sufficient: bool) -> list[Control]:
    """The plug-in rate of a hard code that the policy shows, and why it is not a rate of its memory."""
    scripts = whole_episodes(audit_task.episodes)
    shown = [[scripted.code(script[: t + 1]) for script in scripts] for t in range(len(scripts[0]))]
    if any(code is None for row in shown for code in row) or len({code for row in shown for code in row}) < 2:
        return []
    codes, weights = np.array(shown), audit_task.episodes.weights
    rates = [conditional_entropy(c, o, weights) for c, o in zip(codes, audit_task.episodes.symbols, strict=True)]
    controls = []
    for window, steps in audit_task.stretches.items():
        needs = [bits for t in steps if (bits := audit_task.required[t]) is not None]
        if len(needs) < len(steps):
            continue
        rate, need = float(np.mean([rates[t] for t in steps])), float(np.mean(needs))
        short = sufficient and need - rate > NOTICEABLE
        said = f"{rate:.2f} bit, {need:.2f} required"
        if short:
            said += f" and the decisions are right: it under-counts by {need - rate:.2f} at least; refused as a rate"
        else:
            said += "; refused as a rate all the same, for it is not known to be all that persists"
        data = {"rate": rate, "required": need}
        controls.append(Control("rate", f"readout code, {window}", False if short else None, said, data))
    if isinstance(scripted.policy, Stepping) and hasattr(scripted.state(()), "code"):
        alone = ScriptedPolicy(Stepping(scripted.policy.policy, code_alone=True), audit_task)
        attributed = _attributed(alone, audit_task, StateScripts())
        controls += [replace(control, part="rate") for control in attributed]
    return controls


def _attributed(scripted: ScriptedPolicy, audit_task: AuditTask, form: StateScripts | PastScripts) -> list[Control]:
    decide = decider(scripted, audit_task.decide)
    attribution = attribute(
        form, audit_task.episodes, audit_task.decisions, decide, most=audit_task.most_pairs, least=audit_task.least
    )
    return intervention_controls(attribution, audit_task.occupancy)


def _interventions(scripted: ScriptedPolicy, audit_task: AuditTask, edge: Boundary) -> list[Control]:
    """Swap, shuffle, reset and freeze of the state, or of the whole past where no state can be written."""
    writable = scripted.policy.writable
    form, word = (StateScripts(), "state") if writable else (PastScripts(), "past")
    controls = [
        replace(control, name=control.name.replace("code", word), text=control.text.replace("code", word))
        for control in _attributed(scripted, audit_task, form)
        if writable or not control.name.startswith("history shuffle")  # the same past put back would prove nothing
    ]
    return [*controls, Control("attribution", "episode boundary", not edge.leaks, edge.text)]


def _carries(decodings: Sequence[Decoding], adapter: PolicyAdapter) -> Finding:
    classes = [item for item in decodings if item.required and item.detected is not None]
    if not classes:
        reason = "nothing is required, or no class could be decoded" if adapter.readable else "no state can be read"
        return Finding("not assessed", reason)
    missing = [item for item in classes if not item.detected]
    if missing:
        return Finding("no", f"not decoded: {_listed(missing)}")
    return Finding("yes", f"decoded: {_listed(classes)}")


def _surplus(decodings: Sequence[Decoding]) -> Finding:
    nuisances = [item for item in decodings if not item.required and item.detected is not None]
    told = [item for item in nuisances if item.detected]
    if told:
        return Finding("yes", f"decoded beyond Γ: {_listed(told)}")
    if not nuisances:
        return Finding("not assessed", "nothing beyond Γ could be decoded")
    return Finding("no", f"none of {len(nuisances)} nuisances is decoded; what the probes miss is not ruled out")


def _sole(controls: Sequence[Control], adapter: PolicyAdapter) -> Finding:
    ours = [control for control in controls if control.part == "attribution"]
    failed = [control for control in ours if control.passed is False]
    if not adapter.writable:
        return Finding("not assessed", "no state can be written, so none was moved between histories")
    if failed:
        return Finding("no", f"{failed[0].name}: {failed[0].text}")
    if not any(control.name.startswith("state swap") and control.passed for control in ours):
        return Finding("not assessed", "no state was swapped between two histories of one observation")
    return Finding("yes", "swapped states swap the decisions, another past changes nothing, a reset erases them")


def _listed(items: Sequence[Decoding]) -> str:
    return ", ".join(f"{item.variable} ({item.window})" for item in items)
