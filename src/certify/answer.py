"""The answer: what every step requires, whether one machine attains it, and why; docs/formats.md fixes its format."""

import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

from certify.core.clock_free import ClockFree, clock_free
from certify.core.codes import Codes, fewest_codes
from certify.core.exact import Ints, rank, total_of
from certify.core.floors import Floor, floors
from certify.core.joint import Joint, JointLimits, Objective, best_machine
from certify.core.model import Model
from certify.core.rates import conditional_rate
from certify.core.relations import (
    PAIR_LIMIT,
    Relation,
    backwards,
    instantaneous,
    settled,
    strong_classes,
    support_classes,
)
from certify.errors import UserError
from certify.machines.machine import Machine
from certify.progress import working
from certify.witness import Witness, a2_witness, a4_witness, transitivity_witness

_SYMBOLS = {"history": "H_history", "instantaneous": "H_G", "classes": "H_Gamma", "strong": "H_Gamma_strong"}
"""Entropies of a step, as the format of answers calls them."""
R = TypeVar("R")
_AT_ONCE = 0.01  # seconds for a search that was stopped


def _until_stopped(search: Callable[[float], R], seconds: float, stoppable: bool) -> R:
    """A search that Ctrl-C may end with what it can say at once."""
    try:
        return search(seconds)
    except KeyboardInterrupt:
        if not stoppable:
            raise
        return search(_AT_ONCE)


@dataclass(frozen=True)
class Step:
    """One step: entropies in bits given O_t, the bracket of the required memory, and the checks."""

    t: int
    histories: int
    history: float  # H(H_t | O_t)
    instantaneous: float  # H(G_t | O_t)
    classes: float | None  # H(Γ_t | O_t), None where ~_t is not transitive
    strong: float  # H(Γˢ_t | O_t)
    lower: float
    upper: float
    rate: float | None  # R_t, the exact minimum
    states: int | None
    a2: bool
    a4: bool
    transitive: bool
    decided: bool  # False past the pair limit, where `transitive` is not established and may yet hold
    method: str

    @property
    def anticipatory(self) -> float:
        """Δ_t = R_t − H(G_t|O_t): what is carried for later alone (of the upper end, where there is a bracket)."""
        return self.upper - self.instantaneous


@dataclass(frozen=True)
class Answer:
    """Everything that is known of a model's memory."""

    model: Model
    relations: list[Relation]
    strong: list[Ints]
    floors: list[Floor]
    steps: tuple[Step, ...]
    joint: Joint
    objective: Objective
    search_seconds: float  # for the fewest codes, which are looked for when they are asked for
    seconds: float
    stoppable: bool = False  # Ctrl-C ends the search for the fewest codes, not the program
    stopped: bool = False  # by Ctrl-C: some brackets are open for that reason alone

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def observational(self) -> bool:
        """(A2) failed somewhere, so that everything is computed for P(A_t | H_t)."""
        return not self.a2

    @property
    def a2(self) -> bool:
        """Every history shows what the expert will do: its law depends on nothing hidden."""
        return all(step.a2 for step in self.steps)

    @property
    def a4(self) -> bool:
        """Histories with equal observation and law can go on in the same ways."""
        return all(step.a4 for step in self.steps)

    @property
    def transitive(self) -> bool:
        """Compatibility has classes at every step."""
        return all(step.transitive for step in self.steps)

    @property
    def certified(self) -> bool:
        return all(step.rate is not None for step in self.steps)

    @property
    def simultaneous(self) -> bool | None:
        return self.joint.simultaneous

    @property
    def joint_bracket(self) -> tuple[float, float]:
        """The least Σ_t H(P_t|O_t) of one machine lies here."""
        low, high = math.fsum(floor.lower for floor in self.floors), math.fsum(self.joint.rates)
        return self.joint.bracket if self.objective == "sum" else (min(low, high), high)

    @property
    def joint_sum(self) -> float | None:
        exact = self.joint.optimal if self.objective == "sum" else self.joint.simultaneous
        return self.joint_bracket[1] if exact else None

    @cached_property
    def codes_found(self) -> Codes:
        """The fewest labels of one machine, with time-indexed and with stationary updates."""
        parts = self.model.graph, self.relations, self.floors, self.joint
        with working("searching for the fewest codes"):
            return _until_stopped(lambda seconds: fewest_codes(*parts, seconds), self.search_seconds, self.stoppable)

    @cached_property
    def clock_free(self) -> ClockFree:
        """The least bits of one update and policy for all steps, at a random step."""
        graph, own = self.model.graph, self.joint.graph is self.model.graph
        cells = self.joint.cells if own else self.strong
        floors = [floor.lower for floor in self.floors]
        with working("searching for machines without a clock"):
            parts = graph, self.strong, cells, floors
            return _until_stopped(lambda seconds: clock_free(*parts, seconds), self.search_seconds, self.stoppable)

    @property
    def codes(self) -> dict[str, int | None]:
        """The fewest labels of one machine, None where `codes_found.brackets` holds an open bracket."""
        return {"time_indexed": self.codes_found.time_indexed, "stationary": self.codes_found.stationary}

    @property
    def codes_needed(self) -> int:
        """No machine has fewer labels, with time-indexed updates or not: the exact number, or the proved lower end."""
        return self.codes_found.brackets["time_indexed"][0]

    @cached_property
    def witnesses(self) -> tuple[Witness, ...]:
        """The first violation of each assumption, in words."""
        graph = self.model.graph
        tests = (
            (lambda s: s.a2, lambda t: a2_witness(graph, t)),
            (lambda s: s.a4, lambda t: a4_witness(graph, t)),
            (lambda s: s.transitive, lambda t: transitivity_witness(graph, self.relations, t)),
        )
        first = (next((make(s.t - 1) for s in self.steps if not holds(s)), None) for holds, make in tests)
        return tuple(witness for witness in first if witness is not None)

    @cached_property
    def machine(self) -> Machine:
        """The best machine found: the classes Γ_t where they exist throughout, else the best assignment."""
        return Machine.from_cells(self.joint.graph, self.joint.cells)

    def to_dict(self) -> dict[str, Any]:
        """The Answer format."""
        return {
            "format": "certify-answer/1",
            "name": self.name,
            "horizon": self.model.horizon,
            "a2": self._check("a2"),
            "a4": self._check("a4"),
            "transitive": self._check("transitive"),
            "certified": self.certified,
            "observational": self.observational,
            "simultaneous": self.simultaneous,
            "joint_sum": self.joint_sum,
            "joint_bracket": list(self.joint_bracket),
            "objective": self.objective,
            "machine_rates": list(self.joint.rates),
            "codes": self.codes if any(k is not None for k in self.codes.values()) else None,
            "codes_bracket": {kind: list(bracket) for kind, bracket in self.codes_found.brackets.items()},
            "codes_reason": self.codes_found.reasons or None,
            "clock_free": {
                "lower": self.clock_free.lower,
                "upper": self.clock_free.upper,
                "rate": self.clock_free.upper if self.clock_free.exact else None,
                "states": self.codes["stationary"],
            },
            "proof": self.proof,
            "witnesses": [
                {"claim": w.claim, "t": w.t, "histories": list(w.histories), "text": w.text} for w in self.witnesses
            ],
            "steps": [
                {_SYMBOLS.get(name, name): value for name, value in vars(step).items()}
                | {"anticipatory": step.anticipatory}
                for step in self.steps
            ],
            "seconds": self.seconds,
        } | ({"legend": legend} if (legend := self.model.graph.legend) else {})

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False) + "\n"

    @property
    def proof(self) -> dict[str, str]:
        """Of each top-level claim: certified (a certificate can carry it), a solver's result, or undecided."""
        from certify.certificate import provable

        undecided = {f"codes.{kind}" for kind, count in self.codes.items() if count is None}
        undecided |= {claim for claim in ("simultaneous", "joint_sum") if getattr(self, claim) is None}
        return {
            claim: "undecided" if claim in undecided else "certified" if holds else "solver result, not certified"
            for claim, holds in provable(self).items()
        }

    def _check(self, name: str) -> dict[str, Any]:
        failing = [step.t for step in self.steps if not getattr(step, name)]
        return {"holds": not failing, "failing_steps": failing}


def certify(
    model: Model,
    objective: Objective = "sum",
    pair_limit: int = PAIR_LIMIT,
    seconds: float | None = None,
    stoppable: bool = False,
) -> Answer:
    """Certify a model: relations, rates, floors and the best machine; the fewest codes when they are asked for.

    `seconds` bounds each search that may not end (60 unless given, and 5 for the fewest codes and for machines without
    a clock); what they leave open is a bracket. If it is `stoppable`, Ctrl-C ends the searches, what was not reached
    is a bracket, and a second Ctrl-C ends the program.
    """
    if seconds is not None and not seconds > 0:
        raise UserError("seconds", f"expected a positive number of seconds, not {seconds}")
    patience, seconds = (5.0, 60.0) if seconds is None else (seconds, seconds)
    began = time.perf_counter()
    graph = model.graph
    with working("certifying") as say:
        strong = strong_classes(graph)
        relations, stopped = _relations(model, strong, pair_limit, stoppable, say)
        bounds, joint = [], None
        while joint is None:
            if stopped:
                seconds = patience = _AT_ONCE
            try:
                say("the rates of the steps")
                bounds = floors(graph, relations, strong, seconds)
                say("the best machine")
                limits = JointLimits(seconds=min(20.0, seconds / 3))
                joint = best_machine(graph, relations, bounds, objective, limits=limits)
            except KeyboardInterrupt:
                if stopped or not stoppable:
                    raise
                stopped = True
    steps = tuple(_step(model, t, relations[t], strong[t], bounds[t]) for t in range(graph.horizon))
    taken = time.perf_counter() - began
    return Answer(model, relations, strong, bounds, steps, joint, objective, patience, taken, stoppable, stopped)


def _relations(
    model: Model, strong: list[Ints], pair_limit: int, stoppable: bool, say: Callable[[str], None]
) -> tuple[list[Relation], bool]:
    """The relation of every step, and whether Ctrl-C came before the first was reached."""
    levels, relations, stopped = model.graph.levels, list[Relation](), False
    try:
        for relation in backwards(model.graph, pair_limit):
            relations.insert(0, settled(relation, strong[len(levels) - 1 - len(relations)]))
            say(f"step {len(levels) - len(relations) + 1:,} of {len(levels):,}, from the last to the first")
    except KeyboardInterrupt:
        if not stoppable or not relations:
            raise
        stopped = True
    missing = [replace(instantaneous(levels[t]), decided=False) for t in range(len(levels) - len(relations))]
    return missing + relations, stopped


def _step(model: Model, t: int, relation: Relation, strong: Ints, floor: Floor) -> Step:
    level = model.graph.levels[t]
    groups = rank(relation.group)[1]
    return Step(
        t + 1,
        total_of(level.paths),
        level.history_entropy,
        conditional_rate(level, level.law),
        floor.upper if relation.transitive else None,
        conditional_rate(level, strong),
        floor.lower,
        floor.upper,
        floor.upper if floor.proved else None,
        floor.states,
        not level.mixed,
        rank(support_classes(model.graph, t))[1] == groups,
        relation.transitive,
        relation.decided or relation.triple is not None,
        floor.method,
    )
