"""The staircase of the front page: required bits of the gap toy, with an eye at each cue and a flag at each use."""

from collections.abc import Sequence

from certify import certify
from certify.zoo import build

_LEFT, _TOP, _UNIT, _HIGH, _BITS = 58, 64, 48, 62, 3
_EYE = "M-9,0Q0,-9 9,0Q0,9 -9,0ZM-3,0a3,3 0 1,0 6,0a3,3 0 1,0 -6,0"
_FLAG = "M-4,9V-9L8,-4.5L-4,0"
_INK, _NEED, _HISTORY, _NOW = "#222", "#0072B2", "#767676", "#B35900"


def staircase() -> str:
    """The picture as SVG, from the certified answer."""
    answer = certify(build("gap"))
    need = [step.upper for step in answer.steps]
    now = [step.instantaneous for step in answer.steps]
    seen = [answer.machine.states[t][0].observation for t in range(len(need))]
    cues = [t for t, what in enumerate(seen) if what.startswith("cue")]
    uses = [t for t, bits in enumerate(now) if bits > 0]
    width, height = _LEFT + _UNIT * len(need) + 20, _TOP + _HIGH * _BITS + 70
    title = "Required bits step by step: two cues are seen, two bits are carried, one is left after the first use"
    body = [
        f'<rect width="{width}" height="{height}" rx="8" fill="#fff"/>',
        *(_axis(len(need))),
        f'<path d="{_levels(need)}V{_y(0)}H{_x(0)}Z" fill="{_NEED}" fill-opacity="0.15"/>',
        f'<path d="{_levels([s.history for s in answer.steps])}" fill="none" stroke="{_HISTORY}" stroke-width="2"/>',
        f'<path d="{_levels(need)}" fill="none" stroke="{_NEED}" stroke-width="4"/>',
        f'<path d="{_levels(now)}" fill="none" stroke="{_NOW}" stroke-width="2" stroke-dasharray="3 4"/>',
        *(_icon(t, _EYE, "sees", f"cue {k}") for k, t in enumerate(cues, 1)),
        *(_icon(t, _FLAG, "uses", f"cue {k}") for k, t in enumerate(uses, 1)),
        _text(_x((cues[-1] + uses[0] + 2) / 2), _y(1.5) + 5, "must be carried: 2 bits", _NEED, bold=True),
        _text(_x((uses[0] + uses[-1] + 2) / 2), _y(0.5) + 5, "then 1", _NEED, bold=True),
        _text(_x(len(need) - 2.6), _y(3) + 18, "in the history: 3", _HISTORY),
        _text(_x(uses[0] - 1.7), _y(0) - 8, "needed now", _NOW),
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img" aria-label="{title}" font-family="sans-serif" font-size="14">\n<title>{title}</title>\n'
        + "\n".join(body)
        + "\n</svg>\n"
    )


def _x(t: float) -> float:
    return _LEFT + _UNIT * t


def _y(bits: float) -> float:
    return _TOP + _HIGH * (_BITS - bits)


def _levels(values: Sequence[float]) -> str:
    return "M" + "L".join(f"{_x(t)},{_y(bits):g}H{_x(t + 1)}" for t, bits in enumerate(values))


def _text(x: float, y: float, words: str, colour: str = _INK, *, bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x:g}" y="{y:g}" text-anchor="middle" fill="{colour}"{weight}>{words}</text>'


def _icon(t: int, path: str, verb: str, cue: str) -> str:
    x, bottom = _x(t + 0.5), _y(0)
    line = f'<path d="M{x},40V{bottom}" stroke="{_INK}" stroke-width="1" stroke-dasharray="2 4"/>'
    drawn = f'<path d="{path}" transform="translate({x} 26)" fill="none" stroke="{_INK}" stroke-width="1.8"/>'
    return line + drawn + _text(x, bottom + 40, verb) + _text(x, bottom + 57, cue)


def _axis(steps: int) -> list[str]:
    rules = [f'<path d="M{_x(0)},{_y(b)}H{_x(steps)}" stroke="#ddd" stroke-width="1"/>' for b in range(_BITS + 1)]
    bits = [_text(_LEFT - 14, _y(b) + 5, str(b)) for b in range(_BITS + 1)]
    numbers = [_text(_x(t + 0.5), _y(0) + 20, str(t + 1), "#555") for t in range(steps)]
    return [*rules, *bits, *numbers, _text(26, 31, "bits"), _text(26, _y(0) + 20, "step", "#555")]
