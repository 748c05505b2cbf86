"""The verdict on one run, written like a medical report: three questions, every control, and one sentence.

Sufficiency comes first: before it is established a rate means nothing. Minimality comes second, and only for a code
that is all of the memory. Attribution comes third: whether the code, and nothing else, carries it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from certify.errors import UserError
from diacritic.files.atomic import write_json
from diacritic.measure.gates import Judgement
from diacritic.measure.interventions import Attribution

FORMAT = "diacritic-verdict/1"
FILE = "verdict.json"
NOTICEABLE = 0.1  # bits above the requirement that count as surplus

Reply = Literal["yes", "no", "not assessed"]
Part = Literal["sufficiency", "rate", "attribution"]
QUESTIONS: dict[str, str] = {
    "sufficient": "Sufficient?",
    "surplus": "Surplus?",
    "sole": "Carried by the code alone?",
}


@dataclass(frozen=True)
class Finding:
    """The answer to one question, and its reason."""

    answer: Reply
    because: str


@dataclass(frozen=True)
class Control:
    """One test; `passed` is None where it passes no judgement or could not be made."""

    part: Part
    name: str
    passed: bool | None
    text: str
    data: Any = None


@dataclass(frozen=True)
class Subject:
    """Which run this is."""

    run: str
    task: str
    learner: str
    seed: int
    occupancy: str  # under which its codes were measured


@dataclass(frozen=True)
class Profile:
    """Bits at every step t = 1…T, and the windows (steps from 0) over which they are averaged."""

    rate: Sequence[float | None]  # Ĥ(C_t|Ō_t)
    required: Sequence[float | None]  # R_t
    decision: Sequence[float]  # H(G_t|Ō_t)
    windows: Mapping[str, Sequence[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not len(self.rate) == len(self.required) == len(self.decision):
            sizes = len(self.rate), len(self.required), len(self.decision)
            raise UserError("profile", f"rate, requirement and decision have {sizes} steps; they must be alike")

    def excess(self) -> dict[str, float]:
        """Mean rate less mean requirement of each window; windows with an unproved step are left out."""
        excess = {}
        for name, steps in self.windows.items():
            pairs = [(self.rate[t], self.required[t]) for t in steps]
            differences = [rate - bits for rate, bits in pairs if rate is not None and bits is not None]
            if differences and len(differences) == len(pairs):
                excess[name] = math.fsum(differences) / len(differences)
        return excess


@dataclass(frozen=True)
class Verdict:
    """Everything that was found."""

    subject: Subject
    sufficient: Finding
    surplus: Finding
    sole: Finding
    controls: tuple[Control, ...]
    profile: Profile

    @property
    def impression(self) -> str:
        """The report in a sentence, and a second one where a control of the code's own measurement failed."""
        measured = [control for control in self.controls if control.part != "attribution"]
        failed = ", ".join(control.name for control in measured if control.passed is False)
        if failed and self.sufficient.answer == "yes":
            return f"{self._summary()} Look at what failed besides: {failed}."
        return self._summary()

    def _summary(self) -> str:
        if self.sufficient.answer != "yes":
            return "The code does not suffice for the task; its rate says nothing about the memory that the task needs."
        if self.sole.answer == "no":
            return "The behaviour suffices, but the code is not its only memory; the code's rate must not be quoted."
        if self.sole.answer != "yes":
            return "The code suffices; whether it is the only memory remains open, and so does the meaning of its rate."
        if self.surplus.answer == "no":
            return "The code suffices, it alone carries the memory, and it carries no more than is required."
        if self.surplus.answer == "yes":
            return "The code suffices and alone carries the memory, and it carries more than is required."
        return "The code suffices and alone carries the memory; the requirement is not proved, so surplus stays open."

    def to_dict(self) -> dict[str, Any]:
        answers = {name: asdict(getattr(self, name)) for name in QUESTIONS}
        profile = {name: list(getattr(self.profile, name)) for name in ("rate", "required", "decision")}
        windows = {name: list(steps) for name, steps in self.profile.windows.items()}
        return {
            "format": FORMAT,
            **asdict(self.subject),
            **answers,
            "impression": self.impression,
            "controls": [asdict(control) for control in self.controls],
            "steps": profile,
            "windows": windows,
            "excess": self.profile.excess(),
        }

    def save(self, folder: Path) -> Path:
        """`verdict.json` beside the run, by atomic rename."""
        write_json(folder / FILE, self.to_dict())
        return folder / FILE


def judge(
    subject: Subject, judgement: Judgement, profile: Profile, controls: Sequence[Control], is_code: bool = True
) -> Verdict:
    """Sufficiency first, minimality second, attribution third. `is_code`: what persists is a code and nothing else."""
    sufficient = _sufficient(judgement)
    sole = _sole([control for control in controls if control.part == "attribution"])
    return Verdict(subject, sufficient, _surplus(sufficient, profile, is_code), sole, tuple(controls), profile)


def same_verdict(name: str, both: Sequence[bool], where: str, more: str = "") -> Control:
    """A second verdict by the same gate beside the first one: it must be the same."""
    first, second = both
    said = f"{where} the gate {'passes' if second else 'fails'}" + (f"; {more}" if more else "")
    return Control("sufficiency", name, first == second, said, {"first": first, "second": second})


def intervention_controls(attribution: Attribution, where: str) -> list[Control]:
    """The four interventions as controls; a freeze passes no judgement."""
    if not attribution.trials:
        said = "no two histories look alike and ask for different actions: there is nothing to attribute"
        return [Control("attribution", f"interventions, {where}", None, said)]
    trials = [trial for trial in attribution.trials if trial.swap is not None]
    if not trials:
        said = "the policy does not distinguish histories that ask for different actions: there is nothing to attribute"
        return [Control("attribution", f"interventions, {where}", None, said, _trials(attribution))]
    wanted = {
        "swap": ("code swap", "partner", "of the decisions become the partner's"),
        "shuffle": ("history shuffle", "own", "of the decisions stay with the code"),
        "reset": ("code reset", "excess", "of the pairs are still distinguished, beyond chance"),
        "freeze": ("code freeze", "own", "of the decisions survive without another update"),
    }
    controls = []
    for kind, (name, share, text) in wanted.items():
        values = [getattr(effect, share) for trial in trials if (effect := getattr(trial, kind)) is not None]
        passed = None if kind == "freeze" else not any(kind in trial.against for trial in trials)
        said = f"{_range(values)} {text}"
        data = _trials(attribution) if kind == "swap" else None
        controls.append(Control("attribution", f"{name}, {where}", passed, said, data))
    return controls


def _trials(attribution: Attribution) -> list[dict[str, Any]]:
    return [asdict(trial) for trial in attribution.trials]


def _range(values: Sequence[float]) -> str:
    low, high = min(values), max(values)
    return f"{low:.0%}" if f"{low:.0%}" == f"{high:.0%}" else f"{low:.0%}–{high:.0%}"


def _sufficient(judgement: Judgement) -> Finding:
    if judgement.passed:
        return Finding("yes", f"passes the {judgement.gate} gate; least score {judgement.least:.3f}")
    more = f" and {len(judgement.failures) - 2} more" if len(judgement.failures) > 2 else ""
    return Finding("no", f"fails the {judgement.gate} gate: {'; '.join(judgement.failures[:2])}{more}")


def _surplus(sufficient: Finding, profile: Profile, is_code: bool) -> Finding:
    if not is_code:
        return Finding("not assessed", "the code is not all that persists; a rate of it is refused")
    if sufficient.answer != "yes":
        return Finding("not assessed", "sufficiency comes first")
    excess = profile.excess()
    if not excess:
        return Finding("not assessed", "no window has a proved requirement throughout")
    said = ", ".join(f"{round(bits, 2) + 0.0:+.2f} bit in {name}" for name, bits in excess.items())
    return Finding("yes" if max(excess.values()) > NOTICEABLE else "no", f"rate against requirement: {said}")


def _sole(controls: Sequence[Control]) -> Finding:
    failed = [control for control in controls if control.passed is False]
    if failed:
        return Finding("no", f"{failed[0].name}: {failed[0].text}")
    passed = [control.name for control in controls if control.passed]
    if not any(name.startswith("code swap") for name in passed):
        return Finding("not assessed", "no code was swapped between two histories of one observation")
    return Finding("yes", f"{len(passed)} controls speak for it, none against it")
