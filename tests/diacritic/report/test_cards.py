"""The first screen in words: bits, seeds, success, surplus, audit."""

import pytest
from report_inputs import make_ledger

from diacritic.report import ledgers
from diacritic.report.cards import audited, card, further, profile, seeds
from diacritic.report.inputs import Inputs, collect
from diacritic.report.subjects import subjects, views


@pytest.mark.parametrize(
    ("need", "words"),
    [
        ([0, 2, 2, 1, 1, 0], "2 bits, then 1, over 6 steps."),
        ([0, 1], "1 bit, over 2 steps."),
        ([0, 0], "0 bits: the observation alone is enough."),
        ([], "The requirement is not known."),
        ([1, 2, 3, 4, 5, 6], "Up to 6 bits over 6 steps."),
        ([1.585, None], "1.58 bits, over 1 steps."),
    ],
)
def test_the_profile_in_words(need: list[float | None], words: str):
    assert profile(need) == words


def test_seeds_in_words(inputs: Inputs):
    assert seeds(inputs.runs) == "3/4 seeds sufficient (95 % interval 30%–95%), success 50%, surplus 0.36 bit"
    assert audited(inputs.runs) == "Audited: 4 of 4; carried by the code alone in 4."


def test_a_card_has_bits_seeds_and_chips(inputs: Inputs):
    listed = subjects(inputs)
    shown = card(listed[0], views(listed, inputs)[0])
    assert shown["lines"][0] == "1 bit, then 2, then 1, over 11 steps."
    assert shown["lines"][1].startswith("plain (carousel): 3/4 seeds")
    assert [(chip["word"], chip["mood"]) for chip in shown["chips"]][-1] == ("3/4 sufficient", "warn")


def test_runs_that_nobody_measured_say_so(inputs: Inputs):
    for run in inputs.runs:
        (run.path / "verdict.json").unlink()
    again = collect([str(inputs.runs[0].path.parent)])
    assert audited(again.runs) == "Not audited."


def test_probes_and_studies_have_cards(tmp_path):
    studies = ledgers.view(collect([str(make_ledger(tmp_path / "toys.jsonl"))]).ledgers)
    leak, study = further({"demos": [{"passed": False}, {"passed": True}]}, studies)
    assert (leak["lines"], leak["chips"][0]["word"]) == (["1 of 2 probes are unexpected."], "leak suspected")
    assert study["lines"] == ["3 lines, 20 seeds: blocks, maze."]
