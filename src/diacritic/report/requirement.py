"""The requirement in the report: bits over the steps, what every step distinguishes and why, and the machine."""

import json
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from certify import Answer, certify
from certify.certificate import certificate_json
from certify.check import LimitReached, Malformed, Rejected, check
from certify.core.model import Model
from certify.core.relations import Relation, compatibility
from certify.errors import UserError
from certify.machines.exports import law_text, to_json
from certify.show import verdict
from certify.witness import distinguish
from diacritic.report.labels import Labels, differing, grouped, stretches
from diacritic.report.meanings import SMALL, Ints, Meanings

SECONDS = 20.0  # of each search that may not end
MOST_STEPS, MOST_CLASSES, MOST_HISTORIES, MOST_WITNESSES, MOST_PAIRS = 160, 12, 4, 4, 64
MOST_STATES, MOST_MOVES, MOST_EPISODES = 1000, 4000, 40
MOST_CHECKED = 3000  # nodes of a history graph whose certificate is checked while the report is made
DIGITS = 4
Shown = dict[str, Any]


def view(model: Model, meanings: Meanings) -> Shown:
    """Everything that the report shows of a model."""
    answer = certify(model, seconds=SECONDS)
    labels = Labels(answer.joint.graph)
    states = [state_of_node(answer, t) for t in range(model.horizon)]
    classes = meanings.of_machine(answer, states)
    steps = list(_steps(answer, labels, states, classes))
    return {
        "badges": _badges(answer),
        "sentences": verdict(answer),
        "need": [step.upper for step in answer.steps],
        "curves": curves(answer),
        "cues": cues([step.upper for step in answer.steps]),
        "decisions": [[at, n] for at, n, used in stretches(s.instantaneous > SMALL for s in answer.steps) if used],
        "steps": steps,
        "machine": _machine(answer, labels, classes),
        "legend": labels.legend,
        "horizon": model.horizon,
        "begin": max(answer.steps[:MOST_STEPS], key=lambda step: step.upper).t,  # where there is most to see
    }


def curves(answer: Answer) -> list[Shown]:
    """H(H_t|O_t), H(Γˢ_t|O_t), the required memory and H(G_t|O_t) at every step."""
    steps = answer.steps
    lines = [
        curve("whole history", "history", [s.history for s in steps]),
        curve("strong", "strong", [s.strong for s in steps]),
        curve("required", "need", [s.upper for s in steps]),
        curve("used now", "now", [s.instantaneous for s in steps]),
    ]
    if any(s.rate is None for s in steps):
        lines.append(curve("lower end", "lower", [s.lower if s.rate is None else None for s in steps]))
    return lines


def curve(name: str, style: str, values: Sequence[float | None]) -> Shown:
    """One line over the steps, as level stretches [first step from 0, length, bits]."""
    return {"name": name, "style": style, "parts": level(values)}


def level(values: Sequence[float | None]) -> list[Any]:
    """Values as level stretches."""
    return [list(part) for part in stretches(None if v is None else round(v, DIGITS) + 0.0 for v in values)]


def cues(need: Sequence[float]) -> list[int]:
    """The steps (from 0) after which more must be kept than before."""
    return [t for t, (now, then) in enumerate(pairwise(need)) if then > now + SMALL]


def _badges(answer: Answer) -> list[dict[str, str]]:
    said = {
        "a2": ("history determines the action", "A2: every hidden state behind a history acts by the same law"),
        "a4": ("same law, same futures", "A4: histories with equal observation and law have equal continuations"),
        "transitive": ("compatible histories form classes", "compatibility of histories is transitive"),
    }
    badges = []
    for name, (word, title) in said.items():
        failing = [step.t for step in answer.steps if not getattr(step, name)]
        state = "yes" if not failing else f"fails at step {failing[0]}"
        badges.append({"word": word, "state": state, "mood": "warn" if failing else "good", "title": title})
    proved = ("every step", "good") if answer.certified else ("not at every step", "warn")
    title = "whether the least memory of every step is proved"
    badges.append({"word": "certified", "state": proved[0], "mood": proved[1], "title": title})
    return [*badges, _checked(answer)]


def _checked(answer: Answer) -> dict[str, str]:
    """Whether the independent checker accepts the certificate, asked here and now."""
    badge = {"word": "checked", "title": "the certificate, read by the independent checker while this report was made"}
    if sum(level.size for level in answer.model.graph.levels) > MOST_CHECKED:
        return badge | {"state": "too large to check here", "mood": "plain"}
    try:
        check(certificate_json(answer), answer.model.to_json())
    except (Rejected, Malformed) as problem:
        return badge | {"state": f"rejected: {problem}", "mood": "bad"}
    except (LimitReached, UserError) as problem:
        return badge | {"state": f"not checked: {problem}", "mood": "plain"}
    return badge | {"state": "verified", "mood": "good"}


def _steps(answer: Answer, labels: Labels, states: list[Ints], classes: list[list[int]]) -> Iterator[Shown]:
    """Of every step: its classes with some of their histories, and what separates two of them."""
    graph = labels.graph
    relations = answer.relations if graph is answer.model.graph else compatibility(graph)
    for step in answer.steps[:MOST_STEPS]:
        t, everybody = step.t - 1, range(graph.levels[step.t - 1].size)
        laws = differing([law_text(state.law) for state in answer.machine.states[t]])
        shown = []
        for state, number, law in list(zip(answer.machine.states[t], classes[t], laws, strict=True))[:MOST_CLASSES]:
            nodes = np.flatnonzero(states[t] == state.index).tolist()
            seen = labels.seen(t, int(graph.levels[t].observation[nodes[0]]))
            told = list(dict.fromkeys(labels.histories(t, nodes[:MOST_HISTORIES], everybody)))
            more = {"action": law, "probability": str(state.probability), "histories": told, "count": len(nodes)}
            shown.append({"seen": seen, "number": number} | more)
        alike = max(np.unique([s.observation for s in answer.machine.states[t]], return_counts=True)[1].tolist())
        yield {
            "t": step.t,
            "bits": round(step.upper, DIGITS),
            "alike": alike,
            "histories": str(step.histories),
            "classes": shown,
            "more": max(0, len(answer.machine.states[t]) - MOST_CLASSES),
            "witnesses": _witnesses(answer, labels, relations, t, states[t]),
        }


def state_of_node(answer: Answer, t: int) -> Ints:
    """The machine's state of each history; states are numbered by (observation, cell) as the machine numbers them."""
    level, cells = answer.joint.graph.levels[t], answer.joint.cells[t]
    pairs = level.observation.astype(np.int64) * (int(cells.max()) + 1) + cells
    return np.unique(pairs, return_inverse=True)[1]


def _witnesses(answer: Answer, labels: Labels, relations: list[Relation], t: int, label: Ints) -> list[Shown]:
    """For pairs of classes with one observation: two histories, a common future, and the two actions after it."""
    graph, witnesses = labels.graph, []
    for alike in grouped(answer.machine.states[t], lambda state: state.observation).values():
        for first, second in pairwise(state.index for state in alike):
            if len(witnesses) == MOST_WITNESSES:
                return witnesses
            pair = _conflicting(relations[t], np.flatnonzero(label == first), np.flatnonzero(label == second))
            if pair is None:
                continue
            word, one, two = distinguish(graph, relations, t, *pair)
            told = labels.histories(t, pair, pair)
            after = labels.seen(t + len(word), word[-1][1]) if word else ""
            actions = differing([graph.law_text(one), graph.law_text(two)])
            witness = {"histories": told, "until": t + 1 + len(word), "after": after, "actions": actions}
            witnesses += [] if witness in witnesses else [witness]  # other pairs may differ in the same way
    return witnesses


def _conflicting(relation: Relation, ours: Ints, theirs: Ints) -> tuple[int, int] | None:
    pairs = ((a, b) for a in ours.tolist() for b in theirs.tolist())
    return next((pair for _, pair in zip(range(MOST_PAIRS), pairs, strict=False) if relation.in_conflict(*pair)), None)


def _machine(answer: Answer, labels: Labels, classes: list[list[int]]) -> Shown | None:
    """The machine with short labels and some whole episodes, or None where it is too large to draw."""
    machine, graph = answer.machine, labels.graph
    if sum(map(len, machine.states)) > MOST_STATES or sum(map(len, machine.moves)) > MOST_MOVES:
        return None
    numbers = {graph.observations[k]: k for k in range(len(graph.observations))}
    drawn = json.loads(to_json(machine))
    for t, states in enumerate(drawn["states"]):
        for state, number in zip(states, classes[t], strict=True):
            state |= {"seen": labels.seen(t, numbers[state["observation"]]), "number": number}
    for t, moves in enumerate(drawn["moves"]):
        for move in moves:
            move.append(labels.seen(t + 1, numbers[move[2]]))
    drawn["begin"] = [[labels.seen(0, numbers[seen]), seen, target] for seen, target in machine.start.items()]
    last = list(range(graph.levels[-1].size))
    titles = labels.histories(graph.horizon - 1, last[:MOST_EPISODES], last)
    words = [graph.history(graph.horizon - 1, node) for node in last[:MOST_EPISODES]]
    drawn["episodes"] = [{"words": each, "title": title} for each, title in zip(words, titles, strict=True)]
    return drawn
