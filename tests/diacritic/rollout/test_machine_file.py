"""Machine files: proved, minimal, playable, readable; refused with a witness or by what is wrong with the file."""

import json
from pathlib import Path

import numpy as np
import pytest

from certify import Model, OffSupportError, certify
from certify.errors import UserError
from certify.sources.policy import machine_of
from certify.zoo import build
from diacritic.measure.scores import Requirement
from diacritic.rollout.exact import closed_loop
from diacritic.rollout.machine import CodeMachine, from_certified
from diacritic.rollout.machine_file import MachineFilePolicy, RunnableMachine, minimal_machine
from diacritic.rollout.verify import first_error
from diacritic.tasks.symbolic import SymbolicEnv


def wasteful(model: Model) -> CodeMachine:
    """A right machine with a code for every state of every step."""
    return from_certified(certify(model).machine, model)


@pytest.mark.parametrize(("name", "codes"), [("gap", 4), ("memory-chain", 2), ("signpost-corridor", 4)])
def test_a_right_machine_becomes_the_smallest_one(name: str, codes: int) -> None:
    model = build(name)
    machine_file = minimal_machine(wasteful(model), model, {"seed": 3})
    assert (machine_file.codes, machine_file.minimal, machine_file.origin) == (codes, True, {"seed": 3})
    assert machine_file.bits == pytest.approx(Requirement.of(model).bits)
    assert first_error(machine_file.tables(model), model) is None
    assert closed_loop(machine_file.tables(model), model).success == pytest.approx(1)


def test_certify_agrees_that_the_policy_reproduces_the_expert_without_surplus() -> None:
    model = build("memory-chain", bits=2, delay=5)
    report = machine_of(MachineFilePolicy(minimal_machine(wasteful(model), model)), model)
    assert report.reproduces
    assert report.incomplete is None
    assert report.state is not None
    assert sum(report.state.surplus) == sum(report.state.missed) == 0


def test_it_acts_in_an_environment_and_on_a_longer_task() -> None:
    short, long = build("memory-chain", bits=2, delay=4), build("memory-chain", bits=2, delay=40)
    machine_file = minimal_machine(wasteful(short), short)
    assert first_error(machine_file.tables(long), long) is None
    env, policy = SymbolicEnv(long), MachineFilePolicy(machine_file)
    actions = [long.graph.actions[k] for k in range(len(long.graph.actions))]
    for seed in range(8):
        policy.reset()
        _, info = env.reset(seed=seed)
        over = False
        while not over:
            _, _, over, _, info = env.step(np.int64(actions.index(policy.act(info["observation"]))))
        assert info["success"]


def test_a_wrong_machine_is_refused_with_its_history() -> None:
    model = build("passive-t-maze", L=2)
    right = wasteful(model)
    constant = CodeMachine(np.zeros_like(right.move), np.roll(right.act, 1, axis=2))
    with pytest.raises(UserError, match=r"step 1: after goal \w+ the machine does .*; train longer"):
        minimal_machine(constant, model)


def test_of_a_random_expert_one_choice_is_kept() -> None:
    model = build("stochastic-expert")
    machine_file = minimal_machine(wasteful(model), model)
    assert not machine_file.equal
    assert minimal_machine(wasteful(build("gap")), build("gap")).equal
    assert closed_loop(machine_file.tables(model), model).success == pytest.approx(1)


def test_unknown_symbols_lead_to_no_action() -> None:
    model = build("memory-chain", bits=1, delay=3)
    policy = MachineFilePolicy(minimal_machine(wasteful(model), model))
    with pytest.raises(OffSupportError, match="never met 'query 0' first"):
        policy.act("query 0")
    policy.act("context 0")
    with pytest.raises(OffSupportError, match="after '1' in code"):
        policy.act("context 0", previous="1")
    other = build("passive-t-maze", L=3)
    assert closed_loop(policy.machine_file.tables(other).greedy(), other).success < 1


def test_files_come_back_as_they_were(tmp_path: Path) -> None:
    model = build("gap")
    machine_file = minimal_machine(wasteful(model), model)
    machine_file.save(tmp_path / "machine.json")
    assert RunnableMachine.load(tmp_path / "machine.json") == machine_file
    assert [path.name for path in tmp_path.iterdir()] == ["machine.json"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"format": "diacritic-machine/9"}, "this version reads 'diacritic-machine/1'"),
        ({"codes": 1}, "has 1 codes, but also names the code"),
        ({"moves": [[0, "wait"]]}, r"moves: \[0\] is list, but a list of 4 is expected"),
        ({"first": ["x"]}, "first is list, but an object"),
        ({"bits": None}, "bits is None, but a list"),
    ],
)
def test_damaged_files_are_one_line(change: dict[str, object], said: str, tmp_path: Path) -> None:
    model = build("memory-chain")
    path = tmp_path / "machine.json"
    minimal_machine(wasteful(model), model).save(path)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(UserError, match=said) as caught:
        RunnableMachine.load(path)
    assert "\n" not in str(caught.value)


def test_a_truncated_or_missing_file_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "half.json").write_text('{"format": "diacr')
    for name, said in (("half.json", "is truncated"), ("absent.json", "cannot be read")):
        with pytest.raises(UserError, match=said):
            RunnableMachine.load(tmp_path / name)
