"""A machine without a clock as DOT or SVG: its cells in columns, by the steps that it takes to reach them."""

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from certify.machines.exports import law_text
from certify.stationary.machine import StationaryMachine
from certify.stationary.naming import Cell, cell_moves, cell_names

_LINE, _PAD, _LETTER = 16, 8, 6.4  # heights of a line and of a rim, width of a letter
_MOST_LETTERS = 40  # in one line of a box
_GUTTER, _GAP, _MARGIN = 120, 58, 56  # between columns, between rows (loops lie there), around everything
Edge = tuple[Cell, Cell]
Point = tuple[float, float]


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
    layout, moves, names = _Layout.of(machine), arrows(machine), cell_names(machine)
    low, high = layout.extent
    width, height = layout.columns * (layout.width + _GUTTER) + _MARGIN, high - low + 2 * _MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 {low - _MARGIN:.0f} {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" font-family="sans-serif" font-size="11">',
        '<defs><marker id="tip" markerWidth="8" markerHeight="8" refX="7" refY="3" orient="auto">'
        '<path d="M0,0 L7,3 L0,6 z" fill="#7a8899"/></marker></defs>',
        f'<rect y="{low - _MARGIN:.0f}" width="{width:.0f}" height="{height:.0f}" fill="white"/>',
    ]
    for edge, curve in layout.curves(list(moves)):
        title = _xml(f"{' | '.join(moves[edge])} → {edge[1][0]}")
        parts.append(
            f'<path d="{curve}" fill="none" stroke="#7a8899" marker-end="url(#tip)"><title>{title}</title></path>'
        )
    first = set(machine.first.items())
    for cell in layout.corner:
        parts.append(_box(layout, cell, names[cell], law_text(machine.laws[cell]), cell in first))
    return "\n".join([*parts, "</svg>", ""])


def _lines(name: str, law: str) -> list[str]:
    """What a box says: the observation, each fact on its own, and the law."""
    shown, _, facts = name.removesuffix("]").partition(" [")
    return [shown, *(fact for fact in facts.split(", ") if fact and fact != law), law]


def _box(layout: "_Layout", cell: Cell, name: str, law: str, first: bool) -> str:
    x, y = layout.corner[cell]
    *lines, last = _lines(name, law)
    texts = [
        f'<text x="{x + _PAD:.0f}" y="{y + _PAD + _LINE * k + 11:.0f}" fill="{"#12263a" if k == 0 else "#4a5d70"}">'
        f"{_short(line)}</text>"
        for k, line in enumerate(lines)
    ]
    end = y + layout.height - _PAD - 3
    return (
        f"<g><title>{_xml(f'{name}: {law}')}</title>"
        f'<rect x="{x:.0f}" y="{y:.0f}" width="{layout.width:.0f}" height="{layout.height:.0f}" rx="7" '
        f'fill="#eaf2fb" stroke="#0072b2" stroke-width="{3 if first else 1}"/>{"".join(texts)}'
        f'<text x="{x + _PAD:.0f}" y="{end:.0f}" fill="#9a4a00">{_short(last)}</text></g>'
    )


@dataclass(frozen=True)
class _Layout:
    """Where each box lies; all have one size."""

    corner: dict[Cell, Point]
    column: dict[Cell, int]
    width: float
    height: float

    @staticmethod
    def of(machine: StationaryMachine) -> "_Layout":
        column = _columns(machine)
        texts = [_lines(name, law_text(machine.laws[cell])) for cell, name in cell_names(machine).items()]
        width = _PAD * 2 + _LETTER * min(_MOST_LETTERS, max(len(line) for lines in texts for line in lines))
        height = _PAD * 2 + _LINE * max(map(len, texts)) - 3
        tallest = max(list(column.values()).count(k) for k in set(column.values()))
        before: dict[Cell, list[Cell]] = {}
        for source, target in arrows(machine):
            before.setdefault(target, []).append(source)
        corner: dict[Cell, Point] = {}
        for k in range(max(column.values()) + 1):
            inside = sorted(cell for cell in column if column[cell] == k)
            heights = {c: [corner[b][1] for b in before.get(c, []) if column[b] == k - 1] for c in inside}
            inside.sort(key=lambda c: sum(heights[c]) / len(heights[c]) if heights[c] else 0.0)
            top = (tallest - len(inside)) * (height + _GAP) / 2
            for row, cell in enumerate(inside):
                corner[cell] = (_MARGIN + k * (width + _GUTTER), top + row * (height + _GAP))
        return _Layout(corner, column, width, height)

    @property
    def columns(self) -> int:
        return max(self.column.values()) + 1

    @property
    def extent(self) -> tuple[float, float]:
        """The highest and the lowest end of the boxes; loops and detours lie in the margin."""
        tops = [y for _, y in self.corner.values()]
        return min(tops), max(tops) + self.height

    def curves(self, edges: list[Edge]) -> Iterator[tuple[Edge, str]]:
        """Loops above their box; everything else from side to side, around the columns that lie between."""
        ports = self._ports([edge for edge in edges if edge[0] != edge[1]])
        detours = 0
        for edge in edges:
            source, target = edge
            if source == target:
                yield edge, self._loop(source)
                continue
            (x, y), (u, v) = ports[edge]
            out, into = (1 if self._leaves_right(edge) else -1), (1 if self._enters_left(edge) else -1)
            reach = min(_GUTTER * 0.75, 40 + abs(v - y) / 4)
            between = range(*sorted((self.column[source], self.column[target])))[1:]
            if not between:
                yield (
                    edge,
                    f"M{x:.0f},{y:.0f} C{x + out * reach:.0f},{y:.0f} {u - into * reach:.0f},{v:.0f} {u:.0f},{v:.0f}",
                )
                continue
            level = self._detour(between, (y + v) / 2, detours)
            detours += 1
            a, b = x + out * _GUTTER * 0.8, u - into * _GUTTER * 0.8
            yield (
                edge,
                f"M{x:.0f},{y:.0f} C{a:.0f},{y:.0f} {x + out * 30:.0f},{level:.0f} {a:.0f},{level:.0f} "
                f"L{b:.0f},{level:.0f} C{u - into * 30:.0f},{level:.0f} {b:.0f},{v:.0f} {u:.0f},{v:.0f}",
            )

    def _leaves_right(self, edge: Edge) -> bool:
        return self.column[edge[1]] >= self.column[edge[0]]

    def _enters_left(self, edge: Edge) -> bool:
        return self.column[edge[1]] > self.column[edge[0]]

    def _ports(self, edges: list[Edge]) -> dict[Edge, tuple[Point, Point]]:
        """Where each arrow begins and ends: evenly on a side of a box, in the order of where it comes from."""
        sides: dict[tuple[Cell, bool], list[tuple[float, Edge, int]]] = {}
        for edge in edges:
            source, target = edge
            sides.setdefault((source, self._leaves_right(edge)), []).append((self.corner[target][1], edge, 0))
            sides.setdefault((target, not self._enters_left(edge)), []).append((self.corner[source][1], edge, 1))
        ends: dict[Edge, dict[int, Point]] = {edge: {} for edge in edges}
        for (cell, right), own in sides.items():
            x, y = self.corner[cell]
            for k, (_, edge, end) in enumerate(sorted(own)):
                ends[edge][end] = (x + self.width * right, y + self.height * (k + 1) / (len(own) + 1))
        return {edge: (both[0], both[1]) for edge, both in ends.items()}

    def _detour(self, between: range, middle: float, number: int) -> float:
        """A height at which no box of some columns lies."""
        tops = [self.corner[cell][1] for cell, k in self.column.items() if k in between]
        apart = 34 + 5 * (number % 5)
        above, below = min(tops) - apart, max(tops) + self.height + apart
        return above if abs(above - middle) < abs(below - middle) else below

    def _loop(self, cell: Cell) -> str:
        x, y = self.corner[cell][0] + self.width / 2, self.corner[cell][1]
        return f"M{x - 18:.0f},{y:.0f} C{x - 34:.0f},{y - 40:.0f} {x + 34:.0f},{y - 40:.0f} {x + 18:.0f},{y:.0f}"


def _columns(machine: StationaryMachine) -> dict[Cell, int]:
    """Of each cell: the fewest steps that lead to it."""
    column = dict.fromkeys(sorted(machine.first.items()), 0)
    waiting = list(column)
    moves = cell_moves(machine)
    for cell in waiting:
        for target in moves[cell].values():
            if target not in column:
                column[target] = column[cell] + 1
                waiting.append(target)
    return column | {cell: 0 for cell in machine.laws if cell not in column}


def _short(text: str) -> str:
    return _xml(text if len(text) <= _MOST_LETTERS else text[: _MOST_LETTERS - 1] + "…")


def _xml(text: str) -> str:
    return escape("".join(c if c.isprintable() else ascii(c)[1:-1] for c in text))


def _quoted(*lines: str) -> str:
    return '"' + "\\n".join(line.replace("\\", "\\\\").replace('"', '\\"') for line in lines) + '"'
