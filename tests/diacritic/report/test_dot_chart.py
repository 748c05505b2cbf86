"""Numbers as dots: every one is drawn where it belongs, and the same numbers give the same file."""

import re
import warnings

from diacritic.report.dot_chart import SHARE, SURPLUS, Panel, dot_chart

LINES = {
    "short": {SHARE.title: {"before": 0.25, "after": 1.0}, SURPLUS.title: {"before": None}},
    "long <b>": {SHARE.title: {"before": 0.5}},
}


def dots(text: str) -> int:
    return len(re.findall(r"<use xlink:href", text.partition('id="legend')[0])) - len(re.findall("tick_", text))


def test_every_number_is_a_dot_and_what_is_missing_is_not() -> None:
    text = dot_chart("x", LINES, (SHARE, SURPLUS))
    assert dots(text) == dots(dot_chart("x", LINES | {"long <b>": {}}, (SHARE, SURPLUS))) + 1
    for word in ("short", "long &lt;b&gt;", "before", "after", SHARE.title, SURPLUS.title):
        assert f">{word}</text>" in text


def test_the_same_numbers_give_the_same_file() -> None:
    assert dot_chart("x", LINES, (SHARE,)) == dot_chart("x", LINES, (SHARE,))


def test_labels_of_a_logarithmic_axis_are_plain_numbers() -> None:
    near, far = ({"a": {"n": {"s": 20.0}}, "b": {"n": {"s": top}}} for top in (90.0, 1e6))
    assert {">30</text>", ">100</text>"} <= set(
        re.findall(r">\d+</text>", dot_chart("x", near, [Panel("n", log=True)]))
    )
    text = dot_chart("x", far, [Panel("n", log=True)])
    assert ">10,000</text>" in text or ">10000</text>" in text
    assert ">300</text>" not in text


def test_few_and_many_lines_have_room() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a layout that does not fit is a warning
        for count in (1, 40):
            dot_chart("x", {f"a rather long label, number {k}": LINES["short"] for k in range(count)}, (SHARE, SURPLUS))
