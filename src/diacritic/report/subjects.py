"""The tasks that a report is about: each with its model, recordings, runs and film, robots before toys."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from certify import Model
from certify.errors import UserError
from certify.progress import working
from diacritic.demos.requirement import recording
from diacritic.files.demos import Demos
from diacritic.report import requirement
from diacritic.report.design import designed
from diacritic.report.inputs import Inputs, LeftOut
from diacritic.report.labels import grouped, stretches
from diacritic.report.meanings import Meanings
from diacritic.report.requirement import curve, level
from diacritic.report.runs import Run
from diacritic.report.strips import MOST_RUNS, strip
from diacritic.report.titles import full_title, recorded_task, short_title
from diacritic.tasks.named import named_model
from diacritic.tasks.protocol import Task

MOST_REQUIREMENTS = 12
Shown = dict[str, Any]


@dataclass
class Subject:
    """One task, and what was given about it."""

    name: str
    robot: bool = False
    full: str = ""
    model: Model | None = None
    demos: Demos | None = None
    task: Task | None = None
    artefact: str = ""  # why the rates of its recording say little
    runs: list[Run] = field(default_factory=list)

    @property
    def need(self) -> list[float | None]:
        """Required bits as the runs report them; where there is a model, it says."""
        return next((run.requirement for run in self.runs if run.requirement), [])


def subjects(inputs: Inputs) -> list[Subject]:
    """Every task of the inputs; models are found or, of robot tasks without a recording, made from their design."""
    by_name: dict[str, Subject] = {
        model.name or "model": Subject(model.name or "model", model=model) for model in inputs.models
    }
    for demos in inputs.recordings:
        name = short_title(demos.task, demos.parameters)
        subject = by_name.setdefault(name, Subject(name))
        subject.robot, subject.demos = True, subject.demos or demos
        subject.full = full_title(demos.task, demos.parameters)
        subject.task = recorded_task(demos.task, demos.parameters)
        if subject.model is None:
            with inputs.readable():
                recorded = recording(demos)
                subject.model, subject.artefact = recorded.model, recorded.artefact
    for run in inputs.runs:
        subject = by_name.setdefault(run.task, Subject(run.task, run.recorded, run.full_task))
        subject.runs.append(run)
    for subject in by_name.values():
        if subject.model is None and subject.runs:
            subject.model = _model(inputs, subject)
    ordered = sorted(by_name.values(), key=lambda subject: not subject.robot)
    _limit(inputs, ordered)
    return ordered


def _model(inputs: Inputs, subject: Subject) -> Model | None:
    run = subject.runs[0]
    if run.recorded:
        subject.task = run.simulated
        return None if subject.task is None else designed(subject.task)
    name, *parameters = subject.name.split()
    if name.endswith((".json", ".npz")):
        return None
    try:
        return named_model(name, parameters)
    except UserError as problem:
        inputs.leave_out(UserError(f"requirement of {subject.name}", f"{problem}; give its model file as an input"))
        return None


def _limit(inputs: Inputs, ordered: Sequence[Subject]) -> None:
    """Only so many requirements are worked out."""
    modelled = [subject for subject in ordered if subject.model is not None]
    for subject in modelled[MOST_REQUIREMENTS:]:
        subject.model = None
    if len(modelled) > MOST_REQUIREMENTS:
        said = f"the first {MOST_REQUIREMENTS} of {len(modelled)} are shown; give fewer inputs to see the others"
        inputs.left_out.append(LeftOut("requirements", said))


def views(listed: Sequence[Subject], inputs: Inputs) -> list[Shown]:
    """Every task as the report shows it, strips of at most so many runs in all."""
    left, shown = MOST_RUNS, []
    for k, subject in enumerate(listed):
        with working(f"certifying {subject.name}"):
            shown.append(_view(subject, inputs, k, left))
        left = max(0, left - len(subject.runs))
    return shown


def _view(subject: Subject, inputs: Inputs, index: int, left: int) -> Shown:
    meanings = Meanings()
    shown: Shown = {"need": subject.need, "curves": [], "cues": [], "decisions": [], "steps": [], "machine": None}
    if subject.model is not None:
        shown = requirement.view(replace(subject.model, name=subject.name), meanings)
        shown["sentences"] = [*filter(None, [subject.artefact]), *shown["sentences"]]
    elif subject.need:
        shown["curves"] = [curve("required", "need", subject.need)]
        shown["cues"] = requirement.cues([bits or 0.0 for bits in subject.need])
    strips = list(_strips(subject, inputs, meanings, left))
    horizon = max([len(shown["need"]), *(len(run.rate) for run in subject.runs)], default=0)
    return (
        {"horizon": horizon, "badges": [], "sentences": [], "legend": {}, "begin": 1}
        | shown
        | {
            "id": f"task-{index + 1}",
            "index": index,
            "name": subject.name,
            "full": subject.full if subject.full != subject.name else "",
            "robot": subject.robot,
            "phases": [] if subject.task is None else [list(part) for part in stretches(subject.task.phases)],
            "rates": rates(subject.runs),
            "classes": meanings.names,
            "strips": strips,
            "hidden": len(subject.runs) - len(strips),
            "film": None,
        }
    )


def rates(runs: Sequence[Run]) -> list[Shown]:
    """Ĥ(C_t|Ō_t) of every seed, equal ones once: sufficient seeds blue, failed ones red and dashed."""
    alike = grouped([run for run in runs if run.rate], lambda run: (run.mood, tuple(run.rate)))
    return [
        {
            "style": mood,
            "name": _joined([run.label for run in mine]),
            "runs": [run.id for run in mine],
            "parts": level(bits),
        }
        for (mood, bits), mine in alike.items()
    ]


def _joined(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _strips(subject: Subject, inputs: Inputs, meanings: Meanings, left: int) -> Iterator[Shown]:
    for run in subject.runs[:left]:
        with inputs.readable():
            drawn = strip(run, subject.model, inputs.recordings, meanings)
            yield {"run": run.id, "title": run.label, "mood": run.mood} | drawn
