"""The audit on the page: answers, flags, interventions, and probes against chance."""

from diacritic.report import audit
from diacritic.report.inputs import Inputs


def test_without_anything_to_show_there_is_no_section():
    assert audit.view(Inputs()) is None


def test_the_audit_shows_answers_flags_interventions_and_probes(inputs: Inputs):
    shown = audit.view(inputs)
    assert shown is not None
    assert [row["sufficient"] for row in shown["summary"]] == ["yes", "yes", "no", "yes"]
    assert shown["verdicts"][0]["impression"] == "An impression."
    assert [flag["raised"] for flag in shown["flags"]] == [4, 0, 0]
    row = shown["interventions"][0]
    assert (row["swap"], row["shuffle"], row["reset"], row["freeze"]) == (1.0, 1.0, 0.0, None)
    assert (row["where"], row["pairs"]) == ("every history", 16)
    chance, good = shown["probes"][0]["data"]
    assert (chance["x"], good["x"], good["y"]) == ([0.5], [0.75], ["slot in gap1 (linear)"])


def test_unexpected_probes_come_first_and_are_marked():
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
    assert drawn["data"][0]["y"][-1] == "side in gap1 (linear)"  # the top row of the chart
    assert (drawn["data"][2]["name"], drawn["data"][2]["x"]) == ("unexpected", [0.9])
    assert "1 are unexpected" in drawn["label"]
