"""Learners by name: what is minimised, and which carrier it is minimised with."""

from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from typing import Any, Literal

from certify.errors import UserError
from diacritic.memory.protocol import MEMORIES
from diacritic.memory.shape import Architecture
from diacritic.training.objectives.base import Term
from diacritic.training.objectives.bfs import FutureSufficiency
from diacritic.training.objectives.decisions import PendingDecisions
from diacritic.training.objectives.future import FutureBehaviour
from diacritic.training.objectives.identification import Identification, JoinHead, TeacherState
from diacritic.training.objectives.imitation import Imitation
from diacritic.training.objectives.inverse import Inverse
from diacritic.training.objectives.later_actions import AllLaterActions
from diacritic.training.objectives.open_loop import OpenLoop
from diacritic.training.objectives.rate import Rate
from diacritic.training.objectives.readout import Controlled
from diacritic.training.objectives.vq import Quantisation


@dataclass(frozen=True)
class Learner:
    """A named list of terms, with the changes to the architecture that go with them."""

    name: str
    terms: tuple[Term, ...]
    changes: tuple[tuple[str, Any], ...] = ()
    auxiliary: float = 1.0
    """λ at the start, unless a run sets its own."""
    refine: bool = False
    """Split the code with the least consistent futures, every 500 steps."""
    certified: bool = False
    """`training.certified` fits the certified transition; updates of a cohort are refused."""
    forget: bool = False
    """After the last update, forget what its own later decisions do not use (`training.compress_recorded`)."""
    split: bool = False
    """… and split what confuses its demonstrations (`training.revision`)."""
    robust: bool = False
    """… and, on recordings, keep the time where a policy that has drifted would confuse steps, and fit under noise."""
    note: str = ""

    def architecture(self, base: Architecture) -> Architecture:
        """The carrier that this learner trains."""
        return replace(base, **dict(self.changes))


BASE: tuple[Term, ...] = (Imitation(), Rate(), Quantisation())
_BFS = FutureSufficiency()
_FORECAST = FutureBehaviour()
_PENDING = PendingDecisions()
_SECOND = (("", 256), ("-1024", 1024))  # a second carrier for the hidden parameter: its name and its codes
_CONTINUOUS = (
    ("gru-chrono", "a GRU that starts with long lifetimes"),
    ("min-gru", "a GRU whose gates do not read the state"),
    ("lru", "linear recurrent units"),
    ("s5", "a diagonal state space"),
    ("selective", "a selective state space"),
    ("bistable", "bistable units"),
    ("registers", "an external memory of eight registers"),
    ("transformer", "the full history without codes"),
    ("frames-1", "the present frame"),
    ("frames-4", "the last four frames"),
    ("frames-16", "the last sixteen frames"),
)
_PENDING_SYMBOL = PendingDecisions(reads="symbol")


def _imitation(name: str, note: str, **changes: Any) -> Learner:
    """Nothing but imitation."""
    return Learner(name, (Imitation(),), tuple(changes.items()), note=note)


def _learners() -> list[Learner]:
    def made(name: str, *more: Term, note: str = "", auxiliary: float = 1.0, **changes: Any) -> Learner:
        return Learner(name, (*BASE, *more), tuple(changes.items()), auxiliary, note=note)

    readouts: list[tuple[str, Literal["hierarchical", "intent"], float]] = [
        ("hierarchical", "hierarchical", 1.0),
        ("hierarchical-10", "hierarchical", 10.0),
        ("hierarchical-30", "hierarchical", 30.0),
        ("intent", "intent", 1.0),
    ]
    annealed, recorded = AllLaterActions(anneal=(0.6, 0.8)), PendingDecisions(target="recorded")
    apart = "without its gradient in the encoders"
    policy_free = (Imitation(detached=True), Inverse(), Quantisation())
    return [
        made("plain", note="imitation and rate"),
        made("plain+bfs", _BFS, note="and every prefix of a continuation"),
        made("event-agnostic", _FORECAST, note="forecast at a random offset, annealed 60 % to 80 %"),
        made("event-agnostic-40", FutureBehaviour(anneal=(0.4, 0.6)), note="annealed 40 % to 60 %"),
        made("event-agnostic-kept", FutureBehaviour(anneal=(1, 1)), note="never annealed"),
        made("event-agnostic-all", AllLaterActions(), note="all offsets"),
        made("event-agnostic-all-light", annealed, auxiliary=0.1, note="all offsets, weight 0.1, annealed"),
        made("event-agnostic-recorded", FutureBehaviour("recorded", (1, 1)), note="recorded actions, never annealed"),
        made("event-agnostic-all-recorded", AllLaterActions("recorded"), note="recorded actions at all offsets"),
        made("task-informed", _PENDING, note="forecast of the pending decisions since the last cue"),
        made("task-informed-start", PendingDecisions(since="start"), note="since the first step"),
        made("task-informed-stride-2", PendingDecisions(stride=2), note="every second step"),
        made("task-informed-stride-4", PendingDecisions(stride=4), note="every fourth step"),
        made("task-informed-recorded", recorded, note="recorded actions instead of forecasts"),
        made("teacher-state", TeacherState(), note="the full-history policy's state"),
        made("sysid", Identification(), note="the hidden parameter through the same code"),
        made("sysid-light", Identification(), auxiliary=0.1, note="weight 0.1"),
        *[
            made(f"dual{name}", Identification(), identification=codes, note=f"a second carrier of {codes} codes")
            for name, codes in _SECOND
        ],
        *[
            made(f"dual-detached{name}", Identification(), identification=codes, detached=True, note=apart)
            for name, codes in _SECOND
        ],
        Learner("inverse-only", policy_free, note="multi-step inverse; the policy reads, no rate"),
        Learner("inverse-only+rate", (*policy_free, Rate()), note="and the rate"),
        made("inverse+imitation", Inverse(), note="inverse, imitation and rate together"),
        made("open-loop", OpenLoop(), note="all future actions from the code alone"),
        made("open-loop-world", OpenLoop(observations=True), note="and all future observations"),
        made("join", JoinHead(), note="a privileged head for the pending joint class"),
        replace(made("refinement"), refine=True, note="plain, with code refinement"),
        replace(made("refinement+bfs", _BFS), refine=True, note="plain+bfs, with code refinement"),
        replace(made("plain+forgetting"), forget=True, note="plain, and what it never uses is forgotten in the end"),
        *[
            replace(made(name), forget=True, split=True, robust=robust, note=note)
            for name, robust, note in (
                ("plain+revision", False, "plain, and in the end confusing codes are split, the rest forgotten"),
                ("plain+robust-revision", True, "the same, on recordings for a policy that drifts, under noise"),
            )
        ],
        made("scaffold", path="scaffold", note="a continuous path, annealed to zero"),
        made("scaffold+bfs", _BFS, path="scaffold", note="the same with BFS"),
        made("bypass", path="bypass", note="the continuous path stays: not a sole carrier"),
        made("non-persistent", persistent=False, note="the code is computed from the present alone"),
        made("unconditional", prior="unconditional", note="r(C) instead of r(C | O)"),
        Learner("gaussian", (Imitation(), Rate()), (("memory", "gaussian"),), note="a Gaussian bottleneck, KL bound"),
        made("matched", side="symbol", note="transition and prior read the symbol"),
        made("matched+task-informed", _PENDING, side="symbol", note="the same, with pending decisions"),
        *[
            Learner(
                name + ("+task-informed" if informed else ""),
                (Controlled(choice, weight), Rate(), Quantisation(), *([_PENDING_SYMBOL] if informed else [])),
                (("side", "symbol"), ("readout", choice)),
                note=f"{choice} readout of (C, Ō)",
            )
            for name, choice, weight in readouts
            for informed in (False, True)
        ],
        *[_imitation(f"gru-{n}", f"GRU policy, {n} numbers", memory="gru", state_size=n) for n in (128, 8, 4)],
        *[_imitation(name, note, memory=name) for name, note in _CONTINUOUS],
        made("gru-code", memory="gru-code", note="a GRU whose state is one code"),
        _imitation("fsq", "codes on a lattice of four levels", memory="fsq"),
        _imitation("lfq", "codes of signs", memory="lfq"),
        Learner(
            "full-history", (Imitation(), Quantisation()), (("memory", "history"),), note="causal Transformer policy"
        ),
        Learner(
            "certified", BASE, certified=True, note="the certified classes as codes; only the transition is learned"
        ),
    ]


LEARNERS = {learner.name: learner for learner in _learners()}
ALIASES = {
    "−R": "plain",
    "-R": "plain",
    "−RF": "plain+bfs",
    "-RF": "plain+bfs",
    "EA": "event-agnostic",
    "TI": "task-informed",
}


def learner(name: str) -> Learner:
    """The learner of that name; the paper's names are accepted, and `gru-128:state_size=64` changes its carrier."""
    name, _, changed = name.partition(":")
    chosen = LEARNERS.get(ALIASES.get(name, name))
    if chosen is None and name in MEMORIES:
        chosen = _imitation(name, "imitation with a registered memory", memory=name)
    if chosen is None:
        near = get_close_matches(name, [*LEARNERS, *ALIASES], 3, 0.4)
        hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(LEARNERS)}"
        raise UserError("--learner", f"no learner is called {name!r}; {hint}")
    return replace(chosen, name=f"{name}:{changed}", changes=chosen.changes + _changes(changed)) if changed else chosen


def _changes(text: str) -> tuple[tuple[str, int], ...]:
    """`state_size=64,width=32` as changes of the carrier's sizes."""
    sizes, changes = {field.name for field in fields(Architecture) if field.type in (int, "int")}, []
    for part in text.split(","):
        key, _, value = part.partition("=")
        if key not in sizes or not value.isdecimal() or int(value) < 1:
            raise UserError("--learner", f"{part!r} is not a size, as width=64 is; known: {', '.join(sorted(sizes))}")
        changes.append((key, int(value)))
    return tuple(changes)
