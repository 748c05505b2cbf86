"""A machine as DOT, SVG, JSON or KISS2 text."""

import json
from collections.abc import Callable, Sequence
from html import escape

from certify.core.graph import LONG, law_text
from certify.machines.machine import Machine, State

_COLUMN, _ROW, _BOX, _MARGIN = 236, 74, (176, 46), 30


def to_json(machine: Machine) -> str:
    """Every state, the start and every move; the format is `certify-machine/1`."""
    document = {
        "format": "certify-machine/1",
        "horizon": machine.horizon,
        "start": machine.start,
        "states": [
            [
                {
                    "name": state.name,
                    "observation": state.observation,
                    "law": {action: str(p) for action, p in state.law.items()},
                    "probability": str(state.probability),
                }
                for state in level
            ]
            for level in machine.states
        ],
        "moves": [[[*key, target] for key, target in moves.items()] for moves in machine.moves],
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def to_dot(machine: Machine) -> str:
    """Graphviz: one column a step."""
    lines = ["digraph machine {", "  rankdir=LR; node [shape=box, style=rounded, fontname=sans]; edge [fontname=sans];"]
    for t, level in enumerate(machine.states):
        lines.append("  { rank=same;")
        lines += [f"    s{t}_{k} [label={_quoted(s.name, law_text(s.law))}];" for k, s in enumerate(level)]
        lines.append("  }")
    for t, labels in enumerate(_edges(machine)):
        lines += [f"  s{t}_{k} -> s{t + 1}_{j} [label={_quoted(text)}];" for (k, j), text in labels.items()]
    return "\n".join([*lines, "}", ""])


def to_svg(machine: Machine) -> str:
    """A self-contained picture: one column a step, the law under each state, what is seen on each arrow."""
    rows = max(len(level) for level in machine.states)
    width, height = _MARGIN * 2 + _COLUMN * (machine.horizon - 1) + _BOX[0], _MARGIN * 2 + _ROW * rows + 20
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="11">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]

    def corner(t: int, k: int) -> tuple[float, float]:
        spread = _ROW * (rows - len(machine.states[t])) / 2
        return _MARGIN + _COLUMN * t, _MARGIN + 20 + spread + _ROW * k

    for t, labels in enumerate(_edges(machine)):
        for (k, j), text in labels.items():
            (x, y), (x2, y2) = corner(t, k), corner(t + 1, j)
            x, y, y2 = x + _BOX[0], y + _BOX[1] / 2, y2 + _BOX[1] / 2
            bend = (x + x2) / 2
            curve = f"M{x},{y:.0f} C{bend},{y:.0f} {bend},{y2:.0f} {x2},{y2:.0f}"
            parts.append(f'<path d="{curve}" fill="none" stroke="#7a8899"><title>{_xml(text)}</title></path>')
    for t, level in enumerate(machine.states):
        parts.append(f'<text x="{corner(t, 0)[0]}" y="{_MARGIN}" fill="#55606b">t = {t + 1}</text>')
        parts += [_box(state, *corner(t, k)) for k, state in enumerate(level)]
    return "\n".join([*parts, "</svg>", ""])


def _box(state: State, x: float, y: float) -> str:
    title = f"{state.name}: {law_text(state.law)}, probability {state.probability}"
    return (
        f"<g><title>{_xml(title)}</title>"
        f'<rect x="{x}" y="{y:.0f}" width="{_BOX[0]}" height="{_BOX[1]}" rx="7" fill="#eaf2fb" stroke="#0072b2"/>'
        f'<text x="{x + 8}" y="{y + 19:.0f}" fill="#12263a">{_short(state.name)}</text>'
        f'<text x="{x + 8}" y="{y + 36:.0f}" fill="#9a4a00">{_short(law_text(state.law))}</text></g>'
    )


def _short(text: str) -> str:
    return _xml(text if len(text) <= 26 else text[:25] + "…")


def _xml(text: str) -> str:
    """Escaped, and free of the control characters that XML forbids."""
    return escape("".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text))


def to_kiss2(machine: Machine) -> str:
    """KISS2: an input is the code of (observation, previous action), an output the code of the law that is followed."""
    laws = [[law_text(state.law) for state in level] for level in machine.states]
    moves = [("start", "", observation, f"t1_{k}", laws[0][k]) for observation, k in machine.start.items()]
    for t, step in enumerate(machine.moves, 1):
        moves += [(f"t{t}_{k}", did, seen, f"t{t + 1}_{j}", laws[t][j]) for (k, did, seen), j in step.items()]
    return kiss2(moves)


def kiss2(moves: Sequence[tuple[str, str, str, str, str]]) -> str:
    """KISS2 text of moves (state, action, observation, next state, its law), with a legend; states have no spaces."""
    inputs = dict.fromkeys((action, observation) for _, action, observation, *_ in moves)
    laws = dict.fromkeys(law for *_, law in moves)
    bits_in, bits_out = max(1, (len(inputs) - 1).bit_length()), max(1, (len(laws) - 1).bit_length())
    code = {key: f"{k:0{bits_in}b}" for k, key in enumerate(inputs)}
    output = {law: f"{k:0{bits_out}b}" for k, law in enumerate(laws)}
    lines = [f"{code[did, seen]} {state} {after} {output[law]}" for state, did, seen, after, law in moves]
    legend = [f"# input {code[a, o]}: {json.dumps(o)} after {json.dumps(a) if a else 'nothing'}" for a, o in inputs]
    legend += [f"# output {output[law]}: {json.dumps(law)}" for law in laws]
    states = {state for move in moves for state in (move[0], move[3])}
    header = [f".i {bits_in}", f".o {bits_out}", f".p {len(lines)}", f".s {len(states)}", f".r {moves[0][0]}"]
    return "\n".join([*legend, *header, *lines, ".e", ""])


def _edges(machine: Machine) -> list[dict[tuple[int, int], str]]:
    """Per step: (state, next state) → what is done and seen on the way."""
    result: list[dict[tuple[int, int], str]] = []
    for t, moves in enumerate(machine.moves, 1):
        labels: dict[tuple[int, int], list[str]] = {}
        for (k, action, observation), j in moves.items():
            seen = observation if len(observation) <= LONG else machine.states[t][j].name
            labels.setdefault((k, j), []).append(f"{action} → {seen}")
        result.append({key: " | ".join(texts) for key, texts in labels.items()})
    return result


def _quoted(*lines: str) -> str:
    return '"' + "\\n".join(line.replace("\\", "\\\\").replace('"', '\\"') for line in lines) + '"'


EXPORTS: dict[str, Callable[[Machine], str]] = {
    ".dot": to_dot,
    ".svg": to_svg,
    ".json": to_json,
    ".kiss2": to_kiss2,
}
