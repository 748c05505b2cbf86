"""The audit on the page: answers, flags, interventions, and probes against chance."""

from diacritic.report import audit
from diacritic.report.inputs import Inputs


def test_without_anything_to_show_there_is_no_section():
    assert audit.view(Inputs()) is None


def test_the_audit_shows_answers_flags_interventions_and_probes(inputs: Inputs):
    shown = audit.view(inputs)
    assert shown is not None
    assert shown["judged"] == 4
    assert shown["verdicts"][0]["impression"] == "An impression."
    assert [flag["raised"] for flag in shown["flags"]] == [4, 0, 0]
    row = shown["interventions"][0]
    assert (row["swap"], row["shuffle"], row["reset"], row["freeze"]) == (1.0, 1.0, 0.0, None)
    assert (row["where"], row["pairs"]) == ("every history", 16)
    probes = shown["probes"][0]
    assert probes["unexpected"] is None
    (row,) = probes["expected"]["rows"]
    assert (row["name"], [mark["x"] for mark in row["marks"]]) == ("slot in gap1 (linear)", [0.5, 0.75])


def test_unexpected_probes_stand_by_themselves():
    cell = {
        "phase": "gap1",
        "variable": "side",
        "probe": "linear",
        "status": "hidden",
        "chance": 0.5,
        "adjusted": 0.001,
    }
    wrong = cell | {"accuracy": 0.9, "interval": [0.8, 0.95], "passed": False}
    fine = cell | {"accuracy": 0.5, "interval": [0.4, 0.6], "passed": True, "variable": "slot"}
    drawn = audit.probes("demos", [fine, wrong])
    assert drawn["said"] == "1 of 2 probes of demos are unexpected"
    assert [row["name"] for row in drawn["unexpected"]["rows"]] == ["side in gap1 (linear)"]
    assert [row["name"] for row in drawn["expected"]["rows"]] == ["slot in gap1 (linear)"]
