"""The answer for every horizon, for people: a few lines, a profile, and the witnesses in words."""

from collections.abc import Callable

from certify.errors import inert
from certify.stationary.answer import REGIMES, StationaryAnswer
from certify.stationary.rates import Bits


def show(answer: StationaryAnswer, out: Callable[[str], None] = print) -> None:
    """Print the answer, one line at a time."""
    for line in lines(answer):
        out(inert(line))


def lines(answer: StationaryAnswer) -> list[str]:
    """What was established, one sentence a line."""
    process, relation = answer.process, answer.relation
    said = [f"{answer.name or 'process'}: memory required at every horizon"]
    said.append(f"Regime {answer.regime}: {REGIMES[answer.regime]}.")
    said.append(
        f"{process.size:,} hidden states, {answer.observer.size:,} {answer.observer.kind} nodes, "
        f"{relation.observer.size:,} different futures."
    )
    said += _requirement(answer)
    if answer.exact:
        said += _structure(answer)
    said += [f"Why: {witness}." for witness in answer.witnesses]
    return said


def _requirement(answer: StationaryAnswer) -> list[str]:
    rates = answer.rates
    if rates is None:
        return ["The long run is too large for exact numbers; the classes and the machine below hold all the same."]
    if answer.windows is not None and answer.windows.error:
        low = 0.0 if answer.floor is None else answer.floor.bits
        return [
            f"Not certified. An exact machine needs at least {_number(low)} bits in the long run.",
            f"A machine that looks back {answer.windows.k} steps holds {_number(rates.mean.upper.bits)} bits; "
            f"after any history it errs by at most {answer.windows.error} in total variation.",
            *_floors(answer),
        ]
    when = "in the long run, episodes following one another" if answer.process.ends else "in the long run"
    said = [f"{'Certified' if answer.certified else 'Not certified'}: {_text(rates.mean)} {when}."]
    if rates.clock is not None and rates.clock.upper != rates.mean.upper:
        said.append(f"With a clock for nothing: {_text(rates.clock)} (period {rates.period}).")
    if rates.discounted is not None:
        said.append(f"Discounted: {_text(rates.discounted)}.")
    if rates.profile:
        said.append(f"Step by step: {', '.join(_short(step) for step in rates.profile)}, …")
    if len(rates.recurrent) > 1:
        for part in rates.recurrent:
            said.append(f"With probability {part.weight} it stays for ever where {_text(part.bits)} are required.")
    return said


def _floors(answer: StationaryAnswer) -> list[str]:
    if answer.short is None:
        return []
    steps = ", ".join(_number(step.lower) for step in answer.short.steps)
    return [
        f"Steps 1 to {answer.short.model.horizon} of an exact machine need at least {steps} bits, at every horizon."
    ]


def _structure(answer: StationaryAnswer) -> list[str]:
    relation = answer.relation
    said = []
    if relation.transitive:
        said.append(f"Compatibility has {relation.count:,} classes, which are the unique coarsest machine.")
    if answer.codes is not None:
        codes = answer.codes
        count = f"{codes.low}" if codes.count else f"between {codes.low} and {codes.high}"
        said.append(f"Fewest codes of one machine: {count}.")
    said += [f"Frames: {stack.text}." for stack in answer.frames]
    return said + ([f"Fewest of them: {answer.lags.text}."] if answer.lags is not None and answer.lags.lags else [])


def _text(bits: Bits) -> str:
    if bits.proved:
        return f"{_number(bits.upper.bits)} bits"
    return f"between {_number(bits.lower.bits)} and {_number(bits.upper.bits)} bits"


def _short(bits: Bits) -> str:
    return _number(bits.upper.bits) if bits.exact else f"[{_number(bits.lower.bits)}, {_number(bits.upper.bits)}]"


def _number(value: float) -> str:
    return f"{value + 0.0:.4f}".rstrip("0").rstrip(".") if value >= 0.00005 else "0"
