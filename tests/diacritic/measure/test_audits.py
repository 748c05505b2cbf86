"""Each finding of an audit is made by exactly the defect that it names; no rate is ever claimed."""

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch
from third_party_policies import Bypassing, Careful, Cell, Clinging, Closed, Open, Queued, Sly

from certify.errors import UserError
from certify.zoo import build
from diacritic.measure import Audit, audit
from diacritic.measure.audit_task import SymbolicAuditTask
from diacritic.measure.verdict import Control
from diacritic.tasks.symbolic import SymbolicEnv

MODEL = build("gap", gap1=1, gap2=1, R1=4, R2=4)  # 32 histories


@pytest.fixture(autouse=True)
def few_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SymbolicAuditTask, "most_pairs", 24)


def audited(policy: Any, task: Any = MODEL) -> Audit:
    return audit(policy, task, shuffles=199)


def answers(audit: Audit) -> tuple[str, ...]:
    return audit.sufficient.answer, audit.carries.answer, audit.surplus.answer, audit.sole.answer


def control(audit: Audit, name: str) -> Control:
    return next(item for item in audit.controls if item.name == name)


def test_a_state_that_carries_everything() -> None:
    audit = audited(Open())
    assert answers(audit) == ("yes", "yes", "yes", "yes")
    assert audit.surplus.because == "decoded beyond Γ: seen at step 1 (steps 4–5), seen at step 1 (steps 6–7), " + (
        "seen at step 2 (steps 6–7)"
    )
    few = "in step 3: 8 histories are too few to miss it in"  # the second cue has not been shown yet
    assert audit.not_done == (f"seen at step 2 {few}", f"seen at step 1 {few}")
    assert audit.verdict == (
        "The policy decides correctly, and the state that it exposes is all of its memory. No rate is claimed."
    )


def test_what_is_forgotten_is_not_decoded() -> None:
    audit = audited(Careful())
    assert answers(audit) == ("yes", "yes", "no", "yes")
    assert all(item.bits is None for item in audit.decodings)  # 32 rows are too few for a bound


def test_memory_outside_the_state_is_found_out() -> None:
    audit = audited(Sly())
    assert answers(audit) == ("yes", "no", "no", "no")
    assert audit.sole.because.startswith("state swap, every history: 0% of the decisions become the partner's")
    assert "is not all of its memory" in audit.verdict


def test_an_opaque_policy_is_judged_by_what_it_does() -> None:
    audit = audited(Closed())
    assert answers(audit) == ("yes", "not assessed", "not assessed", "not assessed")
    assert [text.split(":")[0] for text in audit.not_done] == ["its state cannot be read"] * 2
    names = [item.name for item in audit.controls if item.part == "attribution"]
    assert names == [f"past {change}, every history" for change in ("swap", "reset", "freeze")] + ["episode boundary"]
    assert control(audit, "past swap, every history").passed is True
    assert "stays open" in audit.verdict


def test_what_survives_a_reset_fails_the_boundary_alone() -> None:
    audit = audited(Clinging())
    failed = [item.name for item in audit.controls if item.passed is False]
    assert failed == ["episode boundary"]
    assert (
        audit.sole.because
        == "episode boundary: something survives reset(): an episode goes differently after another one"
    )


def test_a_policy_that_forgets_is_not_sufficient() -> None:
    class Forgetful(Open):
        def act(self, observation: str) -> str:
            self.state[:] = 0
            return super().act(observation)

    audit = audited(Forgetful())
    assert answers(audit) == ("no", "no", "no", "not assessed")
    assert "does not do what the task asks" in audit.verdict


class Reading(Open):
    """Shows a code: the action that it is about to take."""

    def act(self, observation: str) -> str:
        action = super().act(observation)
        self.code = int(self.state[1]) if observation == "decide1" else 9
        return action


def test_a_readout_code_that_under_counts_is_refused() -> None:
    audit = audited(Reading())
    step = control(audit, "readout code, steps 4–5")
    assert step.passed is False
    assert step.data == pytest.approx({"rate": 1.0, "required": 4.0})  # two bits at one of two steps
    assert "it under-counts by 3.00 at least; refused as a rate" in step.text
    assert audit.refused
    assert audit.verdict.endswith("Its readout code under-counts and is refused as a rate.")


def test_a_code_that_holds_enough_is_refused_all_the_same() -> None:
    class Full(Open):
        def act(self, observation: str) -> str:
            action = super().act(observation)
            self.code = int(self.state @ [100, 10, 1])
            return action

    audit = audited(Full())
    rows = [item for item in audit.controls if item.name.startswith("readout code")]
    assert [item.passed for item in rows] == [None] * 3
    assert all("refused as a rate all the same" in item.text for item in rows)
    assert not audit.refused


def test_the_code_of_a_bypass_decides_nothing() -> None:
    audit = audited(Bypassing(MODEL))
    assert audit.interface.startswith("begin(batch)")
    assert audit.refused
    assert (audit.sole.answer, control(audit, "state swap, every history").passed) == ("yes", True)
    swap = control(audit, "code swap, every history")
    assert (swap.part, swap.passed) == ("rate", False)


def test_modules_and_lerobot_policies_are_audited() -> None:
    torch.manual_seed(0)
    audit = audited(Cell(len(MODEL.graph.actions)), MODEL)
    assert audit.sufficient.answer == "no"
    assert audit.carries.answer == "yes"  # it adds up all that it sees
    queued = audited(Queued(len(MODEL.graph.actions)), SymbolicEnv(MODEL))
    assert queued.sufficient.answer == "no"
    assert queued.policy == "Queued"


def test_classes_with_one_history_are_not_decoded() -> None:
    audit = audited(Open(), build("reveal", modes=4))
    assert audit.carries.answer == "not assessed"
    assert any("decoding it would be memorising it" in text for text in audit.not_done)


def test_a_state_without_numbers_is_moved_but_not_decoded() -> None:
    class Diary(Open):
        def reset(self) -> None:
            self.state: Any = ()

        def act(self, observation: str) -> str:
            self.state += (observation,)
            seen = dict(item.split("=") for item in self.state if "=" in item)
            first, second = seen.get("cue1", 0), seen.get("cue2", 0)
            return {"decide1": f"take {first}", "decide2": f"put {second}"}.get(observation, "wait")

    audit = audited(Diary())
    assert answers(audit) == ("yes", "not assessed", "not assessed", "yes")
    assert audit.not_done == ("nothing was decoded: policy.state: holds a str, which is not an array of numbers",)


def test_the_package_offers_the_audit_and_nothing_else() -> None:
    package = import_module("diacritic.measure")
    assert package.__all__ == ["Audit", "audit"]
    with pytest.raises(AttributeError, match=r"module 'diacritic\.measure' has no attribute 'adit'"):
        package.__getattr__("adit")


def test_the_report_says_everything(tmp_path: Path) -> None:
    outcome = audit(Reading(), MODEL, shuffles=19, name="reader")
    text = "\n".join(outcome.lines())
    assert text.startswith("reader on gap gap1=1 gap2=1 R1=4 R2=4\nby reset() and act(observation); every history\n")
    for part in ("Decides correctly?", "Behaviour", "Interventions", "Verdict: The policy decides correctly"):
        assert part in text
    document = json.loads(outcome.save(tmp_path / "audit.json").read_text(encoding="utf-8"))
    assert document["format"] == "diacritic-audit/1"
    assert document["sole"]["answer"] == "yes"
    assert len(document["decodings"]) == len(outcome.decodings) > 0
    assert [item["name"] for item in document["controls"]] == [item.name for item in outcome.controls]
    assert list(tmp_path.iterdir()) == [tmp_path / "audit.json"]


@pytest.mark.parametrize(
    ("policy", "task", "said"),
    [
        (object(), MODEL, "policy: a object has none of the known interfaces"),
        (Open(), 3, "task: a int is none that can be audited on; give a certify model"),
        (Open(), "gapp", "no instance is called 'gapp'; did you mean gap"),
        (Open(), "running-parity", "model: its histories are merged"),
        (Cell(3), MODEL, "policy: its action is float32 of 3 entries; expected a name"),
    ],
)
def test_bad_input_is_refused_in_one_line(policy: Any, task: Any, said: str) -> None:
    with pytest.raises(UserError, match=said) as caught:
        audit(policy, task)
    assert "\n" not in str(caught.value)
