"""The report says everything in plain words; colour is added only where there is a terminal."""

import io
import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from diacritic.measure.gates import Judgement
from diacritic.measure.report import agreement, show, summary
from diacritic.measure.verdict import Control, Profile, Subject, Verdict, judge, same_verdict


def verdict(passed: bool) -> Verdict:
    judgement = Judgement("full", passed, 1.0, {}, () if passed else ("gap1: score [0.2]",))
    controls = [
        Control("attribution", "code swap", passed, "0% of them"),
        Control("sufficiency", "threshold", True, "the same verdict"),
        Control("rate", "interval", None, "2.00 bit"),
    ]
    return judge(
        Subject("0123", "gap", "plain", 0, "exact"), judgement, Profile([1.0], [1.0], [1.0], {"all": [0]}), controls
    )


def test_a_report_in_plain_text(capsys: pytest.CaptureFixture[str]) -> None:
    show(verdict(False))
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert lines[:2] == ["gap · plain · seed 0", "run 0123; exact"]
    assert (
        " ".join(lines[2].split()) == "Sufficient? no fails the full gate: gap1: score [0.2]"
    )  # brackets are no markup
    order = [line.split()[0] for line in lines[6:9]]
    assert order == ["threshold", "interval", "code"]
    assert lines[8].split()[2] == "FAILED"
    assert lines[9].startswith("Impression: The code does not suffice")
    assert "\x1b" not in "".join(lines)


def test_a_terminal_shows_colour() -> None:
    screen = io.StringIO()
    show(verdict(True), Console(file=screen, force_terminal=True, width=100))
    assert "\x1b[" in screen.getvalue()


def test_the_summary_counts(capsys: pytest.CaptureFixture[str]) -> None:
    summary([verdict(True), verdict(False)])
    assert capsys.readouterr().out.endswith("1/2 sufficient; 1 of them carried by the code alone\n")


def test_second_verdicts_are_summed_up_where_there_are_any(capsys: pytest.CaptureFixture[str]) -> None:
    pairs = [(True, True), (True, False), (False, False)]
    actual = []
    for seed, (first, second) in enumerate(pairs):
        again = same_verdict("fresh recording", (first, second), "on 8 fresh episodes", "rates move by 0.1 bit")
        unknown = Control("sufficiency", "own occupancy", None, "no recorded episode is like these")
        one = verdict(first)
        actual.append(replace(one, subject=replace(one.subject, seed=seed), controls=(again, unknown)))
    assert [one.controls[0].passed for one in actual] == [True, False, True]
    assert actual[1].controls[0].text == "on 8 fresh episodes the gate fails; rates move by 0.1 bit"
    summary(actual)
    said = capsys.readouterr().out
    assert "2/3 verdicts agree" in said
    assert said.rstrip().endswith("switched: 1")
    assert "fresh recording passes  fails" in said
    assert "own occupancy passes" not in said


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1))
def test_every_run_is_counted_once(verdicts: list[tuple[bool, bool]]) -> None:
    first, second = zip(*verdicts, strict=True)
    _, passes, fails, said = agreement(first, second, range(len(verdicts)), ("one", "two"))
    counts = [int(word) for row in (passes, fails) for word in row.split()[2:]]
    assert counts == [verdicts.count((a, b)) for a, b in itertools.product((True, False), repeat=2)]
    assert said.startswith(f"{counts[0] + counts[3]}/{len(verdicts)} verdicts agree")
    switched = [str(k) for k, (a, b) in enumerate(verdicts) if a != b]
    assert said.endswith(f"switched: {', '.join(switched) or 'none'}")


def test_the_table_in_words() -> None:
    verdicts = [True, True, False, False], [True, False, False, False]
    assert agreement(*verdicts, [10, 11, 12, 13], ("expert occupancy", "own occupancy")) == [
        "                         own occupancy passes  fails",
        "expert occupancy passes                     1      1",
        "expert occupancy fails                      0      2",
        "3/4 verdicts agree (0.75, 95 % 0.30–0.95); switched: 11",
    ]
