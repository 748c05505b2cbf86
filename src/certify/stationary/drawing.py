"""A machine without a clock as DOT or SVG: its cells on a circle, loops and all."""

import math
from html import escape

from certify.machines.exports import law_text
from certify.stationary.machine import StationaryMachine
from certify.stationary.naming import Cell, cell_moves, cell_names

_BOX = (168, 44)


def arrows(machine: StationaryMachine) -> dict[tuple[Cell, Cell], list[str]]:
    """(cell, next cell) → what is done on the way, for the moves that can be taken."""
    result: dict[tuple[Cell, Cell], list[str]] = {}
    for cell, moves in cell_moves(machine).items():
        for (action, _), target in moves.items():
            result.setdefault((cell, target), []).append(action)
    return result


def to_dot(machine: StationaryMachine) -> str:
    """Graphviz."""
    names, texts = {cell: f"n{k}" for k, cell in enumerate(sorted(machine.laws))}, cell_names(machine)
    lines = ["digraph machine {", "  node [shape=box, style=rounded, fontname=sans]; edge [fontname=sans];"]
    for cell, law in sorted(machine.laws.items()):
        lines.append(f"  {names[cell]} [label={_quoted(texts[cell], law_text(law))}];")
    for observation, code in sorted(machine.first.items()):
        lines.append(f"  start{names[observation, code]} [shape=point];")
        lines.append(f"  start{names[observation, code]} -> {names[observation, code]};")
    for (source, target), labels in arrows(machine).items():
        lines.append(f"  {names[source]} -> {names[target]} [label={_quoted(' | '.join(labels))}];")
    return "\n".join([*lines, "}", ""])


def to_svg(machine: StationaryMachine) -> str:
    """A self-contained picture; a move that stays is a loop above its cell, and first cells have a thick rim."""
    cells = sorted(machine.laws)
    radius = max(120.0, len(cells) * 34.0)
    width, height = 2 * radius + _BOX[0] + 80, 2 * radius + _BOX[1] + 120
    centre = {
        cell: (
            width / 2 + radius * math.sin(2 * math.pi * k / len(cells)),
            height / 2 - radius * math.cos(2 * math.pi * k / len(cells)),
        )
        for k, cell in enumerate(cells)
    }
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" font-family="sans-serif" font-size="11">',
        '<defs><marker id="tip" markerWidth="8" markerHeight="8" refX="7" refY="3" orient="auto">'
        '<path d="M0,0 L7,3 L0,6 z" fill="#7a8899"/></marker></defs>',
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="white"/>',
    ]
    for (source, target), labels in arrows(machine).items():
        curve = _loop(centre[source]) if source == target else _arc(centre[source], centre[target])
        title = _xml(f"{' | '.join(labels)} → {target[0]}")
        parts.append(
            f'<path d="{curve}" fill="none" stroke="#7a8899" marker-end="url(#tip)"><title>{title}</title></path>'
        )
    first = set(machine.first.items())
    names = cell_names(machine)
    parts += [_box(names[cell], law_text(machine.laws[cell]), centre[cell], cell in first) for cell in cells]
    return "\n".join([*parts, "</svg>", ""])


def _box(name: str, law: str, centre: tuple[float, float], first: bool) -> str:
    x, y = centre[0] - _BOX[0] / 2, centre[1] - _BOX[1] / 2
    return (
        f"<g><title>{_xml(f'{name}: {law}')}</title>"
        f'<rect x="{x:.0f}" y="{y:.0f}" width="{_BOX[0]}" height="{_BOX[1]}" rx="7" fill="#eaf2fb" stroke="#0072b2" '
        f'stroke-width="{3 if first else 1}"/>'
        f'<text x="{x + 8:.0f}" y="{y + 18:.0f}" fill="#12263a">{_short(name)}</text>'
        f'<text x="{x + 8:.0f}" y="{y + 35:.0f}" fill="#9a4a00">{_short(law)}</text></g>'
    )


def _loop(centre: tuple[float, float]) -> str:
    x, y = centre[0], centre[1] - _BOX[1] / 2
    return f"M{x - 18:.0f},{y:.0f} C{x - 34:.0f},{y - 44:.0f} {x + 34:.0f},{y - 44:.0f} {x + 18:.0f},{y:.0f}"


def _arc(source: tuple[float, float], target: tuple[float, float]) -> str:
    """From rim to rim, bent to one side so that the two directions of a pair can be told apart."""
    (x, y), (u, v) = source, target
    length = math.hypot(u - x, v - y)
    sideways = ((v - y) / length * 26, (x - u) / length * 26)
    bend = ((x + u) / 2 + sideways[0], (y + v) / 2 + sideways[1])
    begin, end = _rim(source, bend), _rim(target, bend)
    return f"M{begin[0]:.0f},{begin[1]:.0f} Q{bend[0]:.0f},{bend[1]:.0f} {end[0]:.0f},{end[1]:.0f}"


def _rim(centre: tuple[float, float], towards: tuple[float, float]) -> tuple[float, float]:
    """Where the way from the centre of a box leaves it."""
    dx, dy = towards[0] - centre[0], towards[1] - centre[1]
    scale = min(_BOX[0] / 2 / abs(dx) if dx else math.inf, _BOX[1] / 2 / abs(dy) if dy else math.inf)
    return centre[0] + dx * min(1.0, scale), centre[1] + dy * min(1.0, scale)


def _short(text: str) -> str:
    return _xml(text if len(text) <= 26 else text[:25] + "…")


def _xml(text: str) -> str:
    return escape("".join(c if c.isprintable() else ascii(c)[1:-1] for c in text))


def _quoted(*lines: str) -> str:
    return '"' + "\\n".join(line.replace("\\", "\\\\").replace('"', '\\"') for line in lines) + '"'
