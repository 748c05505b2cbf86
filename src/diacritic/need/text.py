"""The answer on one screen: words, numbers and a staircase of blocks."""

from collections.abc import Iterable, Sequence
from itertools import groupby

from diacritic.need.answer import WIDTH, Need
from diacritic.need.decisions import LEVEL, Decision
from diacritic.need.keep import Keep
from diacritic.need.power import ACTION, EXCHANGES
from diacritic.need.screen import WORTH
from diacritic.need.short import PARTS, Short
from diacritic.need.witnesses import Witness

LOWEST = 0.005  # bits that are shown as none
BARS = "▁▂▃▄▅▆▇█"


def lines(answer: Need) -> list[str]:
    """Everything that a user reads."""
    data = answer.data
    size = f"{data.episodes:,} episodes × {data.steps} steps"
    seen = f"{data.observations.shape[2]} numbers seen, {data.actions.shape[2]} acted"
    results = [f"{size}, {seen}; aligned by {data.clock}", f"{answer.kind.upper()}   {_headline(answer)}".rstrip()]
    if answer.remembered:
        results += [f"  bits       {staircase(answer.bits)}", *_table(answer.remembered)]
        results.append(f"  keep       {_kept(answer)}")
    results += [f"  graded     {text}" for text in _graded(answer)]
    if answer.kind == "cannot tell" and answer.short:
        results.append(f"  even so    {_even_so(answer, answer.short)}")
    results += [f"  elsewhere  {text}" for text in _elsewhere(answer)]
    results.append(f"  controls   {_controls(answer)}")
    if answer.remembered or answer.kind == "short history is enough":
        results.append("  settings   " + " | ".join(f"{key}: {text}" for key, text in settings(answer).items()))
    results += [f"  note       {note}" for note in answer.notes]
    first = {witness.decision: witness for witness in reversed(answer.witnesses)}
    results += [f"witnesses: {_witness(answer, first[number])}" for number in sorted(first)]
    return results


def settings(answer: Need) -> dict[str, str]:
    """What to paste: of the remembered frames, or of a short history."""
    if answer.kind != "short history is enough" or not answer.short:
        return answer.keep.settings()
    short = answer.short
    words = Keep((), short.stack, 1).settings()
    words = {key: text for key, text in words.items() if key not in ("recurrent", "keyframes")}
    inputs = [PARTS[name] for name in short.parts if name != "velocity"]
    return words | ({"further inputs": ", ".join(inputs)} if inputs else {})


def _even_so(answer: Need, short: Short) -> str:
    """What can be said although the question of a cue stays open."""
    older = sum(step.p_older < LEVEL and step.gains.memory >= WORTH for step in answer.open)
    said = f"{short} help at {short.steps} of {answer.data.steps} steps (by {short.gain:.1f} nats at most)"
    return f"{said}; given these, older frames help at {older or 'none'}"


def ranges(numbers: Iterable[int]) -> str:
    """Steps counted from 1: 3–5, 8."""
    parts = []
    for _, group in groupby(enumerate(sorted(numbers)), key=lambda pair: pair[1] - pair[0]):
        inside = [number for _, number in group]
        parts.append(f"{inside[0] + 1}" if len(inside) == 1 else f"{inside[0] + 1}–{inside[-1] + 1}")
    return ", ".join(parts)


def staircase(bits: Sequence[float]) -> str:
    """One block a step."""
    most = max(bits, default=0.0) or 1.0
    return "".join("·" if value < LOWEST else BARS[round(value / most * (len(BARS) - 1))] for value in bits)


def stretches(bits: Sequence[float]) -> str:
    """`2 bits at steps 7–9, then 1 bit at steps 10–25`."""
    parts = []
    for value, group in groupby(range(len(bits)), key=lambda t: round(bits[t], 2)):
        steps = list(group)
        if value >= LOWEST:
            number = f"{value:.2f}".rstrip("0").rstrip(".")
            unit, at = "bit" if value <= 1 else "bits", "step" if len(steps) == 1 else "steps"
            parts.append(f"{number} {unit} at {at} {ranges(steps)}")
    return ", then ".join(parts)


def _headline(answer: Need) -> str:
    if answer.kind == "memory needed":
        return stretches(answer.bits) or "of a number; see below"
    if answer.kind == "cannot tell":
        return answer.reason
    if answer.kind == "short history is enough":
        return f"{answer.short}; no older frame adds to them"
    return ""


def _table(decisions: Sequence[Decision]) -> list[str]:
    results = ["  decision   step  classes  hidden since   shown in frames   told then   p"]
    for number, decision in enumerate(decisions, 1):
        shown = frames_shown(decision)
        since = f"{max(shown) + 2}" if shown else "-"
        told, p = f"{decision.told:.0%}", "<1e-9" if decision.p < 1e-9 else f"{decision.p:.1g}"
        step, classes = decision.steps[0] + 1, int(decision.labels.max()) + 1
        results.append(f"  D{number:<9} {step:>4} {classes:>8}   {since:>11}   {ranges(shown):<17} {told:<11} {p}")
    return results


def frames_shown(decision: Decision) -> list[int]:
    """Frames before the decision that show a cue of it, or a part of one."""
    first = decision.steps[0]
    return sorted({t for cue in decision.cues for t in range(first) if cue.names(t).max() > 0})


def _kept(answer: Need) -> str:
    frames = answer.keep.frames
    many = "one past frame is enough" if len(frames) == 1 else f"{len(frames)} past frames are enough"
    return f"{many}: step {ranges(frames)}; the smallest contiguous stack is {answer.keep.stack} frames"


def _graded(answer: Need) -> list[str]:
    return [
        f"step {item.step + 1} uses a number shown at step {item.frame + 1} ({item.gain:.1f} nats, p {item.p:.1g})"
        for item in answer.graded[:3]
    ]


def _elsewhere(answer: Need) -> list[str]:
    decided = {step for decision in answer.remembered for step in decision.steps}
    others = [step for step in answer.helped if step.step not in decided]
    results = []
    for name in ("velocity", "filter", "actions"):
        steps = [step for step in others if getattr(step.gains, name) >= 0.9 * step.gains.recent]
        if steps:
            gain = max(getattr(step.gains, name) for step in steps)
            word = {"velocity": "velocity", "filter": "a filter", "actions": "the previous action"}[name]
            results.append(f"{word} helps at steps {ranges(s.step for s in steps)} (by {gain:.1f} nats at most)")
    return results


def _controls(answer: Need) -> str:
    parts = []
    if answer.remembered:
        parts.append(f"exchanged pasts: {answer.found_in_exchanged} of {EXCHANGES} found")
    if answer.power is not None:
        cue = f"a one-bit cue ±{WIDTH:g} s.d. wide that moves the action by {ACTION:g} s.d."
        parts.append(f"power: {cue} would be found in {answer.power:.0%}")
    return "; ".join(parts) or "none"


def _witness(answer: Need, witness: Witness) -> str:
    one, two = sorted(int(answer.data.numbers[k]) for k in witness.pair)
    differ = "" if witness.last is None else f"; they differ last at step {witness.last + 1}"
    alike = f"look alike at step {witness.step + 1} (nearer than {witness.nearer:.0%} of like pairs)"
    return f"episodes {one} and {two} {alike} and act differently{differ}"
