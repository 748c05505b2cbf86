"""The arena in pictures: task × memory, and bits against success."""

from collections.abc import Mapping, Sequence
from html import escape

from diacritic.report.colours import colour, ink_on
from diacritic.studies.arena import Score
from diacritic.studies.tasks import Task

Scores = Mapping[Task, Sequence[Score | None]]
WIDE, HIGH, LEFT, TOP = 44, 24, 272, 130
NONE, ALL = (0xF7, 0xF4, 0xEC), (0x08, 0x51, 0x9C)
"""Colours of no and of every seed."""


def matrix_svg(names: Sequence[str], scores: Scores) -> str:
    """Task × memory: the colour says how many seeds are sufficient, the text how long episodes half of them solve."""
    parts = []
    for k, name in enumerate(names):
        x = LEFT + k * WIDE + WIDE / 2
        parts.append(f'<text transform="translate({x:g} {TOP - 8}) rotate(-50)">{escape(name)}</text>')
    for j, (task, row) in enumerate(scores.items()):
        y = TOP + j * HIGH
        parts.append(_text(LEFT - 8, y + 17, task.title, "end"))
        parts += [_cell(LEFT + k * WIDE, y, f"{task.title}, {names[k]}", score) for k, score in enumerate(row)]
    bottom = TOP + len(scores) * HIGH
    parts += [_box(LEFT + 24 * k, bottom + 14, 24, 12, shade(k / 8)) for k in range(9)]
    parts.append(_text(LEFT + 226, bottom + 25, "no seed to every seed sufficient; empty: not run"))
    parts.append(_text(LEFT, bottom + 48, "number: the longest episodes, in steps, that half of the seeds solve"))
    return _svg(LEFT + max(len(names) * WIDE, 520) + 60, bottom + 62, "Sufficient seeds by task and memory", parts)


def _cell(x: float, y: float, label: str, score: Score | None) -> str:
    if score is None:
        empty = f'<rect x="{x + 1}" y="{y + 1}" width="{WIDE - 2}" height="{HIGH - 2}" fill="none" stroke="#ddd"/>'
        return f"<g><title>{escape(label)}: not run</title>{empty}</g>"
    fill = shade(score.sufficient / score.seeds)
    said = f"{label}: {score.text} seeds sufficient, success {score.success:.3f}"
    text = _text(x + WIDE / 2, y + 17, horizon(score.longest), "middle", ink_on(fill))
    return f"<g><title>{escape(said)}</title>{_box(x + 1, y + 1, WIDE - 2, HIGH - 2, fill)}{text}</g>"


def bits_svg(names: Sequence[str], scores: Scores) -> str:
    """Bits carried against success, one dot a task; memories without a code, which nothing bounds, are at the right."""
    width, height, left, top = 460, 300, 60, 30
    dots = [(k, score) for row in scores.values() for k, score in enumerate(row) if score is not None]
    coded = sorted({k for k, score in dots if score.carried is not None})
    most = max([1.0, *(score.carried for _, score in dots if score.carried is not None)])

    def across(bits: float) -> float:
        return left + 10 + (width - 20) * bits / most

    def up(share: float) -> float:
        return top + height - 10 - (height - 20) * share

    parts = [f'<rect x="{left}" y="{top}" width="{width + 60}" height="{height}" fill="none" stroke="#bbb"/>']
    parts.append(f'<line x1="{left + width}" x2="{left + width}" y1="{top}" y2="{top + height}" stroke="#bbb"/>')
    for k, score in dots:
        shift = 3 * (k % 5 - 2)  # so that equal ones are seen side by side
        x = left + width + 30 + 3 * shift if score.carried is None else across(score.carried) + shift / 2
        ink = colour(coded.index(k)) if score.carried is not None else "#999999"
        parts.append(_dot(x, up(score.success) + shift / 2, ink))
    parts += [_text(across(bits), top + height + 16, str(bits), "middle") for bits in range(int(most) + 1)]
    parts += [_text(left - 8, up(share) + 4, f"{share:g}", "end") for share in (0, 0.5, 1)]
    parts.append(_text(left + width / 2, top + height + 34, "bits carried", "middle"))
    parts.append(_text(left + width + 30, top + height + 16, "no bound", "middle"))
    parts.append(_text(left - 8, top - 12, "success"))
    for row, k in enumerate(coded):
        parts.append(_dot(left + width + 80, top + 10 + 18 * row, colour(row)))
        parts.append(_text(left + width + 90, top + 14 + 18 * row, names[k]))
    return _svg(left + width + 240, top + height + 50, "Bits carried against success", parts)


def shade(share: float) -> str:
    """From no seed to every seed."""
    mixed = (round(a + (b - a) * share) for a, b in zip(NONE, ALL, strict=True))
    return "#" + "".join(f"{channel:02x}" for channel in mixed)


def horizon(steps: int | None) -> str:
    """A number of steps as the matrix has it."""
    if steps is None:
        return "–"
    return {1000: "10³", 10_000: "10⁴", 1_000_000: "10⁶"}.get(steps, f"{steps:,}")


def _box(x: float, y: float, width: float, height: float, fill: str) -> str:
    return f'<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="{fill}"/>'


def _text(x: float, y: float, text: str, anchor: str = "start", ink: str = "#222222") -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" fill="{ink}">{escape(text)}</text>'


def _dot(x: float, y: float, ink: str) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{ink}" fill-opacity="0.75"/>'


def _svg(width: float, height: float, title: str, parts: Sequence[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    back = f'<rect width="{width}" height="{height}" fill="#ffffff"/>'
    drawn = "\n".join(parts)
    return f'{head} font-family="sans-serif" font-size="13"><title>{escape(title)}</title>{back}\n{drawn}\n</svg>\n'
