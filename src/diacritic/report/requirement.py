"""The requirement on the page: the staircase, what every step tells apart and why, and the machine to walk through."""

import json
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import Any

import numpy as np

from certify import Answer, certify
from certify.certificate import certificate_json
from certify.check import LimitReached, Malformed, Rejected, check
from certify.core.graph import Graph
from certify.core.model import Model
from certify.core.relations import Relation, compatibility
from certify.errors import UserError
from certify.machines.exports import law_text, to_json
from certify.show import verdict
from certify.witness import distinguish
from diacritic.report.charts import AMBER, GOOD, GREY, INK, ROSE, Chart, chart, line, steps_axis

SECONDS = 20.0  # of each search that may not end
MOST_STEPS, MOST_CLASSES, MOST_HISTORIES, MOST_WITNESSES, MOST_PAIRS = 160, 12, 4, 4, 64
MOST_STATES, MOST_MOVES, MOST_EPISODES = 1000, 4000, 40
MOST_CHECKED = 3000  # nodes of a history graph whose certificate is checked while the page is made
LONGEST = 300  # characters of a history
Shown = dict[str, Any]


def view(model: Model) -> Shown:
    """Everything that the page shows of a model."""
    answer = certify(model, seconds=SECONDS)
    return {
        "name": answer.name or "model",
        "badges": _badges(answer),
        "sentences": verdict(answer),
        "chart": staircase(answer),
        "steps": list(_steps(answer)),
        "machine": _machine(answer),
        "horizon": model.horizon,
        "begin": max(answer.steps[:MOST_STEPS], key=lambda step: step.upper).t,  # where there is most to see
    }


def staircase(answer: Answer) -> Chart:
    """H(H_t|O_t), H(Γˢ_t|O_t), the required memory and H(G_t|O_t) at every step."""
    steps = answer.steps
    traces = [
        line("history", [s.history for s in steps], GREY, line={"width": 1.5}),
        line("strong", [s.strong for s in steps], ROSE, line={"width": 1.5, "dash": "dash"}),
        line("required", [s.upper for s in steps], GOOD, line={"width": 3.5}),
        line("instantaneous", [s.instantaneous for s in steps], AMBER, line={"width": 2, "dash": "dot"}),
    ]
    open_ends = [s for s in steps if s.rate is None]
    if open_ends:
        lower = [s.lower if s.rate is None else None for s in steps]
        traces.append(line("lower end of the bracket", lower, INK, line={"width": 1.5, "dash": "longdash"}))
    most = max(s.upper for s in steps)
    label = f"Bits over {len(steps)} steps of {answer.name or 'the model'}; at most {most:.3g} are required"
    return chart(traces, label, "step", "bits", hovermode="x unified", xaxis=steps_axis(len(steps)))


def _badges(answer: Answer) -> list[dict[str, str]]:
    said = {
        "a2": ("history determines the action", "A2: every hidden state behind a history acts by the same law"),
        "a4": ("same law, same futures", "A4: histories with equal observation and law have equal continuations"),
        "transitive": ("compatible histories form classes", "compatibility of histories is transitive"),
    }
    found = []
    for name, (word, title) in said.items():
        failing = [step.t for step in answer.steps if not getattr(step, name)]
        state = "yes" if not failing else f"fails at step {failing[0]}"
        found.append({"word": word, "state": state, "mood": "warn" if failing else "good", "title": title})
    proved = ("every step", "good") if answer.certified else ("not at every step", "warn")
    title = "whether the least memory of every step is proved"
    found.append({"word": "certified", "state": proved[0], "mood": proved[1], "title": title})
    return [*found, _checked(answer)]


def _checked(answer: Answer) -> dict[str, str]:
    """Whether the independent checker accepts the certificate, asked here and now."""
    badge = {"word": "checked", "title": "the certificate, read by the independent checker while this page was made"}
    if sum(level.size for level in answer.model.graph.levels) > MOST_CHECKED:
        return badge | {"state": "too large to check here", "mood": "plain"}
    try:
        check(certificate_json(answer), answer.model.to_json())
    except (Rejected, Malformed) as problem:
        return badge | {"state": f"rejected: {problem}", "mood": "bad"}
    except (LimitReached, UserError) as problem:
        return badge | {"state": f"not checked: {problem}", "mood": "plain"}
    return badge | {"state": "verified", "mood": "good"}


def _steps(answer: Answer) -> Iterator[Shown]:
    """Of every step: its classes with some of their histories, and what keeps two classes apart."""
    graph = answer.joint.graph
    relations = answer.relations if graph is answer.model.graph else compatibility(graph)
    for step in answer.steps[:MOST_STEPS]:
        t = step.t - 1
        states = answer.machine.states[t]
        label = _state_of_node(answer, t)
        classes = [
            {
                "name": state.name,
                "action": law_text(state.law),
                "probability": str(state.probability),
                "histories": [_history(graph, t, n) for n in nodes[:MOST_HISTORIES].tolist()],
                "count": len(nodes),
            }
            for state in states[:MOST_CLASSES]
            for nodes in [np.flatnonzero(label == state.index)]
        ]
        yield {
            "t": step.t,
            "histories": str(step.histories),
            "classes": classes,
            "more": max(0, len(states) - MOST_CLASSES),
            "witnesses": _witnesses(answer, graph, relations, t, label),
        }


def _state_of_node(answer: Answer, t: int) -> np.ndarray:
    """The machine's state of each history; states are numbered by (observation, cell) as the machine numbers them."""
    level, cells = answer.joint.graph.levels[t], answer.joint.cells[t]
    pairs = level.observation.astype(np.int64) * (int(cells.max()) + 1) + cells
    return np.unique(pairs, return_inverse=True)[1]


def _witnesses(
    answer: Answer, graph: Graph, relations: list[Relation], t: int, label: np.ndarray
) -> list[dict[str, str]]:
    """For pairs of classes with one observation: two histories, a common future, and the two actions after it."""
    found: list[dict[str, str]] = []
    by_observation: dict[str, list[int]] = {}
    for state in answer.machine.states[t]:
        by_observation.setdefault(state.observation, []).append(state.index)
    for alike in by_observation.values():
        for first, second in pairwise(alike):
            if len(found) == MOST_WITNESSES:
                return found
            pair = _conflicting(relations[t], np.flatnonzero(label == first), np.flatnonzero(label == second))
            if pair is None:
                continue
            word, one, two = distinguish(graph, relations, t, *pair)
            first_told, second_told = (_history(graph, t, node) for node in pair)
            after = _told([(graph.actions[a], graph.observations[o]) for a, o in word])
            actions = {"one": graph.law_text(one), "two": graph.law_text(two)}
            found.append({"first": first_told, "second": second_told, "after": after} | actions)
    return found


def _conflicting(relation: Relation, ours: np.ndarray, theirs: np.ndarray) -> tuple[int, int] | None:
    pairs = ((a, b) for a in ours.tolist() for b in theirs.tolist())
    return next((pair for _, pair in zip(range(MOST_PAIRS), pairs, strict=False) if relation.in_conflict(*pair)), None)


def _machine(answer: Answer) -> Shown | None:
    """The machine with some whole episodes, or None where it is too large to draw."""
    machine, graph = answer.machine, answer.joint.graph
    if sum(map(len, machine.states)) > MOST_STATES or sum(map(len, machine.moves)) > MOST_MOVES:
        return None
    last = range(min(graph.levels[-1].size, MOST_EPISODES))
    words = [graph.history(graph.horizon - 1, node) for node in last]
    titles = [_shortened(" · ".join(_stretches(each[::2])), 90) for each in words]
    episodes = [{"words": each, "title": title} for each, title in zip(words, titles, strict=True)]
    return json.loads(to_json(machine)) | {"episodes": episodes}


def _history(graph: Graph, t: int, node: int) -> str:
    """One history of a node: ``cue0 -wait-> hall ×6 -wait-> fork``."""
    first, *rest = graph.history(t, node)
    return _shortened(f"{first} {_told(list(zip(rest[::2], rest[1::2], strict=True)))}".strip())


def _told(moves: Sequence[tuple[str, str]]) -> str:
    return _shortened(" ".join(_stretches([f"-{action}-> {seen}" for action, seen in moves])))


def _stretches(words: Sequence[str]) -> list[str]:
    """Equal neighbours once, with their number."""
    runs = [(word, len(list(same))) for word, same in groupby(words)]
    return [word if count == 1 else f"{word} ×{count}" for word, count in runs]


def _shortened(text: str, longest: int = LONGEST) -> str:
    return text if len(text) <= longest else f"{text[: longest // 2]} … {text[-longest // 2 :]}"
