"""The cards as a page: in the documentation (Markdown) or as one HTML file, with search, filters and a picture."""

from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from itertools import groupby

from diacritic.studies.atlas.cards import ZERO, Card

OURS = ("zoo", "forever", "simulated")
HEADS = {
    "family": "",
    "task": "open a row for its card",
    "steps": "how many are certified; ∞: every horizon",
    "peak bits": "the most that any step needs, with a clock",
    "mean": "over all steps, with a clock",
    "no clock": "the least bits of one update for all steps, at a random step",
    "states": "fewest states of one update for all steps",
    "frames": "fewest last observations, with the actions between, that fix what the expert does",
    "distance": "the most steps ahead at which two histories that look alike are acted on differently",
    "proof": "exact, or a proved bracket",
    "s": "seconds of computing",
}
WITNESS = 320  # letters


def page(cards: Sequence[Card]) -> str:
    """The page of the documentation."""
    head = ["---", "hide: [navigation, toc] # the table is wide", "---", "", "# Atlas", "", *_summary(cards), ""]
    return "\n".join([*head, _view(cards), "", *_lists(cards), "", *_failures(cards)]) + "\n"


def html(cards: Sequence[Card]) -> str:
    """The same as one file that needs nothing else."""
    summary = " ".join(line or "</p><p>" for line in map(_text, _summary(cards))).translate({96: None, 42: None})
    missing = "".join(_row(map(_text, (card["family"], card["task"], card["reason"]))) for card in _without(cards))
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Atlas</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        "<style>:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;margin:1rem}</style></head><body>"
        f"<h1>Atlas</h1><p>{summary}</p>{_view(cards)}<h2>Without a card</h2>"
        f'<div style="overflow-x:auto"><table>{missing}</table></div></body></html>\n'
    )


def _with(cards: Iterable[Card]) -> list[Card]:
    return [card for card in cards if "reason" not in card]


def _without(cards: Iterable[Card]) -> list[Card]:
    return [card for card in cards if "reason" in card]


def _summary(cards: Sequence[Card]) -> list[str]:
    certified = _with(cards)
    twins = [card for card in certified if card["full_view"]]
    free = [card for card in certified if not card["needs_memory"] and not card["full_view"]]
    clock = sum(card["clock_free"][1] <= ZERO for card in free)
    exact = sum(card["certified"] for card in certified)
    needless = sum(not card["needs_memory"] for card in twins)
    return [
        f"{len(certified)} tasks of {len({card['family'] for card in certified})} families, certified one by one by",
        "`diacritic atlas`; the rows are in `results/atlas.jsonl`. Bits are those of the expert that a card names, in",
        "the layouts and steps that it names: where only some layouts were played, *needs no memory* is said of these",
        f"alone. {exact} cards are exact, {len(certified) - exact} hold a proved bracket.",
        "",
        f"{len(free)} of {len(certified) - len(twins)} tasks need no memory with a clock, {clock} of them none without",
        f"a clock either. {needless} of {len(twins)} twins in full view need none.",
    ]


def _view(cards: Sequence[Card]) -> str:
    """Picture, search and table: one block of HTML without blank lines, so that Markdown leaves it alone."""
    here = files("diacritic.studies.atlas")
    style, script = (here.joinpath(name).read_text(encoding="utf-8") for name in ("atlas.css", "atlas.js"))
    heads = "".join(f'<th scope="col" title="{escape(said)}">{name}</th>' for name, said in HEADS.items())
    rows = "\n".join(_line(card) for card in _with(cards))
    parts = [
        f'<div id="atlas-cards"><style>{style}</style>',
        '<div class="atlas-tools"></div><div class="atlas-picture"></div>',
        f'<div class="atlas-scroll"><table><thead><tr>{heads}</tr></thead><tbody>',
        f"{rows}</tbody></table></div><script>{script}</script></div>",
    ]
    return "\n".join(line for line in "\n".join(parts).splitlines() if line.strip())


def _line(card: Card) -> str:
    horizon, proof = card["horizon"], "exact" if card["certified"] else "bracket"
    facts = {
        "family": card["family"],
        "steps": horizon or "",
        "bits": card["peak"],
        "free": card["clock_free"][1],
        "full": int(card["full_view"]),
        "called": int(card["memory_task"]),
    }
    cells = [
        _text(card["family"]),
        _details(card),
        str(horizon or "∞"),
        f"{card['peak']:.3f}",
        f"{card['mean']:.3f}",
        _span(card["clock_free"], "{:.3f}"),
        _span(card["states"], "{}"),
        str(card["frames"] or "–"),
        "–" if card["decision_distance"] is None else str(card["decision_distance"]),
        proof,
        f"{card['seconds']:.1f}",
    ]
    return _row(cells, " ".join(f'data-{key}="{escape(str(value))}"' for key, value in facts.items()))


def _details(card: Card) -> str:
    """The card itself, folded under the name of its task."""
    items = [
        ("expert", card["expert"] + ("" if card["a2"] else " (knows more than is seen)")),
        ("as certified", card["modified"]),
        ("bits, step by step", _profile(card["bits"])),
        ("carried without a break", f"{card['longest_carry']} steps" if card["longest_carry"] else ""),
        (
            "frames of observations alone",
            str(card.get("frames_without_actions") or ""),
        ),
        ("states with a clock", _span(card["states_with_clock"], "{}") if card["states_with_clock"] else ""),
        ("why", _shortened(card["witness"] or "")),
        ("again", f"<code>{_text(card['command'])}</code>"),
    ]
    shown = "".join(f"<dt>{name}</dt><dd>{_safe(name, said)}</dd>" for name, said in items if said.strip())
    return f"<details><summary>{_text(card['task'])}</summary><dl>{shown}</dl></details>"


def _safe(name: str, said: str) -> str:
    return said if name == "again" else _text(said)


def _lists(cards: Sequence[Card]) -> list[str]:
    certified = [card for card in _with(cards) if not card["full_view"]]
    none = [card for card in certified if card["memory_task"] and not card["needs_memory"]]
    needed = [card for card in certified if not card["memory_task"] and card["witness"] and card["family"] not in OURS]
    needed.sort(key=lambda card: -card["peak"])
    return [
        "## Called memory tasks, need none",
        "",
        "With a clock, in what was certified; the bits are those without.",
        "",
        *(f"- {_called(card)}: {_span(card['clock_free'], '{:.3f}')} bits" for card in none),
        "",
        "## Not called memory tasks, need memory",
        "",
        "The twelve that need most, each with its witness; the filter *not called one, needs memory* shows all "
        f"{len(needed)}.",
        "",
        *(f"- {_called(c)}: {c['peak']:.3f} bits. {_text(_shortened(c['witness']))}" for c in needed[:12]),
    ]


def _called(card: Card) -> str:
    return f"{_text(card['task'])} ({_text(card['family'])})"


def _failures(cards: Sequence[Card]) -> list[str]:
    lines = ["## Without a card", "", "| family | task | reason |", "|---|---|---|"]
    for (family, reason), group in groupby(_without(cards), key=lambda card: (card["family"], _reason(card))):
        tasks = ", ".join(card["task"] for card in group)
        lines.append("".join(f"| {_text(text).replace('|', '/')} " for text in (family, tasks, reason)) + "|")
    return lines


def _reason(card: Card) -> str:
    return str(card["reason"]).removeprefix(f"{card['task']}: ")


def _profile(bits: Sequence[float]) -> str:
    runs = [(value, len(list(group))) for value, group in groupby(f"{value:.3g}" for value in bits)]
    return ", ".join(value if count == 1 else f"{value} × {count}" for value, count in runs)


def _span(ends: Sequence[float] | None, form: str) -> str:
    if ends is None:
        return "–"
    low, high = (form.format(end) for end in ends)
    return high if low == high else f"{low}–{high}"


def _shortened(text: str) -> str:
    return text if len(text) <= WITNESS else f"{text[: WITNESS // 2]} … {text[-WITNESS // 2 :]}"


def _text(text: str) -> str:
    return escape(" ".join(str(text).split()))


def _row(cells: Iterable[str], attributes: str = "") -> str:
    return f"<tr {attributes}>".replace(" >", ">") + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
