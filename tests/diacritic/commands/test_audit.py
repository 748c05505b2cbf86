"""Auditing a policy by name."""

import json
from pathlib import Path

import pytest

from diacritic.cli import main

POLICY = """
class Remembering:
    def reset(self):
        self.state = 0

    def act(self, observation):
        if observation.startswith("cue"):
            self.state = int(observation[-1])
        return 0
"""


def test_a_class_in_the_present_folder_is_audited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "audited_policy.py").write_text(POLICY, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    words = ["audited_policy:Remembering", "memory-chain", "bits=1", "delay=2", "--shuffles", "19", "-o", "audit.json"]
    assert main(["audit", *words]) == 0
    assert capsys.readouterr().out.startswith("audited_policy:Remembering on memory-chain")
    assert json.loads(Path("audit.json").read_text(encoding="utf-8"))["format"] == "diacritic-audit/1"


MODULE = """
import torch

class Net(torch.nn.Module):
    def forward(self, observation, state=None):
        return torch.zeros(1, 2), torch.zeros(1, 1)

net = Net()
"""


def test_a_module_that_is_there_already_is_not_called_to_make_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "audited_module.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    words = ["audited_module:net", "memory-chain", "bits=1", "delay=2", "--shuffles", "19"]
    assert main(["audit", *words]) == 0
    assert capsys.readouterr().out.startswith("audited_module:net on memory-chain")


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("nowhere", "expected MODULE:OBJECT"),
        ("no_such_module:policy", "there is no module 'no_such_module'"),
        ("json:no_such_object", "json has no 'no_such_object'"),
    ],
)
def test_what_is_not_there_is_one_line(spec: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", spec, "gap"]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1
