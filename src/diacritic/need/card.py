"""A Markdown card for the README of a dataset."""

from diacritic.need.answer import Need
from diacritic.need.text import frames_shown, ranges, settings, stretches


def _said(answer: Need) -> str:
    if answer.remembered:
        return stretches(answer.bits)
    return str(answer.short) if answer.kind == "short history is enough" else ""


def card(answer: Need) -> str:
    """Answer, decisions, settings, and how sure they are."""
    data = answer.data
    results = [
        "## Memory that these demonstrations need",
        "",
        f"**{answer.kind.capitalize()}**" + (f": {_said(answer)}." if _said(answer) else "."),
        "",
        f"{data.episodes} episodes × {data.steps} steps, aligned by {data.clock}; "
        f"tolerance {data.tolerance:.0%} of each action channel's spread; seed {answer.seed}.",
    ]
    if answer.remembered:
        results += ["", "| decision | step | classes | shown in frames | p |", "|---|---:|---:|---|---:|"]
        for k, decision in enumerate(answer.remembered, 1):
            shown = ranges(frames_shown(decision))
            classes, p = int(decision.labels.max()) + 1, max(decision.p, 1e-9)
            results.append(f"| D{k} | {decision.steps[0] + 1} | {classes} | {shown} | {p:.1g} |")
    if answer.remembered or answer.kind == "short history is enough":
        results += ["", *(f"- {name}: `{text}`" for name, text in settings(answer).items())]
    if answer.reason:
        results += ["", answer.reason.capitalize() + "."]
    if answer.power is not None:
        results += ["", f"A planted one-bit cue would be found in {answer.power:.0%} of trials."]
    results += ["", "Made with `diacritic need`.", ""]
    return "\n".join(results)
